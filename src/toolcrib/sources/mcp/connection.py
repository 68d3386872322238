"""One MCP server and its connection: made when needed, watched, given up in time, and made again.

Several calls may use it at once. It belongs to one event loop. Whatever happens outside ends in a `SourceError` that
says what happened; `state` and `problem` tell the same to those who do not call.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx2
import mcp_types
from fastmcp.client.progress import ProgressHandler
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST
from pydantic import ValidationError

from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.questions import ServerQuestions
from toolcrib.sources.mcp.transport import McpLink
from toolcrib.sources.source import Breaker, Clock, SourceState
from toolcrib.tools.text import clean
from toolcrib.tools.tool import current_call

# What went wrong with an MCP server, in our own words: short, true, and without what an error may carry along.

LOGIN_STATUSES = (401, 403)
_PASSING_STATUSES = (429, 502, 503, 504)  # a moment later the same request may succeed
_MOST_REFUSAL_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class LostCall:
    """A call that got no answer because the connection went."""

    reason: str  # reads on after the server's name
    never_ran: bool = False  # the server surely did nothing
    still_connected: bool = False


def not_started(server: McpServer, error: BaseException, status: int | None, seconds: float) -> SourceError:
    """Why a server could not be started, or not be reached."""
    name, cause = server.name, error.__cause__ or error
    if status in LOGIN_STATUSES:
        return needs_login(server)
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


def needs_login(server: McpServer) -> SourceLoginError:
    """A server that does not know who we are."""
    if server.missing:
        return SourceLoginError(
            f"{server.name} needs {' and '.join(server.missing)}, which is not set.",
            hint=f"Set {server.missing[0]} in the environment.",
        )
    hint = f"Ask the user to run `toolcrib sources login {server.name}`, or to put a token into its configuration."
    return SourceLoginError(f"{server.name} wants a login.", hint=hint)


def lost(error: Exception, status: int | None, *, cut: bool) -> LostCall | None:
    """How a call was lost; None if the server refused it and all is well otherwise."""
    if not isinstance(error, MCPError):
        return LostCall("the connection broke")
    if cut:
        return LostCall("its answer is too large", still_connected=True)
    if error.code == CONNECTION_CLOSED:
        return LostCall("it ended before it answered")
    if error.code == INVALID_REQUEST and error.error.message == "Session terminated":
        return LostCall("it forgot our session", never_ran=True)
    if error.code == INTERNAL_ERROR and status is not None:
        return LostCall(
            f"it answered with status {status}", never_ran=status in _PASSING_STATUSES, still_connected=True
        )
    return None


def refused(server: McpServer, error: MCPError) -> SourceError:
    """What a server said against a call."""
    said = clean(error.error.message, _MOST_REFUSAL_CHARACTERS) or f"error {error.code}"
    return SourceError(f"{server.name} refused the call: {said}")


Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class McpConnection:
    """The connection to one MCP server."""

    def __init__(
        self,
        server: McpServer,
        *,
        limits: McpLimits | None = None,
        auth: "httpx2.Auth | None" = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.server = server
        self.limits = limits or McpLimits()
        self.news = asyncio.Event()  # its tools changed, or it ended: look again
        self._auth = auth
        self._clock = clock
        self._sleep = sleep
        self._pauses = Breaker(
            failures_allowed=1,
            first_pause=self.limits.first_pause_seconds,
            longest_pause=self.limits.longest_pause_seconds,
            clock=clock,
        )
        self._calls = Breaker(
            failures_allowed=self.limits.failures_allowed,
            first_pause=self.limits.rest_seconds,
            longest_pause=8 * self.limits.rest_seconds,
            clock=clock,
        )
        self.relays_questions = False  # whether the server may ask back during a call
        self._questions = ServerQuestions(server.name)
        self._connecting = asyncio.Lock()
        self._link: McpLink | None = None  # while it is open
        self._last: McpLink | None = None  # also when it is not
        self._connected_at = 0.0
        self.state = SourceState.DISABLED if server.disabled else SourceState.STARTING
        self.problem = f"{server.name} is switched off." if server.disabled else ""

    @property
    def pause(self) -> float:
        """Seconds until it makes sense to try again."""
        return self._pauses.pause()

    @property
    def log(self) -> str:
        """The end of what a server on this machine wrote to stderr: for people, never for a model."""
        return self._last.log if self._last else ""

    # What it is asked for

    async def tools(self) -> list[mcp_types.Tool]:
        """The server's tools now. A list that comes in time is what makes a server ready."""
        link = await self._connected()
        try:
            async with asyncio.timeout(self.limits.list_seconds):
                tools = await link.client.list_tools()
        except TimeoutError:
            failure = SourceError(f"{self.server.name} did not list its tools in {self.limits.list_seconds:g} seconds.")
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"]))
            failure = SourceError(f"{self.server.name} lists tools that do not follow MCP, at {place}.")
        except Exception as error:  # foreign code: the server, through several libraries
            failure = not_started(self.server, error, link.status, self.limits.list_seconds)
        else:
            self.state, self.problem = SourceState.READY, ""
            return tools
        await self._give_up(link, failure)
        raise failure

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        repeatable: bool = False,
        progress: ProgressHandler | None = None,
        context: object = None,
    ) -> mcp_types.CallToolResult:
        """What the server's tool gives, untouched. Only a call that may be repeated is, and only once.

        `context` is whose call it is, and answers what the server asks back.
        """
        if not self._calls.allows():
            raise SourceError(
                f"{self.server.name} is left alone: it did not answer {self.limits.failures_allowed} calls in a row.",
                hint=f"Try again in {math.ceil(self._calls.pause())} seconds, or use another tool.",
            )
        outcome = await self._call_once(name, arguments, progress, context)
        if isinstance(outcome, LostCall) and (repeatable or outcome.never_ran):
            await self._sleep(self.limits.first_pause_seconds)
            outcome = await self._call_once(name, arguments, progress, context)
        if isinstance(outcome, LostCall):
            unknown = "" if outcome.never_ran or outcome.still_connected else " Whether it did its work is not known."
            raise SourceError(f"{self.server.name} gave no result: {outcome.reason}.{unknown}")
        return outcome

    async def close(self) -> None:
        """End the connection, and the program if it is one."""
        async with self._connecting:
            await self._drop()

    # How it is kept

    async def _call_once(
        self, name: str, arguments: Mapping[str, Any], progress: ProgressHandler | None, context: object
    ) -> mcp_types.CallToolResult | LostCall:
        seconds = self.server.call_seconds or self.limits.call_seconds
        link = await self._connected()
        try:
            async with asyncio.timeout(seconds) as limit:
                with self._questions.during(context, limit, seconds):
                    result = await link.client.call_tool_mcp(
                        name, dict(arguments), progress_handler=progress or _unheard, meta=_call_meta()
                    )
        except TimeoutError:
            self._calls.failed()
            if self._calls.pause() > 0:  # it hangs, so it is started anew
                await self._give_up(link, SourceError(f"{self.server.name} does not answer."))
            raise SourceError(
                f"{self.server.name} did not answer within {seconds:g} seconds; the call was cancelled.",
                hint="Whether it did its work is not known. Look before you try again.",
            ) from None
        except ValidationError:
            self._calls.succeeded()
            return LostCall("its answer does not follow MCP", still_connected=True)
        except Exception as error:  # foreign code, as above
            return await self._lost(link, error)
        self._calls.succeeded()
        return result

    async def _lost(self, link: McpLink, error: Exception) -> LostCall:
        status, cut = link.status, link.take_cut()
        if status in (401, 403):
            failure = needs_login(self.server)
            await self._give_up(link, failure)
            raise failure from None
        outcome = lost(error, status, cut=cut)
        if outcome is None:
            self._calls.succeeded()
            assert isinstance(error, MCPError)
            raise refused(self.server, error) from None
        self._calls.failed()
        if not outcome.still_connected:
            await self._give_up(link, SourceError(f"{self.server.name} ended, or its connection broke."))
        return outcome

    async def _connected(self) -> McpLink:
        if self.server.disabled:
            raise SourceError(self.problem, hint="Enable it in its configuration.")
        async with self._connecting:
            if self._link is not None and self.state is not SourceState.DOWN:
                return self._link
            await self._drop()
            if 0 < self._pauses.pause() <= self.limits.patience_seconds:
                await self._sleep(self._pauses.pause())
            if not self._pauses.allows():
                raise SourceError(self.problem, hint=f"It is tried again in {math.ceil(self.pause)} seconds.")
            try:
                return await self._connect()
            except SourceError as failure:
                self._pauses.failed()
                self._say(failure)
                raise

    async def _connect(self) -> McpLink:
        if self.server.missing:
            raise needs_login(self.server)
        self.state = SourceState.STARTING
        questions = self._questions if self.relays_questions else None
        link = self._last = McpLink(
            self.server, self.limits, news=self.news, ended=self._ended, auth=self._auth, questions=questions
        )
        try:
            async with asyncio.timeout(self.limits.connect_seconds):
                await link.open()
        except Exception as error:  # foreign code, as above
            raise not_started(self.server, error, link.status, self.limits.connect_seconds) from error
        self._link, self._connected_at = link, self._clock()
        return link

    def _ended(self, link: McpLink) -> None:
        """The program closed its output. Nobody may be calling just now, so it is noted here."""
        if link is self._link:
            self._note_end(SourceError(f"{self.server.name} ended."))

    def _note_end(self, failure: SourceError) -> None:
        if self.state is SourceState.DOWN:
            return
        if self._clock() - self._connected_at >= self.limits.longest_pause_seconds:
            self._pauses.succeeded()  # it was well for long: this is a new failure, not one more
        self._pauses.failed()
        self._say(failure)
        self.news.set()

    async def _give_up(self, link: McpLink, failure: SourceError) -> None:
        if self._link is link:  # else somebody else noticed first, and there may be a new one by now
            self._note_end(failure)
            await self._drop()

    def _say(self, failure: SourceError) -> None:
        login = isinstance(failure, SourceLoginError)
        self.state = SourceState.NEEDS_LOGIN if login else SourceState.DOWN
        self.problem = str(failure)

    async def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()


async def _unheard(progress: float, total: float | None, message: str | None) -> None:
    """Takes progress that nobody asked about; the library's own default writes it to the log."""


def _call_meta() -> dict[str, Any] | None:
    """What a server gets beside the arguments, so that it can refuse a call that comes twice or too late."""
    call = current_call()
    return None if call is None else {"toolcrib/call-id": call.id, "toolcrib/fence": call.fence}
