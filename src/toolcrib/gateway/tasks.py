"""Tasks: calls that take long go on behind a handle, in both protocols, and clients ask for them later.

In the older protocol (2025-11-25) a client asks for a task with its call; in the newer one the extension
`io.modelcontextprotocol/tasks` lets the gateway decide, and it makes a task of a call that is not done soon. A task
belongs to the caller that began it, is held in memory, and is forgotten some time after it began.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias, cast

import mcp_types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult
from mcp_types import INVALID_PARAMS, INVALID_REQUEST

from toolcrib.gateway.clients import CallerContext, Context, Conversation, PendingQuestion
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import mapping
from toolcrib.tools.text import clean

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
LEGACY_CAPABILITY = mcp_types.ServerTasksCapability(
    list=mcp_types.TasksListCapability(),
    cancel=mcp_types.TasksCancelCapability(),
    requests=mcp_types.ServerTasksRequestsCapability(
        tools=mcp_types.TasksToolsCapability(call=mcp_types.TasksCallCapability())
    ),
)
_MARK = "toolcrib/task"  # in the result of a handler, which the older protocol lets be nothing but a result
_POLL_MILLISECONDS = 1_000
_LONGEST_HOURS = 24
_MOST_TASKS = 1_000
_MOST_RUNNING = 20  # of one caller
_MOST_STATUS_CHARACTERS = 200
NO_TASK = "There is no task {id!r}: it was forgotten, or is of another caller."
TOO_MANY = f"At most {_MOST_RUNNING} tasks of one caller run at once."
NEEDS_EXTENSION = "Missing required client capability"

Answer: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult
Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


class UpdateTaskParams(mcp_types.InputResponseRequestParams):
    """The parameters of `tasks/update`."""

    task_id: str


@dataclass(eq=False)
class CallTask:
    """One call that goes on."""

    id: str
    conversation: Conversation
    call: "asyncio.Task[ToolResult] | None"  # None: it was done at once
    finish: Callable[[ToolResult], mcp_types.CallToolResult]
    lasts: timedelta
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    changed: datetime = field(default_factory=lambda: datetime.now(UTC))
    message: str | None = None
    result: mcp_types.CallToolResult | None = None
    error: mcp_types.ErrorData | None = None
    cancelled: bool = False
    questions: dict[str, PendingQuestion] = field(default_factory=dict[str, PendingQuestion])
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def status(self) -> Status:
        if self.cancelled:
            return "cancelled"
        if self.error is not None:
            return "failed"
        if self.result is not None:
            return "completed"
        return "input_required" if self.open_questions else "working"

    @property
    def open_questions(self) -> dict[str, PendingQuestion]:
        """The questions of the server that nobody has answered yet."""
        return {key: one for key, one in self.questions.items() if not one.reply.done()}

    @property
    def is_over(self) -> bool:
        """Whether it is forgotten."""
        return datetime.now(UTC) >= self.began + self.lasts

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Take the progress of the upstream, in place of the client."""
        self.note(progress, total, message)

    def note(self, progress: float, total: float | None, message: str | None) -> None:
        """Show the progress of the upstream as the task's status."""
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        self.message = clean(f"{message} ({share})" if message else share, _MOST_STATUS_CHARACTERS)
        self.changed = datetime.now(UTC)

    def cancel(self) -> None:
        """End the call, if it goes on."""
        if self.call is not None and not self.done.is_set():
            self.cancelled = True
            self.call.cancel()

    async def follow(self) -> None:
        """Take questions of the server, until the call is done."""
        assert self.call is not None
        asked = asyncio.ensure_future(self.conversation.questions.get())
        try:
            while not self.call.done():
                await asyncio.wait([self.call, asked], return_when=asyncio.FIRST_COMPLETED)
                if asked.done():
                    self.questions[f"question-{len(self.questions) + 1}"] = asked.result()
                    self.changed = datetime.now(UTC)
                    asked = asyncio.ensure_future(self.conversation.questions.get())
            self.result = self.finish(self.call.result())
        except asyncio.CancelledError:
            self.cancelled = True
        except MCPError as error:
            self.error = error.error
        except Exception:  # foreign code: what a tool raises that is no failure of its server
            self.error = mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="The call failed.")
        finally:
            asked.cancel()
            self.changed = datetime.now(UTC)
            self.done.set()

    # On the wire

    def legacy(self) -> mcp_types.Task:
        """The task in the older protocol."""
        return mcp_types.Task(
            task_id=self.id,
            status=self.status,
            status_message=self.message,
            created_at=self.began.isoformat(),
            last_updated_at=self.changed.isoformat(),
            ttl=_milliseconds(self.lasts),
            poll_interval=_POLL_MILLISECONDS,
        )

    def modern(self) -> dict[str, Any]:
        """The task in the newer protocol, with its result, error or questions."""
        shown: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.began.isoformat(),
            "lastUpdatedAt": self.changed.isoformat(),
            "ttlMs": _milliseconds(self.lasts),
            "pollIntervalMs": _POLL_MILLISECONDS,
        }
        if self.message:
            shown["statusMessage"] = self.message
        match self.status:
            case "completed":
                shown["result"] = _wire(self.result)
            case "failed":
                shown["error"] = _wire(self.error)
            case "input_required":
                shown["inputRequests"] = {key: _wire(one.question) for key, one in self.open_questions.items()}
            case _:
                pass
        return shown


class Tasks:
    """The tasks of all callers."""

    def __init__(self, limits: GatewayLimits) -> None:
        self._limits = limits
        self._tasks: OrderedDict[str, CallTask] = OrderedDict()
        self._following: set[asyncio.Task[None]] = set()

    def wants(self, caller: CallerContext, params: mcp_types.CallToolRequestParams) -> bool:
        """Whether a call may become a task."""
        return _declares(caller) if caller.is_modern else params.task is not None

    async def begin(
        self,
        call: Coroutine[Any, Any, ToolResult],
        conversation: Conversation,
        params: mcp_types.CallToolRequestParams,
        finish: Callable[[ToolResult], mcp_types.CallToolResult],
    ) -> ToolResult | CallTask:
        """The result of a call that is done soon, otherwise a task."""
        running = asyncio.ensure_future(call)
        try:
            await asyncio.wait([running], timeout=self._limits.task_after_seconds)
        except asyncio.CancelledError:
            running.cancel()  # the client has gone away
            raise
        if running.done():
            return running.result()
        return self._keep(running, conversation, finish, _lasts(params))

    def completed(
        self, conversation: Conversation, result: mcp_types.CallToolResult, params: mcp_types.CallToolRequestParams
    ) -> CallTask:
        """A task that was done before its client could ask for it."""
        task = CallTask(
            f"task-{secrets.token_hex(16)}", conversation, None, lambda _: result, _lasts(params), result=result
        )
        task.done.set()
        self._tasks[task.id] = task
        return task

    def answer(self, caller: CallerContext, task: CallTask) -> Any:
        """What the client gets in place of a result."""
        if caller.is_modern:
            return {"resultType": "task", **task.modern()}
        return mcp_types.CallToolResult(content=[], _meta={_MARK: task.id})

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """In the older protocol, what a client that asked for a task gets: the task, and no result."""
        result = await call_next(ctx)
        if ctx.method != "tools/call" or not isinstance(result, Mapping):
            return result
        task = self._tasks.get(str(mapping(mapping(cast("object", result)).get("_meta")).get(_MARK)))
        return result if task is None else {"task": _wire(task.legacy())}

    async def close(self) -> None:
        """Cancel what runs."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)

    # Requests

    async def get(self, ctx: Context, params: mcp_types.GetTaskRequestParams) -> Any:
        """`tasks/get`, of both protocols."""
        caller = CallerContext.of(ctx)
        task = self._of(caller, params.task_id)
        return task.modern() if caller.is_modern else _wire(task.legacy())

    async def cancel(self, ctx: Context, params: mcp_types.CancelTaskRequestParams) -> Any:
        """`tasks/cancel`, of both protocols."""
        caller = CallerContext.of(ctx)
        task = self._of(caller, params.task_id)
        if not caller.is_modern and task.done.is_set():
            raise MCPError(INVALID_PARAMS, f"The task is {task.status} already.")
        task.cancel()
        return {} if caller.is_modern else _wire(task.legacy())

    async def update(self, ctx: Context, params: UpdateTaskParams) -> Any:
        """`tasks/update` of the newer protocol: replies to questions. Those that nobody asked for count for nothing."""
        task = self._of(self._modern(ctx), params.task_id)
        open_questions = task.open_questions
        for key, reply in (params.input_responses or {}).items():
            question = open_questions.get(key)
            if question is not None and question.accepts(reply):
                question.reply.set_result(reply)
        return {}

    async def result(self, ctx: Context, params: mcp_types.GetTaskPayloadRequestParams) -> Any:
        """`tasks/result` of the older protocol, which waits for the result."""
        task = self._of(self._legacy(ctx, "tasks/result"), params.task_id)
        await task.done.wait()
        if task.error is not None:
            raise MCPError.from_error_data(task.error)
        if task.result is None:
            raise MCPError(INVALID_REQUEST, "The task was cancelled.")
        shown = _wire(task.result)
        return {**shown, "_meta": {**shown.get("_meta", {}), RELATED: {"taskId": task.id}}}

    async def list(self, ctx: Context, params: mcp_types.PaginatedRequestParams) -> Any:
        """`tasks/list` of the older protocol."""
        caller = self._legacy(ctx, "tasks/list")
        self._forget()
        return {"tasks": [_wire(task.legacy()) for task in self._tasks.values() if _is_of(task, caller)]}

    def _modern(self, ctx: Context) -> CallerContext:
        caller = CallerContext.of(ctx)
        if not caller.is_modern:
            raise MCPError(mcp_types.METHOD_NOT_FOUND, "Method not found")
        return caller

    def _legacy(self, ctx: Context, method: str) -> CallerContext:
        caller = CallerContext.of(ctx)
        if caller.is_modern:
            raise MCPError(mcp_types.METHOD_NOT_FOUND, "Method not found", data=method)
        return caller

    def _of(self, caller: CallerContext, id: str) -> CallTask:
        """A task of this caller. Raises `MCPError` if it has none of this id."""
        if caller.is_modern and not _declares(caller):
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY, NEEDS_EXTENSION, data=needed)
        self._forget()
        task = self._tasks.get(id)
        if task is None or not _is_of(task, caller):
            raise MCPError(INVALID_PARAMS, NO_TASK.format(id=id[:80]))
        return task

    # Keeping

    def _keep(
        self,
        running: "asyncio.Task[ToolResult]",
        conversation: Conversation,
        finish: Callable[[ToolResult], mcp_types.CallToolResult],
        lasts: timedelta,
    ) -> CallTask:
        self._forget()
        own = [task for task in self._tasks.values() if _is_of(task, conversation.caller) and not task.done.is_set()]
        if len(own) >= _MOST_RUNNING:
            running.cancel()
            raise MCPError(INVALID_REQUEST, TOO_MANY)
        task = CallTask(f"task-{secrets.token_hex(16)}", conversation, running, finish, lasts)
        conversation.detached = task.report
        if conversation.latest is not None:
            task.note(*conversation.latest)
        self._tasks[task.id] = task
        while len(self._tasks) > _MOST_TASKS:
            self._tasks.popitem(last=False)[1].cancel()
        following = asyncio.create_task(task.follow())
        self._following.add(following)
        following.add_done_callback(self._following.discard)
        return task

    def _forget(self) -> None:
        for task in [task for task in self._tasks.values() if task.is_over]:
            task.cancel()
            del self._tasks[task.id]


def _declares(caller: CallerContext) -> bool:
    """Whether a client of the newer protocol takes tasks."""
    stated = caller.request.session.client_capabilities
    return stated is not None and EXTENSION in (stated.extensions or {})


def _is_of(task: CallTask, caller: CallerContext) -> bool:
    return task.conversation.caller.caller == caller.caller


def _lasts(params: mcp_types.CallToolRequestParams) -> timedelta:
    """For how long a task is kept: as its client asked, within bounds."""
    asked = params.task.ttl if params.task is not None else None
    hours = min(_LONGEST_HOURS, asked / 3_600_000) if asked is not None and asked > 0 else 1
    return timedelta(hours=hours)


def _milliseconds(lasts: timedelta) -> int:
    return round(lasts.total_seconds() * 1_000)


def _wire(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
