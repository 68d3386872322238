"""One query, from text to ranking: strategy, lexical pass, fusion of both arms, abstention. Both indexes use it.

The lexical pass comes first. The query is embedded only when that pass is not confident, and embedding may be a call
over the network: so a query has two halves, `start` and `finish`, and an index can release its lock between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import SearchInputError
from toolcrib.search.agreement import MOST_CANDIDATES, Ranked, agreement_features
from toolcrib.search.confidence import Calibration, Ranking, confidence_features
from toolcrib.search.dense import ABSENT, DEPTH, Floats, Similarity
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.fusion import Fusion, collect_candidates, rerank_depth
from toolcrib.search.kernels.rows import Places, Vectors
from toolcrib.search.lexical import (
    LexicalFeatures,
    LexicalMatch,
    QueryTerm,
    WordsOfTools,
    lexical_features,
    with_typos_fixed,
)
from toolcrib.search.negation import wanted
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.result import Explanation, Path, SearchResult
from toolcrib.search.text import is_identifier, split_request, words

MAX_LIMIT = 100

ArmChoice: TypeAlias = Literal["both", "lexical", "dense"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search. The defaults serve users; the others compare arms and look for causes."""

    arms: ArmChoice = "both"  # "lexical" needs no embedder
    abstain: bool = True  # no hits when probably no tool fits
    decompose: bool = True  # search the parts of a request one by one, where the strategy does


DEFAULT_OPTIONS = SearchOptions()

# How to search, by the size of the catalog. Data: pass your own tuple to `ToolIndex` to change it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What holds for catalogs of at most `up_to` tools."""

    up_to: float
    lexical_above: float  # above this confidence, the lexical arm answers alone and the query is not embedded
    blended_above: float  # above this confidence, the path is "blended"; below, "dense"
    answer_above: float  # below this probability that any tool serves the query, there are no hits
    decompose: bool = True  # search the parts of a request one by one


STRATEGIES = (
    # A handful of tools: users know what they are for, and the arms have little to compare.
    Strategy(up_to=10, lexical_above=0.8, blended_above=0.3, answer_above=0.15),
    # Few tools: the words of their names and phrases tell them apart.
    Strategy(up_to=100, lexical_above=0.8, blended_above=0.3, answer_above=0.25),
    Strategy(up_to=500, lexical_above=0.9, blended_above=0.3, answer_above=0.2),
    # Many tools share the same words: the dense arm has to decide among them.
    Strategy(up_to=float("inf"), lexical_above=0.95, blended_above=0.3, answer_above=0.15),
)


def strategy_for(tools: int, strategies: Sequence[Strategy] = STRATEGIES) -> Strategy:
    """The first strategy that covers a catalog of this size, else the last."""
    for strategy in strategies:
        if tools <= strategy.up_to:
            return strategy
    return strategies[-1]


UNDERSTOOD = 0.5  # share of the query that the best tool must contain for the lexical arm to answer alone
TIED = 0.9  # of the best score: words cannot separate such a tool from the best, so the dense arm has to
WORDS_SERVE = 0.15  # confidence that the lexical arm needs to answer without the dense arm
SILENT = Similarity(scores=np.zeros(0, dtype=np.float32), nearest=(), mean=0.0, spread=1.0)


class LexicalPass(NamedTuple):
    """What the lexical arm found, for the query and for each of its parts."""

    texts: tuple[str, ...]  # the query, then its parts
    corrected: tuple[str, ...]  # the same, with typos fixed
    matches: tuple[LexicalMatch, ...]
    allowed: NDArray[np.bool_] | None  # by tool id; None when every tool may be found
    features: LexicalFeatures  # of the whole query
    confidence: float  # that the first tool is right
    is_sufficient: bool = False  # no need to embed the query


def errand_in(query: str) -> str:
    """What of a query is searched for: not what it forbids."""
    return wanted(query) or query


def texts_of(query: str, options: SearchOptions, strategy: Strategy) -> tuple[str, ...]:
    """What is searched for, then its parts where these are searched one by one."""
    query = errand_in(query)
    return (query, *(split_request(query) if options.decompose and strategy.decompose else ()))


class PendingQuery(NamedTuple):
    """A query after its lexical pass: its vectors may still be missing."""

    text: str
    options: SearchOptions
    strategy: Strategy
    words: LexicalPass
    forbids_something: bool = False  # and asks for something, too

    @property
    def needs_vectors(self) -> bool:
        """Whether the answer depends on the vectors of the query."""
        arms = self.options.arms
        return arms == "dense" or (arms == "both" and not self.words.is_sufficient)


class FusedResult(NamedTuple):
    """The ranking of both arms, and all that it was made from."""

    words: LexicalPass
    similarity: Similarity
    vector: Vectors | None
    ranking: Ranking
    confidence: float  # that the first tool is right
    answerable: float  # that any tool serves the query
    path: Path


class LexicalArm(WordsOfTools, Protocol):
    """Finds tools by words."""

    def search(self, text: str, limit: int) -> LexicalMatch: ...


class Arms(Protocol):
    """Both arms over the same tools, wherever they are kept: in this process, or in a database."""

    @property
    def lexical(self) -> LexicalArm: ...

    @property
    def meanings(self) -> LateInteraction: ...

    def read(self, tool_ids: Sequence[int]) -> str:
        """The name of the first of these tools; from then on `meanings` has the words of all of them."""
        ...

    @property
    def order(self) -> Places | None:
        """The place of each tool id among tools with equal scores; None for the order of the ids."""
        ...

    def similarities(self, vectors: Vectors, allowed: NDArray[np.bool_] | None) -> list[Similarity]:
        """The similarity of the tools to each vector; empty when there is no dense arm yet."""
        ...


class QueryRunner:
    """Runs queries over both arms, with the fitted networks."""

    def __init__(self, arms: Arms, embedder: Embedder | None) -> None:
        self._arms = arms
        self._fusion, self._calibration = Fusion(), Calibration()
        # Small talk can be detected only in the built-in embedder's vectors: the line was fitted to them.
        self._detects_small_talk = isinstance(embedder, BuiltinEmbedder)

    def start(
        self, text: str, options: SearchOptions, strategy: Strategy, allowed: NDArray[np.bool_] | None = None
    ) -> PendingQuery:
        """Split the query into parts and run the lexical pass."""
        texts = texts_of(text, options, strategy)
        words = self.lexical_pass(texts, allowed, strategy)
        return PendingQuery(texts[0], options, strategy, words, forbids_something=texts[0] != text)

    def finish(self, query: PendingQuery, vectors: Vectors | None) -> FusedResult:
        """Rank the tools; `vectors` are those of the query and of its parts, or None to go by words alone."""
        result = self.ranked(query, vectors)
        if query.options.arms != "both" or not result.ranking or not words(query.text):
            return result
        agreed = self._calibration.p_agreed(self.agreement(query, result))
        # Held down, never raised: a vague request agrees with many tools.
        return result._replace(confidence=min(result.confidence, agreed))

    def ranked(self, query: PendingQuery, vectors: Vectors | None) -> FusedResult:
        """The ranking, with the confidence of the arms."""
        found = query.words
        if vectors is None:
            return self.lexical_only(found)
        if query.options.arms == "dense":
            return self.dense_only(found, vectors)
        fused = self.fused(found, vectors, query.strategy)
        if found.is_sufficient:  # the query was embedded for an explanation, and that has no influence
            return self.lexical_only(found)._replace(similarity=fused.similarity, vector=fused.vector)
        return fused

    def agreement(self, query: PendingQuery, result: FusedResult) -> Floats:
        """What tells whether the first tool of a ranking is the one asked for."""
        tool_ids = [tool_id for tool_id, _ in result.ranking[: 1 + MOST_CANDIDATES]]
        # An explanation has vectors where the search had none: they may not count.
        is_lexical = result.path == "lexical"
        vector = None if is_lexical else result.vector
        ranked = Ranked(
            tool_ids=tool_ids,
            name=self._arms.read(tool_ids),
            confidence=result.confidence,
            answerable=result.answerable,
            is_lexical=is_lexical,
            shares=[share for _, share in result.ranking[:5]],
            similarity=SILENT if is_lexical else result.similarity,
            small_talk=self._small_talk(vector),
        )
        return agreement_features(self._arms.meanings, query.words.corrected[0], ranked, query.words.features)

    def _small_talk(self, vector: Vectors | None) -> float:
        return self._calibration.small_talk(vector) if self._detects_small_talk and vector is not None else 0.0

    def lexical_pass(self, texts: Sequence[str], allowed: NDArray[np.bool_] | None, strategy: Strategy) -> LexicalPass:
        """Run the lexical arm."""
        hidden = 0 if allowed is None else int(len(allowed) - allowed.sum())
        matches = tuple(_visible(self._arms.lexical.search(text, DEPTH + hidden), allowed) for text in texts)
        whole = matches[0]
        features = lexical_features(whole, self._arms.lexical)
        confidence = self._calibration.p_lexical(features) if whole.tool_ids else 0.0
        # A query with several parts needs both arms, and one rare word can make the lexical arm confidently wrong.
        understood = len(texts) == 1 and features.coverage > UNDERSTOOD
        is_sufficient = understood and confidence > strategy.lexical_above and not _is_tied(whole)
        return LexicalPass(
            texts=tuple(texts),
            corrected=tuple(with_typos_fixed(text, match.terms) for text, match in zip(texts, matches, strict=True)),
            matches=matches,
            allowed=allowed,
            features=features,
            confidence=confidence,
            is_sufficient=is_sufficient,
        )

    def lexical_only(self, words: LexicalPass) -> FusedResult:
        """The ranking of the lexical arm alone."""
        match, confidence = words.matches[0], words.confidence
        ranking = [
            (tool_id, confidence * score / match.scores[0])
            for tool_id, score in zip(match.tool_ids, match.scores, strict=True)
        ]
        return FusedResult(
            words=words,
            similarity=SILENT,
            vector=None,
            ranking=ranking,
            confidence=confidence,
            answerable=1.0 if confidence > WORDS_SERVE else 0.0,
            path="lexical",
        )

    def dense_only(self, words: LexicalPass, vectors: Vectors) -> FusedResult:
        """The ranking of the dense arm alone, with the confidence of both."""
        fused = self.fused(words, vectors)
        scores = fused.similarity.scores
        ranking = [(tool_id, float(scores[tool_id])) for tool_id in fused.similarity.nearest]
        return fused._replace(ranking=ranking, path="dense")

    def fused(self, words: LexicalPass, vectors: Vectors, strategy: Strategy | None = None) -> FusedResult:
        """The ranking of both arms together."""
        similarities = self._arms.similarities(vectors, words.allowed) or [SILENT] * len(words.texts)
        others = words.matches[1:]
        features = [words.features, *(lexical_features(match, self._arms.lexical) for match in others)]
        tools = len(self._arms.lexical)
        candidates = [
            collect_candidates(match, own, near, self._arms.meanings, text, rerank_depth(tools, whole=not place))
            for place, (match, own, near, text) in enumerate(
                zip(words.matches, features, similarities, words.corrected, strict=True)
            )
        ]
        ranking = self._fusion.ranking(candidates[0], candidates[1:], self._arms.order)
        small_talk = self._small_talk(vectors[0])
        features_of_ranking = confidence_features(candidates[0], ranking, len(others), small_talk)
        is_blended = strategy is not None and words.confidence > strategy.blended_above
        return FusedResult(
            words=words,
            similarity=similarities[0],
            vector=vectors[0],
            ranking=ranking,
            confidence=self._calibration.p_first(features_of_ranking),
            answerable=self._calibration.p_answerable(features_of_ranking),
            path="blended" if is_blended else "dense",
        )


def _is_tied(match: LexicalMatch) -> bool:
    return len(match.scores) > 1 and match.scores[1] > TIED * match.scores[0]


def _visible(match: LexicalMatch, allowed: NDArray[np.bool_] | None) -> LexicalMatch:
    if allowed is None:
        return match
    kept = [(n, s) for n, s in zip(match.tool_ids, match.scores, strict=True) if allowed[n]][:DEPTH]
    return match._replace(tool_ids=tuple(n for n, _ in kept), scores=tuple(s for _, s in kept))


# From a ranking to the answer: tools called by name come first, and where probably nothing fits there is none.

FORBIDDING_ASKS = 0.3  # who says what not to do besides is hardly making conversation
UNKNOWN_NAME = 0.5  # confidence at most, where a request begins with the name of a tool that there is not
LEARNED = 0.8  # confidence at least, where the same request led to a tool before
ANSWER_CHATTER_ABOVE = 0.5  # "how are you?" has no word that points at a tool: a tool has to be very near
NOTHING_FITS = "No tool fits this request."


class Answer(NamedTuple):
    """The ranking that becomes the hits."""

    ranking: Ranking
    path: Path
    confidence: float  # how likely the first hit is right
    reason: str = ""  # why there are no hits


def decide(
    query: PendingQuery, result: FusedResult, named: Sequence[int], *, tools: int, learned: Sequence[int] = ()
) -> Answer:
    """The answer to a query; `tools` is how many there are.

    First come those that the query calls by name, `named`, then those that the same query led to before, `learned`.
    """
    if named:
        rest = [(tool_id, share) for tool_id, share in result.ranking if tool_id not in named]
        return Answer([*((tool_id, 1.0) for tool_id in named), *rest], "exact", 1.0)
    if learned:
        share = max([share for _, share in result.ranking[:1]], default=LEARNED)
        rest = [(tool_id, own) for tool_id, own in result.ranking if tool_id not in learned]
        return Answer([*((tool_id, share) for tool_id in learned), *rest], result.path, max(LEARNED, result.confidence))
    if not result.ranking:
        return Answer([], "none", 0.0, NOTHING_FITS if tools else "There are no tools.")
    needed = query.strategy.answer_above
    if needed and not result.words.matches[0].terms:
        needed = max(needed, ANSWER_CHATTER_ABOVE)
    if query.forbids_something:
        needed *= FORBIDDING_ASKS
    if query.options.abstain and result.answerable < needed:
        return Answer([], "none", 0.0, NOTHING_FITS)
    begins = query.text.split(maxsplit=1)
    names_another = bool(begins) and is_identifier(begins[0])
    confidence = min(result.confidence, UNKNOWN_NAME) if names_another else result.confidence
    return Answer(result.ranking, result.path, confidence)


def clamp_limit(limit: int) -> int:
    """The limit, within 0 and `MAX_LIMIT`."""
    if not isinstance(cast("object", limit), int):
        raise SearchInputError(f"The limit is {limit!r}, not a whole number.", hint="Write limit=5.")
    return max(0, min(limit, MAX_LIMIT))


def without_search(query: str, limit: int, options: SearchOptions = DEFAULT_OPTIONS) -> SearchResult | None:
    """The answer where there is nothing to search for or nothing to return."""
    if not isinstance(cast("object", query), str):
        raise SearchInputError(f"The query is {query!r}, not a text.", hint="Search for a request in plain words.")
    if not limit:
        reason = "No tools were wanted."
    elif not words(query):
        reason = "The request has no words."
    elif options.abstain and not wanted(query):
        reason = "The request only says what not to do."
    else:
        return None
    return SearchResult(hits=(), confidence=0.0, path="none", took_ms=0.0, reason=reason)


# Why a tool has its rank. The answer to "why was my tool not found?".


class ExplainedTool(NamedTuple):
    """What an index knows of one tool, as far as an explanation needs it."""

    name: str
    tool_id: int
    every: LexicalMatch  # the whole lexical ranking
    matched: Sequence[QueryTerm]  # the terms of the query that its texts contain
    nearest: str  # its text that is nearest to the query; empty when nothing was compared
    tools: int  # in the index


def has_score(result: FusedResult, tool_id: int) -> bool:
    """Whether the dense arm compared a tool with the query."""
    scores = result.similarity.scores
    return tool_id < len(scores) and bool(scores[tool_id] > ABSENT)


def explanation(
    query: PendingQuery,
    result: FusedResult,
    answer: Answer,
    tool: ExplainedTool,
    meanings: LateInteraction,
    warnings: tuple[str, ...],
) -> Explanation:
    """What both arms found about one tool in one search. Both indexes use it."""
    strategy, terms, every, tool_id = query.strategy, result.words.matches[0].terms, tool.every, tool.tool_id
    order = [found for found, _ in answer.ranking]
    scores, is_scored = result.similarity.scores, has_score(result, tool_id)
    # Without a score nothing was reranked, and the table of the embedder is not loaded for it.
    coverage = meanings.read(result.words.corrected[0], [tool_id] if is_scored else [])
    return Explanation(
        query=query.text,
        name=tool.name,
        rank=order.index(tool_id) + 1 if tool_id in order else None,
        score=dict([*result.ranking, *answer.ranking]).get(tool_id, 0.0),
        path=answer.path,
        confidence=1.0 if answer.path == "exact" else result.confidence,
        reason=answer.reason,
        tools=tool.tools,
        lexical_rank=every.tool_ids.index(tool_id) + 1 if tool_id in every.tool_ids else None,
        lexical_score=dict(zip(every.tool_ids, every.scores, strict=True)).get(tool_id, 0.0),
        matched=tuple(term.word for term in tool.matched),
        guessed=tuple(
            (term.word, (term.meant,) if term.meant else term.terms) for term in terms if term.guessed or term.meant
        ),
        missing=tuple(term.word for term in terms if term not in tool.matched),
        dense_rank=int((scores > scores[tool_id]).sum()) + 1 if is_scored else None,
        cosine=float(scores[tool_id]) if is_scored else None,
        nearest=tool.nearest,
        query_coverage=float(coverage.of_query.sum()),
        tool_coverage=float(coverage.of_tool.sum()),
        lexical_confidence=result.words.confidence,
        answerable=result.answerable,
        lexical_above=strategy.lexical_above,
        blended_above=strategy.blended_above,
        answer_above=strategy.answer_above,
        parts=result.words.texts[1:],
        warnings=warnings,
    )
