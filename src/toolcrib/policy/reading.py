"""Reads policies from YAML: an app's `capabilities`, and the file of `toolcrib gateway --policy`. Both have one format.

The models are also part of the JSON Schema and the reference page of an app's file.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from toolcrib.errors import GatewayError
from toolcrib.policy.policy import TRUSTED, Decision, Policy, Rule
from toolcrib.tools.tool import Risk
from toolcrib.yaml_file import Problem, YamlDocument, validate

PolicyWord: TypeAlias = Literal["auto", "allow", "ask", "deny", "hide"]
HINT = (
    "Nothing was started; correct the file. Keys are default_policy, rules and trusted; see the guide to the gateway."
)


class Part(BaseModel):
    """A mapping in the file; unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class RuleSpec(Part):
    """A policy for the tools that fit every condition; patterns such as `fs_*` are welcome."""

    category: str | None = None
    module: str | None = Field(default=None, description="The tools of a module.")
    name: str | None = Field(default=None, description="Tools by name.")
    source: str | None = Field(default=None, description="Where tools come from, such as `mcp:github`.")
    risk: Risk | None = None
    role: str | None = Field(default=None, description="Only for agents of this role.")
    policy: PolicyWord
    reason: str = Field(default="", description='Half a sentence that reads on after "because".')
    optional: bool = Field(default=False, description="Whether it may fit no tool; else that is a mistake.")


class Capabilities(Part):
    """Who may call what. The first rule that fits decides."""

    default_policy: PolicyWord = Field(
        default="auto", description="For tools without a rule; `auto` goes by risk: destructive ones ask."
    )
    rules: tuple[RuleSpec, ...] = ()
    trusted: tuple[str, ...] | None = Field(default=None, description="Sources that may call their own tools safe.")


def read_policy(path: Path) -> Policy:
    """The policy of a YAML or JSON file; an empty file is the default policy.

    Raises:
        GatewayError: The file cannot be used; the message has a line for each mistake, with its line and column.
    """
    document = YamlDocument.read_safely(path, GatewayError, may_be_empty=True)
    capabilities, problems = validate(document, Capabilities, rule_conflicts)
    if capabilities is None or problems:
        raise GatewayError(document.report(problems), hint=HINT)
    return policy_of(capabilities, default_reason="the policy's default says so", place=rule_places(document))


def policy_of(
    capabilities: Capabilities,
    hidden_sources: tuple[str, ...] = (),
    *,
    default_reason: str = "the app's default says so",
    place: Callable[[int], str] = lambda number: "",
) -> Policy:
    """The policy that capabilities describe; sources in `hidden_sources` are hidden, whatever the rules say.

    `place` says where each rule stands; without it, nobody looks whether the rules fit any tool.
    """
    rules = [Rule(Decision.HIDE, source=source) for source in hidden_sources]
    for number, rule in enumerate(capabilities.rules):
        rules += rules_of(rule, place(number))
    if capabilities.default_policy != "auto":
        rules.append(Rule(Decision(capabilities.default_policy), reason=default_reason))
    return Policy(rules=tuple(rules), trusted=(*TRUSTED, *(capabilities.trusted or ())))


def rule_places(document: YamlDocument, at: tuple[str | int, ...] = ()) -> Callable[[int], str]:
    """Where the rules of a document stand; `at` is the path of the capabilities in it."""
    return lambda number: document.describe(Problem((*at, "rules", number), "")).rstrip(": ")


def rule_conflicts(capabilities: Capabilities, at: tuple[str | int, ...] = ()) -> Iterator[Problem]:
    """Rules with conditions that exclude each other; `at` is the path of the capabilities in their file."""
    for number, rule in enumerate(capabilities.rules):
        if rule.module is not None and rule.source is not None:
            keys = (*at, "rules", number, "source")
            yield Problem(keys, "stands beside `module`, which is a source; leave one out")


def rules_of(spec: RuleSpec, place: str) -> Iterator[Rule]:
    """The rules that one entry of a file stands for; `place` says where it stands."""
    rule = Rule(
        None if spec.policy == "auto" else Decision(spec.policy),
        category=spec.category,
        name=spec.name,
        source=spec.source if spec.module is None else f"module:{spec.module}",
        risk=spec.risk,
        role=spec.role,
        reason=spec.reason,
        place=place,
        optional=spec.optional,
    )
    yield rule
    if spec.module is not None and rule.decision is Decision.HIDE and spec.category is None:
        # The model knows a module by its category: hide that too, or another source could show tools under its name.
        yield replace(rule, category=spec.module, source=None)
