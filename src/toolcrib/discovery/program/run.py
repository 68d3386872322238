"""One program, from its start to its end or its next pause: every call it makes goes through the toolbox.

Calls run beside each other as the program asks for them. One that needs the user's yes waits; when nothing else is left
to do, the program is paused, and what the model gets is the question.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, is_dataclass, replace
from datetime import timedelta
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from toolcrib.discovery.confirmation import Approval, PendingApproval, shorten
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.program.limits import CodeLimits
from toolcrib.discovery.program.paused import PausedProgram, Programs, WaitingCall, listing
from toolcrib.discovery.program.sandbox import (
    DENIED,
    FAILED,
    UNKNOWN,
    Answer,
    Blocked,
    Called,
    Fault,
    Finished,
    Named,
    Sandbox,
    State,
    monty_version,
    raised,
    returned,
)
from toolcrib.discovery.program.types import arguments_of, declared, learned, python_name, stubs, words_of
from toolcrib.discovery.program.values import MOST_CALL_CHARACTERS, beginning, shown_call, value_of
from toolcrib.discovery.render import other_approval
from toolcrib.discovery.surfaces.search import SEARCH_NAME
from toolcrib.tools.context import current_run
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from toolcrib.discovery.toolbox import Toolbox

MOST_CODE_CHARACTERS = 50_000
_MOST_WORD_CHARACTERS = 64

DECLINED = "The user declined this call."
NOTHING_RAN = "The program was not run, and nothing was called:"
CORRECT_IT = "Correct the program and run it again."
NO_RESULT = "The program ended. Its last line gave no value: end it with the expression that you need."
MADE = "It called before, and these calls count: {made}. Do not repeat them."
MADE_NOTHING = "It called nothing."
NOT_ASKED = "{calls} was not called: it needs the user's yes, and the program did not wait for it. Write `await`."
TOO_LARGE = "(The beginning of about {tokens:,} tokens. "
KEPT = "All of it is the variable {name} in your next program: take from it what you need.)"
NOT_KEPT = "It is too large to be kept: let the program return less.)"
LIMITS = {
    "TimeoutError": "it computed for longer than {seconds:g} seconds",
    "MemoryError": "it took more than {memory_mb:,} MB of memory",
    "RecursionError": "its functions call each other too deeply",
    "RuntimeError": "it stopped to wait more than {suspensions:,} times",
    "calls": "it called more than {calls:,} tools",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCall:
    """A call that a program makes, told when it begins and, with the result, when it has ended."""

    number: int  # within the program
    tool: str
    arguments: Mapping[str, Any]
    line: int
    result: ToolResult | None = None
    took_ms: float = 0.0


WatchCalls: TypeAlias = Callable[[ProgramCall], None]


async def run_program(toolbox: "Toolbox", limits: CodeLimits, code: str, context: object) -> ToolResult:
    """Run a program. Whatever becomes of it is a result; only cancellation and a lost session raise."""
    if len(code) > MOST_CODE_CHARACTERS:
        return ToolResult.failure(f"The program has {len(code):,} characters; {MOST_CODE_CHARACTERS:,} are the most.")
    run = _Run(toolbox, limits, code, context, id=token_hex(4))
    return await run.start()


async def resume_program(
    toolbox: "Toolbox", limits: CodeLimits, id: str, approval: Approval | None, context: object
) -> ToolResult:
    """Go on with a paused program after the user's answer; without one it is asked about again."""
    programs = toolbox.programs
    paused = programs.find(id, monty_version())
    if isinstance(paused, str):
        return ToolResult.failure(paused)
    pending = paused.pending(programs)
    if approval is None:
        return pending.as_result()
    if approval.digest != pending.digest or approval.tool != pending.tool:
        return other_approval(pending.tool)
    if not programs.drop(id):
        return ToolResult.failure(str(programs.find(id, monty_version())))
    run = _Run(toolbox, limits, paused.code, context, id=paused.id)
    return await run.resume(paused, granted=approval.granted)


class _Stopped(Exception):
    """The program hit a limit that the sandbox does not know."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class _Run:
    def __init__(self, toolbox: "Toolbox", limits: CodeLimits, code: str, context: object, *, id: str) -> None:
        self._toolbox = toolbox
        self._programs: Programs = toolbox.programs
        self._limits = limits
        self._code = code
        self._context = context
        self._id = id
        self._calls = 0
        self._made: list[str] = []
        self._failures: set[str] = set()  # what the program read of calls that failed
        self._printed = ""
        self._running: dict[int, asyncio.Task[ToolResult]] = {}
        self._tools: dict[int, Tool] = {}
        self._lines: dict[int, int] = {}
        self._waiting: dict[int, WaitingCall] = {}
        self._permits = asyncio.Semaphore(limits.parallel)
        self._alone = asyncio.Lock()  # held while a call takes its permits, so that one that takes all gets them
        self._by_name: dict[str, Tool] | None = None
        self._sandbox = Sandbox(limits, self._print)

    # From the outside

    async def start(self) -> ToolResult:
        found = [tool for word in sorted(words_of(self._code)) if (tool := self._tool(word)) is not None]
        sure = {tool.name: schema for tool in found if (schema := declared(tool)) is not None}
        declarations = stubs(found, sure, self._programs.results)
        with _without_approval():
            async with self._sandbox, self._calls_end():
                return await self._drive(await self._sandbox.start(self._code, declarations))

    async def resume(self, paused: PausedProgram, *, granted: bool) -> ToolResult:
        self._calls, self._made, self._printed = paused.calls, list(paused.made), paused.printed
        first, *others = paused.waiting
        self._waiting = {one.id: one for one in others}
        self._lines = {one.id: one.line for one in paused.waiting}
        with _without_approval():
            async with self._sandbox, self._calls_end():
                state = await self._sandbox.load(paused.snapshot)
                if isinstance(state, Blocked):
                    if granted:
                        self._begin_approved(first)
                        return await self._drive(state)
                    state = await self._sandbox.answer({first.id: raised(DENIED, DECLINED)})
                return await self._drive(state)

    @asynccontextmanager
    async def _calls_end(self) -> "AsyncGenerator[None]":
        """However the program ends, no call of it goes on afterwards without anybody who waits for it."""
        try:
            yield
        finally:
            tasks = set(self._running.values())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.gather(*tasks, return_exceptions=True)

    # The loop

    async def _drive(self, state: State) -> ToolResult:
        try:
            while True:
                match state:
                    case Called():
                        state = await self._called(state)
                    case Named(name):
                        state = await self._named(name)
                    case Blocked(ids):
                        results = await self._settled(ids)
                        if not results:
                            return self._pause(ids)
                        state = await self._sandbox.answer(results)
                    case Finished(value):
                        await self._finish_calls()
                        return self._finished(value)
                    case Fault():
                        await self._finish_calls()
                        return self._fault(state)
        except _Stopped as stopped:
            await self._finish_calls()
            return self._limit(stopped.limit, 0)

    async def _called(self, call: Called) -> State:
        self._lines[call.id] = self._line_at(call.start)
        if call.name == SEARCH_NAME:
            finder = next(tool for tool in self._toolbox.surface if tool.name == SEARCH_NAME)
            return await self._begin(call, finder)
        tool = self._tool(call.name)
        if tool is None:
            message = f"There is no tool {call.name!r}. Find it with {SEARCH_NAME}."
            return await self._sandbox.refuse(raised(UNKNOWN, message))
        return await self._begin(call, tool)

    async def _begin(self, call: Called, tool: Tool) -> State:
        try:
            arguments = arguments_of(tool, call.positional, call.named)
            arguments = cast("dict[str, Any]", json.loads(as_json(arguments)))
        except (TypeError, ValueError) as error:
            return await self._sandbox.refuse(raised("TypeError", str(error)))
        self._tools[call.id] = tool
        self._running[call.id] = asyncio.create_task(self._make(call.id, tool.name, arguments))
        return await self._sandbox.wait()

    def _begin_approved(self, waiting: WaitingCall) -> None:
        """Make the call that the user agreed to; whether it may be made now, the toolbox says once more."""
        approval = PendingApproval.of(waiting.tool, waiting.arguments).approve()
        tool = self._toolbox.find(waiting.tool)
        if tool is not None:
            self._tools[waiting.id] = tool
        task = asyncio.create_task(self._make(waiting.id, waiting.tool, waiting.arguments, approval))
        self._running[waiting.id] = task

    async def _named(self, name: str) -> State:
        if name in self._programs.results:
            return await self._sandbox.name(self._programs.results[name])
        is_function = name == SEARCH_NAME or self._tool(name) is not None
        return await self._sandbox.name(function=is_function)

    async def _settled(self, ids: tuple[int, ...]) -> dict[int, Answer]:
        """The results that are there, once there is one; none, when all that is left waits for the user."""
        while True:
            running = {self._running[id] for id in ids if id in self._running}
            if not running:
                return {}
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            answers: dict[int, Answer] = {}
            for id in ids:
                if (task := self._running.get(id)) is not None and task.done():
                    del self._running[id]
                    result = task.result()  # a lost session raises here, and ends the run
                    if not self._asks(id, result):
                        answers[id] = self._answer(id, result)
            if answers:
                return answers

    def _asks(self, id: int, result: ToolResult) -> bool:
        pending: object = result.value
        if not isinstance(pending, PendingApproval):
            return False
        self._waiting[id] = WaitingCall(
            id=id,
            tool=pending.tool,
            arguments=pending.arguments,
            line=self._lines.get(id, 0),
            reason=pending.reason,
        )
        return True

    def _answer(self, id: int, result: ToolResult) -> Answer:
        if result.failed:
            self._failures.add(result.text)
            return raised(FAILED, result.text)
        tool = self._tools.get(id)
        value = value_of(result, tool)
        if tool is not None and tool.name != SEARCH_NAME and declared(tool) is None:
            before = self._programs.returned.get(tool.name)
            self._programs.learn(tool.name, learned(value, before))
        return returned(value)

    async def _finish_calls(self) -> None:
        """Wait for calls that were begun and that the program did not wait for."""
        if self._running:
            await asyncio.wait(self._running.values())
            for id, task in [*self._running.items()]:
                del self._running[id]
                with suppress(_Stopped):
                    self._asks(id, task.result())

    # Calls

    async def _make(
        self, id: int, name: str, arguments: Mapping[str, Any], approval: Approval | None = None
    ) -> ToolResult:
        tool = self._tools.get(id)
        async with self._turn(alone=tool is not None and tool.sequential):
            self._calls += 1
            number = self._calls
            if number > self._limits.calls:
                raise _Stopped("calls")
            started = ProgramCall(number=number, tool=name, arguments=arguments, line=self._lines.get(id, 0))
            shown = shown_call(name, arguments)
            self._toolbox.tell_call(started)
            began = time.perf_counter()
            with nullcontext() if approval is None else _with_approval():
                result = await self._toolbox.call(name, arguments, self._context, approved=approval)
            took_ms = (time.perf_counter() - began) * 1_000
            self._toolbox.tell_call(replace(started, result=result, took_ms=took_ms))
            if not isinstance(result.value, PendingApproval | Discovered):
                self._made.append(f"{shown} (failed)" if result.failed else shown)
            return result

    @asynccontextmanager
    async def _turn(self, *, alone: bool) -> "AsyncGenerator[None]":
        """A place among the calls that run at once; a call that must run alone takes all places."""
        taken = self._limits.parallel if alone else 1
        async with self._alone:
            for _ in range(taken):
                await self._permits.acquire()
        try:
            yield
        finally:
            for _ in range(taken):
                self._permits.release()

    def _tool(self, name: str) -> Tool | None:
        """The tool that a name in the program means, if the caller may know of it."""
        if len(name) > _MOST_WORD_CHARACTERS:
            return None
        tool = self._toolbox.find(name)
        if tool is not None and python_name(tool.name) == name:
            return tool
        if self._by_name is None:
            odd = (one for one in self._toolbox.tools if python_name(one.name) != one.name)
            self._by_name = {python_name(one.name): one for one in odd}
        return self._by_name.get(name)

    # Ends

    def _pause(self, ids: tuple[int, ...]) -> ToolResult:
        waiting = tuple(self._waiting[id] for id in sorted(ids) if id in self._waiting)
        limits, programs = self._limits, self._programs
        paused = PausedProgram(
            id=self._id,
            code=self._code,
            waiting=waiting,
            made=tuple(self._made),
            calls=self._calls,
            printed=self._printed,
            monty=monty_version(),
            expires_at=programs.clock() + timedelta(seconds=limits.pause_seconds),
            snapshot=self._sandbox.snapshot(),
        )
        programs.hold(paused.to_json(programs))
        return paused.pending(programs).as_result()

    def _finished(self, value: object) -> ToolResult:
        plain = value if value is None else json.loads(as_json(value))
        lines = [] if value is None else [self._fitted(plain)]
        if self._printed:
            lines.insert(0, f"Printed:\n{self._print_shown()}{chr(10) + 'Result:' if lines else ''}")
        lines += self._not_asked()
        return ToolResult(text="\n".join(lines) or NO_RESULT, value=plain)

    def _fitted(self, value: object) -> str:
        """A result within its tokens; of a larger one the beginning, and where the rest is."""
        text = value if isinstance(value, str) else as_json(value)
        shown = beginning(text, self._limits.output_tokens)
        if shown == text:
            return text
        tokens = max(len(text) // 4, self._limits.output_tokens)  # to count all of it could take seconds
        name = self._programs.keep(value, self._limits)
        rest = KEPT.format(name=name) if name else NOT_KEPT
        return f"{shown}\n{TOO_LARGE.format(tokens=tokens)}{rest}"

    def _fault(self, fault: Fault) -> ToolResult:
        if fault.kind in ("types", "syntax") and not self._made:
            message = fault.message if fault.message.startswith("line ") else f"line {fault.line}: {fault.message}"
            return ToolResult.failure(f"{NOTHING_RAN}\n{message}\n{CORRECT_IT}")
        if fault.kind == "limit":
            return self._limit(fault.message.partition(":")[0], fault.line)
        if fault.kind == "snapshot":
            return ToolResult.failure(f"The program could not go on: its snapshot cannot be read. {self._so_far()}")
        if fault.kind == "crashed":
            return ToolResult.failure(f"The sandbox ended, and the program with it. {self._so_far()}")
        message = fault.message
        kind, _, words = message.partition(": ")
        if words == DECLINED:
            message = f"Denied: {words}"
        elif kind == FAILED and words in self._failures:
            message = f"ToolError: {words}"
        where = f" in line {fault.line}" if fault.line else ""
        shown = f"\n{listing(self._code, fault.line)}" if fault.line else ""
        return self._failed(f"The program stopped{where}: {message}{shown}", CORRECT_IT)

    def _limit(self, kind: str, line: int) -> ToolResult:
        known = {name: getattr(self._limits, name) for name in ("seconds", "memory_mb", "suspensions", "calls")}
        reason = LIMITS.get(kind, "it hit a limit").format(**known)
        where = f" in line {line}" if line else ""
        return self._failed(f"The program was stopped{where}: {reason}.", "Do it in smaller steps.")

    def _failed(self, text: str, advice: str) -> ToolResult:
        printed = [f"Printed:\n{self._print_shown()}"] if self._printed else []
        return ToolResult.failure("\n".join([text, *printed, *self._not_asked(), f"{self._so_far()} {advice}"]))

    def _so_far(self) -> str:
        counted = [f"{call} ({times} times)" if times > 1 else call for call, times in Counter(self._made).items()]
        made = shorten(", ".join(counted), 10 * MOST_CALL_CHARACTERS)
        return MADE.format(made=made) if made else MADE_NOTHING

    def _not_asked(self) -> list[str]:
        left = ", ".join(shown_call(one.tool, one.arguments) for one in self._waiting.values())
        return [NOT_ASKED.format(calls=left)] if left else []

    # Helpers

    def _line_at(self, start: int) -> int:
        return self._code.encode()[:start].count(b"\n") + 1

    def _print(self, text: str) -> None:
        """Keep what is printed, up to a little more than is shown; called from the sandbox's thread."""
        room = self._limits.print_characters + 1 - len(self._printed)
        self._printed += text[: max(0, room)]

    def _print_shown(self) -> str:
        return shorten(self._printed.rstrip("\n"), self._limits.print_characters, "cut: print less")


# Pydantic AI's context of a call says whether the user agreed to it. That was about one call, and not about a program.


class _CurrentRun:
    def __init__(self, approved: bool) -> None:
        self._approved = approved

    def __enter__(self) -> None:
        run: Any = current_run.get()
        known = is_dataclass(run) and hasattr(run, "tool_call_approved")
        self._token = current_run.set(replace(cast("Any", run), tool_call_approved=self._approved) if known else run)

    def __exit__(self, *error: object) -> None:
        current_run.reset(self._token)


def _without_approval() -> _CurrentRun:
    return _CurrentRun(False)


def _with_approval() -> _CurrentRun:
    return _CurrentRun(True)
