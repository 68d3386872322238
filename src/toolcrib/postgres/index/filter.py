"""Filters as SQL: rules that say which tools may be found. The first rule that fits decides.

A `Filter` is also a `where` for any other index: it can be asked about a tool.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import lru_cache
from typing import Protocol, runtime_checkable

from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.tools.tool import Risk, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRule:
    """Shows or hides the tools that fit every condition given. Patterns are such as `cms_delete*`; case is ignored."""

    shows: bool
    name: str | None = None
    category: str | None = None
    sources: tuple[str, ...] = ()  # the source fits each of these
    not_sources: tuple[str, ...] = ()  # and none of these
    risks: tuple[str, ...] = ()  # any of these; none given: whatever the risk is

    def fits(self, tool: Tool) -> bool:
        """Whether the rule is about this tool."""
        return (
            (not self.risks or tool.risk.value in self.risks)
            and (self.name is None or _matches(self.name, tool.name))
            and (self.category is None or _matches(self.category, tool.category))
            and all(_matches(pattern, tool.source) for pattern in self.sources)
            and not any(_matches(pattern, tool.source) for pattern in self.not_sources)
        )

    def conditions(self) -> Iterator[tuple[str, object]]:
        """The same as conditions of SQL, each with its parameter."""
        if self.name is not None:
            yield "lower(name) ~ %s", _expression(self.name)
        if self.category is not None:
            yield "category ~ %s", _expression(self.category)
        for pattern in self.sources:
            yield "source ~ %s", _expression(pattern)
        for pattern in self.not_sources:
            yield "source !~ %s", _expression(pattern)
        if self.risks:
            yield "risk = ANY(%s)", list(self.risks)


@dataclass(frozen=True, slots=True)
class Filter:
    """Rules in order; a tool that fits none is shown."""

    rules: tuple[FilterRule, ...] = ()

    def __call__(self, tool: Tool) -> bool:
        """Whether the tool may be found."""
        return next((rule.shows for rule in self.rules if rule.fits(tool)), True)


@runtime_checkable
class PolicyView(Protocol):
    """A `where` that shows what a role sees through a policy."""

    @property
    def policy(self) -> Policy: ...
    @property
    def role(self) -> str | None: ...


def condition(filters: Iterable[Filter]) -> tuple[str, list[object]]:
    """The condition of SQL for all these filters, which begins with `AND`, and its parameters."""
    text, parameters = "", list[object]()
    for one in filters:
        cases: list[str] = []
        for rule in one.rules:
            conditions = list(rule.conditions())
            cases.append(
                f"WHEN {' AND '.join(part for part, _ in conditions) or 'TRUE'} THEN {str(rule.shows).upper()}"
            )
            parameters += [value for _, value in conditions]
        if cases:
            text += f" AND CASE {' '.join(cases)} ELSE TRUE END"
    return text, parameters


def _matches(pattern: str, text: str) -> bool:
    return _matcher(pattern)(text.casefold()) is not None


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], object]:
    return re.compile(translate(pattern.casefold())).match


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> str:
    """The pattern as a regular expression of PostgreSQL."""
    out, at, pattern = "", 0, pattern.casefold().replace("\0", "")
    while at < len(pattern):
        letter, at = pattern[at], at + 1
        # As in `fnmatch`: a bracket right after the opening one is a letter, and one that never closes is, too.
        end = pattern.find("]", at + (2 if pattern[at : at + 1] == "!" else 1)) if letter == "[" else -1
        if letter == "*":
            out += ".*"
        elif letter == "?":
            out += "."
        elif end > 0:
            out, at = out + _bracket(pattern[at - 1 : end + 1]), end + 1
        else:
            out += letter if letter.isalnum() or letter == "_" else f"\\{letter}"
    return f"^(?:{out})$"


def _bracket(pattern: str) -> str:
    """Such as `[!a-c]`, with the ranges that `fnmatch` finds in it."""
    inner = translate(pattern).removeprefix("(?s:").rpartition(")")[0]
    if not inner.startswith("["):
        return "." if inner == "." else r"[^\s\S]"  # any letter, or none at all
    outside = "^" if inner.startswith("[^") else ""
    body = re.sub(r"(?<!\\)\[", r"\\[", inner[1 + len(outside) : -1])  # PostgreSQL would look for `[:digit:]`
    return f"[{outside}{body}]"


# What a policy shows to a role, said so that a database can ask it: for an index that does not hold the tools.


def policy_filter(policy: Policy, role: str | None = None) -> Filter:
    """The filter that shows exactly the tools that the policy lets this role know of."""
    rules = [made for rule in policy.rules if rule.is_for(role) for made in _of_rule(policy, rule)]
    return Filter((*rules, *_by_risk(policy, FilterRule(shows=True))))


def _of_rule(policy: Policy, rule: Rule) -> Iterator[FilterRule]:
    shows = rule.decision != Decision.HIDE
    sources = (rule.source,) if rule.source is not None else ()
    made = FilterRule(shows=shows, name=rule.name, category=rule.category, sources=sources)
    narrowed = list(_of_risk(policy, Risk(rule.risk), made)) if rule.risk is not None else [made]
    for one in narrowed:
        if rule.decision is None:  # no later rule counts: the risk decides
            yield from (both for both in _by_risk(policy, one) if _can_be(both))
        else:
            yield one


def _by_risk(policy: Policy, rule: FilterRule) -> Iterator[FilterRule]:
    """The same rule for each risk, which shows what the risk lets be seen."""
    for risk, decision in policy.by_risk.items():
        yield from _of_risk(policy, Risk(risk), replace(rule, shows=decision != Decision.HIDE))


def _of_risk(policy: Policy, risk: Risk, rule: FilterRule) -> Iterator[FilterRule]:
    """The rule for the tools of one risk: what an untrusted source calls safe counts as moderate."""
    if risk is Risk.SAFE:
        for pattern in policy.trusted:
            yield _narrowed(rule, Risk.SAFE, sources=(pattern,))
        return
    yield _narrowed(rule, risk)
    if risk is Risk.MODERATE:
        yield _narrowed(rule, Risk.SAFE, not_sources=policy.trusted)


def _narrowed(
    rule: FilterRule, risk: Risk, *, sources: tuple[str, ...] = (), not_sources: tuple[str, ...] = ()
) -> FilterRule:
    risks = (risk.value,) if not rule.risks or risk.value in rule.risks else ("",)
    return replace(rule, risks=risks, sources=(*rule.sources, *sources), not_sources=(*rule.not_sources, *not_sources))


def _can_be(rule: FilterRule) -> bool:
    return rule.risks != ("",)
