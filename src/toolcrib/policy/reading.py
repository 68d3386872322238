"""What an app's file may say. These models are the published JSON Schema, and the reference page is made from them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from toolcrib.errors import GatewayError
from toolcrib.policy import policy
from toolcrib.policy.policy import TRUSTED, Decision, Policy, Rule
from toolcrib.tools.tool import Risk

PolicyWord: TypeAlias = Literal["auto", "allow", "ask", "deny", "hide"]


class Part(BaseModel):
    """A mapping in the file: only keys that are known."""

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


class Capabilities(Part):
    """Who may call what. The first rule that fits decides."""

    default_policy: PolicyWord = Field(
        default="auto", description="For tools without a rule; `auto` goes by risk: destructive ones ask."
    )
    rules: tuple[RuleSpec, ...] = ()
    trusted: tuple[str, ...] | None = Field(default=None, description="Sources that may call their own tools safe.")


# From `capabilities` to a policy: words of the file become rules, in the order of the file.


def policy_of(capabilities: Capabilities, hidden: tuple[str, ...] = ()) -> Policy:
    """The policy of an agent. `hidden` are sources that do not exist for it, whatever the rules say."""
    rules = [policy.Rule(Decision.HIDE, source=source) for source in hidden]
    for rule in capabilities.rules:
        rules += _rules_of(rule)
    if capabilities.default_policy != "auto":
        rules.append(policy.Rule(Decision(capabilities.default_policy), reason="the app's default says so"))
    trusted = policy.TRUSTED if capabilities.trusted is None else (*policy.TRUSTED, *capabilities.trusted)
    return Policy(rules=tuple(rules), trusted=trusted)


def _rules_of(rule: RuleSpec) -> Iterator[policy.Rule]:
    decision = _decision_of(rule.policy)
    conditions = {"category": rule.category, "name": rule.name, "risk": rule.risk, "role": rule.role}
    source = rule.source if rule.module is None else f"module:{rule.module}"
    yield policy.Rule(decision, **conditions, source=source, reason=rule.reason)
    if rule.module is not None and decision is Decision.HIDE and rule.category is None:
        # A module is known by its category: where it is hidden, nobody else shows it under that name.
        yield policy.Rule(decision, **{**conditions, "category": rule.module}, reason=rule.reason)


def _decision_of(word: PolicyWord) -> Decision | None:
    return None if word == "auto" else Decision(word)


# A policy from a file, in the words of an app's `capabilities`: what is allowed, asked about, hidden, denied.

Word: TypeAlias = Literal["auto", "allow", "ask", "hide", "deny"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Rule(_Part):
    policy: Word
    name: str | None = None
    category: str | None = None
    source: str | None = None
    risk: Risk | None = None
    role: str | None = None
    reason: str = ""


class _File(_Part):
    default_policy: Word = "auto"
    rules: tuple[_Rule, ...] = ()
    trusted: tuple[str, ...] = ()


def read_policy(path: Path) -> Policy:
    """The policy of a YAML or JSON file."""
    try:
        loaded: Any = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))  # pyright: ignore[reportUnknownMemberType]  # its loader has no types
        said = _File.model_validate({} if loaded is None else loaded)
    except OSError as error:
        raise GatewayError(f"{path}: it cannot be read: {error.strerror}.", hint="Check the path.") from None
    except (YAMLError, UnicodeError) as error:
        raise GatewayError(f"{path}: it is not YAML: {str(error).splitlines()[0]}.", hint="Correct the file.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        hint = "Keys are default_policy, rules and trusted; see the guide to the gateway."
        raise GatewayError(f"{path}: {place}: {first['msg']}.", hint=hint) from None
    rules = [
        Rule(_decision_in(rule.policy), **rule.model_dump(exclude={"policy"}, exclude_none=True)) for rule in said.rules
    ]
    if said.default_policy != "auto":
        rules.append(Rule(Decision(said.default_policy), reason="the policy's default says so"))
    return Policy(rules=tuple(rules), trusted=(*TRUSTED, *said.trusted))


def _decision_in(word: Word) -> Decision | None:
    return None if word == "auto" else Decision(word)
