"""Handover: which of the tools found the model gets with definitions, and which only by name.

A definition costs tokens in every step. When the search is confident, it hands over the best tool and those that score
close to it; a single tool brings the one most often used with it. When it is not, it hands over everything up to the
limit, because the order means little. On the training splits of seven public sets this gives 3.4 tools instead of 8,
and they contain 96.0 % of the right tools instead of 97.2 %.

There is a budget, too. The best tool always comes, others only while all of them fit. Those that do not fit, and those
next in the order, are named: a name costs some 7 tokens instead of 190, and a search for it hands that tool over.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from toolcrib.search.result import Hit, SearchResult

MOST_TOOLS = 10  # whatever limit a model asks for
SURE_FROM = 0.5  # confidence that the first hit is right
NEAR = 0.05  # a hit counts beside the best one from this part of its share on
NEAR_BY_WORDS = 0.7  # the same where words or a name decided: their scores are no shares, and lie closer together
NARROW = 2  # up to so many, companions come along
# What a search may add to every request after it, so that one with a single search stays under 900 tokens in all:
# the prompt, the discovery tool, its call and answer, a notice and a call take some 520.
BUDGET_TOKENS = 367
NAME_TOKENS = 8  # of a tool that is only named: what the best tool takes too much is saved there
LEAST_NAMES = 2  # of those there are; the right one may be next
SHOWN_BY_A_SURE_SEARCH = 5  # handed over or named


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """The hits of a search by what the model gets of them, best first."""

    handed: tuple[Hit, ...] = ()
    named: tuple[Hit, ...] = ()


def is_confident(found: SearchResult) -> bool:
    """Whether the order of the hits can be trusted."""
    return found.confidence >= SURE_FROM


def best_hits(found: SearchResult, limit: int) -> tuple[Hit, ...]:
    """The hits worth their tokens if there is no budget, best first, then their companions."""
    limit = max(1, min(limit, MOST_TOOLS))
    if not found.hits or not is_confident(found):
        return found.hits[:limit]
    near = NEAR if found.path in ("blended", "dense") else NEAR_BY_WORDS
    own = [hit for hit in found.hits if hit.score >= found.hits[0].score * near]
    # The search gives companions no score of their own: they are here for another tool's sake.
    companions = [hit for hit in found.hits if not hit.score]
    return tuple((own + companions[: max(0, NARROW - len(own))])[:limit])


def spread(
    found: SearchResult, limit: int, tokens_of: Callable[[str], int], budget_tokens: int = BUDGET_TOKENS
) -> Handover:
    """What to hand over and what to name. `tokens_of` gives the tokens that a tool of this name would add."""
    limit = max(1, min(limit, MOST_TOOLS))
    handed: list[Hit] = []
    for hit in best_hits(found, limit):
        tokens = tokens_of(hit.name)
        if handed and tokens > max(0, budget_tokens):
            continue  # a smaller one may still fit
        handed.append(hit)
        budget_tokens -= tokens
    if found.path == "exact":  # the query is the tool's name: no other one is meant
        return Handover(handed=tuple(handed))
    shown = min(limit, SHOWN_BY_A_SURE_SEARCH) if is_confident(found) else limit
    rest = [hit for hit in found.hits if hit not in handed]
    names = max(0, shown - len(handed))
    saved = -(min(0, budget_tokens) // NAME_TOKENS)
    return Handover(handed=tuple(handed), named=tuple(rest[: max(min(LEAST_NAMES, names), names - saved)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What a discovery tool found, as the `value` of its result; the text is for the model.

    The agent makes its events of it, and the native formats their references.
    """

    query: str = ""
    tools: tuple[str, ...] = ()  # in the order shown; after a search, those that can be called now
    activated: tuple[str, ...] = ()  # those the model did not see before
    named: tuple[str, ...] = ()  # those that a search named beside, without their definitions
    confidence: float = 0.0
    warnings: tuple[str, ...] = ()  # for the operator, such as an embedder that does not answer
    path: str = field(default="", compare=False)  # which arm of the search decided, where there was a search
    took_ms: float = field(default=0.0, compare=False)
