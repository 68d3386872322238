"""MCP servers as sources of tools (extra `agent` or `gateway`). Import this late: it loads the MCP libraries."""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolcrib.credentials import LOCAL, CredentialStore
from toolcrib.errors import CatalogError, MissingExtraError, SourceError, ToolDefinitionError
from toolcrib.settings import Settings
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.names import ToolNames
from toolcrib.sources.source import Clock, ReportsProgress, SourceState, SourceTools, ToolSink
from toolcrib.tools.definitions import asks_by, risk_by
from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean, clean_words
from toolcrib.tools.tool import Risk, Tool

if TYPE_CHECKING:
    import httpx2

try:
    import mcp_types

    from toolcrib.sources.mcp.connection import McpConnection, Readables, Sleep
    from toolcrib.sources.mcp.resources import Definition, McpReadCall, key_of, reader_of
    from toolcrib.sources.mcp.results import result_of
    from toolcrib.sources.mcp.users import ExchangedToken, UserConnections, with_values
except ModuleNotFoundError as error:
    raise MissingExtraError("A tool of an MCP server", "gateway") from error

_MOST_LOG_LINES = 10
_POLL_FACTOR = 50  # the least ratio of pause to request time: a list of thousands of tools takes seconds
MOST_READABLE = 10_000  # resources, templates or prompts of one server
NOTHING_TO_READ = Readables()
logger = logging.getLogger(__name__)


class McpSource:
    """Keeps the tools of one MCP server up to date in a catalog.

    While the server is down, its tools stay in the catalog: they are found, and a call reports the problem. The
    instructions of the server are not used.
    """

    def __init__(
        self,
        server: McpServer,
        catalog: ToolSink,
        *,
        limits: McpLimits | None = None,
        auth: "httpx2.Auth | None" = None,
        credentials: CredentialStore | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.server = server
        self.names = ToolNames(server.name)
        self.listed = (
            False  # whether the server has told its tools in this run; those that are cached were told earlier
        )
        self.problems: tuple[str, ...] = ()  # why tools of the server were left out, one sentence each
        self._reads = False  # whether its resources and prompts are offered, too
        self._clock = clock
        self._timing: dict[str, Any] = {"limits": limits, "clock": clock, "sleep": sleep}
        self._credentials = credentials
        if server.has_users:
            self._credentials = credentials or CredentialStore.open()
            self.connection = self._connection(server, None, auth or self._login(server, LOCAL))
        else:
            self.connection = McpConnection(server, auth=auth, **self._timing)
        self._source_tools = SourceTools(catalog)
        self._sleep = sleep
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The `source` of its tools."""
        return f"mcp:{self.server.name}"

    @property
    def category(self) -> str:
        """The category of its tools."""
        return category_of(self.server)

    @property
    def state(self) -> SourceState:
        return self.connection.state

    @property
    def problem(self) -> str:
        return self.connection.problem

    @property
    def log(self) -> str:
        """The last stderr output of a local server: for people, never for a model."""
        return self.connection.log

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools in the catalog."""
        return self._source_tools.tools

    def preload(self, known: Iterable[Mapping[str, Any]], readables: Readables = NOTHING_TO_READ) -> None:
        """Put cached tools into the catalog, so that they are found while the server still starts.

        `known` are definitions in the JSON format of MCP. A call of such a tool starts the server if necessary.
        """
        definitions = [mcp_types.Tool.model_validate(definition) for definition in known]
        self._sync(*self._converted(definitions, readables))

    def _connection(self, server: McpServer, user: str | None, auth: "httpx2.Auth | None") -> McpConnection:
        """A connection of one user alone; without a user that of the app, which lists and lets users call."""
        credentials = self._credentials
        assert credentials is not None
        exchanged = ExchangedToken(server, server.exchange, credentials, user) if server.exchange else None

        async def resolve() -> McpServer:
            if exchanged is not None:
                await exchanged.renew()
            return await asyncio.to_thread(with_values, server, credentials, user)

        users = UserConnections(self._connection_of, clock=self._clock) if user is None else None
        return McpConnection(server, auth=exchanged or auth, resolve=resolve, users=users, **self._timing)

    def _login(self, server: McpServer, user: str) -> "httpx2.Auth | None":
        from toolcrib.sources.mcp.login import saved_login  # late: loads the OAuth client

        logins = Settings.from_environment().logins
        return saved_login(server, logins, self._credentials, user) if server.per_user else None

    def _connection_of(self, user: str) -> McpConnection:
        own = replace(self.server, user=user)
        connection = self._connection(own, user, self._login(own, user))
        connection.relays_questions = self.connection.relays_questions
        return connection

    def relay_questions(self) -> None:
        """Allow elicitation and sampling during a call, from the next connection on. The call's context answers.

        The client capabilities, which are sent when a connection opens, tell the server whether it may ask.
        """
        self.connection.relays_questions = True

    def offer_resources(self) -> None:
        """From the next list on, offer the server's resources and prompts, too: as tools that read them."""
        self._reads = True

    async def start(self) -> None:
        """Start to follow the server in the background; returns at once. A disabled server is not started."""
        if self._task is None and not self.server.disabled:
            self._task = asyncio.create_task(self._run(), name=self.name)

    async def wait_until_settled(self) -> None:
        """Wait until the server is ready or has failed. This always ends, because every attempt has a timeout."""
        if not self.server.disabled:
            await self._settled.wait()

    async def refresh(self) -> None:
        """Update the list of tools now. `state` and `problem` report a failure."""
        with suppress(SourceError):
            await self._refresh()

    async def stop(self) -> None:
        """Close the connection, and remove the tools from the catalog."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self.connection.close()
        self._source_tools.clear()
        self._settled.set()

    async def _run(self) -> None:
        while True:
            began = self._clock()
            try:
                await self._refresh()
                pause = max(self.connection.limits.poll_seconds, _POLL_FACTOR * (self._clock() - began))
            except SourceError as error:
                level = logging.INFO if self._settled.is_set() else logging.WARNING  # once; it is tried again and again
                logger.log(level, "%s: %s%s", self.name, error, self._last_words())
                pause = max(self.connection.pause, self.connection.limits.first_retry_seconds)
            self._settled.set()
            if self._task is None:  # it was stopped, and foreign code swallowed the cancellation
                return
            await self._wait_for_change(pause)

    def _last_words(self) -> str:
        """What the program wrote before it failed, for the logs."""
        lines = [clean(line, 200) for line in self.log.splitlines() if line.strip()]
        return f" It wrote: {' | '.join(lines[-_MOST_LOG_LINES:])}" if lines else ""

    async def _wait_for_change(self, seconds: float) -> None:
        """Wait until the tools of the server change, at most this long."""
        changed = self.connection.changed
        waiters = [asyncio.ensure_future(changed.wait()), asyncio.ensure_future(self._sleep(seconds))]
        try:
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiter in waiters:
                waiter.cancel()
        changed.clear()

    async def _refresh(self) -> None:
        definitions = await self.connection.tools()
        readables = await self.connection.readables() if self._reads else NOTHING_TO_READ
        # In a thread: thousands of tools take seconds.
        self._sync(*await asyncio.to_thread(self._converted, definitions, readables))
        self.listed = True

    def _sync(self, tools: Sequence[Tool], problems: Sequence[str]) -> None:
        self.problems = (*problems, *self._source_tools.sync(tools))

    def _converted(
        self, definitions: Sequence[mcp_types.Tool], readables: Readables = NOTHING_TO_READ
    ) -> tuple[list[Tool], list[str]]:
        """The tools of these definitions, and a sentence for each that cannot be one."""
        wanted = {definition.name: definition for definition in definitions if self._is_wanted(definition.name)}
        names = self.names.assign(wanted)
        current = {tool.name: tool for tool in self._source_tools.tools}
        tools: list[Tool] = []
        problems: list[str] = []
        for original, definition in wanted.items():
            existing = current.get(names[original])
            if existing is not None and _is_of(existing, definition):
                tools.append(existing)  # usually nothing has changed, and converting thousands of tools is slow
                continue
            try:
                tools.append(tool_of(definition, names[original], self.connection))
            except (ToolDefinitionError, CatalogError) as error:
                problems.append(str(error))
        readers, unread = self._readers(readables, current)
        return tools + readers, problems + unread

    def _readers(self, readables: Readables, current: Mapping[str, Tool]) -> tuple[list[Tool], list[str]]:
        """The same of resources and prompts. Of a list that the server could not give, those of before stay."""
        problems = list(readables.problems)
        kept: list[Tool] = []
        wanted: dict[str, Definition] = {}
        for what, kind in (
            (readables.resources, mcp_types.Resource),
            (readables.templates, mcp_types.ResourceTemplate),
            (readables.prompts, mcp_types.Prompt),
        ):
            if what is None:
                kept += [one for one in current.values() if _reads(one, kind)]
                continue
            if len(what) > MOST_READABLE:
                problems.append(
                    f"Of {len(what):,} that {self.server.name} lists, the first {MOST_READABLE:,} are there."
                )
            for one in what[:MOST_READABLE]:
                if self._is_wanted(one.name):
                    wanted.setdefault(f"{kind.__name__} {key_of(one)}", one)
        names = self.names.assign(wanted, {key: one.name for key, one in wanted.items()})
        tools: list[Tool] = []
        for key, definition in wanted.items():
            existing = current.get(names[key])
            if existing is not None and _is_of(existing, definition):
                tools.append(existing)
                continue
            try:
                tools.append(reader_of(definition, names[key], self.connection))
            except (ToolDefinitionError, CatalogError) as error:
                problems.append(str(error))
        return kept + tools, problems

    def _is_wanted(self, name: str) -> bool:
        return name not in self.server.without and (self.server.only is None or name in self.server.only)


def _is_of(tool: Tool, definition: object) -> bool:
    """Whether a tool was made of exactly this definition."""
    return isinstance(tool.call, McpToolCall | McpReadCall) and tool.call.definition == definition


def _reads(tool: Tool, kind: type[object]) -> bool:
    return isinstance(tool.call, McpReadCall) and isinstance(tool.call.definition, kind)


# From the definition of an MCP tool to a `Tool`: texts are cleaned, and hints never lower the risk of its name.

MOST_DESCRIPTION_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class McpToolCall:
    """Calls one tool of an MCP server. `definition` is the unchanged definition of the server."""

    name: str  # our name
    definition: mcp_types.Tool
    connection: McpConnection = field(compare=False, repr=False)

    @property
    def as_published(self) -> dict[str, Any]:
        """The definition as the server published it, for pinning."""
        definition = self.definition.model_dump(mode="json", by_alias=True, exclude_none=True)
        definition.pop("_meta", None)  # no model reads it, and some servers put timestamps there
        return definition

    @property
    def asks_if_approved(self) -> bool:
        """Whether it asks before each call also where its server's hints are believed."""
        return asks_by(self.definition.name, _hints(self.definition), believed=True)

    @property
    def target(self) -> dict[str, Any]:
        """The server that runs it, for pinning: its program or host, and a hash of all that its entry says of it."""
        server = self.connection.server
        return {"transport": server.transport, "server": server.address, "entry": server.identity}

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """Call the tool. Every failure of the server is a failed result with the reason."""
        progress = context.report_progress if isinstance(context, ReportsProgress) else None
        try:
            answer = await self.connection.call(
                self.definition.name, arguments, repeatable=self._is_repeatable, progress=progress, context=context
            )
        except SourceError as error:
            return ToolResult.failure(" ".join(filter(None, (str(error), error.hint))))
        return result_of(self.name, answer)

    @property
    def _is_repeatable(self) -> bool:
        # Here the hint can be trusted: the server itself would do the work twice.
        hints = self.definition.annotations
        return hints is not None and (hints.read_only_hint is True or hints.idempotent_hint is True)


def tool_of(definition: mcp_types.Tool, name: str, connection: McpConnection) -> Tool:
    """Convert a definition, under our name. Raises `ToolDefinitionError` if no model provider accepts its schema."""
    server = connection.server.name
    hints = definition.annotations
    title = definition.title or (hints.title if hints else None) or ""
    return Tool(
        name=name,
        description=clean(definition.description or title, MOST_DESCRIPTION_CHARACTERS),
        parameters=clean_words({"type": "object", **definition.input_schema}),
        call=McpToolCall(name, definition, connection),
        category=category_of(connection.server),
        risk=risk_of(definition),
        confirm=asks_by(definition.name, _hints(definition)),
        output_schema=clean_words(definition.output_schema) if definition.output_schema else None,
        source=f"mcp:{server}",
        origin=connection.server.origin,
    )


def category_of(server: McpServer) -> str:
    """The category of a server's tools."""
    return clean(server.name, 60)


def risk_of(definition: mcp_types.Tool) -> Risk:
    """The risk of a tool, from its name and hints. A hint can only raise the risk that the name implies.

    A tool with the read-only hint is safe; a policy can distrust hints by source.
    """
    return risk_by(definition.name, _hints(definition))


def _hints(definition: mcp_types.Tool) -> Mapping[str, Any] | None:
    hints = definition.annotations
    return hints.model_dump(by_alias=True) if hints else None
