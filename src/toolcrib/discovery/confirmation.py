"""Confirmation of a call: the user agrees to one tool with exactly these arguments, and to nothing similar.

The toolbox makes a `PendingApproval` and takes an `Approval`. How the user is asked, how long a question waits and how
the answer comes back is up to the agent, the gateway or the server. A model can make neither: no argument of a tool is
one. Here is also what models and users read about a call that waits.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.discovery.arguments import properties_of
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.tool import Tool

MOST_ARGUMENT_CHARACTERS = 2_000  # in the text for the model; the pending approval itself holds all of them
CALL_AGAIN = "Tell the user what would happen. Call it again with the same arguments only after they agree."

_NOT_CALLED = "requires_confirmation: {tool} was not called."

# The argument by which a model says that the user agreed to a call. That alone is no proof.
CONFIRMED = "confirmed"
CONFIRMED_SCHEMA = {"type": "boolean", "description": "true once the user agreed to this very call"}


def with_confirmed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that the model sees of a tool that asks first."""
    properties: Mapping[str, Any] = parameters["properties"]
    if CONFIRMED in properties:
        return dict(parameters)
    return {**parameters, "properties": {**properties, CONFIRMED: CONFIRMED_SCHEMA}}


def without_confirmed(arguments: object, tool: Tool | None) -> tuple[object, bool]:
    """The tool's own arguments, and whether the model says that the user agreed."""
    if not isinstance(arguments, dict):
        return arguments, False
    sent = cast("dict[str, Any]", arguments)
    if tool is not None and CONFIRMED in properties_of(tool.parameters):  # the tool has an argument of that name
        return sent, sent.get(CONFIRMED) is True
    return _stripped(sent)


def _stripped(arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Arguments without `confirmed`; models also put it one level down, in tools that call other tools."""
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
        """The user's yes to this call. Only for code that has asked the user."""
        return Approval(tool=self.tool, digest=self.digest)

    def as_result(self, *, note: str = "", next_step: str = CALL_AGAIN) -> ToolResult:
        """The result for the model: the call was not made, what it would be, and what to do next."""
        because = f", because {self.reason}" if self.reason else ""
        first = f"{_NOT_CALLED.format(tool=self.tool)} The user has to agree first{because}."
        arguments = shorten(as_json(self.arguments), MOST_ARGUMENT_CHARACTERS)
        text = f"{first}{note and f' {note}'}\nIt would be called with {arguments}\n{next_step}"
        return ToolResult(text=text, value=self)


def is_question(result: object, tool: str) -> bool:
    """Whether the text of a result says that a call of this tool waits for the user's yes."""
    return isinstance(result, str) and result.startswith(_NOT_CALLED.format(tool=tool))


def shorten(arguments: str, most_characters: int, note: str = "shortened") -> str:
    """Arguments as JSON, cut to so many characters; `note` says that they were."""
    if len(arguments) <= most_characters:
        return arguments
    return f"{arguments[:most_characters]}... ({note})"


def digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """A fingerprint of one call: the same for the same tool and arguments, whatever the order of the keys."""
    foreign = 0

    def distinct(value: object) -> list[str]:
        nonlocal foreign
        foreign += 1
        return [type(value).__qualname__, repr(value)]

    text = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"), default=distinct)
    # The count keeps a value that JSON cannot express apart from the list that stands for it.
    return hashlib.sha256(f"{foreign} {text}".encode()).hexdigest()
