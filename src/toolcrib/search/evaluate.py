"""How good a search is, measured on labelled requests. Pure: an index and queries in, numbers out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from time import perf_counter
from typing import Protocol

from toolcrib.search.result import SearchResult

DEPTH = 10  # the deepest rank any of our measures looks at


class Searches(Protocol):
    """Anything that finds tools for a request: an index, or a stand-in for one."""

    def search(self, query: str, *, limit: int = 5) -> SearchResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A request and the tools that serve it; with no tools, a request that none should answer."""

    text: str
    relevant: frozenset[str] = frozenset()
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one request got."""

    query: LabelledQuery
    names: tuple[str, ...]
    took_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Means over requests that have an answer, 0..1 each."""

    queries: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float
    mrr: float  # one over the rank of the first right tool
    comp_at_5: float  # share of requests with all their tools in the first five
    unanswered: float  # share that got no tool at all

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Scores":
        """The scores of the outcomes given; zeros when there are none."""

        def mean(score: Callable[[Sequence[str], frozenset[str]], float]) -> float:
            return sum(score(seen.names, seen.query.relevant) for seen in outcomes) / max(1, len(outcomes))

        return cls(
            queries=len(outcomes),
            recall_at_1=mean(lambda names, relevant: recall(names, relevant, 1)),
            recall_at_5=mean(lambda names, relevant: recall(names, relevant, 5)),
            recall_at_10=mean(lambda names, relevant: recall(names, relevant, 10)),
            ndcg_at_10=mean(lambda names, relevant: ndcg(names, relevant, 10)),
            mrr=mean(reciprocal_rank),
            comp_at_5=mean(lambda names, relevant: float(relevant <= set(names[:5]))),
            unanswered=mean(lambda names, _: float(not names)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Everything one run over labelled requests shows."""

    scores: Scores
    by_language: Mapping[str, Scores]
    junk_queries: int  # requests that no tool serves
    junk_rate: float  # share of those that got a tool all the same
    p50_ms: float
    p99_ms: float
    missed: tuple[Outcome, ...] = field(default=(), repr=False)  # right tools not all in the first five


def evaluate(index: Searches, queries: Iterable[LabelledQuery], *, depth: int = DEPTH) -> Evaluation:
    """Ask the index every query and sum up what came back."""
    outcomes = [ask(index, query, depth) for query in queries]
    answerable = [seen for seen in outcomes if seen.query.relevant]
    junk = [seen for seen in outcomes if not seen.query.relevant]
    languages = sorted({seen.query.language for seen in answerable} - {""})
    took = [seen.took_ms for seen in outcomes]
    return Evaluation(
        scores=Scores.of(answerable),
        by_language={
            language: Scores.of([seen for seen in answerable if seen.query.language == language])
            for language in languages
        },
        junk_queries=len(junk),
        junk_rate=sum(bool(seen.names) for seen in junk) / max(1, len(junk)),
        p50_ms=percentile(took, 50),
        p99_ms=percentile(took, 99),
        missed=tuple(seen for seen in answerable if not seen.query.relevant <= set(seen.names[:5])),
    )


def ask(index: Searches, query: LabelledQuery, depth: int = DEPTH) -> Outcome:
    """One request, timed from outside, so that every index is measured alike."""
    started = perf_counter()
    found = index.search(query.text, limit=depth)
    return Outcome(query=query, names=found.names, took_ms=(perf_counter() - started) * 1000)


def recall(names: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """The share of the relevant tools among the first `depth`."""
    return len(relevant.intersection(names[:depth])) / len(relevant)


def ndcg(names: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Discounted gain against that of the best order; every relevant tool counts the same."""
    gained = sum(1 / log2(rank + 2) for rank, name in enumerate(names[:depth]) if name in relevant)
    return gained / sum(1 / log2(rank + 2) for rank in range(min(depth, len(relevant))))


def reciprocal_rank(names: Sequence[str], relevant: frozenset[str]) -> float:
    """One over the rank of the first relevant tool, or zero."""
    return next((1 / rank for rank, name in enumerate(names, start=1) if name in relevant), 0.0)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed; zero for none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)] if ordered else 0.0
