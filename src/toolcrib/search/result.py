"""What a search gives back: a few hits, how sure it is, and how it got there."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")

# Risky tools are easy to call by mistake: one that matches weakly stands behind the others.

WEAK_RISK = 0.15  # a share below this, or half of the best, is no reason to show a destructive tool before a safe one


def safe_first(ranking: Sequence[tuple[T, float]], risky: Container[T], limit: int) -> list[tuple[T, float]]:
    """The ranking, with the risky tools that match weakly behind the others of the first `limit`."""
    shown = ranking[:limit]
    if not shown or (shown[0][0] in risky and shown[0][1] >= WEAK_RISK):
        return list(ranking)  # the request is for something risky
    needed = max(WEAK_RISK, shown[0][1] / 2)
    weak = [(tool, share) for tool, share in shown if tool in risky and share < needed]
    return [*(one for one in shown if one not in weak), *weak, *ranking[limit:]] if weak else list(ranking)


# Companions: tools that the best hits are used together with take the places of unlikely hits.

WEAK = 0.02  # a share below this is a guess; a companion of a good hit is worth more
MAX_COMPANIONS = 3


def likely_hits(ranking: Sequence[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    """The hits that bring their companions; at least the first one."""
    return [(name, share) for name, share in ranking[:limit] if share >= WEAK] or list(ranking[:1])


def with_companions(
    ranking: Sequence[tuple[str, float]], companions: Mapping[str, Sequence[str]], limit: int
) -> list[tuple[str, float, str]]:
    """At most `limit` of `(name, share, whose companion)`: the likely ones, their companions, then the rest."""
    likely = likely_hits(ranking, limit)
    taken = {name for name, _ in likely}
    brought: list[tuple[str, float, str]] = []
    for name, _ in likely:
        for companion in companions.get(name, ()):
            if companion not in taken and len(brought) < MAX_COMPANIONS:
                taken.add(companion)
                brought.append((companion, 0.0, name))
    rest = [(name, share, "") for name, share in ranking if name not in taken]
    return [*((name, share, "") for name, share in likely), *brought, *rest][:limit]


Path = Literal["exact", "lexical", "blended", "dense", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One tool that matched, how well, and a few words on why."""

    name: str
    score: float
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The tools that fit a request, best first; none when nothing fits."""

    hits: tuple[Hit, ...]
    confidence: float  # 0..1: how likely the first hit is the right one
    path: Path  # which arm decided
    took_ms: float
    reason: str = ""  # why there are no hits
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone."""
        return tuple(hit.name for hit in self.hits)


# From a ranking to the answer: names, reasons, and the companions of the best tools.


def match_reason(words: Sequence[str]) -> str:
    """Why a tool was found: by these words of the request, or else by what it means."""
    return f"words: {', '.join(words)}" if words else "similar meaning"


def companion_reason(owner: str) -> str:
    """Why a companion is in the answer."""
    return f"often used with {owner}"


# The answer to "why was my tool not found?".


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How one tool was ranked for a request, by both arms and in the end."""

    query: str
    name: str
    rank: int | None  # in the answer; None when it is not in it
    score: float  # how likely it is the tool asked for, 0..1
    path: Path
    confidence: float
    reason: str  # why the answer has no tools
    tools: int  # in the catalog
    lexical_rank: int | None
    lexical_score: float
    matched: tuple[str, ...]  # words of the request that its texts contain
    guessed: tuple[tuple[str, tuple[str, ...]], ...]  # unknown words, and what they were taken for
    missing: tuple[str, ...]  # words of the request that its texts lack
    dense_rank: int | None
    cosine: float | None
    nearest: str  # the text of the tool that is nearest to the request
    query_coverage: float  # the part of the request that words of the tool cover by their meaning, 0..1
    tool_coverage: float  # the part of the tool's words that the request covers
    lexical_confidence: float
    answerable: float  # how likely any tool fits the request
    lexical_above: float
    blended_above: float
    answer_above: float
    parts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def render(self) -> str:
        """The same for people."""
        rank = f"rank {self.rank}" if self.rank else "not in the answer"
        lines = [
            f"{self.name} for {self.query!r}: {rank}, score {self.score:.2f} (path {self.path},"
            f" confidence {self.confidence:.2f}, {self.tools} tools)",
            f"  lexical  {_rank(self.lexical_rank)}, BM25 {self.lexical_score:.2f};"
            f" matched: {', '.join(self.matched) or 'none'}",
        ]
        if self.missing:
            lines.append(f"           not in its texts: {', '.join(self.missing)}")
        lines += [f"           {word!r} was read as: {', '.join(taken)}" for word, taken in self.guessed]
        if self.cosine is not None:
            lines += [
                f"  dense    {_rank(self.dense_rank)}, cosine {self.cosine:.2f}; nearest text: {self.nearest!r}",
                f"  rerank   {self.query_coverage:.2f} of the request and {self.tool_coverage:.2f} of the tool covered",
            ]
        lines.append(
            f"  decision lexical confidence {self.lexical_confidence:.2f} (used alone above {self.lexical_above},"
            f" blended above {self.blended_above}); some tool fits: {self.answerable:.2f}"
            f" (answered above {self.answer_above})"
        )
        lines += [f"  part     {part}" for part in self.parts]
        lines += [f"  reason   {self.reason}"] if self.reason else []
        lines += [f"  warning  {warning}" for warning in self.warnings]
        return "\n".join(lines)


def _rank(rank: int | None) -> str:
    return f"rank {rank}" if rank else "no rank"
