"""The gateway as an MCP server: the fixed surface over a toolbox, for both protocols, over stdio and HTTP.

It stands on the SDK's own server below FastMCP's: there a result is what the upstream said, block by block, and nothing
is made of it on the way. FastMCP brings that SDK, and its client speaks to the upstreams.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

import mcp_types
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import NoBackChannelError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.discovery.approval import PendingApproval
from toolcrib.discovery.browse_surface import browse_surface
from toolcrib.discovery.display import SOURCE
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.gateway.confirmation import (
    DECLINED,
    FORM,
    KEY,
    NOT_ASKED,
    SECONDS,
    TOO_OLD,
    Questions,
    can_be_asked,
    code_text,
    input_required,
    question,
    says_yes,
    taken_code,
    with_code,
)
from toolcrib.gateway.gate import Gate
from toolcrib.gateway.large_results import LargeResults
from toolcrib.gateway.remembered import Remembered
from toolcrib.gateway.surface import CALLERS, INSTRUCTIONS, gateway_surface
from toolcrib.policy import Decision, Policy, Rule
from toolcrib.search.index import ToolIndex
from toolcrib.sources.group import SourceGroup
from toolcrib.sources.mcp import McpSource
from toolcrib.sources.names import SEPARATOR
from toolcrib.sources.source import Source
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

SurfaceName: TypeAlias = Literal["search", "browse"]
Context: TypeAlias = ServerRequestContext[Any, Any]
Answer: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult

LOCAL = "local"  # the caller on stdio, where there is only one
PATIENCE_SECONDS = 5.0  # that the first searches wait for servers of which nothing is remembered
_LIST_IS_GOOD_MILLISECONDS = 3_600_000


@dataclass(frozen=True, slots=True)
class CallerContext:
    """Whose call it is; what a tool is given as its context."""

    name: str
    request: Context

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the upstream is, if it asked to hear of it."""
        await self.request.session.report_progress(progress, total, message)


class Gateway:
    """All sources behind one MCP server. `server` is what a transport runs; it starts and stops the sources."""

    def __init__(
        self,
        sources: SourceGroup,
        gate: Gate,
        *,
        policy: Policy | None = None,
        surface: SurfaceName = "search",
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
        self._patience_seconds = patience_seconds
        self._patient_until = 0.0
        self._settling: dict[asyncio.Task[None], Source] = {}  # tasks that end when it is known how a source is
        self.keeping: list[asyncio.Task[None]] = []  # tasks that end when a source is remembered
        self._toolboxes: dict[str, Toolbox] = {}
        gate.catalog.add(self._large.tool())
        self._index = ToolIndex(gate.catalog)
        self.server: Server[None] = Server(
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
            make = gateway_surface if self._surface == "search" else browse_surface
            self._toolboxes[caller] = Toolbox(
                self.gate.catalog,
                self._index,
                policy=self._policy,
                role=caller,
                surface=partial(make, sources=self.sources.states),
                timeout_seconds=None,  # each source has limits of its own, and says more when they are reached
            )
        return self._toolboxes[caller]

    # What it lives for

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """The sources work inside: all start side by side, with what is remembered of them at hand."""
        mcp = [source for source in self.sources.sources if isinstance(source, McpSource)]
        if self._remembered is not None:
            for source in mcp:
                if not self.gate.awaits(source.name):  # a memory is no first list that somebody could trust
                    self._remembered.recall(source)
        await self.sources.start()
        self._patient_until = asyncio.get_running_loop().time() + self._patience_seconds
        self._settling = {asyncio.create_task(one.settled()): one for one in self.sources.sources}
        self.keeping = [asyncio.create_task(self._keep(source)) for source in mcp]
        try:
            yield
        finally:
            for task in (*self._settling, *self.keeping):
                task.cancel()
            await asyncio.gather(*self._settling, *self.keeping, return_exceptions=True)
            self.gate.close()
            await self.sources.stop()

    async def _keep(self, source: McpSource) -> None:
        await source.settled()
        if self._remembered is not None and source.tools:
            await asyncio.to_thread(self._remembered.keep, source)

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
        asks = can_be_asked(ctx.session.client_capabilities)
        return mcp_types.ListToolsResult(tools=[_definition(tool, asks=asks) for tool in self.toolbox().surface])

    async def _call_tool(self, ctx: Context, params: mcp_types.CallToolRequestParams) -> Answer:
        token = get_access_token()
        caller = CallerContext(token.client_id if token else LOCAL, ctx)
        toolbox = self.toolbox(caller.name)
        if params.name not in (tool.name for tool in toolbox.surface):
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no tool named {params.name[:80]!r}.")
        arguments = dict(params.arguments or {})
        code = taken_code(arguments) if params.name in CALLERS else None
        self.gate.look_again()
        await self._wait_for_sources(params.name, arguments)
        result = await toolbox.call(params.name, arguments, caller)
        if isinstance(result.value, PendingApproval):
            asked = await self._ask(result.value, caller, params, code)
            if not isinstance(asked, bool):
                return asked
            pending = result.value
            result = await toolbox.call(pending.tool, pending.arguments, caller, approved=pending.approve())
        return self._answer(result, caller)

    async def _wait_for_sources(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Give servers that were just started a moment, where without them nothing would be found."""
        starting = {task: source for task, source in self._settling.items() if not task.done()}
        if not starting or (name in CALLERS and arguments.get("name") in self.gate.catalog):
            return
        if name in CALLERS:
            # Whoever names a tool knows that it is there: its server is waited for, and that has an end.
            asked = str(arguments.get("name")).strip()
            if own := [task for task, source in starting.items() if _is_of(asked, source)]:
                await asyncio.wait(own)
            return
        held = {tool.source for tool in self.gate.catalog}
        awaited = [task for task, source in starting.items() if source.name not in held]
        left = self._patient_until - asyncio.get_running_loop().time()
        if awaited and left > 0:
            await asyncio.wait(awaited, timeout=left)

    async def _ask(
        self, pending: PendingApproval, caller: CallerContext, params: mcp_types.CallToolRequestParams, code: str | None
    ) -> Answer | Literal[True]:
        """Ask the user about a call, in whatever way the client has; gives their yes, or what to answer without it."""
        session = caller.request.session
        if not can_be_asked(session.client_capabilities):
            if code is None:
                return _text(code_text(pending, self._questions.ask(pending, caller.name)))
            return self._questions.take(code, pending, caller.name) or _refusal(TOO_OLD, pending)
        if caller.request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            try:
                async with asyncio.timeout(SECONDS):
                    answer = await session.elicit_form(question(pending), FORM, caller.request.request_id)
            except (TimeoutError, MCPError, NoBackChannelError):
                return _refusal(NOT_ASKED, pending)
            return says_yes(answer) or _refusal(DECLINED, pending)
        if params.request_state is None:
            return input_required(pending, self._questions.ask(pending, caller.name))
        if not self._questions.take(params.request_state, pending, caller.name):
            return _refusal(TOO_OLD, pending)
        return says_yes((params.input_responses or {}).get(KEY)) or _refusal(DECLINED, pending)

    def _answer(self, result: ToolResult, caller: CallerContext) -> mcp_types.CallToolResult:
        if not isinstance(result.value, mcp_types.CallToolResult):
            return self._large.fit(_text(result.text, failed=result.failed), caller.name)
        answer = result.value
        structured = answer.structured_content
        modern = caller.request.protocol_version in MODERN_PROTOCOL_VERSIONS
        if structured is not None and not isinstance(structured, dict) and not modern:
            # The older protocol knows objects only; this is how its servers wrap anything else.
            answer = answer.model_copy(update={"structured_content": {"result": structured}})
        return self._large.fit(answer, caller.name)


def _is_of(tool: str, source: Source) -> bool:
    """Whether a tool of this name would be one of this source."""
    return isinstance(source, McpSource) and tool.startswith(f"{source.names.prefix}{SEPARATOR}")


def _definition(tool: Tool, *, asks: bool) -> mcp_types.Tool:
    runs = tool.name in CALLERS
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=with_code(tool.parameters) if runs and not asks else dict(tool.parameters),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not runs, destructive_hint=runs, idempotent_hint=not runs, open_world_hint=runs
        ),
    )


def _text(text: str, *, failed: bool = False) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)], is_error=failed)


def _refusal(text: str, pending: PendingApproval) -> mcp_types.CallToolResult:
    return _text(text.format(tool=pending.tool), failed=True)
