"""One request put to both arms: what the words say, what the meaning says, and what follows from both.

The words come first. Only when they are not sure is the request embedded, which may be a call over the network; that is
why an inquiry has two halves, and its owner can let go of its lock between them.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.asked_words import as_meant
from toolcrib.search.builtin_embedder import BuiltinEmbedder
from toolcrib.search.confidence import Judge, Ranking, outlook
from toolcrib.search.embedder import Embedder, Vectors
from toolcrib.search.evidence import WordSigns, WordsOfTools, gather, read_words, reading_depth
from toolcrib.search.fusion import Fusion
from toolcrib.search.lexical import LexicalMatch
from toolcrib.search.nearness import DEPTH, Nearness
from toolcrib.search.result import Path
from toolcrib.search.strategy import Strategy
from toolcrib.search.word_meanings import WordMeanings

UNDERSTOOD = 0.5  # how much of a request the best tool must contain for words to be enough
TIED = 0.9  # of the best score: words do not tell such a tool from the best, meaning has to
WORDS_SERVE = 0.15  # how sure the lexical arm must be to answer when it is alone
SILENT = Nearness(scores=np.zeros(0, dtype=np.float32), nearest=(), mean=0.0, spread=1.0)


class Words(NamedTuple):
    """The first half: what the lexical arm found, for the request and for each of its parts."""

    texts: tuple[str, ...]  # the request, then its parts
    meant: tuple[str, ...]  # the same, with slips of the fingers mended
    matches: tuple[LexicalMatch, ...]
    allowed: NDArray[np.bool_] | None  # by number; None when every tool may be found
    signs: WordSigns  # of the whole request
    sure: float  # that the first tool is right
    enough: bool = False  # no need to ask for the meaning


class Findings(NamedTuple):
    """Everything one request brought to light."""

    words: Words
    nearness: Nearness
    vector: Vectors | None
    ranking: Ranking
    lexical_sure: float
    confidence: float
    serves: float
    path: Path


class LexicalArm(WordsOfTools, Protocol):
    """Finds tools by words."""

    def search(self, text: str, limit: int) -> LexicalMatch: ...


class BothArms(Protocol):
    """Both arms over the same tools, wherever they are kept: in this process, or in a database."""

    @property
    def lexical(self) -> LexicalArm: ...

    @property
    def meanings(self) -> WordMeanings: ...

    def nearness(self, vectors: Vectors, allowed: NDArray[np.bool_] | None) -> list[Nearness]:
        """How near the tools are to each vector; empty when there is no dense arm yet."""
        ...


class Inquiry:
    """Asks the holdings, with the fitted judges."""

    def __init__(self, holdings: BothArms, embedder: Embedder | None) -> None:
        self._holdings = holdings
        self._fusion, self._judge = Fusion(), Judge()
        # Only the built-in embedder's vectors can be told from small talk: the line was fitted to them.
        self._hears_small_talk = isinstance(embedder, BuiltinEmbedder)

    def words(self, texts: Sequence[str], allowed: NDArray[np.bool_] | None, strategy: Strategy) -> Words:
        """Ask the lexical arm."""
        hidden = 0 if allowed is None else int(len(allowed) - allowed.sum())
        matches = tuple(_visible(self._holdings.lexical.search(text, DEPTH + hidden), allowed) for text in texts)
        whole = matches[0]
        signs = read_words(whole, self._holdings.lexical)
        sure = self._judge.lexical_is_right(signs) if whole.numbers else 0.0
        # Several errands need both arms, and one rare word can make the lexical arm sure of the wrong tool.
        understood = len(texts) == 1 and signs.coverage > UNDERSTOOD
        enough = understood and sure > strategy.lexical_above and not _is_tied(whole)
        return Words(
            texts=tuple(texts),
            meant=tuple(as_meant(text, match.asked) for text, match in zip(texts, matches, strict=True)),
            matches=matches,
            allowed=allowed,
            signs=signs,
            sure=sure,
            enough=enough,
        )

    def by_words(self, words: Words) -> Findings:
        """What the lexical arm says alone."""
        match, sure = words.matches[0], words.sure
        ranking = [
            (number, sure * score / match.scores[0]) for number, score in zip(match.numbers, match.scores, strict=True)
        ]
        return Findings(
            words=words,
            nearness=SILENT,
            vector=None,
            ranking=ranking,
            lexical_sure=sure,
            confidence=sure,
            serves=1.0 if sure > WORDS_SERVE else 0.0,
            path="lexical",
        )

    def by_meaning(self, words: Words, vectors: Vectors) -> Findings:
        """What the dense arm says alone."""
        nearness = self._nearness(words, vectors)[0]
        both = self.by_both(words, vectors)
        ranking = [(number, float(nearness.scores[number])) for number in nearness.nearest]
        return both._replace(ranking=ranking, path="dense")

    def by_both(self, words: Words, vectors: Vectors, strategy: Strategy | None = None) -> Findings:
        """What both say together; `vectors` are those of the request and of its parts."""
        seen = self._nearness(words, vectors)
        others = words.matches[1:]
        signs = [words.signs, *(read_words(match, self._holdings.lexical) for match in others)]
        tools = len(self._holdings.lexical)
        evidence = [
            gather(match, said, near, self._holdings.meanings, text, reading_depth(tools, whole=not place))
            for place, (match, said, near, text) in enumerate(zip(words.matches, signs, seen, words.meant, strict=True))
        ]
        ranking = self._fusion.ranking(evidence[0], evidence[1:])
        small_talk = self._judge.small_talk(vectors[0]) if self._hears_small_talk else 0.0
        prospect = outlook(evidence[0], ranking, len(others), small_talk)
        heard = strategy is not None and words.sure > strategy.blended_above
        return Findings(
            words=words,
            nearness=seen[0],
            vector=vectors[0],
            ranking=ranking,
            lexical_sure=words.sure,
            confidence=self._judge.first_is_right(prospect),
            serves=self._judge.some_tool_serves(prospect),
            path="blended" if heard else "dense",
        )

    def _nearness(self, words: Words, vectors: Vectors) -> list[Nearness]:
        return self._holdings.nearness(vectors, words.allowed) or [SILENT] * len(words.texts)


def _is_tied(match: LexicalMatch) -> bool:
    return len(match.scores) > 1 and match.scores[1] > TIED * match.scores[0]


def _visible(match: LexicalMatch, allowed: NDArray[np.bool_] | None) -> LexicalMatch:
    if allowed is None:
        return match
    kept = [(n, s) for n, s in zip(match.numbers, match.scores, strict=True) if allowed[n]][:DEPTH]
    return match._replace(numbers=tuple(n for n, _ in kept), scores=tuple(s for _, s in kept))
