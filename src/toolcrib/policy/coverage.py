"""Which rules of a policy fit no tool. A misspelt rule would deny nothing, and nobody would notice.

Rules are judged against the tools that are known. A rule for which a source that has not listed its tools yet may
bring one is pending: it counts as soon as that tool is there, because a policy decides anew at each call.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from toolcrib.errors import did_you_mean
from toolcrib.policy.policy import Policy, Rule, matches
from toolcrib.tools.tool import Tool

HINT = "Correct it, or write `optional: true` into a rule that may fit no tool."


class Fit(StrEnum):
    """What is known of a rule."""

    FITS = "fits"
    PENDING = "pending"  # sources that have not listed their tools yet may bring one
    UNFIT = "fits no tool"


class KnownTool(NamedTuple):
    """What rules see of a tool that is not here, such as one in a lock."""

    name: str
    category: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSource:
    """A source that has not listed its tools yet, and what is known of them."""

    name: str  # as tools have it
    state: str = ""
    prefix: str = ""  # what the names of its tools begin with
    category: str | None = None  # of all its tools; None if that is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One rule of a file: whether it fits a tool, and where that is not known yet, what it waits for."""

    place: str
    fit: Fit
    optional: bool = False
    waits_for: tuple[str, ...] = ()
    suggestion: str = ""

    def __str__(self) -> str:
        """A line for people, with the place in the file."""
        if self.fit is Fit.PENDING:
            return f"{self.place}: pending until its tools are known: {', '.join(self.waits_for)}"
        more = f" {self.suggestion}" if self.suggestion and self.fit is Fit.UNFIT else ""
        return f"{self.place}: {self.fit}{'.' if more else ''}{more}"

    @property
    def is_mistake(self) -> bool:
        """Whether the rule has to be corrected."""
        return self.fit is Fit.UNFIT and not self.optional


def judge(
    policy: Policy,
    tools: Iterable[Tool | KnownTool],
    pending: Iterable[PendingSource] = (),
    sources: Iterable[str] = (),
) -> list[Judgement]:
    """What is known of each rule that stands in a file. `sources` are the names of all sources that there are."""
    known, waiting, names = list(tools), list(pending), {*sources}
    return [
        _judged(place, list(parts), known, waiting, names)
        for place, parts in groupby(policy.rules, key=lambda rule: rule.place)
        if place
    ]


def _judged(
    place: str, parts: list[Rule], tools: list[Tool | KnownTool], pending: list[PendingSource], sources: set[str]
) -> Judgement:
    optional = parts[0].optional
    if any(_fits(part, tools, sources) for part in parts):
        return Judgement(place=place, fit=Fit.FITS, optional=optional)
    waits_for = dict.fromkeys(
        f"{source.name} ({source.state})" if source.state else source.name
        for source in pending
        if any(_may_fit(part, source) for part in parts)
    )
    if waits_for:
        return Judgement(place=place, fit=Fit.PENDING, optional=optional, waits_for=tuple(waits_for))
    return Judgement(place=place, fit=Fit.UNFIT, optional=optional, suggestion=_suggestion(parts[0], tools, sources))


def _fits(rule: Rule, tools: list[Tool | KnownTool], sources: set[str]) -> bool:
    if rule.name is None and rule.category is None:  # a rule for a risk, for a role, or for all tools of a source
        return rule.source is None or any(matches(rule.source, name) for name in (*sources, *_sources(tools)))
    return any(
        (rule.name is None or matches(rule.name, tool.name))
        and (rule.category is None or matches(rule.category, tool.category))
        and (rule.source is None or matches(rule.source, tool.source))
        for tool in tools
    )


def _may_fit(rule: Rule, source: PendingSource) -> bool:
    """Whether a source that has not listed its tools yet may bring one for the rule."""
    return (
        (rule.source is None or matches(rule.source, source.name))
        and (rule.category is None or source.category is None or matches(rule.category, source.category))
        and (rule.name is None or _may_begin(rule.name, source.prefix))
    )


_WILDCARD = re.compile(r"[*?\[]")


def _may_begin(pattern: str, prefix: str) -> bool:
    """Whether a name that begins with this prefix can fit the pattern."""
    literal, prefix = _WILDCARD.split(pattern, maxsplit=1)[0].casefold(), prefix.casefold()
    return literal.startswith(prefix) or (literal != pattern.casefold() and prefix.startswith(literal))


def _sources(tools: list[Tool | KnownTool]) -> set[str]:
    return {tool.source for tool in tools}


def _suggestion(rule: Rule, tools: list[Tool | KnownTool], sources: set[str]) -> str:
    """The name that was probably meant."""
    asked: tuple[tuple[str | None, Iterable[str]], ...] = (
        (rule.source, sorted({*sources, *_sources(tools)})),
        (rule.category, sorted({tool.category for tool in tools})),
        (rule.name, [tool.name for tool in tools]),
    )
    for wanted, there in asked:
        if wanted is not None and not any(matches(wanted, one) for one in there):
            return did_you_mean(wanted.removeprefix("module:"), [one.removeprefix("module:") for one in there]) or ""
    return ""
