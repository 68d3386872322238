"""What a run took, and what it would have taken with all tools loaded: counted, not guessed, step by step.

Counted is what we put into each request. A provider's own figures stand beside it in the `usage` event; they differ by
its marks around messages and by how it rewrites tool definitions.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)

from toolcrib.agent import events
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import Event, Text, ToolFinished
from toolcrib.agent.history import dump_messages, new_parts
from toolcrib.agent.toolset import Call, PassThroughValidator, shown
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.surfaces.display import SOURCE
from toolcrib.discovery.tokens import count_tokens, is_exact
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import ToolcribError
from toolcrib.memory.entities import Reading
from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.session import Session
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

# What a run leaves in its session, step by step: each half of a step at once, so that a kill loses at most one.

_MOST_LOGGED_CHARACTERS = 2_000  # of a result; the whole of it is in the history


class Journal:
    """Writes one run into one session. `memory` is the newest; it is kept with the next write."""

    def __init__(self, session: Session, toolbox: Toolbox) -> None:
        self._session = session
        self._toolbox = toolbox
        self._kept: list[object] = []  # the parts that are stored, and the responses
        self._log: list[Any] = []
        self._writing: asyncio.Task[None] | None = None  # goes on while the model is asked
        self.memory: WorkingMemory = session.memory

    def note(self, event: Event) -> None:
        """Log an event with the next write; pieces of text are not worth a line each."""
        if isinstance(event, Text):
            return
        said = event.to_json()
        if isinstance(event, ToolFinished) and len(event.text) > _MOST_LOGGED_CHARACTERS:
            said["text"] = f"{event.text[:_MOST_LOGGED_CHARACTERS]}… (shortened)"
        self._log.append(said)

    def has(self, message: ModelMessage) -> bool:
        """Whether this very message is kept."""
        return any(message is held for held in self._kept)

    def keep(
        self, messages: Sequence[ModelMessage], usage: Mapping[str, int | float] | None = None
    ) -> Coroutine[Any, Any, None]:
        """Keep what is new in these messages, and everything else that changed, as it is now; to be awaited."""
        fresh: list[ModelMessage] = []
        for message in messages:
            if isinstance(message, ModelRequest):
                if (gained := new_parts(message, self._kept)) is not None:
                    fresh.append(gained)
                    self._kept += gained.parts
            elif not self.has(message):
                fresh.append(message)
                self._kept.append(message)
        snapshot = self._toolbox.snapshot()
        log, self._log = self._log, []
        return self._session.append(
            dump_messages(fresh),
            memory=None if self.memory is self._session.memory else self.memory,
            toolbox=None if snapshot == self._session.toolbox else snapshot,
            usage=usage,
            title=None if self._session.title else _title(fresh),
            events=log,
        )

    def keep_results(self, request: ModelRequest) -> None:
        """What came back is kept while the model is asked again; the user's words only together with an answer."""
        if not any(part.part_kind == "user-prompt" for part in request.parts):
            self._writing = asyncio.create_task(self.keep([request]))

    async def keep_answer(self, messages: Sequence[ModelMessage]) -> None:
        """What the model just said, and what it was asked with."""
        await self._written()
        said = messages[-2:]
        if said and isinstance(said[-1], ModelResponse) and not self.has(said[-1]):
            await self.keep(said, usage_of(said[-1]))

    async def keep_interrupted(self, messages: Sequence[ModelMessage]) -> None:
        """What came after the last answer of a run that was stopped.

        Without an answer of this turn there is nothing to keep: the user will say it again.
        """
        await self._written()
        last = max((at for at, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
        if last >= 0 and self.has(messages[last]):
            await self.keep(messages[last + 1 :])

    async def _written(self) -> None:
        """What was being written is written, or the failure to is raised here."""
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing


def usage_of(response: ModelResponse) -> dict[str, int | float]:
    """What one answer of the model took."""
    used = response.usage
    cost = {} if used.cost is None else {"cost": float(used.cost)}
    return {"requests": 1, "input_tokens": used.input_tokens, "output_tokens": used.output_tokens, **cost}


def _title(messages: Sequence[ModelMessage]) -> str | None:
    """What the user said first."""
    for message in messages:
        for part in message.parts:
            if part.part_kind == "user-prompt" and isinstance(part.content, str):
                return part.content
    return None


# What the results of a run are good for: entities for the memory, and what the index can learn from.

logger = logging.getLogger(__name__)


class Observation:
    """The results of one run."""

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._readings: dict[str, Reading] = {}  # the last one of each tool whose results hold entities
        self._found_by: dict[str, str] = {}  # tool: the query that led to it in this run

    def found(self, discovered: Discovered) -> None:
        """A search gave these tools."""
        for name in discovered.tools:
            self._found_by[name] = discovered.query

    def result(self, tool: Tool, result: ToolResult, memory: WorkingMemory) -> WorkingMemory:
        """A tool ran and gave this: the memory after it. Tools for finding tools are not remembered."""
        if tool.source == SOURCE:
            return memory
        noted = memory.with_result(tool, result, at=self._crib.clock())
        if noted.reading.processed is not None:
            self._readings[tool.name] = noted.reading
        if not result.failed:
            self._learn(tool.name)
        return noted.memory

    @property
    def silent_failure(self) -> str:
        """A warning when results came and none of them could be read; else nothing."""
        if not self._readings or any(reading.processed for reading in self._readings.values()):
            return ""
        return (
            f"Results came from {', '.join(self._readings)}, but no entity could be read from any of them: "
            "nothing is remembered. Check the `extraction` of these tools."
        )

    def _learn(self, name: str) -> None:
        query = self._found_by.pop(name, None)
        if not self._crib.learn or query is None:
            return
        try:
            self._crib.tool_index.learn(query, name)
        except ToolcribError as error:  # the tool went away, or the embedder is down: nothing a user should notice
            logger.warning("Nothing learned from the use of %s: %s", name, error)


_MESSAGE_MARKS = 4  # tokens around each message

RequestType = Literal["A", "B", "C"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of one request, by part."""

    prompt: int = 0
    definitions: int = 0
    protocols: int = 0
    memory: int = 0
    history: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.prompt + self.definitions + self.protocols + self.memory + self.history

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(**{name: value + asdict(other)[name] for name, value in asdict(self).items()})


@dataclass(slots=True)
class Report:
    """One run, as it grows."""

    model: str
    discoveries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    enabled: list[str] = field(default_factory=list[str])
    used: list[str] = field(default_factory=list[str])
    steps: list[Tokens] = field(default_factory=list[Tokens])
    all_tools: int = 0  # tokens of every definition, in one request

    @property
    def request_type(self) -> RequestType:
        """A: answered without a search. B: after one. C: after several."""
        return "A" if not self.discoveries else "B" if len(self.discoveries) == 1 else "C"

    def discovered(self, found: Discovered, took_ms: float) -> None:
        """A search was made."""
        self.discoveries.append(
            {
                "query": found.query,
                "tools": list(found.tools),
                "confidence": round(found.confidence, 3),
                "arm": found.path,  # which arm of the search decided; "" where there was no search
                "search_ms": round(found.took_ms, 2),
                "took_ms": round(took_ms, 2),
            }
        )
        self.enabled += [name for name in found.activated if name not in self.enabled]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON can say it."""
        total = sum(self.steps, Tokens())
        return {
            "request_type": self.request_type,
            "discoveries": self.discoveries,
            "tools_enabled": self.enabled,
            "tools_used": self.used,
            "steps": [asdict(step) for step in self.steps],
            "tokens": {**asdict(total), "total": total.total},
            "all_tools_loaded": {"per_request": self.all_tools, "tokens": self.all_tools * len(self.steps)},
            "tools_share": {"tokens": total.definitions + total.protocols},
            "exact": is_exact(self.model),
        }


class HistoryCount:
    """Counts messages, each one once."""

    def __init__(self) -> None:
        self._counted: dict[int, tuple[ModelMessage, int, int]] = {}  # held, so that no number is used twice

    def tokens(self, messages: Iterable[ModelMessage]) -> int:
        """The tokens of these messages: texts, calls and results."""
        return sum(map(self._tokens, messages))

    def _tokens(self, message: ModelMessage) -> int:
        held = self._counted.get(id(message))
        if held is None or held[1] != len(message.parts):
            tokens = _MESSAGE_MARKS + sum(count_tokens(text) for part in message.parts for text in _texts(part))
            held = self._counted[id(message)] = (message, len(message.parts), tokens)
        return held[2]


def _texts(part: Any) -> Iterable[str]:
    """What a model reads of one part of a message."""
    kind = part.part_kind
    if kind == "tool-call":
        yield part.tool_name
        yield part.args_as_json_str()
    elif kind == "tool-return":
        yield part.model_response_str()
    elif kind in ("user-prompt", "text", "system-prompt", "thinking", "retry-feedback"):
        if isinstance(part.content, str):
            yield part.content
    elif kind == "instruction-delta" and isinstance(part.content, str):
        yield part.content


# What happens in a run, told as our events: from what Pydantic AI yields, and from the calls that came through.

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
        arguments = shown(PassThroughValidator().validate(part.args))
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
