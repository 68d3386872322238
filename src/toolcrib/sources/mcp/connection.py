"""The connection to one MCP server: opened on demand, monitored, closed on errors, and reopened.

Concurrent calls in one event loop may share it. Every failure of the server is raised as a `SourceError` with the
reason; `state` and `problem` have the same information for code that makes no calls.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import httpx2
import mcp_types
from fastmcp.client.progress import ProgressHandler
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from pydantic import ValidationError

from toolcrib.credentials import current_user
from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.questions import ServerQuestions
from toolcrib.sources.mcp.transport import McpLink
from toolcrib.sources.mcp.users import UserConnections
from toolcrib.sources.modules.process import find_bubblewrap
from toolcrib.sources.source import Breaker, Clock, SourceState
from toolcrib.tools.context import current_call
from toolcrib.tools.text import clean

# Error messages for failures of a server. They do not quote foreign exceptions, whose texts may contain secrets.

LOGIN_STATUSES = (401, 403)
_TEMPORARY_STATUSES = (429, 502, 503, 504)  # the same request may succeed later
_MOST_REFUSAL_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call without an answer, usually because the connection failed."""

    reason: str  # continues a sentence
    never_ran: bool = False  # it is certain that the server did nothing
    still_connected: bool = False


def start_error(server: McpServer, error: BaseException, status: int | None, seconds: float) -> SourceError:
    """The error for a server that could not be started or reached."""
    name, cause = server.name, error.__cause__ or error
    if status in LOGIN_STATUSES:
        return login_error(server)
    if isinstance(error, TimeoutError):
        return SourceError(f"{name} did not start within {seconds:g} seconds.")
    if isinstance(cause, FileNotFoundError):
        return SourceError(f"{name} cannot be started: there is no program {server.address!r}.", hint="Install it.")
    if isinstance(cause, OSError):
        return SourceError(f"{name} cannot be started: {cause.strerror or type(cause).__name__}.")
    if status is not None:
        return SourceError(f"{name} answered with status {status}.")
    if isinstance(cause, httpx2.HTTPError):
        return SourceError(f"{name} cannot be reached at {server.address}.")
    if isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED:
        return SourceError(f"{name} ended while it was starting.")
    return SourceError(f"{name} does not speak MCP as we know it ({type(cause).__name__}).")


def login_error(server: McpServer) -> SourceLoginError:
    """The error for a server that requires a login or a key."""
    if server.missing:
        return SourceLoginError(
            f"{server.name} needs {' and '.join(server.missing)}, which is not set.",
            hint=f"Set {server.missing[0]} in the environment.",
        )
    hint = f"Ask the user to run `toolcrib sources login {server.name}`, or to put a token into its configuration."
    if server.user is not None:
        user = f" --user {server.user}" if server.user else ""
        hint = f"Ask the user to run `toolcrib sources login {server.name}{user}`."
        if server.credentials:
            hint = f"Ask the user to run `toolcrib credentials set {server.credentials[0]}{user}`."
    return SourceLoginError(f"{server.name} wants a login.", hint=hint)


def failed_call(error: Exception, status: int | None, *, cut: bool) -> FailedCall | None:
    """How a call failed; None if the connection works and the server refused the call."""
    if not isinstance(error, MCPError):
        return FailedCall("the connection broke")
    if cut:
        return FailedCall("its answer is too large", still_connected=True)
    if error.code == CONNECTION_CLOSED:
        return FailedCall("it ended before it answered")
    if error.code == INVALID_REQUEST and error.error.message == "Session terminated":
        return FailedCall("it forgot our session", never_ran=True)
    if error.code == INTERNAL_ERROR and status is not None:
        return FailedCall(
            f"it answered with status {status}", never_ran=status in _TEMPORARY_STATUSES, still_connected=True
        )
    return None


def refusal(server: McpServer, error: MCPError) -> SourceError:
    """The error for a call that the server refused, with its message."""
    message = clean(error.error.message, _MOST_REFUSAL_CHARACTERS) or f"error {error.code}"
    return SourceError(f"{server.name} refused the call: {message}")


@runtime_checkable
class MayTakeLong(Protocol):
    """A call context whose caller waits longer than is usual."""

    @property
    def call_seconds(self) -> float: ...


Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Readables:
    """What a server has besides tools. A list that it could not give is None, and `problems` says why."""

    resources: Sequence[mcp_types.Resource] | None = ()
    templates: Sequence[mcp_types.ResourceTemplate] | None = ()
    prompts: Sequence[mcp_types.Prompt] | None = ()
    problems: list[str] = field(default_factory=list[str])


class McpConnection:
    """The connection to one MCP server."""

    def __init__(
        self,
        server: McpServer,
        *,
        limits: McpLimits | None = None,
        auth: "httpx2.Auth | None" = None,
        resolve: Callable[[], Awaitable[McpServer]] | None = None,
        users: UserConnections | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.server = server
        self._resolve = resolve  # the server with its credentials as they are now
        self._resolved = server  # as the open link uses it
        self._users = users  # whose connections make the calls, where each user calls as themselves
        self.limits = limits or McpLimits()
        self.changed = asyncio.Event()  # set when its tools changed or it ended
        self._auth = auth
        self._clock = clock
        self._sleep = sleep
        self._retries = Breaker(
            failures_allowed=1,
            first_pause=self.limits.first_retry_seconds,
            longest_pause=self.limits.longest_retry_seconds,
            clock=clock,
        )
        self._calls = Breaker(
            failures_allowed=self.limits.failures_allowed,
            first_pause=self.limits.breaker_pause_seconds,
            longest_pause=8 * self.limits.breaker_pause_seconds,
            clock=clock,
        )
        self.relays_questions = False  # whether the server may use elicitation and sampling during a call
        self.on_update: Callable[[str], None] = _ignore_update  # called with the address of a watched resource
        self._watched: frozenset[str] = frozenset()
        self._watching = asyncio.Lock()
        self._questions = ServerQuestions(server.name)
        self._connecting = asyncio.Lock()
        self._link: McpLink | None = None  # the open link, if any
        self._last: McpLink | None = None  # the newest link, open or closed
        self._connected_at = 0.0
        self._under_way = 0
        self.state = SourceState.DISABLED if server.disabled else SourceState.STARTING
        self.problem = f"{server.name} is switched off." if server.disabled else ""

    @property
    def pause(self) -> float:
        """Seconds until the next attempt to connect."""
        return self._retries.pause()

    @property
    def is_calling(self) -> bool:
        """Whether a call is under way."""
        return self._under_way > 0

    @property
    def protocol(self) -> str:
        """The version of MCP that is spoken now; empty while there is no connection."""
        return (self._link.client.protocol_version or "") if self._link is not None else ""

    @property
    def log(self) -> str:
        """The last stderr output of a local server: for people, never for a model."""
        return self._last.log if self._last else ""

    async def tools(self) -> list[mcp_types.Tool]:
        """List the tools of the server. When this succeeds, the state becomes ready."""
        link = await self._connected()
        try:
            async with asyncio.timeout(self.limits.list_seconds):
                tools = await link.client.list_tools()
        except TimeoutError:
            failure = SourceError(f"{self.server.name} did not list its tools in {self.limits.list_seconds:g} seconds.")
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"]))
            failure = SourceError(f"{self.server.name} lists tools that do not follow MCP, at {place}.")
        except Exception as error:  # foreign code: anything that the server or the MCP libraries raise
            failure = start_error(self.server, error, link.status, self.limits.list_seconds)
        else:
            self.state, self.problem = SourceState.READY, ""
            return tools
        await self._give_up(link, failure)
        raise failure

    async def readables(self) -> Readables:
        """List the resources, templates and prompts of the server. No failure here stops its tools."""
        link = await self._connected()
        problems: list[str] = []

        async def listed(what: str, fetch: Callable[[], Awaitable[Sequence[Answer]]]) -> Sequence[Answer] | None:
            try:
                async with asyncio.timeout(self.limits.list_seconds):
                    return await fetch()
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return ()
                problems.append(f"{self.server.name} does not list its {what}.")
            except TimeoutError:
                problems.append(f"{self.server.name} did not list its {what} in {self.limits.list_seconds:g} seconds.")
            except ValidationError as error:
                place = ".".join(map(str, error.errors()[0]["loc"]))
                problems.append(f"{self.server.name} lists {what} that do not follow MCP, at {place}.")
            except Exception:  # foreign code: anything that the server or the MCP libraries raise
                problems.append(f"{self.server.name} does not list its {what}.")
            return None

        has, client = link.client.server_capabilities, link.client
        readable, prompting = has is not None and has.resources is not None, has is not None and has.prompts is not None
        return Readables(
            await listed("resources", client.list_resources) if readable else (),
            await listed("resource templates", client.list_resource_templates) if readable else (),
            await listed("prompts", client.list_prompts) if prompting else (),
            problems,
        )

    async def read(self, uri: str, *, context: object = None) -> mcp_types.ReadResourceResult:
        """Read a resource; the address reaches the server as it is written."""
        if self._users is not None:
            return await self._users.of(current_user()).read(uri, context=context)
        return await self._answer(lambda link: link.client.session.read_resource(uri), context, repeatable=True)

    async def prompt(
        self, name: str, arguments: Mapping[str, str], *, context: object = None
    ) -> mcp_types.GetPromptResult:
        """Get a prompt, filled in with the arguments."""
        if self._users is not None:
            return await self._users.of(current_user()).prompt(name, arguments, context=context)
        return await self._answer(
            lambda link: link.client.get_prompt_mcp(name, dict(arguments)), context, repeatable=True
        )

    async def complete(
        self,
        reference: mcp_types.ResourceTemplateReference | mcp_types.PromptReference,
        argument: Mapping[str, str],
        given: Mapping[str, str] | None = None,
    ) -> mcp_types.CompleteResult:
        """What the server suggests for an argument of a prompt or a template; `given` are the other arguments."""
        if self._users is not None:
            return await self._users.of(current_user()).complete(reference, argument, given)
        known = dict(given) if given is not None else None
        return await self._answer(
            lambda link: link.client.complete_mcp(reference, dict(argument), known), None, repeatable=True
        )

    async def watch(self, uris: Iterable[str]) -> None:
        """Have `on_update` called when one of exactly these resources changes, also after a new connection."""
        if self._users is not None:
            raise SourceError(f"{self.server.name} is read by each user as themselves, and cannot be watched.")
        async with self._watching:
            self._watched = frozenset(uris)
            link = await self._connected()
            has = link.client.server_capabilities
            if self._watched and not (has and has.resources and has.resources.subscribe):
                raise SourceError(f"{self.server.name} does not say when its resources change.")
            await self._answer(lambda link: link.watch(self._watched), None, repeatable=True)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        repeatable: bool = False,
        progress: ProgressHandler | None = None,
        context: object = None,
    ) -> mcp_types.CallToolResult:
        """Call a tool and return its unchanged result. A failed call is retried once, if that is safe.

        `context` belongs to the caller and answers questions that the server asks during the call.
        """
        if self._users is not None:
            own = self._users.of(current_user())
            return await own.call(name, arguments, repeatable=repeatable, progress=progress, context=context)

        def send(link: McpLink) -> Awaitable[mcp_types.CallToolResult]:
            return link.client.call_tool_mcp(
                name, dict(arguments), progress_handler=progress or _ignore_progress, meta=_call_meta()
            )

        return await self._answer(send, context, repeatable=repeatable)

    async def _answer(
        self, send: Callable[[McpLink], Awaitable[Answer]], context: object, *, repeatable: bool
    ) -> Answer:
        """The answer to a request. A failed one is sent once more, if that is safe."""
        if not self._calls.allows():
            raise SourceError(
                f"{self.server.name} is left alone: it did not answer {self.limits.failures_allowed} calls in a row.",
                hint=f"Try again in {math.ceil(self._calls.pause())} seconds, or use another tool.",
            )
        outcome = await self._send_once(send, context)
        if isinstance(outcome, FailedCall) and (repeatable or outcome.never_ran):
            await self._sleep(self.limits.first_retry_seconds)
            outcome = await self._send_once(send, context)
        if isinstance(outcome, FailedCall):
            unknown = "" if outcome.never_ran or outcome.still_connected else " Whether it did its work is not known."
            raise SourceError(f"{self.server.name} gave no result: {outcome.reason}.{unknown}")
        return outcome

    async def close(self) -> None:
        """Close the connection, and stop the program of a local server."""
        if self._users is not None:
            await self._users.close()
        async with self._connecting:
            await self._drop()

    async def _send_once(self, send: Callable[[McpLink], Awaitable[Answer]], context: object) -> Answer | FailedCall:
        seconds = self.server.call_seconds or self.limits.call_seconds
        if isinstance(context, MayTakeLong):
            seconds = max(seconds, context.call_seconds)
        link = await self._connected()
        self._under_way += 1
        try:
            async with asyncio.timeout(seconds) as limit:
                with self._questions.track_call(context, limit, seconds):
                    result = await send(link)
        except TimeoutError:
            self._calls.failed()
            if self._calls.pause() > 0:  # it hangs, so it is restarted
                await self._give_up(link, SourceError(f"{self.server.name} does not answer."))
            raise SourceError(
                f"{self.server.name} did not answer within {seconds:g} seconds; the call was cancelled.",
                hint="Whether it did its work is not known. Look before you try again.",
            ) from None
        except ValidationError:
            self._calls.succeeded()
            return FailedCall("its answer does not follow MCP", still_connected=True)
        except Exception as error:  # foreign code, as above
            return await self._handle_failure(link, error)
        finally:
            self._under_way -= 1
        self._calls.succeeded()
        return result

    async def _handle_failure(self, link: McpLink, error: Exception) -> FailedCall:
        status, cut = link.status_of(error), link.pop_cut()
        if status in (401, 403):
            failure = login_error(self.server)
            await self._give_up(link, failure)
            raise failure from None
        outcome = failed_call(error, status, cut=cut)
        if outcome is None:
            self._calls.succeeded()
            assert isinstance(error, MCPError)
            raise refusal(self.server, error) from None
        self._calls.failed()
        if not outcome.still_connected:
            await self._give_up(link, SourceError(f"{self.server.name} ended, or its connection broke."))
        return outcome

    async def _connected(self) -> McpLink:
        if self.server.disabled:
            raise SourceError(self.problem, hint="Enable it in its configuration.")
        async with self._connecting:
            try:
                resolved = await self._resolve() if self._resolve is not None else self.server
            except SourceLoginError as failure:  # a credential was taken away
                await self._drop()
                self._set_failure(failure)
                raise
            if self._link is not None and self.state is not SourceState.DOWN and resolved == self._resolved:
                return self._link
            await self._drop()
            self._resolved = resolved
            if 0 < self._retries.pause() <= self.limits.longest_wait_seconds:
                await self._sleep(self._retries.pause())
            if not self._retries.allows():
                if self.state is SourceState.NEEDS_LOGIN:
                    raise login_error(self.server)
                raise SourceError(self.problem, hint=f"It is tried again in {math.ceil(self.pause)} seconds.")
            try:
                return await self._connect()
            except SourceError as failure:
                self._retries.failed()
                self._set_failure(failure)
                raise

    async def _connect(self) -> McpLink:
        if self.server.missing:
            raise login_error(self.server)
        if isolation := self.server.isolation:
            program = await asyncio.to_thread(find_bubblewrap) if isolation.needs_bubblewrap else None
            if problem := isolation.problem(program):
                raise SourceError(f"{self.server.name} {problem}.", hint="Install it, or change its `isolation`.")
        if not self.problem:  # what failed before is not called starting because it is tried once more
            self.state = SourceState.STARTING
        questions = self._questions if self.relays_questions else None
        link = self._last = McpLink(
            self._resolved,
            self.limits,
            changed=self.changed,
            on_end=self._on_end,
            auth=self._auth,
            on_update=lambda uri: self.on_update(uri),
            questions=questions,
        )
        try:
            async with asyncio.timeout(self.limits.connect_seconds):
                await link.open()
                if self._watched:
                    with suppress(MCPError):
                        await link.watch(self._watched)
        except Exception as error:  # foreign code, as above
            raise start_error(self.server, error, link.status, self.limits.connect_seconds) from error
        self._link, self._connected_at = link, self._clock()
        self.state = SourceState.STARTING  # until its tools are listed
        return link

    def _on_end(self, link: McpLink) -> None:
        """Record that the program closed its output, also while there is no call."""
        if link is self._link:
            self._note_end(SourceError(f"{self.server.name} ended."))

    def _note_end(self, failure: SourceError) -> None:
        if self.state is SourceState.DOWN:
            return
        if self._clock() - self._connected_at >= self.limits.longest_retry_seconds:
            self._retries.succeeded()  # it worked for a long time, so earlier failures do not count
        self._retries.failed()
        self._set_failure(failure)
        self.changed.set()

    async def _give_up(self, link: McpLink, failure: SourceError) -> None:
        if self._link is link:  # else another task was faster, and there may already be a new link
            self._note_end(failure)
            await self._drop()

    def _set_failure(self, failure: SourceError) -> None:
        login = isinstance(failure, SourceLoginError)
        self.state = SourceState.NEEDS_LOGIN if login else SourceState.DOWN
        self.problem = str(failure)

    async def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()


def _ignore_update(uri: str) -> None:
    """Nobody watches a resource."""


async def _ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    """Discard progress reports. The default of the library writes them to the log."""


def _call_meta() -> dict[str, Any] | None:
    """What a server gets beside the arguments, so that it can refuse a call that comes twice or too late."""
    call = current_call()
    return None if call is None else {"toolcrib/call-id": call.id, "toolcrib/fence": call.fence}
