"""Records one run: its events, what the session keeps of it, and a report of what it took.

Everything that happens in a run goes through one `Recorder`. Each event is logged and passed on; each half of a step is
written to the session at once, so that a kill loses at most one; results fill the working memory and teach the index.
The report counts what we put into each request. A provider's own figures are in the `usage` event; they differ by its
marks around messages and by how it rewrites tool definitions.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic_ai.messages import (
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
from toolcrib.agent.definitions import PassThroughValidator, shown_arguments
from toolcrib.agent.history import call_id, dump_messages, new_parts
from toolcrib.agent.run_toolset import Call, model_call
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.costs import price_per_million
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.program.paused import RUN_CODE
from toolcrib.discovery.program.run import ProgramCall
from toolcrib.discovery.program.values import shown_call
from toolcrib.discovery.surfaces.display import SOURCE
from toolcrib.discovery.tokens import count_tokens, is_exact
from toolcrib.discovery.toolbox import EXECUTE_TOOL, RUNNERS
from toolcrib.errors import ToolcribError
from toolcrib.memory.entities import Reading
from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.session import Session
from toolcrib.tools.context import CurrentCall, current_call
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)

_marked: ContextVar[str] = ContextVar("toolcrib_marked", default="")  # the id of the last mark of this task

Emit = Callable[[events.Event], None]
RequestType = Literal["A", "B", "C"]

_MOST_LOGGED_CHARACTERS = 2_000  # of a result; the whole of it is in the history
_LETTERS_OF_KEYS = "".join(map(chr, range(ord("!"), ord("~") + 1)))
_MOST_HELD_CHARACTERS = 4_000  # of a word that is being written; longer than any key
_MESSAGE_MARKS = 4  # tokens around each message


class Recorder:
    """Records one run of one session, and holds the toolbox whose results it reads."""

    def __init__(self, crib: Crib, session: Session, emit: Emit, *, model: str) -> None:
        self._crib = crib
        self._session = session
        self._emit = emit
        self.toolbox = crib.toolbox(
            session.toolbox, watch=self._read_result, begin=self._begin_call, watch_program=self._program_called
        )
        self._hold_programs()
        self.report = Report(model=model)
        self._began = time.perf_counter()
        self._model_began: float | None = None  # the request that the model has not answered yet
        self._memory = session.memory  # the newest; written with the next save
        self._unsaid = ""  # the word at which the text of the model stands
        self._log: list[Any] = []  # the events since the last save
        self._saved: list[object] = []  # the parts and the responses that are stored
        self._saving: asyncio.Task[None] | None = None  # goes on during the next request to the model
        self._readings: dict[str, Reading] = {}  # the last one of each tool whose results hold entities
        self._found_by: dict[str, str] = {}  # tool: the query that found it in this run
        self._ran: Counter[str] = Counter()  # by name, until the call that ran it is reported

    # Times

    def model_began(self) -> None:
        """A request goes to the model."""
        self._model_began = self._ms()

    def model_ended(self) -> None:
        """The model has answered, or never will."""
        if self._model_began is not None:
            self._add_time("model", "model", self._ms() - self._model_began)
            self._model_began = None

    def _add_time(self, kind: str, label: str, took_ms: float) -> None:
        began = max(0.0, self._ms() - took_ms)
        self.report.timeline.append(
            {"kind": kind, "label": label, "at_ms": round(began, 2), "took_ms": round(took_ms, 2)}
        )

    def _ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    # Events

    def emit(self, event: events.Event) -> None:
        """Log an event and pass it on. Pieces of text are not logged."""
        if not isinstance(event, events.Text):
            logged = event.to_json()
            if isinstance(event, events.ToolFinished) and len(event.text) > _MOST_LOGGED_CHARACTERS:
                logged["text"] = f"{event.text[:_MOST_LOGGED_CHARACTERS]}… (shortened)"
            self._log.append(logged)
        if self._crib.on_event is not None:
            self._crib.on_event(self._session, event)
        self._emit(event)

    def emit_text(self, piece: object) -> None:
        """Emit what a piece of the model's stream adds to the answer."""
        if isinstance(piece, PartStartEvent) and isinstance(piece.part, TextPart):
            self._say(piece.part.content)
        elif isinstance(piece, PartDeltaEvent) and isinstance(piece.delta, TextPartDelta):
            self._say(piece.delta.content_delta)

    def emit_rest(self) -> None:
        """Emit the text that is still held back."""
        rest, self._unsaid = self._unsaid, ""
        if rest:
            self.emit(events.Text(delta=self._crib.hide_secrets(rest)))

    def _say(self, text: str) -> None:
        if self._crib.hide_secrets is not str:  # a key may come in pieces, so that its word has to be whole
            text, self._unsaid = self._unsaid + text, ""
            whole = text.rstrip(_LETTERS_OF_KEYS)
            if len(text) - len(whole) < _MOST_HELD_CHARACTERS:
                text, self._unsaid = whole, text[len(whole) :]
            text = self._crib.hide_secrets(text)
        if text:
            self.emit(events.Text(delta=text))

    def summarize(self, text: str) -> WorkingMemory:
        """Keep a summary of what happened before the messages that are still sent."""
        self._memory = self._memory.with_summary(text)
        return self._memory

    def call_started(self, part: ToolCallPart) -> None:
        """Emit that the model calls a tool."""
        arguments = shown_arguments(PassThroughValidator().validate(part.args))
        if self._is_discovery(part.tool_name):
            self.emit(events.ToolDiscoveryStart(query=_query(arguments)))
        else:
            self.emit(events.ToolStarted(call_id=part.tool_call_id, name=part.tool_name, arguments=arguments))

    def call_finished(self, call: Call) -> None:
        """Emit the result of a call."""
        if self._is_discovery(call.name):
            value = call.result.value
            found = value if isinstance(value, Discovered) else Discovered(query=_query(call.arguments))
            self._add_time("search", found.query, call.took_ms)
            self._tools_found(found, round(call.took_ms, 2))
            return
        if call.name == RUN_CODE:  # its result says what it did
            own = call_id(self._session.id, len(self._session.history), call.id)
            self.toolbox.programs.forget_made(own)
        inner = self._inner(call)
        used = inner or call.name
        self._add_time("tool", used, call.took_ms)
        if used not in self.report.used and used not in RUNNERS:
            self.report.used.append(used)
        self.emit(
            events.ToolFinished(
                call_id=call.id,
                name=call.name,
                text=call.result.text,
                failed=call.result.failed,
                took_ms=round(call.took_ms, 2),
                inner=inner,
            )
        )

    def _inner(self, call: Call) -> str | None:
        """The tool that `execute_tool` ran; None if it ran none, because there is none, or it waits for a yes."""
        executes = call.name == EXECUTE_TOOL
        tool = self.toolbox.find(str(call.arguments.get("name", "")).strip() if executes else call.name)
        if tool is None or not self._ran[tool.name]:
            return None
        self._ran[tool.name] -= 1
        return tool.name if executes else None

    def _tools_found(self, found: Discovered, took_ms: float) -> None:
        self.report.discovered(found, took_ms)
        self._found_by |= dict.fromkeys(found.tools, found.query)
        self._memory = self._memory.with_discovered(found.tools)
        self.emit(
            events.ToolDiscoveryResult(
                query=found.query,
                tools=found.tools,
                confidence=round(found.confidence, 3),
                took_ms=took_ms,
                named=found.named,
            )
        )
        if found.activated:
            self.emit(events.ToolsEnabled(names=found.activated))
        for warning in found.warnings:
            self.emit(events.Warning(text=warning))

    def _is_discovery(self, name: str) -> bool:
        """Whether a tool is for finding others; `execute_tool` of a surface calls them."""
        return name not in RUNNERS and any(tool.name == name for tool in self.toolbox.surface)

    # Calls

    async def _begin_call(self, tool: Tool) -> CurrentCall:
        """Mark a call as begun, in the transaction that proves that the session is still ours, just before it is made.

        The answer with the call is stored by now, so the length of the history tells calls with the same id apart.
        """
        session, made_by = self._session, model_call()
        id = call_id(session.id, len(session.history), made_by.next_id())
        outer = current_call()
        if outer is not None and outer.within is not None:  # an agent that is a tool: its own session is in memory
            return await outer.within(f"{outer.id}/{id}", tool.name)
        return await self._mark(id, tool.name)

    async def _mark(self, id: str, tool: str) -> CurrentCall:
        session = self._session
        await session.begin_call(id, tool)
        _marked.set(id)
        return CurrentCall(id=id, session=session.id, tenant=session.tenant, fence=session.fence, within=self._mark)

    # Programs

    def _hold_programs(self) -> None:
        """Let the toolbox know the programs of this session that wait."""
        session, programs = self._session, self.toolbox.programs
        programs.owner = f"{session.tenant}\n{session.id}"
        programs.clock = self._crib.clock
        for question in session.confirmations:
            programs.hold(question.program)

    def _program_called(self, call: ProgramCall) -> None:
        """Record a call that a program makes: as events within that of the program, and what it did at once."""
        within = model_call().id
        id = f"{within}/{call.number}"
        if call.result is None:
            if call.tool not in self._finders:
                started = events.ToolStarted(call_id=id, name=call.tool, arguments=call.arguments, within=within)
                self.emit(started)
            return
        if call.tool in self._finders:
            found = call.result.value
            if isinstance(found, Discovered):
                self._tools_found(found, round(call.took_ms, 2))
            return
        waits = isinstance(call.result.value, PendingApproval)
        if call.tool not in self.report.used and not waits:
            self.report.used.append(call.tool)
        self.emit(
            events.ToolFinished(
                call_id=id,
                name=call.tool,
                text=call.result.text,
                failed=call.result.failed,
                took_ms=round(call.took_ms, 2),
                within=within,
            )
        )
        if not waits and (mark := _marked.get()):
            self.toolbox.programs.note_made(mark, shown_call(call.tool, call.arguments))
            if self._saving is None or self._saving.done():  # it goes on beside the next call
                self._saving = asyncio.create_task(_after(self._saving, self._save_program()))

    async def _save_program(self) -> None:
        saved = -1
        while saved != len(self.toolbox.programs.made):  # more may be done while this is written
            saved = len(self.toolbox.programs.made)
            await self.save()

    @property
    def _finders(self) -> set[str]:
        return {tool.name for tool in self.toolbox.surface}

    # Results

    def _read_result(self, tool: Tool, result: ToolResult) -> None:
        """Read the result of a tool, perhaps called by another one. Tools for finding tools are not remembered."""
        if tool.source == SOURCE:
            return
        self._ran[tool.name] += 1
        noted = self._memory.with_result(tool, result, at=self._crib.clock())
        self._memory = noted.memory
        if noted.reading.processed is not None:
            self._readings[tool.name] = noted.reading
        if not result.failed:
            self._learn(tool.name)

    def _learn(self, name: str) -> None:
        query = self._found_by.pop(name, None)
        if not self._crib.learn or query is None:
            return
        try:
            self._crib.tool_index.learn(query, name)
        except ToolcribError as error:  # the tool is gone, or the embedder is down: nothing a user should notice
            logger.warning("Nothing learned from the use of %s: %s", name, error)

    @property
    def silent_failure(self) -> str:
        """A warning if there were results and no entity could be read from any of them; else empty."""
        if not self._readings or any(reading.processed for reading in self._readings.values()):
            return ""
        return (
            f"Results came from {', '.join(self._readings)}, but no entity could be read from any of them: "
            "nothing is remembered. Check the `extraction` of these tools."
        )

    # The session

    def save(
        self, messages: Sequence[ModelMessage] = (), usage: Mapping[str, int | float] | None = None
    ) -> Coroutine[Any, Any, None]:
        """Write what is new in these messages, and everything else that changed, as it is now; to be awaited."""
        fresh: list[ModelMessage] = []
        for message in messages:
            if isinstance(message, ModelRequest):
                if (gained := new_parts(message, self._saved)) is not None:
                    fresh.append(gained)
                    self._saved += gained.parts
            elif not self._is_saved(message):
                fresh.append(message)
                self._saved.append(message)
        snapshot = self.toolbox.snapshot()
        log, self._log = self._log, []
        return self._session.append(
            dump_messages(fresh),
            memory=None if self._memory is self._session.memory else self._memory,
            toolbox=None if snapshot == self._session.toolbox else snapshot,
            usage=usage,
            title=None if self._session.title else _title(fresh),
            events=log,
        )

    def save_results(self, request: ModelRequest) -> None:
        """Write results during the next request to the model. The user's text is written only with an answer to it."""
        if not any(part.part_kind == "user-prompt" for part in request.parts):
            self._saving = asyncio.create_task(_after(self._saving, self.save([request])))

    async def save_answer(self, messages: Sequence[ModelMessage]) -> None:
        """Write the model's last response and the request that it answers."""
        await self._finish_saving()
        last = messages[-2:]
        if last and isinstance(last[-1], ModelResponse) and not self._is_saved(last[-1]):
            await self.save(last, _usage(last[-1]))

    async def save_interrupted(self, messages: Sequence[ModelMessage], *, stopped: Sequence[ModelMessage] = ()) -> None:
        """Write what came after the last response of a run that was stopped.

        If this turn failed before any response, there is nothing to write: the user will send the text again. One that
        the user stopped is kept, as `stopped` has it, so that "go on" has something to go on with.
        """
        await self._finish_saving()
        last = max((at for at, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
        if last >= 0 and self._is_saved(messages[last]):
            await self.save(messages[last + 1 :])
        elif stopped:
            await self.save(stopped)

    async def _finish_saving(self) -> None:
        """Wait for the write in progress; if it failed, the error is raised here."""
        saving, self._saving = self._saving, None
        if saving is not None:
            await saving

    def _is_saved(self, message: ModelMessage) -> bool:
        return any(message is saved for saved in self._saved)


async def _after(before: asyncio.Task[None] | None, write: Coroutine[Any, Any, None]) -> None:
    """One write after another; the error of the first is that of both."""
    await asyncio.gather(*([before] if before is not None else []), write)


def _query(arguments: Any) -> str:
    return str(next(iter(arguments.values()), "")) if arguments else ""


def _usage(response: ModelResponse) -> dict[str, int | float]:
    """The usage of one response."""
    used = response.usage
    cost = {} if used.cost is None else {"cost": float(used.cost)}
    return {"requests": 1, "input_tokens": used.input_tokens, "output_tokens": used.output_tokens, **cost}


def _title(messages: Sequence[ModelMessage]) -> str | None:
    """The first text of the user."""
    for message in messages:
        for part in message.parts:
            if part.part_kind == "user-prompt" and isinstance(part.content, str):
                return part.content
    return None


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
        """The sum of all parts."""
        return self.prompt + self.definitions + self.protocols + self.memory + self.history

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(**{name: value + asdict(other)[name] for name, value in asdict(self).items()})


@dataclass(slots=True)
class Report:
    """The report of a run, filled while it goes on."""

    model: str
    discoveries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    enabled: list[str] = field(default_factory=list[str])
    used: list[str] = field(default_factory=list[str])
    steps: list[Tokens] = field(default_factory=list[Tokens])
    timeline: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # when what took how long
    all_tools: int = 0  # tokens of every definition, in one request

    @property
    def request_type(self) -> RequestType:
        """A: answered without a search. B: after one. C: after several."""
        return "A" if not self.discoveries else "B" if len(self.discoveries) == 1 else "C"

    def discovered(self, found: Discovered, took_ms: float) -> None:
        """Add a search."""
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
        """The report as JSON."""
        total = sum(self.steps, Tokens())
        return {
            "request_type": self.request_type,
            "discoveries": self.discoveries,
            "tools_enabled": self.enabled,
            "tools_used": self.used,
            "steps": [asdict(step) for step in self.steps],
            "tokens": {**asdict(total), "total": total.total},
            "all_tools_loaded": {"per_request": self.all_tools, "tokens": self.all_tools * len(self.steps)},
            "timeline": self.timeline,
            "dollars_per_million": {
                "input": price_per_million(self.model),
                "cached": price_per_million(self.model, cached=True),
            },
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
            texts = [text for part in message.parts for text in _texts(part)]
            tokens = _MESSAGE_MARKS + sum(map(count_tokens, texts))
            held = self._counted[id(message)] = (message, len(message.parts), tokens)
        return held[2]


def _texts(part: Any) -> Iterable[str]:
    """The texts of one part of a message that a model reads."""
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
