"""The gateway as an MCP server: the fixed surface over a toolbox, for both protocols, over stdio and HTTP.

It stands on the SDK's own server below FastMCP's: there a result is what the upstream said, block by block, and nothing
is made of it on the way. FastMCP brings that SDK, and its client speaks to the upstreams.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

import mcp_types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server

from toolcrib.discovery.approval import PendingApproval
from toolcrib.discovery.browse_surface import browse_surface
from toolcrib.discovery.display import SOURCE
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.gateway.answers import found_definition, surface_definition, text_answer
from toolcrib.gateway.asking import Answer, asked
from toolcrib.gateway.caller import LOCAL, CallerContext, Context
from toolcrib.gateway.confirmation import Questions, taken_code, with_code
from toolcrib.gateway.conversation import Conversation
from toolcrib.gateway.gate import Gate
from toolcrib.gateway.large_results import LargeResults
from toolcrib.gateway.older_sessions import ChangingServer, OlderSessions
from toolcrib.gateway.parked import ParkedCalls
from toolcrib.gateway.patience import PATIENCE_SECONDS, Patience
from toolcrib.gateway.remembered import Remembered
from toolcrib.gateway.surface import CALLERS, INSTRUCTIONS, gateway_surface
from toolcrib.policy import Decision, Policy, Rule
from toolcrib.search.index import ToolIndex
from toolcrib.sources.group import SourceGroup
from toolcrib.sources.mcp import McpSource
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

SurfaceName: TypeAlias = Literal["search", "browse"]
_LIST_IS_GOOD_MILLISECONDS = 3_600_000


class Gateway:
    """All sources behind one MCP server. `server` is what a transport runs; it starts and stops the sources.

    With `activate`, tools that a client of the older protocol finds come into its list. Without, no list ever changes.
    """

    def __init__(
        self,
        sources: SourceGroup,
        gate: Gate,
        *,
        policy: Policy | None = None,
        surface: SurfaceName = "search",
        activate: bool = False,
        remembered: Remembered | None = None,
        questions: Questions | None = None,
        large_results: LargeResults | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.sources = sources
        self.gate = gate
        own = Rule(Decision.ALLOW, source=SOURCE)
        self._policy = replace(policy, rules=(own, *policy.rules)) if policy else Policy()
        self._surface: SurfaceName = surface
        self._remembered = remembered
        self._questions = questions or Questions()
        self._large = large_results or LargeResults()
        self._parked = ParkedCalls()
        self._patience = Patience(gate.catalog, patience_seconds)
        self.keeping: list[asyncio.Task[None]] = []  # tasks that end when a source is remembered
        self._toolboxes: dict[str, Toolbox] = {}
        self._older = OlderSessions(gate.catalog, self._made_toolbox) if activate else None
        gate.catalog.add(self._large.tool())
        for source in sources.sources:
            if isinstance(source, McpSource):
                source.relay_questions()
        self._index = ToolIndex(gate.catalog)
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
        code = taken_code(arguments) if name in CALLERS else None
        self.gate.look_again()
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
