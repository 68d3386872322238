"""What the routes work with: one value per server, kept in the app's state, and who is asking, per request."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Annotated, Any, Protocol, TypeVar, cast

from fastapi import Depends, Request

from toolcrib.agent.crib import Crib
from toolcrib.agent.models import name_of
from toolcrib.agent.offline import OfflineModel
from toolcrib.agent.runner import run
from toolcrib.discovery.costs import sample_queries
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.discovery.visibility import visibility_for
from toolcrib.errors import StoreError, UnknownSessionError
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.search.index import SearchIndex
from toolcrib.server.metrics import Metrics
from toolcrib.server.runs import Runs
from toolcrib.serving import Options
from toolcrib.stores.record import checked_id
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.stores.store import Store
from toolcrib.tools.tool import Risk, Tool

# What a server serves: an agent, where its sessions are kept, and perhaps a site to look at.

SITE = "/site/"


class SiteAnswer(Protocol):
    """What a visitor of the site gets."""

    @property
    def status(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def body(self) -> bytes: ...


Site = Callable[[str], SiteAnswer]  # by a path such as `/site/about?preview=1`


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An agent at a door."""

    crib: Crib
    store: Store
    name: str = "Toolcrib"
    suggestions: tuple[str, ...] = ()  # what to say first
    remarks: Mapping[str, str] = field(default_factory=dict[str, str])  # a few words on what a suggestion shows
    site: Site | None = None  # what the agent works on, to be shown beside the talk
    surface_name: str = ""
    opens: tuple[AbstractAsyncContextManager[Any], ...] = ()  # what is open as long as the server, such as sources

    @property
    def surface(self) -> str:
        """How the model finds tools, in a word; empty where it sees all of them."""
        if self.surface_name:
            return self.surface_name
        made_by = getattr(self.crib.surface, "func", self.crib.surface)
        return str(getattr(made_by, "__name__", "")).removesuffix("_surface")

    @property
    def model(self) -> str:
        return name_of(self.crib.llm)

    @property
    def version(self) -> str:
        return version("toolcrib")


# What a server does before anybody waits for it: builds the index, and rehearses a turn in which nothing is called.

logger = logging.getLogger(__name__)


class Warmup:
    """The first search and the first turn are slow: vocabularies, templates and tables are read then."""

    def __init__(self, crib: Crib, *, wanted: bool = True) -> None:
        self._crib = crib
        self.done = not wanted

    async def __call__(self) -> None:
        """Work in a thread of its own, so that the server answers meanwhile; what fails here is no reason to stop."""
        if self.done:
            return
        began = time.perf_counter()
        try:
            await asyncio.to_thread(_rehearse, self._crib)
        except Exception:  # whatever it is, the first message will tell it to someone who can act on it
            logger.warning("The rehearsal failed.", exc_info=True)
        self.done = True
        took = round(time.perf_counter() - began, 2)
        logger.info("Warm after %s s.", took, extra={"fields": {"seconds": took}})


def _rehearse(crib: Crib) -> None:
    for query in sample_queries(list(crib.catalog), count=1):
        crib.tool_index.search(query)
        asyncio.run(_turn(crib, query))


async def _turn(crib: Crib, text: str) -> None:
    """A turn for a tool's own words, up to its call: that is denied, like every other one. No provider is asked."""
    nothing = Policy(rules=(Rule(Decision.DENY, reason="this is a rehearsal"),))
    rehearsing = replace(crib, model=OfflineModel(), index=crib.tool_index, policy=nothing, learn=False, on_event=None)
    async with SqliteStore(None) as store, store.open() as session:
        await run(session, text, crib=rehearsing)


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """A server's parts."""

    served: Served
    options: Options
    runs: Runs
    metrics: Metrics
    warming: Warmup
    _known: dict[str, "tuple[int, asyncio.Future[Any]]"] = field(default_factory=dict[str, Any], init=False)

    async def once(self, what: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """What takes long, done once for each state of the catalog, however many ask at the same time."""
        revision = self.served.crib.catalog.revision
        known = self._known.get(what)
        if known is None or known[0] != revision or _failed(known[1]):
            known = self._known[what] = revision, asyncio.ensure_future(work())
        return await asyncio.shield(known[1])

    def toolbox(self) -> Toolbox:
        """A view of the tools with nothing active, for questions outside of any session."""
        return self.served.crib.toolbox()

    @property
    def index(self) -> SearchIndex:
        """The index of what callers may know of."""
        crib = self.served.crib
        if crib.policy.hides_nothing(crib.role):
            return crib.tool_index
        return crib.tool_index.only(visibility_for(crib.catalog, crib.policy, crib.role))


def is_harmless(toolbox: Toolbox, tool: Tool) -> bool:
    """Whether a call can change nothing, and needs nobody's yes."""
    return tool.risk is Risk.SAFE and toolbox.verdict(tool).decision is Decision.ALLOW


def _failed(work: "asyncio.Future[Any]") -> bool:
    return work.done() and (work.cancelled() or work.exception() is not None)


def services_of(request: Request) -> Services:
    return cast("Services", request.app.state.services)


def store_of(request: Request) -> Store:
    """The sessions of whoever is asking; `Guard` has put the tenant there."""
    services = services_of(request)
    tenant = cast("str", request.state.tenant)
    store = services.served.store
    return store if store.tenant == tenant else store.for_tenant(tenant)


def session_id(session: str) -> str:
    """An id that may be one. What cannot be an id is no session, like any other that is not there."""
    try:
        return checked_id(session)
    except StoreError as error:
        raise UnknownSessionError(session[:80], []) from error


ServicesHere = Annotated[Services, Depends(services_of)]
StoreHere = Annotated[Store, Depends(store_of)]
SessionId = Annotated[str, Depends(session_id)]
