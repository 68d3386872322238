"""A crib: everything a run needs besides the session. Made once, shared by all sessions.

    async with Crib(catalog, model="openai:gpt-5.4") as crib:
        ...

At its end the connections to the model's provider are closed. What was given to a crib (an index, the catalogue's
sources) belongs to whoever made it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Self

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from toolcrib.agent.limits import Limits
from toolcrib.agent.models import model_for, retries_itself
from toolcrib.agent.prompt import Prompt
from toolcrib.agent.toolset import CribToolset
from toolcrib.catalog import Catalog
from toolcrib.discovery.guidance import Guidance
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.protocols import Delivery
from toolcrib.discovery.search_surface import search_surface
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.policy import Policy
from toolcrib.search.index import ToolIndex
from toolcrib.settings import OFFLINE
from toolcrib.stores.session import CONFIRMATION_EXPIRES_IN
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Crib:
    """Tools, the way to find them, a model, and how runs go."""

    catalog: Catalog
    _: KW_ONLY
    model: Model | str = OFFLINE
    index: ToolIndex | None = None  # made at the first search unless given
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
    confirm_in_words: bool = True  # off: only a door's button confirms
    confirmation_expires_in: timedelta = CONFIRMATION_EXPIRES_IN
    model_settings: ModelSettings | None = None
    toolbox_options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # others of `Toolbox`
    clock: Callable[[], datetime] = _now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        object.__setattr__(self, "pinned", tuple(self.pinned))  # each session's toolbox reads them anew

    async def __aenter__(self) -> Self:
        await self.thinker.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        await self.thinker.__aexit__(kind, error, trace)

    @cached_property
    def thinker(self) -> Model:
        """The model itself."""
        return model_for(self.model)

    @cached_property
    def tool_index(self) -> ToolIndex:
        """The index that all sessions share."""
        return self.index or ToolIndex(self.catalog)

    def toolbox(
        self, snapshot: Mapping[str, Any] | None = None, *, watch: Callable[[Tool, ToolResult], None] | None = None
    ) -> Toolbox:
        """A toolbox for one session: a new one, or as it was when the snapshot was taken."""
        options: dict[str, Any] = {
            "policy": self.policy,
            "role": self.role,
            "pinned": self.pinned,
            "surface": self.surface,
            "mode": self.mode,
            "watch": watch,
            **self.toolbox_options,
        }
        if snapshot is None:
            return Toolbox(self.catalog, self.tool_index, **options)
        return Toolbox.restore(snapshot, self.catalog, self.tool_index, **options)

    def toolset(self) -> CribToolset[Any]:
        """A toolset with a toolbox of its own, for an agent that you build with Pydantic AI."""
        return CribToolset(self.toolbox(), delivery=self.delivery, guidance=self.guidance)

    def settings(self) -> ModelSettings:
        """What is asked of the provider with each request."""
        own = self.limits.settings()
        if retries_itself(self.thinker):
            own["max_retries"] = 0  # we try again ourselves, and tell about it
        return {**own, **(self.model_settings or {})}
