"""What a user agrees to: one call of one tool with exactly these arguments, and nothing near it.

The toolbox makes a `PendingApproval` and takes an `Approval`; who shows it to the user, how long it waits and how the
answer comes back is for the agent, the gateway or the server. A model can make neither: no argument of a tool is one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.discovery.arguments import properties_of
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.tool import Tool

# The argument `confirmed`: by it a model says that the user agreed to a call. Its word alone proves nothing.

CONFIRMED = "confirmed"
CONFIRMED_SCHEMA = {"type": "boolean", "description": "true once the user agreed to this very call"}


def with_confirmed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool that asks first, as the model sees it."""
    properties: Mapping[str, Any] = parameters["properties"]
    if CONFIRMED in properties:
        return dict(parameters)
    return {**parameters, "properties": {**properties, CONFIRMED: CONFIRMED_SCHEMA}}


def without_confirmed(arguments: object, tool: Tool | None) -> tuple[object, bool]:
    """The arguments of the tool alone, and whether the model says that the user agreed."""
    if not isinstance(arguments, dict):
        return arguments, False
    sent = cast("dict[str, Any]", arguments)
    if tool is not None and CONFIRMED in properties_of(tool.parameters):  # a word of the tool's own, and ours too
        return sent, sent.get(CONFIRMED) is True
    return _stripped(sent)


def _stripped(arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Arguments without `confirmed`; tools that call other tools may have it one level down, where models put it."""
    kept: dict[str, Any] = {}
    confirmed = arguments.get(CONFIRMED) is True
    for key, value in arguments.items():
        if key == CONFIRMED:
            continue
        if isinstance(value, dict) and CONFIRMED in value:
            inner = dict(cast("dict[str, Any]", value))
            confirmed = confirmed or inner.pop(CONFIRMED) is True
            kept[key] = inner
        else:
            kept[key] = value
    return kept, confirmed


_MOST_ARGUMENT_CHARACTERS = 2_000  # in the text for the model; the pending approval itself holds all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The user's yes to one call."""

    tool: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A call that waits for the user's yes."""

    tool: str
    arguments: Mapping[str, Any]
    digest: str
    reason: str = ""

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, Any], reason: str = "") -> "PendingApproval":
        """What has to be agreed to before this call."""
        return cls(tool=tool, arguments=dict(arguments), digest=digest(tool, arguments), reason=reason)

    def approve(self) -> Approval:
        """The yes to this call. Only for code that has asked the user."""
        return Approval(tool=self.tool, digest=self.digest)

    def as_result(self) -> ToolResult:
        """What the model hears: nothing has happened yet, and what would."""
        said = as_json(self.arguments)
        if len(said) > _MOST_ARGUMENT_CHARACTERS:
            said = f"{said[:_MOST_ARGUMENT_CHARACTERS]}... (shortened)"
        because = f", because {self.reason}" if self.reason else ""
        return ToolResult(
            text=f"requires_confirmation: {self.tool} was not called. The user has to agree first{because}.\n"
            f"It would be called with {said}\n"
            "Tell the user what would happen. Call it again with the same arguments only after they agree.",
            value=self,
        )


def digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """A fingerprint of one call: the same for the same tool and arguments, in whatever order they stand."""
    foreign = 0

    def told_apart(value: object) -> list[str]:
        nonlocal foreign
        foreign += 1
        return [type(value).__qualname__, repr(value)]

    said = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"), default=told_apart)
    # With their number, what JSON cannot say is never taken for the list that spells it.
    return hashlib.sha256(f"{foreign} {said}".encode()).hexdigest()
