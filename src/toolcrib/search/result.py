"""What a search gives back: a few hits, how sure it is, and how it got there."""

from dataclasses import dataclass
from typing import Literal

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
