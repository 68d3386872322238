"""A policy from a file, in the words of an app's `capabilities`: what is allowed, asked about, hidden, denied."""

from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from toolcrib.errors import GatewayError
from toolcrib.policy import TRUSTED, Decision, Policy, Rule
from toolcrib.tools.tool import Risk

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
        Rule(_decision(rule.policy), **rule.model_dump(exclude={"policy"}, exclude_none=True)) for rule in said.rules
    ]
    if said.default_policy != "auto":
        rules.append(Rule(Decision(said.default_policy), reason="the policy's default says so"))
    return Policy(rules=tuple(rules), trusted=(*TRUSTED, *said.trusted))


def _decision(word: Word) -> Decision | None:
    return None if word == "auto" else Decision(word)
