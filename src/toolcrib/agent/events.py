"""What happens in a run, one frozen value each, in the order in which it happens. Views render them, stores log them.

Every run begins with `RunStarted` and ends with `UsageEvent`; before that stands `Answered`, or `Failed`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast

_OF_PROGRAMS = {"of": "programs"}  # fields that are left out of the JSON of other events


class _BaseEvent:
    """What all events can do."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """The event as JSON can say it, its `type` first."""
        values = {
            one.name: _plain(getattr(self, one.name))
            for one in fields(cast("Any", self))
            if not (one.metadata and getattr(self, one.name) == one.default)  # of programs, where there is none
        }
        return {"type": values.pop("type"), **values}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_BaseEvent):
    """A run begins. Where it is the answer to a question by a button, `confirmation` says which, `approved` how."""

    type: Literal["run_started"] = field(default="run_started", init=False)
    session: str
    text: str
    model: str
    confirmation: str | None = None
    approved: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDiscoveryStart(_BaseEvent):
    """The model looks for tools."""

    type: Literal["tool_discovery_start"] = field(default="tool_discovery_start", init=False)
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDiscoveryResult(_BaseEvent):
    """What it found, best first: `tools` to call, and others `named` that a search by name gives. None may fit."""

    type: Literal["tool_discovery_result"] = field(default="tool_discovery_result", init=False)
    query: str
    tools: tuple[str, ...]
    confidence: float
    took_ms: float
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsEnabled(_BaseEvent):
    """Tools that the model sees from the next step on, and did not before."""

    type: Literal["tools_enabled"] = field(default="tools_enabled", init=False)
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_BaseEvent):
    """The model called a tool that is not for finding tools."""

    type: Literal["tool_started"] = field(default="tool_started", init=False)
    call_id: str
    name: str
    arguments: Mapping[str, Any]
    within: str | None = field(default=None, metadata=_OF_PROGRAMS)  # the call whose program makes it


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(_BaseEvent):
    """What came back, as the model reads it. A call that waits for the user's yes is finished too, and not failed."""

    type: Literal["tool_finished"] = field(default="tool_finished", init=False)
    call_id: str
    name: str
    text: str
    failed: bool
    took_ms: float
    inner: str | None = None  # the tool that it ran, where `execute_tool` was called
    within: str | None = field(default=None, metadata=_OF_PROGRAMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationRequired(_BaseEvent):
    """A call waits for the user's yes. Answer it with `confirm(session, id, approved)`, or in words."""

    type: Literal["confirmation_required"] = field(default="confirmation_required", init=False)
    id: str
    tool: str
    arguments: Mapping[str, Any]
    reason: str
    expires_at: datetime
    program: str = field(default="", metadata=_OF_PROGRAMS)  # that waits, with the line of the call marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(_BaseEvent):
    """A piece of what the model writes. Text before a tool call is talk on the way; the answer is in `Answered`."""

    type: Literal["text"] = field(default="text", init=False)
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(_BaseEvent):
    """The whole answer; `choices` are short replies that it offers, for a view to show as buttons."""

    type: Literal["answered"] = field(default="answered", init=False)
    text: str
    choices: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The event as JSON can say it; without choices if there are none."""
        values = _BaseEvent.to_json(self)
        return values if self.choices else {key: value for key, value in values.items() if key != "choices"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent(_BaseEvent):
    """What the run took; `report` has the parts."""

    type: Literal["usage"] = field(default="usage", init=False)
    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None  # US dollars; None when the price is not known
    seconds: float
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Warning(_BaseEvent):
    """Something an operator should know; the run goes on."""

    type: Literal["warning"] = field(default="warning", init=False)
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_BaseEvent):
    """The run ended without an answer; the session stays usable."""

    type: Literal["failed"] = field(default="failed", init=False)
    message: str
    hint: str = ""


Event: TypeAlias = (
    RunStarted
    | ToolDiscoveryStart
    | ToolDiscoveryResult
    | ToolsEnabled
    | ToolStarted
    | ToolFinished
    | ConfirmationRequired
    | Text
    | Answered
    | UsageEvent
    | Warning
    | Failed
)


def _plain(value: object) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in cast("list[object]", value)]
    return value
