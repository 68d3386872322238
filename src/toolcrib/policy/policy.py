"""WHO may see and call which tool: rules that allow, ask, hide or deny, and one function that decides.

Every surface, the toolbox, the gateway and the server ask `Policy.decide`; none has rules of its own. What is hidden
looks exactly like what does not exist. What is denied can be seen, and a call says why it is refused.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from fnmatch import translate
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from toolcrib.errors import PolicyError, did_you_mean
from toolcrib.tools.tool import Risk, Tool, dotted_patterns


class Decision(StrEnum):
    """What may happen with a tool."""

    ALLOW = "allow"
    ASK = "ask"  # only after the user agreed to this very call
    HIDE = "hide"  # as if it did not exist
    DENY = "deny"  # seen, but never called


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, and why: half a sentence that reads on after "because"."""

    decision: Decision
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision for the tools that fit every condition given; without any condition, for all tools.

    `name`, `category` and `source` are patterns such as `cms_delete*`; case does not count. `role` is one role. A name
    with a dot, `filesystem.delete`, is for the tools of that category whose name is the rest, or ends with it.
    """

    # Strings are accepted, because rules are also read from files, and stored as members. None: no later rule counts,
    # the tool's own `confirm` and its risk decide.
    decision: Decision | str | None
    _: KW_ONLY
    name: str | None = None
    category: str | None = None  # "" is for tools without a category
    source: str | None = None
    risk: Risk | str | None = None  # the risk that counts, see `Policy.risk_of`
    role: str | None = None
    reason: str = ""
    # Of a rule in a file: where it stands, and whether it may fit no tool (`policy/coverage.py`).
    place: str = field(default="", compare=False)
    optional: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.decision is not None:
            object.__setattr__(self, "decision", _one_of(Decision, self.decision, "decision"))
        if self.risk is not None:
            object.__setattr__(self, "risk", _one_of(Risk, self.risk, "risk"))

    def fits(self, tool: Tool, risk: Risk, role: str | None) -> bool:
        """Whether the rule applies to this tool, with this risk, for this role."""
        return (
            self.is_for(role)
            and (self.risk is None or self.risk is risk)
            and (self.name is None or matches(self.name, tool.name))
            and (self.category is None or matches(self.category, tool.category))
            and (self.source is None or matches(self.source, tool.source))
        )

    def is_for(self, role: str | None) -> bool:
        """Whether the rule can apply to this role at all."""
        return self.role is None or (role is not None and self.role.casefold() == role.casefold())


def _undotted(rule: Rule) -> Iterator[Rule]:
    """A rule for `filesystem.grep` as rules with separate patterns for name and category, as tools have them."""
    pairs = dotted_patterns(rule.name or "")
    if not pairs:
        yield rule
    for category, name in pairs:
        if category is None or rule.category is None or category.casefold() == rule.category.casefold():
            yield replace(rule, name=name, category=rule.category if category is None else category)


_BY_RISK: Mapping[Risk, Decision] = MappingProxyType(
    {Risk.SAFE: Decision.ALLOW, Risk.MODERATE: Decision.ALLOW, Risk.DESTRUCTIVE: Decision.ASK}
)
# Code of the application itself, the modules that come with Toolcrib, and Toolcrib's own tools. Sources that name
# themselves after what they hold carry a prefix (`mcp:github`), so that nobody becomes trusted by choice of a name.
TRUSTED = ("python", "module:*", "toolcrib")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Who may see and call what. The first rule that fits decides; then the tool's own `confirm`; then its risk."""

    rules: tuple[Rule, ...] = ()
    # Risks that are left out keep their default.
    by_risk: Mapping[Risk, Decision] | Mapping[str, str] = field(default_factory=dict[Risk, Decision])
    trusted: tuple[str, ...] = TRUSTED  # patterns of sources that may call their own tools safe

    def __post_init__(self) -> None:
        stated = {_one_of(Risk, risk, "risk"): _one_of(Decision, to, "decision") for risk, to in self.by_risk.items()}
        object.__setattr__(self, "rules", tuple(one for rule in self.rules for one in _undotted(rule)))
        object.__setattr__(self, "by_risk", MappingProxyType({**_BY_RISK, **stated}))
        object.__setattr__(self, "trusted", (self.trusted,) if isinstance(self.trusted, str) else tuple(self.trusted))

    def __hash__(self) -> int:
        return hash((self.rules, tuple(self.by_risk.values()), self.trusted))

    def decide(self, tool: Tool, role: str | None = None) -> Verdict:
        """What may happen with a tool when this role asks, and why."""
        risk = self.risk_of(tool)
        for rule in self.rules:
            if rule.fits(tool, risk, role):
                if rule.decision is None:
                    break
                decision = Decision(rule.decision)
                return Verdict(decision, rule.reason or _REASONS[decision])
        decision = Decision(self.by_risk[risk])
        if tool.confirm and decision is Decision.ALLOW:
            return Verdict(Decision.ASK, "it asks before each call")
        return Verdict(decision, f"it is {risk}")

    def sees(self, tool: Tool, role: str | None = None) -> bool:
        """Whether the tool exists at all for this role."""
        return self.decide(tool, role).decision is not Decision.HIDE

    def hides_nothing(self, role: str | None = None) -> bool:
        """Whether no tool, whatever it is, can be hidden from this role."""
        rules = any(rule.decision is Decision.HIDE and rule.is_for(role) for rule in self.rules)
        return not rules and Decision.HIDE not in self.by_risk.values()

    def risk_of(self, tool: Tool) -> Risk:
        """The risk that counts: a source that is not trusted can call its tools dangerous, but not safe."""
        if tool.risk is Risk.SAFE and not any(matches(pattern, tool.source) for pattern in self.trusted):
            return Risk.MODERATE
        return tool.risk


_REASONS = {
    Decision.ALLOW: "a rule allows it",
    Decision.ASK: "a rule asks for it",
    Decision.HIDE: "a rule hides it",
    Decision.DENY: "a rule forbids it",
}

Choice = TypeVar("Choice", bound=StrEnum)


def _one_of(choices: type[Choice], value: object, what: str) -> Choice:
    try:
        return choices(value)
    except ValueError:
        names = [choice.value for choice in choices]
        raise PolicyError(
            f"{value!r} is not a {what} of a policy.",
            hint=did_you_mean(str(value), names) or f"It can be {', '.join(names)}.",
        ) from None


def matches(pattern: str, text: str) -> bool:
    """Whether a text fits a pattern of a policy."""
    return _matcher(pattern)(text.casefold()) is not None


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], object]:
    return re.compile(translate(pattern.casefold())).match
