"""One request put to both arms: what the words say, what the meaning says, and what follows from both.

The words come first. Only when they are not sure is the request embedded, which may be a call over the network; that is
why an inquiry has two halves, and its owner can let go of its lock between them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.confidence import Calibration, Ranking, confidence_features
from toolcrib.search.corpus import Corpus
from toolcrib.search.dense import ABSENT, DEPTH, Similarity, passages
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.fusion import Fusion, LexicalFeatures, WordsOfTools, gather, lexical_features, rerank_depth
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import LexicalMatch, with_typos_fixed
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.result import Explanation, Path
from toolcrib.search.text import STOP_WORDS, content_words, is_unspaced, words

# How to search, by the size of the catalog. Data: pass your own tuple to `ToolIndex` to change it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What holds for catalogs of at most `up_to` tools."""

    up_to: float
    lexical_above: float  # surer than this, the lexical arm answers alone and the embedder is not asked
    blended_above: float  # surer than this, it has a say; below, the dense arm leads
    answer_above: float  # less likely than this that any tool serves the request: no tools
    decompose: bool = True  # search the parts of a request one by one


STRATEGIES = (
    # A handful of tools: who asks knows what they are for, and the arms have little to compare.
    Strategy(up_to=10, lexical_above=0.8, blended_above=0.3, answer_above=0.15),
    # Few tools: the words of their names and phrases tell them apart.
    Strategy(up_to=100, lexical_above=0.8, blended_above=0.3, answer_above=0.25),
    Strategy(up_to=500, lexical_above=0.9, blended_above=0.3, answer_above=0.2),
    # Many tools share the same words: meaning has to decide among them.
    Strategy(up_to=float("inf"), lexical_above=0.95, blended_above=0.3, answer_above=0.15),
)


def strategy_for(tools: int, strategies: Sequence[Strategy] = STRATEGIES) -> Strategy:
    """The first strategy that covers a catalog of this size, else the last."""
    for strategy in strategies:
        if tools <= strategy.up_to:
            return strategy
    return strategies[-1]


UNDERSTOOD = 0.5  # how much of a request the best tool must contain for words to be enough
TIED = 0.9  # of the best score: words do not tell such a tool from the best, meaning has to
WORDS_SERVE = 0.15  # how sure the lexical arm must be to answer when it is alone
SILENT = Similarity(scores=np.zeros(0, dtype=np.float32), nearest=(), mean=0.0, spread=1.0)


class Words(NamedTuple):
    """The first half: what the lexical arm found, for the request and for each of its parts."""

    texts: tuple[str, ...]  # the request, then its parts
    meant: tuple[str, ...]  # the same, with slips of the fingers mended
    matches: tuple[LexicalMatch, ...]
    allowed: NDArray[np.bool_] | None  # by number; None when every tool may be found
    signs: LexicalFeatures  # of the whole request
    sure: float  # that the first tool is right
    enough: bool = False  # no need to ask for the meaning


class FusedResult(NamedTuple):
    """Everything one request brought to light."""

    words: Words
    nearness: Similarity
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
    def meanings(self) -> LateInteraction: ...

    def nearness(self, vectors: Vectors, allowed: NDArray[np.bool_] | None) -> list[Similarity]:
        """How near the tools are to each vector; empty when there is no dense arm yet."""
        ...


class QueryRunner:
    """Asks the holdings, with the fitted judges."""

    def __init__(self, holdings: BothArms, embedder: Embedder | None) -> None:
        self._holdings = holdings
        self._fusion, self._judge = Fusion(), Calibration()
        # Only the built-in embedder's vectors can be told from small talk: the line was fitted to them.
        self._hears_small_talk = isinstance(embedder, BuiltinEmbedder)

    def words(self, texts: Sequence[str], allowed: NDArray[np.bool_] | None, strategy: Strategy) -> Words:
        """Ask the lexical arm."""
        hidden = 0 if allowed is None else int(len(allowed) - allowed.sum())
        matches = tuple(_visible(self._holdings.lexical.search(text, DEPTH + hidden), allowed) for text in texts)
        whole = matches[0]
        signs = lexical_features(whole, self._holdings.lexical)
        sure = self._judge.p_lexical(signs) if whole.numbers else 0.0
        # Several errands need both arms, and one rare word can make the lexical arm sure of the wrong tool.
        understood = len(texts) == 1 and signs.coverage > UNDERSTOOD
        enough = understood and sure > strategy.lexical_above and not _is_tied(whole)
        return Words(
            texts=tuple(texts),
            meant=tuple(with_typos_fixed(text, match.asked) for text, match in zip(texts, matches, strict=True)),
            matches=matches,
            allowed=allowed,
            signs=signs,
            sure=sure,
            enough=enough,
        )

    def lexical_only(self, words: Words) -> FusedResult:
        """What the lexical arm says alone."""
        match, sure = words.matches[0], words.sure
        ranking = [
            (number, sure * score / match.scores[0]) for number, score in zip(match.numbers, match.scores, strict=True)
        ]
        return FusedResult(
            words=words,
            nearness=SILENT,
            vector=None,
            ranking=ranking,
            lexical_sure=sure,
            confidence=sure,
            serves=1.0 if sure > WORDS_SERVE else 0.0,
            path="lexical",
        )

    def dense_only(self, words: Words, vectors: Vectors) -> FusedResult:
        """What the dense arm says alone."""
        nearness = self._nearness(words, vectors)[0]
        both = self.fused(words, vectors)
        ranking = [(number, float(nearness.scores[number])) for number in nearness.nearest]
        return both._replace(ranking=ranking, path="dense")

    def fused(self, words: Words, vectors: Vectors, strategy: Strategy | None = None) -> FusedResult:
        """What both say together; `vectors` are those of the request and of its parts."""
        seen = self._nearness(words, vectors)
        others = words.matches[1:]
        signs = [words.signs, *(lexical_features(match, self._holdings.lexical) for match in others)]
        tools = len(self._holdings.lexical)
        evidence = [
            gather(match, said, near, self._holdings.meanings, text, rerank_depth(tools, whole=not place))
            for place, (match, said, near, text) in enumerate(zip(words.matches, signs, seen, words.meant, strict=True))
        ]
        ranking = self._fusion.ranking(evidence[0], evidence[1:])
        small_talk = self._judge.small_talk(vectors[0]) if self._hears_small_talk else 0.0
        prospect = confidence_features(evidence[0], ranking, len(others), small_talk)
        heard = strategy is not None and words.sure > strategy.blended_above
        return FusedResult(
            words=words,
            nearness=seen[0],
            vector=vectors[0],
            ranking=ranking,
            lexical_sure=words.sure,
            confidence=self._judge.p_first(prospect),
            serves=self._judge.p_answerable(prospect),
            path="blended" if heard else "dense",
        )

    def _nearness(self, words: Words, vectors: Vectors) -> list[Similarity]:
        return self._holdings.nearness(vectors, words.allowed) or [SILENT] * len(words.texts)


def _is_tied(match: LexicalMatch) -> bool:
    return len(match.scores) > 1 and match.scores[1] > TIED * match.scores[0]


def _visible(match: LexicalMatch, allowed: NDArray[np.bool_] | None) -> LexicalMatch:
    if allowed is None:
        return match
    kept = [(n, s) for n, s in zip(match.numbers, match.scores, strict=True) if allowed[n]][:DEPTH]
    return match._replace(numbers=tuple(n for n, _ in kept), scores=tuple(s for _, s in kept))


# Why a tool stands where it stands for a request. The answer to "why was my tool not found?".


def explanation(
    holdings: Corpus,
    findings: FusedResult,
    strategy: Strategy,
    query: str,
    number: int,
    *,
    ranking: Sequence[tuple[int, float]],
    path: Path,
    reason: str,
    warnings: tuple[str, ...],
) -> Explanation:
    """Put together what is known about one tool's part in one search."""
    tool = holdings.tool(number)
    asked = findings.words.matches[0].asked
    every = holdings.lexical.search(query, len(holdings))
    matched = holdings.lexical.matched([number], asked)[0]
    order = [found for found, _ in ranking]
    near = findings.nearness.scores
    seen = number < len(near) and bool(near[number] > ABSENT)
    # Without a dense arm nothing was read, and the table is not loaded for it.
    close = holdings.meanings.read(findings.words.meant[0], [number] if seen else [])
    nearest = ""
    if holdings.dense is not None and findings.vector is not None and seen:
        nearest = passages(tool)[holdings.dense.nearest_passage(findings.vector, number)]
    return Explanation(
        query=query,
        name=tool.name,
        rank=order.index(number) + 1 if number in order else None,
        share=dict([*findings.ranking, *ranking]).get(number, 0.0),
        path=path,
        confidence=1.0 if path == "exact" else findings.confidence,
        reason=reason,
        tools=len(holdings),
        lexical_rank=every.numbers.index(number) + 1 if number in every.numbers else None,
        lexical_score=dict(zip(every.numbers, every.scores, strict=True)).get(number, 0.0),
        matched=tuple(word.word for word in matched),
        guessed=tuple(
            (word.word, (word.meant,) if word.meant else word.terms) for word in asked if word.guessed or word.meant
        ),
        missing=tuple(word.word for word in asked if word not in matched),
        dense_rank=int((near > near[number]).sum()) + 1 if seen else None,
        cosine=float(near[number]) if seen else None,
        nearest=nearest,
        asked=float(close.asked.sum()),
        told=float(close.told.sum()),
        lexical_sure=findings.lexical_sure,
        serves=findings.serves,
        lexical_above=strategy.lexical_above,
        blended_above=strategy.blended_above,
        answer_above=strategy.answer_above,
        parts=findings.words.texts[1:],
        warnings=warnings,
    )


# A request for several things, taken apart by rules: "create a page and add a mountain photo" wants two tools.

MAX_PARTS = 6
MIN_WORDS = 2  # a part needs that many telling words, or it is near everything

# A dot after a single letter or a title ends no sentence: "at 10 a.m. with Dr. Smith".
_SENTENCES = re.compile(
    r"(?<=[.!?…])(?<!\b[^\W\d]\.)(?<!\b(?:Dr|Mr|Ms|St|Nr|vs)\.)(?<!\bMrs\.)\s+|[;\n\r]+\s*|[。！？；]+\s*"
)
# Words that join one errand to the next, in the languages that have a short unmistakable one. What nearly all of them
# begin with stands once, in front: four times as fast as trying every joint behind every space.
# "And the check-out date to May 5", "and 2 rooms" go on with an errand; "and a photo" brings up something new. So in
# English alone: where the verb may stand last, "und die Bilder hochladen" is an errand. Chinese `并` and `另外` stand
# within other words, too: `合并` is to merge, `另外一个` another one.
_JOINTS = re.compile(
    r"""
      ,?\s+(?:
          (?: and\s++(?!\d|(?:the|my|your|his|its|our|their|this|that|these|those|it|which|who|whose)\b)
            | (?:then|also|plus|afterwards|finally|additionally)\s+
          )(?:then\s+|also\s+)?
        | (?:und|sowie|danach|anschließend)\s+(?:dann\s+)? | (?:a\s+)?(?:oraz|potem|następnie)\s+ | (?-i:i)\s+(?=\w{4})
        | (?:y|luego|además)\s+(?=\w{3}) | (?:et|puis|ensuite)\s+ | (?:poi|inoltre|e)\s+(?=\w{3}) | (?:depois|também)\s+
        | (?:en\s+)?(?:daarna|vervolgens)\s+ | (?:ve|sonra|ayrıca)\s+ | (?:и|затем|потом|та|і|потім)\s+
        | (?:och|og|sedan|derefter|deretter)\s+ | (?:ja|sitten)\s+ | (?:és|majd|aztán)\s+
        | (?:a\s+potom|pak|și|apoi|και|μετά|dan|lalu|và|sau\s+đó)\s+ | (?:ثم|و)\s+ | (?:और|फिर)\s+
      )
    | ,\s+as\s+well\s+as\s+
    | [，、]?(?:然后|并且|(?<![合一兼])并(?![不非没无行])|以及|接着|另外(?![一两几])|そして|それから|および
        |그리고|그런\ 다음|แล้ว|และ)[，、]?\s*
    """,
    re.IGNORECASE | re.VERBOSE,
)


def parts(text: str) -> list[str]:
    """The errands in a request, in order; empty when it is one errand."""
    said = words(text)
    if len([word for word in said if word not in STOP_WORDS]) < 2 * MIN_WORDS and not _is_dense(text):
        return []
    sentences = [piece for piece in _SENTENCES.split(text[:4_000]) if piece.strip()]
    found: list[str] = []
    for sentence in sentences:
        found.extend(_split(sentence))
    if len(found) < 2:
        return []
    telling = [piece for piece in found if len(content_words(piece)) >= MIN_WORDS or _is_dense(piece)]
    return telling[:MAX_PARTS] if len(telling) > 1 else []


def _split(sentence: str) -> list[str]:
    """Cut at joining words, but only where both sides can stand alone: "search and replace" stays one."""
    kept: list[str] = []
    for piece in (piece.strip() for piece in _JOINTS.split(sentence)):
        if kept and (_is_short(piece) or _is_short(kept[-1])):
            kept[-1] = f"{kept[-1]} {piece}"
        elif piece:
            kept.append(piece)
    return kept


def _is_short(piece: str) -> bool:
    return len(content_words(piece)) < MIN_WORDS and not _is_dense(piece)


def _is_dense(piece: str) -> bool:
    """Whether a piece of an unspaced script says enough: four characters of Chinese are two words."""
    return any(len(word) >= 4 and is_unspaced(word) for word in words(piece))


# What becomes of the findings: an answer, in which order and by which way, or a word on why there is none.

ANSWER_CHATTER_ABOVE = 0.5  # "how are you?" has no word that points at a tool: a tool has to be very near
NOTHING_FITS = "No tool fits this request."


def verdict(
    findings: FusedResult, strategy: Strategy, named: Sequence[int], *, tools: int, abstain: bool
) -> tuple[list[tuple[int, float]], Path, str]:
    """The ranking that becomes the answer, how it came about, and why it is empty.

    `named` are the tools that the request calls by name, `tools` is how many there are.
    """
    if named:
        rest = [(number, share) for number, share in findings.ranking if number not in named]
        return [*((number, 1.0) for number in named), *rest], "exact", ""
    if not findings.ranking:
        return [], "none", NOTHING_FITS if tools else "There are no tools."
    needed = strategy.answer_above
    if needed and not findings.words.matches[0].asked:
        needed = max(needed, ANSWER_CHATTER_ABOVE)
    if abstain and findings.serves < needed:
        return [], "none", NOTHING_FITS
    return findings.ranking, findings.path, ""


def confidence(path: Path, findings: FusedResult) -> float:
    """How likely the first hit is right; a tool called by its name is, and no hit is not."""
    return {"exact": 1.0, "none": 0.0}.get(path, findings.confidence)
