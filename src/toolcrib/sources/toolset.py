"""Toolsets of Pydantic AI as sources of tools: functions, MCP servers, LangChain's tools, and whatever wraps them.

A toolset says per run, and per user, what it offers. A catalog is shared by all runs: it holds whatever a toolset once
offered, and in each run what the toolset does not offer there is hidden, and what it offers is called through it, with
the context of that run. A toolset that fails offers nothing. Import this late: it loads Pydantic AI.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from itertools import chain, count
from threading import RLock
from typing import Any, TypeAlias, cast

from pydantic import ValidationError
from pydantic_ai import FunctionToolset, RunContext, Tool as PydanticTool
from pydantic_ai.exceptions import CallDeferred, ToolFailed
from pydantic_ai.messages import InstructionPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset, ToolsetTool
from pydantic_ai.usage import RunUsage

from toolcrib.errors import CatalogError, ToolcribError
from toolcrib.sources.source import SourceTools, ToolSink
from toolcrib.tools.call import explain, failure_of
from toolcrib.tools.context import call_is_approved, current_run
from toolcrib.tools.definitions import MOST_CATEGORY_CHARACTERS, MOST_DESCRIPTION_CHARACTERS, risk_by
from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean, clean_words
from toolcrib.tools.tool import Risk, Tool, safe_name

logger = logging.getLogger(__name__)

Toolset: TypeAlias = AbstractToolset[Any]
Offered: TypeAlias = Mapping[str, ToolsetTool[Any]]  # by the toolset's own names


class ToolsetSource:
    """One toolset, and its tools in a catalog."""

    def __init__(
        self, toolset: object, catalog: ToolSink, *, name: str = "", category: str = "", taken: Iterable[str] = ()
    ) -> None:
        """Name a toolset for people and policies, by its `id` if left out; with a number, if the name is taken."""
        if not isinstance(toolset, AbstractToolset):
            raise CatalogError(
                f"{toolset!r:.80} is no toolset of Pydantic AI.",
                hint="Give one, such as `FunctionToolset(...)` or `MCPToolset(url)`.",
            )
        self.toolset = cast("Toolset", toolset)
        known = clean(name or self.toolset.id or "", MOST_CATEGORY_CHARACTERS)
        self.name = _free(f"toolset:{known or type(self.toolset).__name__}", set(taken))  # the `source` of its tools
        self._category = clean(category, MOST_CATEGORY_CHARACTERS) or known
        self._source_tools = SourceTools(catalog)
        self._changing = RLock()  # runs in several threads list it
        self._reported: set[str] = set()
        self.failed = False  # when it was last opened outside of a run

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools in the catalog."""
        return self._source_tools.tools

    def list_now(self) -> bool:
        """List the tools, if that needs no connection and no run; otherwise the first run does it."""
        leaves: list[Toolset] = []
        self.toolset.apply(leaves.append)
        if not leaves or not all(isinstance(leaf, FunctionToolset | ExternalToolset) for leaf in leaves):
            return False
        try:
            with ThreadPoolExecutor(1) as thread:  # there may be an event loop in this one
                found = thread.submit(asyncio.run, self.toolset.get_tools(outside_run(None))).result()
        except Exception as error:  # foreign code: what prepares or filters tools, and may need the deps of a run
            logger.info("%s cannot be listed without a run: %r", self.name, error)
            return False
        if refused := self.hold(found):
            self._source_tools.clear()
            raise CatalogError(f"{self.name}: {refused[0]}", hint="Give its tools a prefix: `toolset.prefixed(...)`.")
        return True

    def hold(self, found: Offered) -> list[str]:
        """Put what a run was offered into the catalog; gives an error text for each tool that it cannot hold."""
        with self._changing:
            held = {tool.name: tool for tool in self.tools}
            refused: list[str] = []
            new: dict[str, Tool] = {}
            for original, one in found.items():
                try:
                    tool = self._tool(original, one)
                except ToolcribError as error:
                    refused.append(str(error))
                    continue
                if tool.name in new:
                    refused.append(f"It has two tools that would be named {tool.name!r}.")
                    continue
                if tool.name in held and held[tool.name].parameters != tool.parameters:
                    self.tell(f"the arguments of {tool.name!r} have changed.")
                new[tool.name] = tool
            return refused + self._source_tools.sync((held | new).values())

    def tell(self, problem: str) -> None:
        """Log a problem, once."""
        if problem not in self._reported:
            self._reported.add(problem)
            logger.warning("%s: %s", self.name, problem)

    def names(self, found: Offered) -> set[str]:
        """The names in the catalog of what a run was offered."""
        return {tool.name for tool in self.tools if cast("ToolsetCall", tool.call).original in found}

    def _tool(self, original: str, one: ToolsetTool[Any]) -> Tool:
        definition = one.tool_def
        return Tool(
            name=safe_name(original),
            description=clean(definition.description or "", MOST_DESCRIPTION_CHARACTERS),
            parameters=clean_words({"type": "object", "properties": {}, **definition.parameters_json_schema}),
            call=ToolsetCall(safe_name(original), self, original),
            category=self._category,
            risk=_risk(definition),
            confirm=definition.kind == "unapproved",
            output_schema=definition.return_schema,
            metadata=definition.metadata or {},
            timeout=definition.timeout,
            strict=definition.strict,
            sequential=definition.sequential,
            source=self.name,
            origin=one.toolset.label,
        )


def _free(name: str, taken: set[str]) -> str:
    numbers = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain([name], numbers) if one not in taken)


def _risk(definition: ToolDefinition) -> Risk:
    """Functions are the application's own code; what an MCP server has is judged by its name and its hints."""
    metadata = definition.metadata or {}
    return risk_by(definition.name, metadata["annotations"]) if "annotations" in metadata else Risk.SAFE


def pydantic_tool(tool: PydanticTool[Any]) -> Tool:
    """A single tool of Pydantic AI; as the application's own code it comes from `python`."""
    if tool.prepare is not None:
        raise CatalogError(
            f"The tool {tool.name!r} is prepared for each run.", hint="Add `FunctionToolset([tool])` as a toolset."
        )
    held = _Holder()
    source = ToolsetSource(FunctionToolset([tool]), held, name=tool.name)
    if not source.list_now():
        raise CatalogError(f"The tool {tool.name!r} cannot be listed.", hint="Add it with `@catalog.tool`.")
    return held.tools[0].with_metadata(source="python", category="", origin="pydantic_ai.Tool")


class _Holder:
    """Takes the tools of a source that stands in no catalog."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []

    def add_all(self, tools: Iterable[Tool]) -> None:
        self.tools += tools

    def replace(self, tool: Tool) -> None:
        raise NotImplementedError

    def remove(self, name: str) -> object:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ToolsetCall:
    """Calls one tool through its toolset, with the context of the run."""

    name: str  # in the catalog
    source: ToolsetSource = field(repr=False)
    original: str  # in the toolset

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        ctx: RunContext[Any] = current_run.get() or outside_run(context)
        held = _of_this_run.get().get(self.source)
        try:
            if held is not None:
                return await self._call(held.toolset, held.found.get(self.original), arguments, ctx)
            async with AsyncExitStack() as stack:  # outside of a run: it stays open if it is open already
                toolset = await stack.enter_async_context(await self.source.toolset.for_run(ctx))
                return await self._call(toolset, (await toolset.get_tools(ctx)).get(self.original), arguments, ctx)
        except (Exception, SystemExit) as error:  # foreign code: the toolset and its tool
            return ToolResult.failure(error.message) if isinstance(error, ToolFailed) else failure_of(self.name, error)

    async def _call(
        self, toolset: Toolset, tool: ToolsetTool[Any] | None, arguments: Mapping[str, Any], ctx: RunContext[Any]
    ) -> ToolResult:
        if tool is None:
            return ToolResult.failure(f"{self.name} was not called: it is not offered now.")
        if tool.tool_def.kind == "external":
            return ToolResult.control(CallDeferred())
        ctx = replace(
            ctx,
            tool_name=self.original,
            max_retries=tool.max_retries,
            tool_call_approved=ctx.tool_call_approved or call_is_approved(),
        )
        try:
            given = tool.args_validator.validate_python(dict(arguments), context=ctx.validation_context)
        except ValidationError as error:
            return ToolResult.failure(explain(self.name, error, tool.tool_def.parameters_json_schema))
        if tool.args_validator_func is not None and isawaitable(more := tool.args_validator_func(ctx, **given)):
            await more
        return ToolResult.of(await toolset.call_tool(self.original, given, ctx, tool))


def outside_run(deps: object) -> RunContext[Any]:
    """The context of a call that no agent of Pydantic AI makes."""
    return RunContext(deps=deps, model=TestModel(), usage=RunUsage(), max_retries=1)


# The toolsets of a catalog in one run


@dataclass(slots=True)
class _Held:
    """A toolset in the form that it has for one run."""

    toolset: Toolset
    found: Offered = field(default_factory=dict[str, ToolsetTool[Any]])


_of_this_run: ContextVar[Mapping[ToolsetSource, _Held]] = ContextVar("toolsets_of_this_run", default={})  # noqa: B039 - never changed


class RunToolsets:
    """The toolsets of a catalog in one run: entered with it, listed at each step, left with it."""

    def __init__(self, sources: Iterable[ToolsetSource]) -> None:
        self._sources = tuple(sources)
        self._held: dict[ToolsetSource, _Held] = {}
        self.failed: frozenset[str] = frozenset()  # by the names of their sources, at this step
        self._stack = AsyncExitStack()

    async def begin(self, ctx: RunContext[Any]) -> None:
        """Take each toolset in the form that it has for this run."""
        for source in self._sources:
            with _logged(source):
                self._held[source] = _Held(await source.toolset.for_run(ctx))

    async def __aenter__(self) -> "RunToolsets":
        for source, held in list(self._held.items()):
            with _logged(source, self._held):
                await self._stack.enter_async_context(held.toolset)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def hidden(self, ctx: RunContext[Any]) -> frozenset[str]:
        """List what is offered at this step; gives the tools of the catalog that are not."""
        hidden: set[str] = set()
        failed = {source.name for source in self._sources}
        for source in self._sources:
            held = self._held.get(source)
            if held is not None:
                held.found = {}
                with _logged(source):
                    held.toolset = await held.toolset.for_run_step(ctx)
                    held.found = await held.toolset.get_tools(ctx)
                    failed.discard(source.name)
                for refused in source.hold(held.found):
                    source.tell(refused)
            offered = source.names(held.found) if held is not None else set[str]()
            hidden |= {tool.name for tool in source.tools} - offered
        self.failed = frozenset(failed)
        return frozenset(hidden)

    def max_retries(self, tool: Tool) -> int | None:
        """How often the model may try again; None for tools of no toolset."""
        held = self._held.get(tool.call.source) if isinstance(tool.call, ToolsetCall) else None
        found = held.found.get(tool.call.original) if held is not None and isinstance(tool.call, ToolsetCall) else None
        return found.max_retries if found is not None else None

    async def instructions(self, ctx: RunContext[Any], visible: Iterable[Tool]) -> list[tuple[str, str]]:
        """What the toolsets of visible tools say of them: a name for the instructions, and their text."""
        shown = {tool.source for tool in visible}
        instructions: list[tuple[str, str]] = []
        for source, held in self._held.items():
            if source.name in shown:
                with _logged(source):
                    given = await held.toolset.get_instructions(ctx)
                    parts = [given] if isinstance(given, str | InstructionPart) else given or ()
                    texts = [one if isinstance(one, str) else one.content for one in parts]
                    if text := "\n\n".join(filter(None, texts)):
                        instructions.append((source.name.replace(":", "-"), text))  # Pydantic AI keeps colons to itself
        return instructions

    @contextmanager
    def calling(self) -> Generator[None]:
        """Let the tools that are called within the block go through the toolsets of this run."""
        token = _of_this_run.set(self._held)
        try:
            yield
        finally:
            _of_this_run.reset(token)


@contextmanager
def _logged(source: ToolsetSource, held: dict[ToolsetSource, _Held] | None = None) -> Generator[None]:
    """Log what a toolset raises, once; it then offers nothing, and the others go on."""
    try:
        yield
    except Exception as error:  # foreign code: the toolset, or the server behind it
        source.tell(f"it offers no tools now: {type(error).__name__}: {error}")
        if held is not None:
            held.pop(source, None)


@asynccontextmanager
async def opened(sources: Iterable[ToolsetSource]) -> AsyncGenerator[None]:
    """Keep toolsets open, and their tools listed, within the block: connections are made once, not for each call."""
    async with AsyncExitStack() as stack:
        for source in sources:
            source.failed = True
            with _logged(source):
                await stack.enter_async_context(source.toolset)
                for refused in source.hold(await source.toolset.get_tools(outside_run(None))):
                    source.tell(refused)
                source.failed = False
        yield
