"""The gateway's clients: who calls, what a client can be asked, the sessions of the older protocol, suspended calls."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard, cast

import mcp_types
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import SecretStr

from toolcrib import credentials
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.confirmation import digest
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.gateway.limits import DEFAULT_LIMITS, GatewayLimits
from toolcrib.gateway.surface import text_result
from toolcrib.policy.policy import Decision
from toolcrib.sources.mcp.questions import Question, Reply
from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Tool


def can_elicit(capabilities: mcp_types.ClientCapabilities | None) -> bool:
    """Whether the client can show a form to its user. A client that names no elicitation mode supports forms."""
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


# The caller: a name for policy and rate limits, and the request through which the client can be reached.

Context: TypeAlias = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls: what the gateway keeps for somebody belongs to this name, and to nobody else."""

    name: str
    role: str | None  # in the policy
    user: str  # whose credentials its calls use
    profile: str | None = None  # None is what clients get that choose none
    token: SecretStr | None = field(default=None, compare=False, repr=False)  # of OAuth, to be exchanged for others


ReportProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
LOCAL = Caller(name="local", role="local", user=credentials.LOCAL)  # the only caller on stdio


class CallerToken(AccessToken):
    """Carries a caller through the SDK, which binds sessions to `client_id`. The token itself is not passed on."""

    caller: Caller

    @classmethod
    def of(cls, caller: Caller) -> "CallerToken":
        return cls(token="", client_id=f"{caller.profile or ''}/{caller.name}", scopes=[], caller=caller)


@dataclass(frozen=True, slots=True)
class CallerContext:
    """The caller of one request."""

    caller: Caller
    request: Context

    @classmethod
    def of(cls, request: Context) -> "CallerContext":
        """The caller of this request. Over HTTP the bearer token identifies it."""
        # The user of this very HTTP request; what the SDK keeps for a session is of the one that opened it.
        scope: Mapping[str, Any] = getattr(request.request, "scope", {})  # of Starlette; there is none on stdio
        user = scope.get("user")
        token = user.access_token if isinstance(user, AuthenticatedUser) else get_access_token()
        return cls(token.caller if isinstance(token, CallerToken) else LOCAL, request)

    @property
    def name(self) -> str:
        """The name of the caller."""
        return self.caller.name

    @property
    def is_modern(self) -> bool:
        """Whether the client uses the newer protocol, which has no sessions and no requests from server to client."""
        return self.request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_elicit(self) -> bool:
        """Whether the client can show a form to its user."""
        return can_elicit(self.request.session.client_capabilities)

    @property
    def session_key(self) -> object:
        """Equal for all requests of one session; None in the newer protocol, which has no sessions."""
        return None if self.is_modern else self.connection

    @property
    def connection(self) -> Connection:
        """The SDK's connection, which it hides from handlers. Nothing else can hold the state of a session."""
        return self.request.session._connection  # pyright: ignore[reportPrivateUsage]


# One call of a client, and the questions that the upstream server asks during it.

NO_USER = "The client of this call cannot ask its user."
NO_PAGE = "The client of this call cannot open a page for its user."
NO_MODEL = "The client of this call does not let servers use its model."
NO_REPLY = "The client did not answer."
TOO_LONG = "The question is longer than the user would be shown whole: {length:,} characters, at most {most:,}."


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question that waits for its reply."""

    question: Question
    reply: "asyncio.Future[Reply]"

    def accepts(self, reply: object) -> TypeGuard[Reply]:
        """Whether this is a reply of the expected type."""
        if isinstance(self.question, mcp_types.ElicitRequest):
            return isinstance(reply, mcp_types.ElicitResult)
        return isinstance(reply, mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools)


@dataclass(slots=True)
class Conversation:
    """The context of a tool call: who called, and how to ask them."""

    caller: CallerContext
    limits: GatewayLimits = DEFAULT_LIMITS
    questions: "asyncio.Queue[PendingQuestion]" = field(default_factory=lambda: asyncio.Queue[PendingQuestion]())
    call_seconds: float = 0.0  # how long a call may take at least, whatever is usual
    latest: tuple[float, float | None, str | None] | None = None  # progress
    detached: ReportProgress | None = None  # of a task: its request was answered already, and progress goes here

    @property
    def name(self) -> str:
        """The name of the caller."""
        return self.caller.name

    @property
    def person(self) -> object:
        """Identifies the person who would be asked."""
        return self.caller.name, self.caller.session_key

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report the progress of the upstream to the client, if the client asked for it."""
        self.latest = progress, total, message
        if self.detached is not None:
            await self.detached(progress, total, message)
        else:
            await self.caller.request.session.report_progress(progress, total, message)

    async def answer(self, server: str, question: Question) -> Reply | mcp_types.ErrorData:
        """Pass an upstream's question on to the client, with the name of the server in front of it."""
        refused = _unsupported_reason(question, self.caller.request.session.client_capabilities)
        refused = refused or _too_long(question, self.limits.form_characters)
        if self.detached is not None and not self.caller.is_modern:
            refused = NO_REPLY  # the request that could carry the question is answered
        if refused:
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=refused)
        named = _with_server_name(server, question)
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await (self._ask_by_result(named) if self.caller.is_modern else self._ask_in_session(named))
        except MCPError as error:
            return error.error
        except (TimeoutError, NoBackChannelError):
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=NO_REPLY)

    async def _ask_by_result(self, question: Question) -> Reply:
        """In the newer protocol the question is the result of the request, and the next request brings the reply."""
        pending = PendingQuestion(question, asyncio.get_running_loop().create_future())
        self.questions.put_nowait(pending)
        return await pending.reply

    async def _ask_in_session(self, question: Question) -> Reply:
        """In the older protocol the server sends the question as a request of its own while the call is running."""
        request = self.caller.request
        related = ServerMessageMetadata(related_request_id=request.request_id)
        kind = (
            mcp_types.ElicitResult if isinstance(question, mcp_types.ElicitRequest) else mcp_types.CreateMessageResult
        )
        return await request.session.send_request(question, kind, metadata=related)


def _unsupported_reason(question: Question, capabilities: mcp_types.ClientCapabilities | None) -> str:
    """Why the client cannot be asked this; empty if it can."""
    if isinstance(question, mcp_types.CreateMessageRequest):
        able = capabilities is not None and capabilities.sampling is not None
        return "" if able and not question.params.tools else NO_MODEL
    if isinstance(question.params, mcp_types.ElicitRequestFormParams):
        return "" if can_elicit(capabilities) else NO_USER
    elicitation = capabilities.elicitation if capabilities else None
    return "" if elicitation is not None and elicitation.url is not None else NO_PAGE


def _too_long(question: Question, most: int) -> str:
    """Why a person could not read the question whole; empty if they can. Questions are never cut."""
    if isinstance(question, mcp_types.CreateMessageRequest):
        return ""
    length = len(question.params.model_dump_json(by_alias=True, exclude_none=True))
    return TOO_LONG.format(length=length, most=most) if length > most else ""


def _with_server_name(server: str, question: Question) -> Question:
    """The question to a user, with the name of the server in front. A request to a model is not changed."""
    if isinstance(question, mcp_types.CreateMessageRequest):
        return question
    message = f"{server} asks: {clean(question.params.message, len(question.params.message))}"
    return mcp_types.ElicitRequest(params=question.params.model_copy(update={"message": message}))


# Sessions of the older protocol (2025-11-25), in which found tools are added to the client's list.

_KEY = "toolcrib"  # of our entry in the state of a connection
_FINDERS = ("search_tools", "get_tool")  # browsing categories does not select tools
_CHANGED = mcp_types.ToolListChangedNotification()


class GatewayServer(Server[None]):
    """Announces to clients of the older protocol which of its lists may change."""

    tools_change = False
    legacy_tasks: mcp_types.ServerTasksCapability | None = None

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: object, **options: object
    ) -> InitializationOptions:
        changing = notification_options or NotificationOptions(
            tools_changed=self.tools_change, resources_changed=True, prompts_changed=True
        )
        return super().create_initialization_options(changing, *more, **options)  # pyright: ignore[reportArgumentType]  # passed on unchanged

    def get_capabilities(self, *given: Any, **more: Any) -> mcp_types.ServerCapabilities:
        """The SDK says that all lists may change where clients can listen; that of tools does only in sessions."""
        stated = super().get_capabilities(*given, **more)
        if more.get("protocol_version") not in MODERN_PROTOCOL_VERSIONS:
            return stated.model_copy(update={"tasks": self.legacy_tasks, "extensions": None})
        return stated.model_copy(update={"tools": mcp_types.ToolsCapability(list_changed=False)})


class LegacySession:
    """One session of the older protocol, and the tools that its client has found."""

    def __init__(self, toolbox: Toolbox, connection: Connection, *, can_elicit: bool) -> None:
        self.toolbox = toolbox
        self._connection = connection
        self._can_elicit = can_elicit
        self._announced = self.found  # the list that the client has fetched, or was notified of

    @property
    def found(self) -> tuple[Tool, ...]:
        """The tools in the list besides the surface, in the order in which they were found.

        A tool that needs confirmation is included only if the client supports elicitation; otherwise it is called
        through `call_tool`, which has an argument for the confirmation code.
        """
        active = self.toolbox.visible()[len(self.toolbox.surface) :]
        return tuple(tool for tool in active if self._can_elicit or not self._needs_confirmation(tool))

    def list_found(self) -> tuple[Tool, ...]:
        """The tools in `found`, marked as known to the client."""
        self._announced = self.found
        return self._announced

    def evict_unused(self) -> None:
        """Before a search, remove the least recently used tools if the list has become too long."""
        self.toolbox.begin_turn()

    async def add_found(self, tool: str, result: ToolResult, caller: CallerContext) -> None:
        """Add what a surface tool found to the list, and notify the client in the stream of its request."""
        if tool in _FINDERS and isinstance(result.value, Discovered):
            self.toolbox.activate(result.value.tools)
        if self._has_changed():
            await caller.request.session.send_notification(_CHANGED, caller.request.request_id)

    async def notify_if_changed(self) -> None:
        """Notify the client if a change of the catalog changed its list."""
        if self._has_changed():
            await self._connection.send_tool_list_changed()

    def _has_changed(self) -> bool:
        before, self._announced = self._announced, self.found
        return before != self._announced

    def _needs_confirmation(self, tool: Tool) -> bool:
        return self.toolbox.verdict(tool).decision is Decision.ASK


class LegacySessions:
    """The open sessions of the older protocol."""

    def __init__(self, catalog: Catalog, make_toolbox: Callable[[Caller], Toolbox]) -> None:
        self._catalog = catalog
        self._make_toolbox = make_toolbox
        self._open: dict[LegacySession, None] = {}
        self._notifying: set[asyncio.Task[None]] = set()

    def subscribe(self) -> Callable[[], None]:
        """Notify clients when the catalog changes their lists. Call the returned function to unsubscribe."""
        loop = asyncio.get_running_loop()

        def changed(change: object) -> None:
            for session in self._open:
                task = loop.create_task(session.notify_if_changed())
                self._notifying.add(task)
                task.add_done_callback(self._notifying.discard)

        return self._catalog.subscribe(changed)

    def of(self, caller: CallerContext) -> LegacySession | None:
        """The session of this request; None in the newer protocol, which has no sessions."""
        if caller.is_modern:
            return None
        connection = caller.connection
        if _KEY not in connection.state:
            session = LegacySession(self._make_toolbox(caller.caller), connection, can_elicit=caller.can_elicit)
            connection.state[_KEY] = session
            self._open[session] = None
            connection.exit_stack.callback(self._open.pop, session, None)
        return cast("LegacySession", connection.state[_KEY])


# Suspended calls of the newer protocol: the upstream asked a question, and a new request brings the reply.

KEY = "question"
EXPIRED = "The question is too old, or was answered before. Call the tool again."
_PREFIX = "ask-"
_MOST_SUSPENDED = 1_000


@dataclass(slots=True)
class _SuspendedCall:
    conversation: Conversation
    call: "asyncio.Task[ToolResult]"
    question: PendingQuestion
    digest: str


class SuspendedCalls:
    """Calls that wait for a reply. Each can be resumed once, by its own caller and with the same arguments."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, _SuspendedCall] = OrderedDict()

    def __contains__(self, state: object) -> bool:
        """Whether this request state was issued here. The call itself may have ended since."""
        return isinstance(state, str) and state.startswith(_PREFIX)

    async def begin(
        self, call: Coroutine[Any, Any, ToolResult], conversation: Conversation, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.InputRequiredResult:
        """The result of a call, or the question that has to be answered first."""
        return await self._run_until_question(asyncio.ensure_future(call), conversation, params)

    async def resume(
        self, caller: CallerContext, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """Deliver the reply to a suspended call; gives its result, or the next question."""
        suspended = self._calls.get(params.request_state or "")
        if suspended is None or suspended.conversation.name != caller.name or suspended.digest != _digest(params):
            return text_result(EXPIRED, failed=True)
        del self._calls[params.request_state or ""]
        reply = (params.input_responses or {}).get(KEY)
        question = suspended.question
        if suspended.call.done() or question.reply.done() or not question.accepts(reply):
            suspended.call.cancel()
            return text_result(EXPIRED, failed=True)
        suspended.conversation.caller = caller
        question.reply.set_result(reply)
        return await self._run_until_question(suspended.call, suspended.conversation, params)

    async def cancel_all(self) -> None:
        """Cancel all suspended calls."""
        calls = [suspended.call for suspended in self._calls.values()]
        self._calls.clear()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def _run_until_question(
        self, call: "asyncio.Task[ToolResult]", conversation: Conversation, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.InputRequiredResult:
        question = asyncio.ensure_future(conversation.questions.get())
        try:
            await asyncio.wait([call, question], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.cancel()  # the client has gone away
            raise
        finally:
            if not question.done():
                question.cancel()
        if call.done():
            return call.result()
        return self._suspend(_SuspendedCall(conversation, call, question.result(), _digest(params)))

    def _suspend(self, suspended: _SuspendedCall) -> mcp_types.InputRequiredResult:
        state = f"{_PREFIX}{secrets.token_hex(16)}"
        self._calls[state] = suspended
        # If no reply comes, the question times out, the upstream gets an error, and the call ends by itself.
        suspended.call.add_done_callback(lambda _: self._calls.pop(state, None))
        while len(self._calls) > _MOST_SUSPENDED:
            self._calls.popitem(last=False)[1].call.cancel()
        question = suspended.question.question
        return mcp_types.InputRequiredResult(input_requests={KEY: question}, request_state=state)


def _digest(params: mcp_types.CallToolRequestParams) -> str:
    return digest(params.name, params.arguments or {})
