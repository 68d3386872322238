"""A catalog as a toolset of Pydantic AI: in three lines for anyone's agent.

    agent = Agent(model, toolsets=[CribToolset(catalog)])
    agent = Agent(model, toolsets=[CribToolset([sales, mail])])  # of toolsets that are there already

Each run has a toolbox of its own, made of the message history: users share nothing, and any process can go on. Before
each step Pydantic AI asks what is visible now and how to use it; each call goes through the toolbox, so policy, repair
of arguments, time limits and confirmation hold here as everywhere else. `RunToolset` does that for one run.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import UnionType
from typing import Any, Self, TypeAlias, TypedDict, Union, Unpack, cast, get_args, get_origin

from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import InstructionPart, ToolReturn
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from toolcrib.agent.run_toolset import Confirmer, RunToolset
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.protocols import Delivery, Guidance
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Inactive, Surface, Toolbox
from toolcrib.errors import ToolcribError
from toolcrib.policy.policy import Policy
from toolcrib.search.interface import LazyIndex, SearchIndex

logger = logging.getLogger(__name__)

MOST_RUNS = 1_000  # remembered, where an agent gives a run no toolset of its own

Toolboxes: TypeAlias = Callable[[RunContext[AgentDepsT]], Toolbox]


class ToolboxOptions(TypedDict, total=False):
    """What the toolbox of each run is made with; the defaults are those of `Toolbox`, with the surface search."""

    policy: Policy
    role: str | None
    pinned: Iterable[str]
    surface: Surface | None
    mode: Mode | str
    inactive: Inactive
    budget_tokens: int
    idle_turns: int | None
    timeout_seconds: float | None


class CribToolset(AbstractToolset[AgentDepsT]):
    """The tools of a catalog, as they are visible from step to step."""

    def __init__(
        self,
        tools: Catalog | Toolbox | Toolboxes[AgentDepsT] | AbstractToolset[Any] | Sequence[AbstractToolset[Any]],
        index: SearchIndex | None = None,
        *,
        id: str = "toolcrib",
        delivery: Delivery | str = Delivery.AUTO,
        guidance: Guidance | None = None,
        deferred: bool | None = None,
        consent: Confirmer | None = None,
        **options: Unpack[ToolboxOptions],
    ) -> None:
        """Serve a catalog.

        Args:
            tools: A catalog: each run gets a toolbox of its own, brought to where its message history left it. Or
                toolsets, which become a catalog; or a function that gives the toolbox of a run, by its `deps`; or a
                toolbox, for one conversation.
            index: The index of the catalog; made at the first search unless given.
            id: Its name among the agent's toolsets.
            delivery: How the model learns of changed protocols.
            guidance: What there is to know about whole categories.
            deferred: Whether calls that need the user's yes end the run with `DeferredToolRequests`, Pydantic AI's way
                to ask. Left out: if the agent's `output_type` has it, or a capability handles it. Otherwise the model
                asks in words: a call with `confirmed: true` counts after the user answered the question, once.
            consent: Decides in place of these rules whether the user confirmed a call.
            options: Of the toolboxes that are made of a catalog, such as `policy`, `role` and `pinned`.
        """
        if toolsets := _toolsets(tools):
            tools = Catalog()
            for toolset in toolsets:
                tools.add_toolset(toolset)
        if not isinstance(tools, Catalog | Toolbox) and not callable(tools):
            raise _not_served(tools)
        if not isinstance(tools, Catalog) and (index is not None or options):
            given = ", ".join([*(["index"] if index is not None else []), *options])
            raise ToolcribError(f"The toolbox has its own {given}.", hint="Give them to `Toolbox`.")
        if isinstance(tools, Toolbox) and not tools.visible() and tools.tools:
            logger.warning("The model sees no tools: the toolbox has no surface. Use CribToolset(catalog).")
        self._tools = tools
        self._index = LazyIndex(tools) if index is None and isinstance(tools, Catalog) else index
        self._options = options
        self._id = id
        self._delivery = Delivery(delivery)
        self._guidance = guidance
        self._deferred = deferred
        self._consent = consent
        self._runs: OrderedDict[str, RunToolset[AgentDepsT]] = OrderedDict()

    @property
    def id(self) -> str:
        return self._id

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> RunToolset[AgentDepsT]:
        """The toolset of this run, with a state of its own."""
        toolbox = self._toolbox_of(ctx)
        run = RunToolset[AgentDepsT](
            toolbox,
            id=self._id,
            delivery=self._delivery,
            guidance=self._guidance,
            deferred=(can_defer(ctx) if self._deferred is None else self._deferred) and self._consent is None,
            consent=self._consent,
            replays=not toolbox.snapshot()["active"],  # it is new
        )
        return await run.for_run(ctx)

    def _toolbox_of(self, ctx: RunContext[AgentDepsT]) -> Toolbox:
        if isinstance(self._tools, Toolbox):
            return self._tools
        if not isinstance(self._tools, Catalog):
            return self._tools(ctx)
        options: ToolboxOptions = {"surface": search_surface, **self._options}
        return Toolbox(self._tools, self._index, **options)

    # Whoever holds the toolset itself, such as a `DynamicToolset` or a durable engine, gets those of the run it is in.

    async def _remembered(self, ctx: RunContext[AgentDepsT]) -> RunToolset[AgentDepsT]:
        made = self._runs.pop(ctx.run_id or "", None) or await self.for_run(ctx)
        if ctx.run_id is not None:
            self._runs[ctx.run_id] = made
        if len(self._runs) > MOST_RUNS:
            self._runs.popitem(last=False)
        return made

    async def __aenter__(self) -> Self:
        """Connect the toolsets of the catalog: once for all runs within `async with agent`."""
        if isinstance(self._tools, Catalog):
            await self._tools.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        if isinstance(self._tools, Catalog):
            await self._tools.__aexit__(*error)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        return await (await self._remembered(ctx)).get_tools(ctx)

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> list[InstructionPart]:
        run = await self._remembered(ctx)
        run.open_unlisted(ctx, self)
        return await run.get_instructions(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> ToolReturn:
        return await (await self._remembered(ctx)).call_tool(name, tool_args, ctx, tool)


def _toolsets(tools: object) -> list[AbstractToolset[Any]]:
    """The toolsets that are served in place of a catalog; none, if it is something else."""
    held: list[Any] = [*cast("Iterable[Any]", tools)] if isinstance(tools, list | tuple) else [tools]
    return held if all(isinstance(one, AbstractToolset) for one in held) else []


def _not_served(tools: object) -> ToolcribError:
    if isinstance(tools, list | tuple):
        wrong = [one for one in cast("Sequence[object]", tools) if not isinstance(one, AbstractToolset)]
        if wrong:
            return ToolcribError(
                f"{wrong[0]!r:.80} is no toolset of Pydantic AI.",
                hint="Put functions and tools into a `Catalog`, and write `CribToolset(catalog)`.",
            )
    return ToolcribError(
        f"{tools!r:.80} is no catalog and no toolbox.", hint="Write `CribToolset(catalog)`, with a `Catalog`."
    )


def can_defer(ctx: RunContext[Any]) -> bool:
    """Whether the application can be asked in Pydantic AI's way: by the agent's output, or by a capability."""
    given = ctx.agent.output_type if ctx.agent is not None else None
    return DeferredToolRequests in _types(given) or any(
        isinstance(one, HandleDeferredToolCalls) for one in ctx.capabilities.values()
    )


def _types(output: object) -> Iterator[object]:
    if isinstance(output, list | tuple):
        for one in cast("Iterable[object]", output):
            yield from _types(one)
    elif get_origin(output) in (Union, UnionType):
        yield from get_args(output)
    else:
        yield output
