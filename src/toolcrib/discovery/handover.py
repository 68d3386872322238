"""Handover: which of the tools found the model gets with definitions, and which only by name.

A definition costs tokens in every step. When the search is confident, it hands over the best tool and those that score
close to it; a single tool brings the one to use before it, or the one most often used with it. When it is not, it hands
over everything up to the limit, because the order means little. On the training splits of seven public sets this gives
3.4 tools instead of 8, and they contain 96.0 % of the right tools instead of 97.2 %.

There is a budget, too, for each errand of a request. The best tool of an errand always comes, others only while all of
them fit. Those that do not fit, and those next in the order, are named: a name costs some 7 tokens instead of 190. A
tool that was named can be called, and a search for its name shows its arguments.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from toolcrib.search.result import Hit, SearchResult

MOST_TOOLS = 10  # whatever limit a model asks for
SURE_FROM = 0.5  # confidence that the first hit is right
VERY_SURE_FROM = 0.8
NEAR = 0.05  # a hit counts beside the best one from this part of its share on
NEAR_BY_WORDS = 0.65  # the same where words or a name decided: their scores are no shares, and lie closer together
NARROW = 2  # up to so many, companions come along
# What a search may add to every request after it, so that one with a single search stays under 900 tokens in all, also
# with a short prompt of the app's own: prompts, the discovery tool, its call and answer, a notice and a call take 580.
BUDGET_TOKENS = 310
# A request of two errands may take 900 tokens more than one of a single errand, and 300 for each errand after these.
# Of that, two searches of a conversation, or one for both errands, may add so much.
TWO_ERRANDS_TOKENS = 1_100
FURTHER_ERRAND_TOKENS = 300
LEFT_OVER_TOKENS = 250  # of what errands leave over of their budgets, for tools that did not fit into those of others
MOST_OF_AN_ERRAND = 3  # tools handed over, if they fit
CONTEXT = 0.1  # what a tool counts in an unsure errand that the whole request does not find
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


def confidence_word(confidence: float) -> Literal["sure", "likely", "unsure"]:
    """A confidence as the model reads it: from "unsure" on, it should search again in other words."""
    return "sure" if confidence >= VERY_SURE_FROM else "likely" if confidence >= SURE_FROM else "unsure"


def best_hits(found: SearchResult, limit: int, needed: Sequence[str] = ()) -> tuple[Hit, ...]:
    """The hits worth their tokens if there is no budget, best first, then their companions.

    `needed` are the tools to use before the best one, by name: its first companions.
    """
    limit = max(1, min(limit, MOST_TOOLS))
    if not found.hits or not is_confident(found):
        return found.hits[:limit]
    own = [hit for hit in found.hits if hit.score >= found.hits[0].score * _near(found)]
    # The search gives companions no score of their own: they are here for another tool's sake.
    companions = [*_companions(found, needed), *(hit for hit in found.hits if not hit.score)]
    kept = {hit.name: hit for hit in [*own, *companions[: max(0, NARROW - len(own))]]}
    return tuple(kept.values())[:limit]


def hand_over(
    found: SearchResult,
    limit: int,
    tokens_of: Callable[[str], int],
    budget_tokens: int = BUDGET_TOKENS,
    *,
    needed: Sequence[str] = (),
    related: Sequence[str] = (),
) -> Handover:
    """What to hand over and what to name. `tokens_of` gives the tokens that a tool of this name would add.

    `related` are the tools that are often used with the best one, by name: they fill the names up to the limit.
    """
    limit = max(1, min(limit, MOST_TOOLS))
    handed: list[Hit] = []
    for hit in best_hits(found, limit, needed):
        tokens = tokens_of(hit.name)
        if handed and tokens > max(0, budget_tokens):
            continue  # a smaller one may still fit
        handed.append(hit)
        budget_tokens -= tokens
    if found.path == "exact":  # the query is the tool's name: no other one is meant
        return Handover(handed=tuple(handed))
    shown = min(limit, SHOWN_BY_A_SURE_SEARCH) if is_confident(found) else limit
    names = max(0, shown - len(handed))
    saved = -(min(0, budget_tokens) // NAME_TOKENS)
    rest = _rest(found, [hit.name for hit in handed], needed)[: max(min(LEAST_NAMES, names), names - saved)]
    return Handover(handed=tuple(handed), named=_filled(handed, rest, () if saved else related, limit))


def errand_budget(errands: int, budget_tokens: int = BUDGET_TOKENS) -> int:
    """What a search may add for each errand of a request; `budget_tokens` is what it may add for a single one."""
    if errands < 2:
        return budget_tokens
    tokens = TWO_ERRANDS_TOKENS + FURTHER_ERRAND_TOKENS * (errands - 2)
    return tokens * budget_tokens // (errands * BUDGET_TOKENS)


def in_context(errand: SearchResult, whole: SearchResult) -> SearchResult:
    """The hits of an errand whose search is not sure, in the light of the whole request: "add it" to what?"""
    if errand.confidence >= VERY_SURE_FROM or not whole.hits:
        return errand
    shares = {hit.name: hit.score for hit in whole.hits}
    ordered = sorted(errand.hits, key=lambda hit: -hit.score * (CONTEXT + shares.get(hit.name, 0.0)))
    top = ordered[0].score
    return replace(errand, hits=tuple(replace(hit, score=min(hit.score, top)) for hit in ordered))


def hand_over_errands(
    whole: SearchResult,
    errands: Sequence[tuple[SearchResult, Sequence[str]]],
    limit: int,
    tokens_of: Callable[[str], int],
    budget_tokens: int = BUDGET_TOKENS,
    *,
    related: Sequence[str] = (),
) -> Handover:
    """What to hand over for a request of several errands, each with the tools to use before its best one.

    Each errand has a budget of its own (`errand_budget`), and its best tool always comes. What is left over brings one
    that did not fit into its errand's budget, or one that only the whole request finds. Named are those that are left
    of each errand and of the whole request, in turn; `related` ones fill them up to the limit.
    """
    limit = max(len(errands), min(limit, MOST_TOOLS))
    handed = {hit.name: hit for bests in _bests([found for found, _ in errands]) for hit in bests}
    budget, left = errand_budget(len(errands), budget_tokens), 0
    others: list[tuple[float, Hit]] = []  # by how near they come to the best one of their errand
    for found, needed in errands:
        own = budget - tokens_of(found.hits[0].name)
        further = [hit for hit in best_hits(found, MOST_TOOLS, needed)[1:] if hit.name not in handed]
        for hit in further[: MOST_OF_AN_ERRAND - 1]:
            tokens = tokens_of(hit.name)
            if tokens <= own and len(handed) < limit:
                handed[hit.name] = hit
                own -= tokens
            else:
                others.append((_share(hit, found), hit))
        left += own
    shown = min(limit, SHOWN_BY_A_SURE_SEARCH + len(errands))
    names = max(LEAST_NAMES, shown - len(handed))
    left = min(left, LEFT_OVER_TOKENS)
    ordered = [hit for _, hit in sorted(others, key=lambda one: -one[0])]
    for hit in [*ordered, *(hit for hit in best_hits(whole, limit) if hit.score)]:
        if hit.name not in handed and tokens_of(hit.name) <= left and len(handed) < limit:
            handed[hit.name] = hit
            left -= tokens_of(hit.name)
    named = [_rest(found, handed, needed) for found, needed in [*errands, (whole, ())]]
    left_out = {hit.name: hit for turn in zip_longest(*named) for hit in turn if hit is not None}
    rest = tuple(left_out.values())[: max(LEAST_NAMES, min(names, limit - len(handed)))]
    return Handover(handed=tuple(handed.values()), named=_filled(tuple(handed.values()), rest, related, limit))


def _bests(errands: Sequence[SearchResult]) -> list[list[Hit]]:
    """The best tool of each errand. Who asks for two things mostly needs two tools: where errands have the same best
    one, the next of the errand that it fits less well comes, too.
    """
    bests = [[found.hits[0]] for found in errands]
    for name in dict.fromkeys(hits[0].name for hits in bests):
        same = [at for at, hits in enumerate(bests) if hits[0].name == name]
        taken = {hits[0].name for hits in bests}
        nexts = [(next((hit for hit in errands[at].hits if hit.name not in taken), None), at) for at in same]
        shares = [(_share(hit, errands[at]), at, hit) for hit, at in nexts if hit is not None]
        for share, at, hit in sorted(shares, key=lambda one: -one[0])[: len(same) - 1]:
            if share >= _near(errands[at]):
                bests[at].append(hit)
    return bests


def _near(found: SearchResult) -> float:
    return NEAR if found.path in ("blended", "dense") else NEAR_BY_WORDS


def _share(hit: Hit, found: SearchResult) -> float:
    return hit.score / found.hits[0].score if found.hits[0].score else 0.0


def _rest(found: SearchResult, handed: Container[str], needed: Sequence[str]) -> tuple[Hit, ...]:
    """What is left to name: tools to use before the best one, those that rank, companions."""
    ordered = [*_companions(found, needed), *sorted(found.hits, key=lambda hit: not hit.score)]
    return tuple({hit.name: hit for hit in ordered if hit.name not in handed}.values())


def _filled(handed: Sequence[Hit], named: Sequence[Hit], related: Sequence[str], limit: int) -> tuple[Hit, ...]:
    """What is named, and related tools while there is room in the limit."""
    shown = {hit.name for hit in (*handed, *named)}
    others = [Hit(name=name, score=0.0, why="related") for name in dict.fromkeys(related) if name not in shown]
    return (*named, *others[: max(0, limit - len(shown))])


def _companions(found: SearchResult, needed: Sequence[str]) -> list[Hit]:
    return [Hit(name=name, score=0.0, why=f"used before {found.hits[0].name}") for name in needed]


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
