"""How the user is asked about one call of a risky tool, and how the answer finds its question.

Clients that can show a question (elicitation) get one, and only the user's answer to it counts. Where a client cannot,
the result tells a code, and the same call with that code runs: the model can only be asked to ask. Either way a
question belongs to one caller and to exactly these arguments, is answered once, and becomes too old.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard, cast

import mcp_types
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.confirmation import digest
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.gateway.surface import text_answer
from toolcrib.policy.policy import Decision
from toolcrib.sources.mcp.questions import Question, Reply
from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Tool

SECONDS = 600.0


def can_be_asked(capabilities: mcp_types.ClientCapabilities | None) -> bool:
    """Whether the client can show a form to its user. One that names no kind of question means forms."""
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


# Who calls: a name by which policy and rates know them, and the request by which they can be spoken to.

Context: TypeAlias = ServerRequestContext[Any, Any]

LOCAL = "local"  # the caller on stdio, where there is only one


@dataclass(frozen=True, slots=True)
class CallerContext:
    """Whose request it is."""

    name: str
    request: Context

    @classmethod
    def of(cls, request: Context) -> "CallerContext":
        """Who sent this request: over HTTP whoever has the token that came with it."""
        token = get_access_token()
        return cls(token.client_id if token else LOCAL, request)

    @property
    def is_modern(self) -> bool:
        """Whether it is spoken to in the newer protocol, which knows no sessions and no questions in between."""
        return self.request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_be_asked(self) -> bool:
        """Whether the client can show a question to its user."""
        return can_be_asked(self.request.session.client_capabilities)

    @property
    def session_key(self) -> object:
        """What the requests of one session have in common; nothing in the newer protocol, which has none."""
        return None if self.is_modern else self.connection

    @property
    def connection(self) -> Connection:
        """The SDK's own, which it keeps from handlers: there is no other place for what belongs to a session."""
        return self.request.session._connection  # pyright: ignore[reportPrivateUsage]


# One call of a client, from its first request to its answer, and what the upstream asks the client in between.

NO_USER = "The client of this call cannot ask its user."
NO_PAGE = "The client of this call cannot send its user to a page."
NO_MODEL = "The client of this call lends its model to no server."
NO_REPLY = "The client did not answer."
_MOST_MESSAGE_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits for its reply."""

    question: Question
    reply: "asyncio.Future[Reply]"

    def takes(self, reply: object) -> TypeGuard[Reply]:
        """Whether this answers the question that was asked."""
        if isinstance(self.question, mcp_types.ElicitRequest):
            return isinstance(reply, mcp_types.ElicitResult)
        return isinstance(reply, mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools)


@dataclass(slots=True)
class Conversation:
    """What a tool is given as its context."""

    caller: CallerContext
    asked: "asyncio.Queue[Asked]" = field(default_factory=lambda: asyncio.Queue[Asked]())

    @property
    def name(self) -> str:
        """The caller's."""
        return self.caller.name

    @property
    def person(self) -> object:
        """Who would be asked."""
        return self.caller.name, self.caller.session_key

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the upstream is, if it asked to hear of it."""
        await self.caller.request.session.report_progress(progress, total, message)

    async def answer(self, server: str, question: Question) -> Reply | mcp_types.ErrorData:
        """Put an upstream's question to the client. Whoever reads it is told which server asks."""
        refused = _refusal(question, self.caller.request.session.client_capabilities)
        if refused:
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=refused)
        named = _named(server, question)
        try:
            async with asyncio.timeout(SECONDS):
                return await (self._by_next_request(named) if self.caller.is_modern else self._in_session(named))
        except MCPError as error:
            return error.error
        except (TimeoutError, NoBackChannelError):
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=NO_REPLY)

    async def _by_next_request(self, question: Question) -> Reply:
        asked = Asked(question, asyncio.get_running_loop().create_future())
        self.asked.put_nowait(asked)
        return await asked.reply

    async def _in_session(self, question: Question) -> Reply:
        request = self.caller.request
        beside = ServerMessageMetadata(related_request_id=request.request_id)
        kind = (
            mcp_types.ElicitResult if isinstance(question, mcp_types.ElicitRequest) else mcp_types.CreateMessageResult
        )
        return await request.session.send_request(question, kind, metadata=beside)


def _refusal(question: Question, capabilities: mcp_types.ClientCapabilities | None) -> str:
    """Why a client cannot be asked this; nothing if it can."""
    if isinstance(question, mcp_types.CreateMessageRequest):
        able = capabilities is not None and capabilities.sampling is not None
        return "" if able and not question.params.tools else NO_MODEL
    if isinstance(question.params, mcp_types.ElicitRequestFormParams):
        return "" if can_be_asked(capabilities) else NO_USER
    elicitation = capabilities.elicitation if capabilities else None
    return "" if elicitation is not None and elicitation.url is not None else NO_PAGE


def _named(server: str, question: Question) -> Question:
    """The question with the name of the server before it. A model is asked as the server wants to ask it."""
    if isinstance(question, mcp_types.CreateMessageRequest):
        return question
    message = f"{server} asks: {clean(question.params.message, _MOST_MESSAGE_CHARACTERS)}"
    return mcp_types.ElicitRequest(params=question.params.model_copy(update={"message": message}))


# Sessions of the older protocol (2025-11-25), in which found tools come into the client's own list.

_KEY = "toolcrib"  # of what we keep beside a connection
_FINDERS = ("search_tools", "get_tool")  # to walk through categories is not to choose
_CHANGED = mcp_types.ToolListChangedNotification()


class ChangingServer(Server[None]):
    """Tells clients of the older protocol that its list of tools may change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: object, **options: object
    ) -> InitializationOptions:
        changing = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(changing, *more, **options)  # pyright: ignore[reportArgumentType]  # handed on as they came


class OlderSession:
    """What one client of the older protocol has found."""

    def __init__(self, toolbox: Toolbox, connection: Connection, *, can_be_asked: bool) -> None:
        self.toolbox = toolbox
        self._connection = connection
        self._can_be_asked = can_be_asked
        self._told = self.found  # what the client knows of, or was told to look at

    @property
    def found(self) -> tuple[Tool, ...]:
        """The tools in the list besides the surface, first found first.

        One that needs the user's yes is among them only if the client can ask: else `call_tool` has the way to it.
        """
        active = self.toolbox.visible()[len(self.toolbox.surface) :]
        return tuple(tool for tool in active if self._can_be_asked or not self._asks(tool))

    def listed(self) -> tuple[Tool, ...]:
        """The same, when the client asks for its list."""
        self._told = self.found
        return self._told

    def make_room(self) -> None:
        """Before a search: what was not used for longest goes, if the list has become too long."""
        self.toolbox.begin_turn()

    async def show(self, tool: str, result: ToolResult, caller: CallerContext) -> None:
        """Put what this tool of the surface found into the list, and tell the client in the answer's own stream."""
        if tool in _FINDERS and isinstance(result.value, Discovered):
            self.toolbox.activate(result.value.tools)
        if self._has_news():
            await caller.request.session.send_notification(_CHANGED, caller.request.request_id)

    async def follow(self) -> None:
        """Tell the client, if what a server did changed its list."""
        if self._has_news():
            await self._connection.send_tool_list_changed()

    def _has_news(self) -> bool:
        before, self._told = self._told, self.found
        return before != self._told

    def _asks(self, tool: Tool) -> bool:
        return self.toolbox.verdict(tool).decision is Decision.ASK


class LegacySessions:
    """The sessions that are open."""

    def __init__(self, catalog: Catalog, made: Callable[[str], Toolbox]) -> None:
        self._catalog = catalog
        self._made = made
        self._open: dict[OlderSession, None] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def follow(self) -> Callable[[], None]:
        """Tell clients when servers change what they have in their lists, until the returned function is called."""
        loop = asyncio.get_running_loop()

        def changed(change: object) -> None:
            for session in self._open:
                task = loop.create_task(session.follow())
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)

        return self._catalog.subscribe(changed)

    def of(self, caller: CallerContext) -> OlderSession | None:
        """The session of this request; None in the newer protocol, which has none."""
        if caller.is_modern:
            return None
        connection = caller.connection
        if _KEY not in connection.state:
            session = OlderSession(self._made(caller.name), connection, can_be_asked=caller.can_be_asked)
            connection.state[_KEY] = session
            self._open[session] = None
            connection.exit_stack.callback(self._open.pop, session, None)
        return cast("OlderSession", connection.state[_KEY])


# Calls of the newer protocol that wait for their client: the upstream asked something, and the reply comes anew.

KEY = "question"
ABSENT = "The question is too old, or was answered before. Call the tool again."
_PREFIX = "ask-"
_MOST = 1_000


@dataclass(slots=True)
class _Parked:
    conversation: Conversation
    call: "asyncio.Task[ToolResult]"
    asked: Asked
    digest: str


class SuspendedCalls:
    """The calls that wait. Each belongs to its caller and to exactly its arguments, and is taken up once."""

    def __init__(self) -> None:
        self._parked: OrderedDict[str, _Parked] = OrderedDict()

    def __contains__(self, state: object) -> bool:
        """Whether this is the state of a call of ours, be it one that is gone."""
        return isinstance(state, str) and state.startswith(_PREFIX)

    async def begin(
        self, call: Coroutine[Any, Any, ToolResult], conversation: Conversation, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.InputRequiredResult:
        """The result of a call, or the question that has to be answered before."""
        return await self._until_asked(asyncio.ensure_future(call), conversation, params)

    async def resume(
        self, caller: CallerContext, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """The same after a reply came."""
        parked = self._parked.get(params.request_state or "")
        if parked is None or parked.conversation.name != caller.name or parked.digest != _digest(params):
            return text_answer(ABSENT, failed=True)
        del self._parked[params.request_state or ""]
        reply = (params.input_responses or {}).get(KEY)
        if parked.call.done() or parked.asked.reply.done() or not parked.asked.takes(reply):
            parked.call.cancel()
            return text_answer(ABSENT, failed=True)
        parked.conversation.caller = caller
        parked.asked.reply.set_result(reply)
        return await self._until_asked(parked.call, parked.conversation, params)

    async def end(self) -> None:
        """Nobody waits any more."""
        calls = [parked.call for parked in self._parked.values()]
        self._parked.clear()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def _until_asked(
        self, call: "asyncio.Task[ToolResult]", conversation: Conversation, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.InputRequiredResult:
        question = asyncio.ensure_future(conversation.asked.get())
        try:
            await asyncio.wait([call, question], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.cancel()  # who asked has gone
            raise
        finally:
            if not question.done():
                question.cancel()
        if call.done():
            return call.result()
        return self._park(_Parked(conversation, call, question.result(), _digest(params)))

    def _park(self, parked: _Parked) -> mcp_types.InputRequiredResult:
        state = f"{_PREFIX}{secrets.token_hex(16)}"
        self._parked[state] = parked
        # Without a reply the question ends after a while, the upstream hears so, and its answer has no reader.
        parked.call.add_done_callback(lambda _: self._parked.pop(state, None))
        while len(self._parked) > _MOST:
            self._parked.popitem(last=False)[1].call.cancel()
        return mcp_types.InputRequiredResult(input_requests={KEY: parked.asked.question}, request_state=state)


def _digest(params: mcp_types.CallToolRequestParams) -> str:
    return digest(params.name, params.arguments or {})
