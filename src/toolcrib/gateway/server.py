"""The gateway as an MCP server: the fixed surface over a toolbox, for both protocols, over stdio and HTTP.

It uses the SDK's low-level server, not FastMCP's, because that one passes an upstream's result on unchanged, block by
block. FastMCP brings the SDK, and its client connects to the upstream servers.
"""

import asyncio
import json
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

import mcp_types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server
from pydantic import ValidationError

from toolcrib.catalog.approvals import Quarantine, pin_of, write_json
from toolcrib.catalog.catalog import Catalog
from toolcrib.credentials import acting_for
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.program.limits import DEFAULT_LIMITS, CodeLimits
from toolcrib.discovery.program.paused import RUN_CODE
from toolcrib.discovery.program.run import ProgramCall
from toolcrib.discovery.render import label
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.discovery.surfaces.code import code_surface
from toolcrib.discovery.surfaces.display import SOURCE, missing_sources
from toolcrib.discovery.surfaces.search import SEARCH_NAME
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import GatewayError
from toolcrib.gateway.clients import (
    LOCAL,
    Caller,
    CallerContext,
    Context,
    Conversation,
    GatewayServer,
    LegacySessions,
    SuspendedCalls,
)
from toolcrib.gateway.confirmation import (
    DECLINED,
    TOO_OLD,
    Answer,
    Confirmations,
    PendingConfirmations,
    ask_user,
    pop_code,
    with_code,
)
from toolcrib.gateway.large_results import LargeResults
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.gateway.pending import WaitingCalls
from toolcrib.gateway.profiles import Profile, SurfaceName, all_rules, check_servers, chosen
from toolcrib.gateway.programs import WaitingPrograms
from toolcrib.gateway.resources import Reader, Resources, page
from toolcrib.gateway.rules import RuleWatch
from toolcrib.gateway.status import Activity, StatusFile
from toolcrib.gateway.subscriptions import Subscriptions
from toolcrib.gateway.surface import (
    CALLERS,
    CODE_INSTRUCTIONS,
    INSTRUCTIONS,
    found_definition,
    gateway_surface,
    refusal,
    surface_definition,
    text_result,
)
from toolcrib.gateway.tasks import EXTENSION, LEGACY_CAPABILITY, CallTask, Tasks, UpdateTaskParams
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.search.index import ToolIndex
from toolcrib.search.interface import SearchIndex
from toolcrib.sources.mcp.config import McpServer
from toolcrib.sources.mcp.source import McpSource, McpToolCall
from toolcrib.sources.mcp.users import acting_with
from toolcrib.sources.names import SEPARATOR
from toolcrib.sources.source import Source, SourceGroup
from toolcrib.stores.store import Store
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import items, mapping
from toolcrib.tools.tool import Tool

# How long a request waits for servers that were just started.


class StartupWait:
    """Delays a request while a server that it needs is starting. It never waits for a server that is not needed."""

    def __init__(self, catalog: Catalog, seconds: float) -> None:
        self._catalog = catalog
        self._seconds = seconds
        self._until = 0.0
        self._settling: dict[asyncio.Task[None], Source] = {}  # each task ends when the state of its source is known

    def begin(self, sources: Iterable[Source]) -> None:
        """Start the clock: these sources have just been started."""
        self._until = asyncio.get_running_loop().time() + self._seconds
        self._settling = {asyncio.create_task(one.wait_until_settled()): one for one in sources}

    async def end(self) -> None:
        """Stop waiting for sources."""
        for task in self._settling:
            task.cancel()
        await asyncio.gather(*self._settling, return_exceptions=True)

    async def wait(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Wait, if necessary, before this surface tool is called."""
        if not self._settling:
            return
        starting = self._settling = {task: source for task, source in self._settling.items() if not task.done()}
        if not starting or (tool in CALLERS and arguments.get("name") in self._catalog):
            return
        if tool in CALLERS:
            # The caller knows that the tool exists, so wait for its server. Each start has a time limit.
            name = str(arguments.get("name")).strip()
            if own := [task for task, source in starting.items() if _belongs_to(name, source)]:
                await asyncio.wait(own)
            return
        known = {one.source for one in self._catalog}
        without_tools = [task for task, source in starting.items() if source.name not in known]
        left = self._until - asyncio.get_running_loop().time()
        if without_tools and left > 0:
            await asyncio.wait(without_tools, timeout=left)


def _belongs_to(tool: str, source: Source) -> bool:
    """Whether a tool of this name would belong to this source."""
    return isinstance(source, McpSource) and tool.startswith(f"{source.names.prefix}{SEPARATOR}")


# The tools that each server had last time, so that a search can be answered before the servers are ready.

logger = logging.getLogger(__name__)


class ToolCache:
    """A folder with one file per server. The gateway also works if the folder cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, source: McpSource) -> None:
        """Give a source the tools it had last time."""
        try:
            source.preload(self._definitions(source.server))
        except (OSError, ValueError, ValidationError) as error:
            logger.info("The cached tools of %s cannot be read: %s", source.name, type(error).__name__)

    async def save_when_settled(self, source: McpSource) -> None:
        """Wait until a source has started, then save its tools."""
        await source.wait_until_settled()
        if source.tools:
            await asyncio.to_thread(self.save, source)

    def save(self, source: McpSource) -> None:
        """Save the tools that a source has now."""
        calls = [tool.call for tool in source.tools if isinstance(tool.call, McpToolCall)]
        tools = [call.definition.model_dump(mode="json", by_alias=True, exclude_none=True) for call in calls]
        try:
            write_json(self._file(source.server), {"server": source.server.name, "tools": tools})
        except GatewayError as error:
            logger.info("The tools of %s cannot be cached: %s", source.name, error)

    def _definitions(self, server: McpServer) -> list[dict[str, Any]]:
        file = self._file(server)
        if not file.exists():
            return []
        return [dict(mapping(tool)) for tool in items(mapping(json.loads(file.read_text("utf-8"))).get("tools"))]

    def _file(self, server: McpServer) -> Path:
        """The file is named by a hash of what identifies the server: arguments and addresses may contain keys."""
        identity = json.dumps([server.name, server.transport, server.command, server.arguments, server.url])
        return self._folder / f"{sha256(identity.encode()).hexdigest()[:32]}.json"


SURFACES: Mapping[SurfaceName, Callable[..., tuple[Tool, ...]]] = {
    "search": gateway_surface,
    "browse": browse_surface,
    "code": code_surface,
}
_MOST_CALLERS = 1_000  # whose toolboxes are kept: they are made anew in a moment
_RUNNING = (*CALLERS, RUN_CODE)  # the tools of a surface that run others
_TOOL_LIST_TTL_MILLISECONDS = 3_600_000
SEARCH = "search_tools"
Params = TypeVar("Params")
Reply = TypeVar("Reply")
TRUSTED = (
    "Tell the user once: the tools of these servers were trusted as they are, without review: {sources}."
    " `toolcrib gateway review` shows them."
)
WAITING = "Not shown, because nobody approved them yet (`toolcrib gateway approve`): tools of {sources}."
UNAVAILABLE = "{tool} cannot be had now: {source}. {problem} Tell the user if the task needs it."


class Gateway:
    """All sources behind one MCP server. A transport runs `server`, which starts and stops the sources.

    With `activate`, tools that a client of the older protocol finds are added to its list. Otherwise the list of tools
    never changes. Calls of clients that cannot ask their user wait in `waiting_calls`, or are refused. With
    `let_models_confirm` their result holds a code instead, which gives the model the user's yes to give.
    """

    def __init__(
        self,
        sources: SourceGroup,
        quarantine: Quarantine,
        *,
        policy: Policy | None = None,
        surface: SurfaceName = "search",
        activate: bool = False,
        index: SearchIndex | None = None,
        tool_cache: ToolCache | None = None,
        limits: GatewayLimits | None = None,
        waiting_calls: WaitingCalls | None = None,
        let_models_confirm: bool = False,
        status_file: StatusFile | None = None,
        profiles: Mapping[str, Profile] | None = None,
        profile: str | None = None,
        programs: Store | None = None,
        program_limits: CodeLimits = DEFAULT_LIMITS,
    ) -> None:
        self.sources = sources
        self.quarantine = quarantine
        allow_surface = Rule(Decision.ALLOW, source=SOURCE)
        self._policy = replace(policy, rules=(allow_surface, *policy.rules)) if policy else Policy()
        self.profiles = dict(profiles or {})
        self._profile = chosen(self.profiles, profile)
        faces = {one.name: one for one in (*self.profiles.values(), self._profile)}.values()
        check_servers(faces, [source.name for source in sources.sources])
        self._policies = {one.name: one.policy(self._policy) for one in faces}
        self.rules = RuleWatch(all_rules(self._policy, faces), sources, quarantine)
        self._surface: SurfaceName = surface
        self._tool_cache = tool_cache
        self._limits = limits or GatewayLimits()
        self.confirmations = Confirmations(
            forms=PendingConfirmations(seconds=self._limits.answer_seconds),
            terminal=waiting_calls,
            let_models_confirm=let_models_confirm,
            limits=self._limits,
        )
        self._programs = WaitingPrograms(programs)
        self._program_limits = program_limits
        self.activity = Activity()
        self.status_file = status_file
        self._large = LargeResults(self._limits)
        self._suspended = SuspendedCalls()
        self.tasks = Tasks(self._limits)
        self._startup_wait = StartupWait(quarantine.catalog, self._limits.startup_wait_seconds)
        self.saving: list[asyncio.Task[None]] = []  # each task ends when the tools of its source are cached
        self._toolboxes: OrderedDict[Caller, Toolbox] = OrderedDict()
        self._noticed: set[str] = set()  # what was said to a model once
        self._legacy = LegacySessions(quarantine.catalog, self._make_toolbox) if activate else None
        self.resources = Resources(sources, quarantine.catalog)
        self._subscriptions = Subscriptions(sources, quarantine.catalog, self.resources)
        quarantine.catalog.add(self._large.tool())
        quarantine.catalog.add(self.resources.reader(self._reader_of))
        for source in sources.sources:
            if isinstance(source, McpSource):
                source.relay_questions()
                source.offer_resources()
        self._index: SearchIndex = ToolIndex(quarantine.catalog) if index is None else index
        self.server = GatewayServer(
            "toolcrib",
            version=version("toolcrib"),
            title="Toolcrib gateway",
            instructions=CODE_INSTRUCTIONS if surface == "code" else INSTRUCTIONS,
            cache_hints={"tools/list": CacheHint(ttl_ms=_TOOL_LIST_TTL_MILLISECONDS)},
            lifespan=self._lifespan,
            get_tool_input_schema=self._schema,
            on_list_tools=self._list_tools,
            on_call_tool=_as_caller(self._call_tool),
            on_list_resources=_as_caller(self._list_resources),
            on_list_resource_templates=_as_caller(self._list_templates),
            on_read_resource=_as_caller(self._read_resource),
            on_list_prompts=_as_caller(self._list_prompts),
            on_get_prompt=_as_caller(self._get_prompt),
            on_completion=_as_caller(self._complete),
            on_subscribe_resource=_as_caller(self._subscribe),
            on_unsubscribe_resource=_as_caller(self._unsubscribe),
            on_subscriptions_listen=self._listen,
        )
        self.server.tools_change = activate
        self.server.legacy_tasks = LEGACY_CAPABILITY
        self.server.extensions = {EXTENSION: {}}
        self.server.middleware.append(self.tasks.middleware)
        for method, kind, handler in (
            ("tasks/get", mcp_types.GetTaskRequestParams, self.tasks.get),
            ("tasks/cancel", mcp_types.CancelTaskRequestParams, self.tasks.cancel),
            ("tasks/update", UpdateTaskParams, self.tasks.update),
            ("tasks/result", mcp_types.GetTaskPayloadRequestParams, self.tasks.result),
            ("tasks/list", mcp_types.PaginatedRequestParams, self.tasks.list),
        ):
            self.server.add_request_handler(method, kind, cast("Any", handler))  # each takes its own parameters

    def profile_of(self, caller: Caller) -> Profile:
        """The profile that a caller has chosen, or that is for those who chose none."""
        return self._profile if caller.profile is None else self.profiles[caller.profile]

    def toolbox(self, caller: Caller = LOCAL) -> Toolbox:
        """What a caller may see and call."""
        toolbox = self._toolboxes.pop(caller, None) or self._make_toolbox(caller)
        self._toolboxes[caller] = toolbox  # the last one is the most recently used
        if len(self._toolboxes) > _MOST_CALLERS:
            self._toolboxes.popitem(last=False)
        return toolbox

    def _make_toolbox(self, caller: Caller) -> Toolbox:
        profile = self.profile_of(caller)
        surface = SURFACES[profile.surface or self._surface]
        if surface is code_surface:
            surface = partial(code_surface, limits=self._program_limits)
        toolbox = Toolbox(
            self.quarantine.catalog,
            self._index,
            policy=self._policies[profile.name],
            role=caller.role,
            surface=partial(surface, sources=self.sources.states),
            timeout_seconds=None,  # each source has its own time limit and reports more about it
            watch_program=self._count_inner,
        )
        toolbox.programs.owner = f"gateway\n{caller.profile or ''}/{caller.name}"
        return toolbox

    def _count_inner(self, call: ProgramCall) -> None:
        """Count a call that a program made."""
        tool = self.quarantine.catalog.get(call.tool) if call.tool in self.quarantine.catalog else None
        if tool is not None and call.result is not None and not isinstance(call.result.value, PendingApproval):
            self.activity.note_call(tool.source, call.took_ms / 1_000, failed=call.result.failed)

    # Lifespan

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run the sources inside the block. They start concurrently, and their cached tools are available at once.

        Raises:
            GatewayError: A rule of the policy's file fits no tool, and no source can bring one.
        """
        self.rules.require()
        mcp = [source for source in self.sources.sources if isinstance(source, McpSource)]
        if self._tool_cache is not None:
            # Cached tools are not a first list from the server itself, so they must not be approved as one.
            for source in mcp:
                if not self.quarantine.first_list_pending(source.name):
                    self._tool_cache.load(source)
        await self.sources.start()
        self._startup_wait.begin(self.sources.sources)
        if self._tool_cache is not None:
            self.saving = [asyncio.create_task(self._tool_cache.save_when_settled(source)) for source in mcp]
        unsubscribe = self._legacy.subscribe() if self._legacy else None
        stop_following = self._subscriptions.follow()
        keeping = asyncio.create_task(self.status_file.keep(self)) if self.status_file else None
        try:
            yield
        finally:
            if keeping is not None:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
            stop_following()
            if unsubscribe:
                unsubscribe()
            for task in self.saving:
                task.cancel()
            await asyncio.gather(*self.saving, return_exceptions=True)
            await self._startup_wait.end()
            await self._suspended.cancel_all()
            await self.tasks.close()
            self.quarantine.close()
            if self.confirmations.terminal is not None:
                with suppress(GatewayError):  # what nobody could write needs no cleaning
                    await asyncio.to_thread(self.confirmations.terminal.close)
            # Before the sources stop and take their tools away: other gateways may share the index.
            self._index.close()
            await self.sources.stop()

    @asynccontextmanager
    async def _lifespan(self, server: Server[None]) -> AsyncGenerator[None]:
        async with self.running():
            yield None

    # Requests

    def _schema(self, name: str) -> Mapping[str, Any] | None:
        callers = (LOCAL, *(replace(LOCAL, profile=profile) for profile in self.profiles))
        surfaces = (tool for caller in callers for tool in self.toolbox(caller).surface)
        return next((tool.parameters for tool in surfaces if tool.name == name), None)

    async def _list_tools(
        self, ctx: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        caller = CallerContext.of(ctx)
        session = self._legacy.of(caller) if self._legacy else None
        codes = self.confirmations.let_models_confirm and not caller.can_elicit
        listed = [
            _surface_tool(tool, codes=codes, tasks=not caller.is_modern) for tool in self.toolbox(caller.caller).surface
        ]
        found = session.list_found() if session else ()
        return mcp_types.ListToolsResult(
            tools=[*listed, *(found_definition(tool, self._policy.risk_of(tool)) for tool in found)]
        )

    async def _call_tool(self, ctx: Context, params: mcp_types.CallToolRequestParams) -> Answer:
        caller = CallerContext.of(ctx)
        if params.request_state in self._suspended:
            resumed = await self._suspended.resume(caller, params)
            called = self._called(self.toolbox(caller.caller), params.name, params.arguments or {})
            return self._answer(resumed, caller, called)
        session = self._legacy.of(caller) if self._legacy else None
        toolbox = session.toolbox if session else self.toolbox(caller.caller)
        name = params.name
        of_surface = name in (tool.name for tool in toolbox.surface)
        if not of_surface and name not in (tool.name for tool in (session.found if session else ())):
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no tool named {name[:80]!r}.")
        arguments = self._programs.answered(name, dict(params.arguments or {}), params.request_state)
        await self._programs.load(toolbox, arguments, caller.name)
        code = pop_code(arguments) if name in _RUNNING and self.confirmations.let_models_confirm else None
        self.quarantine.refresh()
        if of_surface:
            await self._startup_wait.wait(name, arguments)
        if session and of_surface:
            session.evict_unused()
        if refused := self.rules.refusal():
            return text_result(refused, failed=True)
        if of_surface and (unavailable := self._unavailable(toolbox, arguments.get("name"))):
            return text_result(unavailable, failed=True)
        as_task = (name in CALLERS or not of_surface) and self.tasks.wants(caller, params)
        conversation = Conversation(caller, self._limits, call_seconds=self._limits.task_seconds if as_task else 0.0)
        call = toolbox.call(name, arguments, conversation)
        # Only upstream tools ask questions, and only the newer protocol requires the call to be suspended meanwhile.
        may_suspend = caller.is_modern and (name in _RUNNING or not of_surface)
        began = time.monotonic()

        def finish(done: ToolResult) -> mcp_types.CallToolResult:
            self._count(toolbox, name, arguments, done, began)
            answer = self._answer(done, caller, self._called(toolbox, name, arguments))
            assert isinstance(answer, mcp_types.CallToolResult)
            return answer

        async def run(call: Coroutine[Any, Any, ToolResult]) -> ToolResult | mcp_types.InputRequiredResult | CallTask:
            if as_task:
                return await self.tasks.begin(call, conversation, params, finish)
            return await (self._suspended.begin(call, conversation, params) if may_suspend else call)

        result = await run(call)
        if isinstance(result, CallTask):
            return self.tasks.answer(caller, result)
        self._count(toolbox, name, arguments, result, began)
        if session and isinstance(result, ToolResult):
            await session.add_found(name, result, caller)
        kept = "resume" in arguments  # the program that waits
        while isinstance(result, ToolResult) and isinstance(result.value, PendingApproval):
            pending = result.value
            if not kept:
                await self._programs.keep(pending, caller.name)
            binding = _binding(pending, toolbox)
            confirmed = await ask_user(pending, binding, caller, params, code, self.confirmations)
            if not isinstance(confirmed, bool):
                self._programs.asked(getattr(confirmed, "request_state", None), pending)
                return confirmed
            reply = pending.approve() if confirmed else pending.decline()
            if isinstance(reply, ToolResult):
                return refusal(DECLINED, pending)
            if not await self._programs.take(pending, caller.name):
                return refusal(TOO_OLD, pending)
            if confirmed:
                self.activity.note_approval(pending.tool, caller.name)
            # A program may ask more than once; this question is answered, and the next one has to be asked anew.
            params, code, kept = params.model_copy(update={"request_state": None}), None, False
            next_name, next_arguments = pending.next_call
            call = toolbox.call(next_name, next_arguments, conversation, approved=reply)
            began = time.monotonic()
            result = await run(call)
            if isinstance(result, CallTask):
                return self.tasks.answer(caller, result)
            self._count(toolbox, name, arguments, result, began)
        if name in (SEARCH, SEARCH_NAME) and isinstance(result, ToolResult) and (notices := self._notices()):
            result = replace(result, text="\n".join([result.text, *notices]))
        answer = self._answer(result, caller, self._called(toolbox, name, arguments))
        if params.task is not None and as_task and isinstance(answer, mcp_types.CallToolResult):
            return self.tasks.answer(caller, self.tasks.completed(conversation, answer, params))
        return answer

    # Resources and prompts

    async def _list_resources(
        self, ctx: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        shown, more = page(self.resources.resources((await self._reader(ctx)).toolbox), params)
        return mcp_types.ListResourcesResult(resources=shown, next_cursor=more)

    async def _list_templates(
        self, ctx: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourceTemplatesResult:
        shown, more = page(self.resources.templates((await self._reader(ctx)).toolbox), params)
        return mcp_types.ListResourceTemplatesResult(resource_templates=shown, next_cursor=more)

    async def _list_prompts(
        self, ctx: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListPromptsResult:
        shown, more = page(self.resources.prompts((await self._reader(ctx)).toolbox), params)
        return mcp_types.ListPromptsResult(prompts=shown, next_cursor=more)

    async def _read_resource(
        self, ctx: Context, params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult:
        return await self.resources.read(await self._reader(ctx), params.uri)

    async def _get_prompt(self, ctx: Context, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        return await self.resources.prompt((await self._reader(ctx)).toolbox, params.name, params.arguments or {})

    async def _complete(self, ctx: Context, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
        return await self.resources.complete((await self._reader(ctx)).toolbox, params)

    async def _subscribe(self, ctx: Context, params: mcp_types.SubscribeRequestParams) -> mcp_types.EmptyResult:
        await self._subscriptions.subscribe(CallerContext.of(ctx), await self._reader(ctx), params.uri)
        return mcp_types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: mcp_types.UnsubscribeRequestParams) -> mcp_types.EmptyResult:
        await self._subscriptions.unsubscribe(CallerContext.of(ctx), params.uri)
        return mcp_types.EmptyResult()

    async def _listen(
        self, ctx: Context, params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        return await self._subscriptions.listen(ctx, await self._reader(ctx), params)

    def _reader_of(self, context: object) -> Reader:
        """Whoever makes a call, as a reader."""
        caller = context.caller.caller if isinstance(context, Conversation) else LOCAL
        return Reader(self.toolbox(caller), caller.name)

    async def _reader(self, ctx: Context) -> Reader:
        """A caller who lists or reads resources or prompts, once the servers have had time to start."""
        self.quarantine.refresh()
        await self._startup_wait.wait(SEARCH, {})
        if refused := self.rules.refusal():
            raise MCPError(mcp_types.INVALID_REQUEST, refused)
        caller = CallerContext.of(ctx)
        self._subscriptions.add_session(caller)
        return Reader(self.toolbox(caller.caller), caller.name)

    def _notices(self) -> list[str]:
        """What the user should know of approvals; each is said once, at the end of a search."""
        trusted = _counted(self.quarantine.trusted)
        waiting = _counted(Counter(tool.source for tool in self.quarantine.quarantined))
        found = [TRUSTED.format(sources=trusted)] if trusted else []
        found += [WAITING.format(sources=waiting)] if waiting else []
        new = [notice for notice in found if notice not in self._noticed]
        self._noticed.update(new)
        return new

    def _unavailable(self, toolbox: Toolbox, name: object) -> str:
        """Why a tool that is not there cannot be had now: its server is not ready. Empty if there is another reason."""
        if not isinstance(name, str) or toolbox.find(name.strip()):
            return ""
        own = next((source for source in self.sources.sources if _belongs_to(name.strip(), source)), None)
        if own is None or not (missing := missing_sources(toolbox, {own.name: own.state})):
            return ""
        return UNAVAILABLE.format(tool=name.strip()[:80], source=missing[0], problem=own.problem).replace("  ", " ")

    def _count(
        self, toolbox: Toolbox, name: str, arguments: Mapping[str, Any], result: ToolResult | Answer, began: float
    ) -> None:
        """Count a call that ran; one that waits for an answer did not, and its time would be that of a person."""
        if not isinstance(result, ToolResult) or isinstance(result.value, PendingApproval):
            return
        source = self._called(toolbox, name, arguments)
        if source and source != SOURCE:
            self.activity.note_call(source, time.monotonic() - began, failed=result.failed)

    def _called(self, toolbox: Toolbox, name: str, arguments: Mapping[str, Any]) -> str:
        """The source of the tool that a call ran in the end; empty if there is none."""
        inner = toolbox.find(str(arguments.get("name")).strip() if name in CALLERS else name)
        return inner.source if inner is not None else ""

    def _answer(self, result: ToolResult | Answer, caller: CallerContext, source: str = "") -> Answer:
        if not isinstance(result, ToolResult):
            return result
        if not isinstance(result.value, mcp_types.CallToolResult):
            return self._large.fit(text_result(result.text, failed=result.failed), caller.name)
        answer = self.resources.note_links(caller.name, source, result.value)
        structured = answer.structured_content
        if structured is not None and not isinstance(structured, dict) and not caller.is_modern:
            # The older protocol allows only objects here; its servers wrap other values in this way.
            answer = answer.model_copy(update={"structured_content": {"result": structured}})
        return self._large.fit(answer, caller.name)


def _as_caller(handler: Callable[[Context, Params], Awaitable[Reply]]) -> Callable[[Context, Params], Awaitable[Reply]]:
    """A handler that works for its caller: with the credentials of theirs, and of nobody else."""

    async def handle(ctx: Context, params: Params) -> Reply:
        caller = CallerContext.of(ctx).caller
        with acting_for(caller.user), acting_with(caller.token):
            return await handler(ctx, params)

    return handle


def _counted(tools: Mapping[str, int]) -> str:
    """Sources with the number of their tools."""
    return ", ".join(f"{label(name.partition(':')[2])} ({number})" for name, number in sorted(tools.items()))


def _binding(pending: PendingApproval, toolbox: Toolbox) -> str:
    """What a yes is for: these arguments, for the tool as it is defined now."""
    tool = toolbox.find(pending.tool)
    return f"{pending.digest} {pin_of(tool).digest if tool else ''}"


def _surface_tool(tool: Tool, *, codes: bool, tasks: bool) -> mcp_types.Tool:
    """The definition of a surface tool; in the older protocol it says whether its calls can be tasks."""
    runs = tool.name in _RUNNING
    schema = with_code(tool.parameters) if runs and codes else tool.parameters
    shown = surface_definition(tool, schema, runs=runs)
    execution = mcp_types.ToolExecution(task_support="optional") if tool.name in CALLERS and tasks else None
    return shown.model_copy(update={"execution": execution})
