"""What happens in a run, told as our events: from what Pydantic AI yields, and from the calls that came through."""

from collections.abc import Callable
from typing import Any

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)

from toolcrib.agent import events
from toolcrib.agent.arguments import AnyArguments, shown
from toolcrib.agent.journal import Journal
from toolcrib.agent.observation import Observation
from toolcrib.agent.report import Report
from toolcrib.agent.toolset import Call
from toolcrib.discovery.discovered import Discovered
from toolcrib.discovery.toolbox import Toolbox

Emit = Callable[[events.Event], None]


class Telling:
    """The events of one run: each is logged and yielded; searches go into the report and the memory as well."""

    def __init__(self, emit: Emit, *, toolbox: Toolbox, journal: Journal, report: Report, seen: Observation) -> None:
        self._emit = emit
        self._toolbox = toolbox
        self._journal = journal
        self._report = report
        self._seen = seen
        self._calls: dict[str, Call] = {}

    def tell(self, event: events.Event) -> None:
        """Say what happened, and log it."""
        self._journal.note(event)
        self._emit(event)

    def heard(self, call: Call) -> None:
        """A call came through the toolset; it is told when Pydantic AI has its result."""
        self._calls[call.id] = call

    def text(self, piece: object) -> None:
        """A piece of what the model writes."""
        if isinstance(piece, PartStartEvent) and isinstance(piece.part, TextPart) and piece.part.content:
            self.tell(events.Text(delta=piece.part.content))
        elif isinstance(piece, PartDeltaEvent) and isinstance(piece.delta, TextPartDelta) and piece.delta.content_delta:
            self.tell(events.Text(delta=piece.delta.content_delta))

    def call(self, event: object) -> None:
        """A call begins, or its result is there."""
        if isinstance(event, FunctionToolCallEvent):
            self._started(event.part)
        elif isinstance(event, FunctionToolResultEvent):
            call = self._calls.pop(event.part.tool_call_id, None)
            if call is not None:
                self._finished(call)

    def _started(self, part: ToolCallPart) -> None:
        arguments = shown(AnyArguments().validate(part.args))
        if self._finds(part.tool_name):
            self.tell(events.ToolDiscoveryStart(query=_query(arguments)))
        else:
            self.tell(events.ToolStarted(call_id=part.tool_call_id, name=part.tool_name, arguments=arguments))

    def _finished(self, call: Call) -> None:
        if self._finds(call.name):
            found = call.result.value
            discovered = found if isinstance(found, Discovered) else Discovered(query=_query(call.arguments))
            self._discovered(discovered, call.took_ms)
            return
        if call.name not in self._report.used:
            self._report.used.append(call.name)
        self.tell(
            events.ToolFinished(
                call_id=call.id,
                name=call.name,
                text=call.result.text,
                failed=call.result.failed,
                took_ms=round(call.took_ms, 2),
            )
        )

    def _discovered(self, found: Discovered, took_ms: float) -> None:
        self._report.discovered(found, took_ms)
        self._seen.found(found)
        self._journal.memory = self._journal.memory.with_discovered(found.tools)
        self.tell(
            events.ToolDiscoveryResult(
                query=found.query,
                tools=found.tools,
                confidence=round(found.confidence, 3),
                took_ms=round(took_ms, 2),
                named=found.named,
            )
        )
        if found.activated:
            self.tell(events.ToolsEnabled(names=found.activated))
        for warning in found.warnings:
            self.tell(events.Warning(text=warning))

    def _finds(self, name: str) -> bool:
        """Whether a tool is for finding others; `execute_tool` of a surface calls them."""
        return name != "execute_tool" and any(tool.name == name for tool in self._toolbox.surface)


def _query(arguments: Any) -> str:
    return str(next(iter(arguments.values()), "")) if arguments else ""
