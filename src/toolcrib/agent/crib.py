"""A crib: everything a run needs besides the session. Made once, shared by all sessions.

    crib = Crib(catalog, model="openai:gpt-5.4")
    print(crib.run_sync("find a photo of mountains").answer)

`async with Crib(...)` closes the connections to the model's provider at its end. What was given to a crib (an index, a
store, the catalog's sources) belongs to whoever made it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from weakref import finalize

from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from toolcrib.agent.models import model_for, retries_itself
from toolcrib.agent.prompt import Prompt
from toolcrib.agent.toolset import CribToolset
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.program.run import WatchCalls
from toolcrib.discovery.protocols import Delivery, Guidance
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Begin, Surface, Toolbox
from toolcrib.errors import ToolcribError
from toolcrib.policy.policy import Policy
from toolcrib.search.interface import LazyIndex, SearchIndex
from toolcrib.settings import OFFLINE
from toolcrib.stores.record import new_id
from toolcrib.stores.session import CONFIRMATION_EXPIRES_IN, Session
from toolcrib.stores.store import Store, open_store
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.agent.events import Event
    from toolcrib.agent.runner import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one run; None is no limit. Each ends the run with a clear message, and the session stays usable."""

    steps: int = 15  # requests to the model
    output_tokens: int = 4_096  # of one answer of the model
    seconds: float | None = 300.0  # of the whole run, waiting for the model and for tools
    cost: float | None = None  # US dollars, where the model's price is known
    tries: int = 3  # of one request, while the provider is out of order
    backoff_seconds: float = 1.0  # before the second try; doubled before each further one
    most_messages: int = 20  # of the conversation; beyond, the last `keep_messages` go along
    keep_messages: int = 10

    def usage(self) -> UsageLimits:
        """The limits that Pydantic AI watches."""
        return UsageLimits(request_limit=self.steps)

    def check_cost(self, cost: Decimal | None) -> None:
        """Stop a run that has cost too much; one whose price is not known goes on."""
        # Not with Pydantic AI's own limit: that warns at every request of a model whose price is not known.
        if self.cost is not None and cost is not None and cost >= Decimal(str(self.cost)):
            raise UsageLimitExceeded(f"The run has cost {cost}, over the cost limit of {self.cost}")

    def settings(self) -> ModelSettings:
        """The limits that the provider applies."""
        return ModelSettings(max_tokens=self.output_tokens)

    def retry_delay(self, attempt: int, requested: float | None = None) -> float:
        """Seconds to wait before another try; what the provider requests counts, up to a minute."""
        own = self.backoff_seconds * 2 ** (attempt - 2)
        return own if requested is None else min(max(requested, 0.0), 60.0)


OnEvent: TypeAlias = "Callable[[Session, Event], None]"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Crib:
    """Tools, the way to find them, a model, and how runs go."""

    catalog: Catalog
    _: KW_ONLY
    model: Model | str = OFFLINE
    index: SearchIndex | None = None  # made at the first search unless given
    store: Store | Path | str | None = None  # where `run` and `stream` keep sessions; None: in memory
    policy: Policy = field(default_factory=Policy)
    role: str | None = None
    pinned: Iterable[str] = ()
    surface: Surface | None = search_surface
    mode: Mode | str = Mode.DISCOVERY
    prompt: Prompt = field(default_factory=Prompt)
    limits: Limits = field(default_factory=Limits)
    delivery: Delivery | str = Delivery.AUTO
    guidance: Guidance | None = None
    learn: bool = False  # let tools that were found and used rank higher, in the index that all sessions share
    preload_tokens: int = 0  # of definitions that the user's own words may activate before the first step
    summarize: bool = True  # by the model, when old messages leave its window; off: a list of what was asked and done
    confirm_in_words: bool = True  # off: only a button of the user interface confirms
    confirmation_expires_in: timedelta = CONFIRMATION_EXPIRES_IN
    model_settings: ModelSettings | None = None
    toolbox_options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # others of `Toolbox`
    hide_secrets: Callable[[str], str] = str  # what others wrote, such as a provider's error, without our keys
    on_event: "OnEvent | None" = None  # called with the session and each event of a run, as it is recorded
    clock: Callable[[], datetime] = _now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        object.__setattr__(self, "pinned", tuple(self.pinned))  # each session's toolbox reads them anew

    async def __aenter__(self) -> Self:
        await self.llm.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        await self.llm.__aexit__(kind, error, trace)
        opened = vars(self).get("sessions")  # not the property: that would open a store only to close it
        if opened is not None and opened is not self.store:
            await opened.close()

    async def stream(self, text: str, *, session: str | None = None, context: object = None) -> "AsyncGenerator[Event]":
        """What happens while the agent answers. Without a name, it continues the crib's own session.

        Stopping the iteration stops the run. `context` is handed to tools that want one.
        """
        from toolcrib.agent.runner import stream  # late: the runner needs this module

        async with (
            self.sessions.open(session or self._own_session) as opened,
            aclosing(stream(opened, text, crib=self, context=context)) as events,
        ):
            async for event in events:
                yield event

    async def run(self, text: str, *, session: str | None = None, context: object = None) -> "RunResult":
        """The same as `stream`, when it is over: the answer and the events."""
        from toolcrib.agent.runner import collect

        return await collect(self.stream(text, session=session, context=context))

    def run_sync(self, text: str, *, session: str | None = None, context: object = None) -> "RunResult":
        """The same as `run`, for programs without an event loop."""
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise ToolcribError(
                "`run_sync` cannot be called where an event loop runs, such as in a notebook.",
                hint="Use `await crib.run(...)`.",
            )
        return self._runner.run(self.run(text, session=session, context=context))

    @cached_property
    def sessions(self) -> Store:
        """Where `run` and `stream` keep sessions."""
        if self.store is None:
            from toolcrib.stores.sqlite.store import SqliteStore  # late: whoever opens sessions needs no store of ours

            return SqliteStore(None)
        return open_store(self.store) if isinstance(self.store, str | Path) else self.store

    @cached_property
    def _own_session(self) -> str:
        return new_id()

    @cached_property
    def _runner(self) -> asyncio.Runner:
        """One event loop for all calls of `run_sync`: a provider's connections belong to the loop that made them."""
        runner = asyncio.Runner()
        finalize(self, lambda: runner.get_loop().close())
        return runner

    @cached_property
    def llm(self) -> Model:
        """The model itself."""
        return model_for(self.model)

    @cached_property
    def tool_index(self) -> SearchIndex:
        """The index that all sessions share."""
        return LazyIndex(self.catalog) if self.index is None else self.index

    def toolbox(
        self,
        snapshot: Mapping[str, Any] | None = None,
        *,
        watch: Callable[[Tool, ToolResult], None] | None = None,
        begin: Begin | None = None,
        watch_program: WatchCalls | None = None,
    ) -> Toolbox:
        """A toolbox for one session: a new one, or as it was when the snapshot was taken."""
        options: dict[str, Any] = {
            "policy": self.policy,
            "role": self.role,
            "pinned": self.pinned,
            "surface": self.surface,
            "mode": self.mode,
            "watch": watch,
            "begin": begin,
            "watch_program": watch_program,
            **self.toolbox_options,
        }
        if snapshot is None:
            return Toolbox(self.catalog, self.tool_index, **options)
        return Toolbox.restore(snapshot, self.catalog, self.tool_index, **options)

    def toolset(self) -> CribToolset[Any]:
        """A toolset with a toolbox of its own, for an agent that you build with Pydantic AI."""
        return CribToolset(self.toolbox(), delivery=self.delivery, guidance=self.guidance)

    def settings(self) -> ModelSettings:
        """The settings of each request to the provider."""
        own = self.limits.settings()
        if retries_itself(self.llm):
            own["max_retries"] = 0  # we try again ourselves, and tell about it
        return {**own, **(self.model_settings or {})}
