"""The gateway as an MCP server: the fixed surface over a toolbox, for both protocols, over stdio and HTTP.

It stands on the SDK's own server below FastMCP's: there a result is what the upstream said, block by block, and nothing
is made of it on the way. FastMCP brings that SDK, and its client speaks to the upstreams.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import mcp_types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server
from pydantic import ValidationError

from toolcrib.catalog.approvals import Quarantine, write_json
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.discovery.surfaces.display import SOURCE
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import GatewayError
from toolcrib.gateway.clients import (
    LOCAL,
    CallerContext,
    ChangingServer,
    Context,
    Conversation,
    LegacySessions,
    SuspendedCalls,
)
from toolcrib.gateway.confirmation import Answer, PendingConfirmations, asked, pop_code, with_code
from toolcrib.gateway.surface import (
    CALLERS,
    INSTRUCTIONS,
    LargeResults,
    found_definition,
    gateway_surface,
    surface_definition,
    text_answer,
)
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.search.index import SearchIndex, ToolIndex
from toolcrib.sources.mcp.config import McpServer
from toolcrib.sources.mcp.source import McpSource, McpToolCall
from toolcrib.sources.names import SEPARATOR
from toolcrib.sources.source import Source, SourceGroup
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import items, mapping
from toolcrib.tools.tool import Tool

# How long a request waits for servers that were just started.

PATIENCE_SECONDS = 5.0  # that the first searches wait for servers of which nothing is remembered


class StartupWait:
    """Waits where without a server nothing would be found, and never for a server that nobody asked for."""

    def __init__(self, catalog: Catalog, seconds: float = PATIENCE_SECONDS) -> None:
        self._catalog = catalog
        self._seconds = seconds
        self._until = 0.0
        self._settling: dict[asyncio.Task[None], Source] = {}  # tasks that end when it is known how a source is

    def begin(self, sources: Iterable[Source]) -> None:
        """These were started just now."""
        self._until = asyncio.get_running_loop().time() + self._seconds
        self._settling = {asyncio.create_task(one.settled()): one for one in sources}

    async def end(self) -> None:
        """Nobody waits any more."""
        for task in self._settling:
            task.cancel()
        await asyncio.gather(*self._settling, return_exceptions=True)

    async def wait(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Give servers a moment before this tool of the surface is called."""
        if not self._settling:
            return
        starting = self._settling = {task: source for task, source in self._settling.items() if not task.done()}
        if not starting or (tool in CALLERS and arguments.get("name") in self._catalog):
            return
        if tool in CALLERS:
            # Whoever names a tool knows that it is there: its server is waited for, and that has an end.
            asked = str(arguments.get("name")).strip()
            if own := [task for task, source in starting.items() if _is_of(asked, source)]:
                await asyncio.wait(own)
            return
        held = {one.source for one in self._catalog}
        awaited = [task for task, source in starting.items() if source.name not in held]
        left = self._until - asyncio.get_running_loop().time()
        if awaited and left > 0:
            await asyncio.wait(awaited, timeout=left)


def _is_of(tool: str, source: Source) -> bool:
    """Whether a tool of this name would be one of this source."""
    return isinstance(source, McpSource) and tool.startswith(f"{source.names.prefix}{SEPARATOR}")


# What each server's tools were the last time, so that a search is answered before the servers are up.

logger = logging.getLogger(__name__)


class ToolCache:
    """A folder with a file for each server. Whatever is wrong with it, the gateway works without."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recall_all(self, sources: Iterable[McpSource]) -> None:
        """Give each source the tools it had."""
        for source in sources:
            self.recall(source)

    def keep_all(self, sources: Iterable[McpSource]) -> "list[asyncio.Task[None]]":
        """Tasks that each end when a source is known to be up and its tools are remembered."""
        return [asyncio.create_task(self._keep_when_settled(source)) for source in sources]

    async def _keep_when_settled(self, source: McpSource) -> None:
        await source.settled()
        if source.tools:
            await asyncio.to_thread(self.keep, source)

    def recall(self, source: McpSource) -> None:
        """Give a source the tools it had."""
        try:
            source.hold(self._definitions(source.server))
        except (OSError, ValueError, ValidationError) as error:
            logger.info("%s is not remembered: %s", source.name, type(error).__name__)

    def keep(self, source: McpSource) -> None:
        """Remember the tools that a source has now."""
        calls = [tool.call for tool in source.tools if isinstance(tool.call, McpToolCall)]
        tools = [call.definition.model_dump(mode="json", by_alias=True, exclude_none=True) for call in calls]
        try:
            write_json(self._file(source.server), {"server": source.server.name, "tools": tools})
        except GatewayError as error:
            logger.info("%s cannot be remembered: %s", source.name, error)

    def _definitions(self, server: McpServer) -> list[dict[str, Any]]:
        file = self._file(server)
        if not file.exists():
            return []
        return [dict(mapping(tool)) for tool in items(mapping(json.loads(file.read_text("utf-8"))).get("tools"))]

    def _file(self, server: McpServer) -> Path:
        """By what makes a server this one. Only a hash of it is written: arguments and addresses may hold keys."""
        said = json.dumps([server.name, server.transport, server.command, server.arguments, server.url])
        return self._folder / f"{sha256(said.encode()).hexdigest()[:32]}.json"


SurfaceName: TypeAlias = Literal["search", "browse"]
_LIST_IS_GOOD_MILLISECONDS = 3_600_000


class Gateway:
    """All sources behind one MCP server. `server` is what a transport runs; it starts and stops the sources.

    With `activate`, tools that a client of the older protocol finds come into its list. Without, no list ever changes.
    """

    def __init__(
        self,
        sources: SourceGroup,
        gate: Quarantine,
        *,
        policy: Policy | None = None,
        surface: SurfaceName = "search",
        activate: bool = False,
        index: SearchIndex | None = None,
        remembered: ToolCache | None = None,
        questions: PendingConfirmations | None = None,
        large_results: LargeResults | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.sources = sources
        self.gate = gate
        own = Rule(Decision.ALLOW, source=SOURCE)
        self._policy = replace(policy, rules=(own, *policy.rules)) if policy else Policy()
        self._surface: SurfaceName = surface
        self._remembered = remembered
        self._questions = questions or PendingConfirmations()
        self._large = large_results or LargeResults()
        self._parked = SuspendedCalls()
        self._patience = StartupWait(gate.catalog, patience_seconds)
        self.keeping: list[asyncio.Task[None]] = []  # tasks that end when a source is remembered
        self._toolboxes: dict[str, Toolbox] = {}
        self._older = LegacySessions(gate.catalog, self._made_toolbox) if activate else None
        gate.catalog.add(self._large.tool())
        for source in sources.sources:
            if isinstance(source, McpSource):
                source.relay_questions()
        self._index: SearchIndex = ToolIndex(gate.catalog) if index is None else index
        self.server: Server[None] = (ChangingServer if activate else Server[None])(
            "toolcrib",
            version=version("toolcrib"),
            title="Toolcrib gateway",
            instructions=INSTRUCTIONS,
            cache_hints={"tools/list": CacheHint(ttl_ms=_LIST_IS_GOOD_MILLISECONDS)},
            lifespan=self._lifespan,
            get_tool_input_schema=self._schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    def toolbox(self, caller: str = LOCAL) -> Toolbox:
        """What a caller may see and call: one who has a name has it as role."""
        if caller not in self._toolboxes:
            self._toolboxes[caller] = self._made_toolbox(caller)
        return self._toolboxes[caller]

    def _made_toolbox(self, caller: str) -> Toolbox:
        make = gateway_surface if self._surface == "search" else browse_surface
        return Toolbox(
            self.gate.catalog,
            self._index,
            policy=self._policy,
            role=caller,
            surface=partial(make, sources=self.sources.states),
            timeout_seconds=None,  # each source has limits of its own, and says more when they are reached
        )

    # What it lives for

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """The sources work inside: all start side by side, with what is remembered of them at hand."""
        mcp = [source for source in self.sources.sources if isinstance(source, McpSource)]
        if self._remembered is not None:
            # A memory is no first list that somebody could trust.
            self._remembered.recall_all(source for source in mcp if not self.gate.awaits(source.name))
        await self.sources.start()
        self._patience.begin(self.sources.sources)
        self.keeping = self._remembered.keep_all(mcp) if self._remembered is not None else []
        unfollow = self._older.follow() if self._older else None
        try:
            yield
        finally:
            if unfollow:
                unfollow()
            for task in self.keeping:
                task.cancel()
            await asyncio.gather(*self.keeping, return_exceptions=True)
            await self._patience.end()
            await self._parked.end()
            self.gate.close()
            self._index.close()
            await self.sources.stop()

    @asynccontextmanager
    async def _lifespan(self, server: Server[None]) -> AsyncGenerator[None]:
        async with self.running():
            yield None

    # What it is asked

    def _schema(self, name: str) -> Mapping[str, Any] | None:
        return next((tool.parameters for tool in self.toolbox().surface if tool.name == name), None)

    async def _list_tools(
        self, ctx: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        caller = CallerContext.of(ctx)
        session = self._older.of(caller) if self._older else None
        listed = [_of_surface(tool, asks=caller.can_be_asked) for tool in self.toolbox().surface]
        found = session.listed() if session else ()
        return mcp_types.ListToolsResult(
            tools=[*listed, *(found_definition(tool, self._policy.risk_of(tool)) for tool in found)]
        )

    async def _call_tool(self, ctx: Context, params: mcp_types.CallToolRequestParams) -> Answer:
        caller = CallerContext.of(ctx)
        if params.request_state in self._parked:
            return self._answer(await self._parked.resume(caller, params), caller)
        session = self._older.of(caller) if self._older else None
        toolbox = session.toolbox if session else self.toolbox(caller.name)
        name = params.name
        of_surface = name in (tool.name for tool in toolbox.surface)
        if not of_surface and name not in (tool.name for tool in (session.found if session else ())):
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no tool named {name[:80]!r}.")
        arguments = dict(params.arguments or {})
        code = pop_code(arguments) if name in CALLERS else None
        self.gate.refresh()
        if of_surface:
            await self._patience.wait(name, arguments)
        if session and of_surface:
            session.make_room()
        conversation = Conversation(caller)
        called = toolbox.call(name, arguments, conversation)
        # Only a tool of an upstream asks back, and only in the newer protocol does the call have to be parked for it.
        parks = caller.is_modern and (name in CALLERS or not of_surface)
        result = await (self._parked.begin(called, conversation, params) if parks else called)
        if session and isinstance(result, ToolResult):
            await session.show(name, result, caller)
        if isinstance(result, ToolResult) and isinstance(result.value, PendingApproval):
            yes = await asked(result.value, caller, params, code, self._questions)
            if not isinstance(yes, bool):
                return yes
            pending = result.value
            called = toolbox.call(pending.tool, pending.arguments, conversation, approved=pending.approve())
            result = await (self._parked.begin(called, conversation, params) if parks else called)
        return self._answer(result, caller)

    def _answer(self, result: ToolResult | Answer, caller: CallerContext) -> Answer:
        if not isinstance(result, ToolResult):
            return result
        if not isinstance(result.value, mcp_types.CallToolResult):
            return self._large.fit(text_answer(result.text, failed=result.failed), caller.name)
        answer = result.value
        structured = answer.structured_content
        if structured is not None and not isinstance(structured, dict) and not caller.is_modern:
            # The older protocol knows objects only; this is how its servers wrap anything else.
            answer = answer.model_copy(update={"structured_content": {"result": structured}})
        return self._large.fit(answer, caller.name)


def _of_surface(tool: Tool, *, asks: bool) -> mcp_types.Tool:
    runs = tool.name in CALLERS
    schema = with_code(tool.parameters) if runs and not asks else tool.parameters
    return surface_definition(tool, schema, runs=runs)
