"""What the routes work with: one value per server, kept in the app's state, and who is asking, per request."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request

from toolcrib.discovery.sight import sight_of
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import StoreError, UnknownSessionError
from toolcrib.policy import Decision
from toolcrib.search.index import ToolIndex
from toolcrib.server.metrics import Metrics
from toolcrib.server.options import Options
from toolcrib.server.runs import Runs
from toolcrib.server.served import Served
from toolcrib.server.warming import Warming
from toolcrib.stores.record import checked_id
from toolcrib.stores.store import Store
from toolcrib.tools.tool import Risk, Tool

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A server's parts."""

    served: Served
    options: Options
    runs: Runs
    metrics: Metrics
    warming: Warming
    _known: dict[str, "tuple[int, asyncio.Future[Any]]"] = field(default_factory=dict[str, Any], init=False)

    async def once(self, what: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """What takes long, done once for each state of the catalogue, however many ask at the same time."""
        revision = self.served.crib.catalog.revision
        known = self._known.get(what)
        if known is None or known[0] != revision or _failed(known[1]):
            known = self._known[what] = revision, asyncio.ensure_future(work())
        return await asyncio.shield(known[1])

    def toolbox(self) -> Toolbox:
        """A view of the tools with nothing active, for questions outside of any session."""
        return self.served.crib.toolbox()

    @property
    def index(self) -> ToolIndex:
        """The index of what callers may know of."""
        crib = self.served.crib
        if crib.policy.hides_nothing(crib.role):
            return crib.tool_index
        return crib.tool_index.only(sight_of(crib.catalog, crib.policy, crib.role))


def is_harmless(toolbox: Toolbox, tool: Tool) -> bool:
    """Whether a call can change nothing, and needs nobody's yes."""
    return tool.risk is Risk.SAFE and toolbox.verdict(tool).decision is Decision.ALLOW


def _failed(work: "asyncio.Future[Any]") -> bool:
    return work.done() and (work.cancelled() or work.exception() is not None)


def house_of(request: Request) -> House:
    return cast("House", request.app.state.house)


def store_of(request: Request) -> Store:
    """The sessions of whoever is asking; `Guard` has put the tenant there."""
    house = house_of(request)
    tenant = cast("str", request.state.tenant)
    store = house.served.store
    return store if store.tenant == tenant else store.for_tenant(tenant)


def session_id(session: str) -> str:
    """An id that may be one. What cannot be an id is no session, like any other that is not there."""
    try:
        return checked_id(session)
    except StoreError as error:
        raise UnknownSessionError(session[:80], []) from error


HouseHere = Annotated[House, Depends(house_of)]
StoreHere = Annotated[Store, Depends(store_of)]
SessionId = Annotated[str, Depends(session_id)]
