"""What a server serves (`Served`), its parts (`Services`), and the dependencies that routes get for each request."""

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Annotated, Any, Protocol, TypeVar, cast

from fastapi import Depends, Request
from pydantic_ai.models import Model

from toolcrib.agent.crib import Crib
from toolcrib.agent.models import available_models, is_local, model_for, name_of
from toolcrib.agent.offline import OfflineModel
from toolcrib.agent.runner import run
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.costs import sample_queries
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.discovery.visibility import visibility_for
from toolcrib.errors import ModelError, StoreError, UnknownSessionError
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.search.interface import SearchIndex
from toolcrib.server.metrics import Metrics
from toolcrib.server.runs import Load, Runs
from toolcrib.serving import Options
from toolcrib.stores.record import checked_id
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.stores.store import Store
from toolcrib.tools.tool import Risk, Tool

SITE = "/site/"


class SiteAnswer(Protocol):
    """The response to a request for a page of the site."""

    @property
    def status(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def body(self) -> bytes: ...


Site = Callable[[str], SiteAnswer]  # takes a path such as `/site/about?preview=1`


class Content(Protocol):
    """What the agent works on, where it keeps what it was before: for previews of calls, and to undo them.

    Values are JSON, as `CallChanges` and `CallPreview` of the HTTP API describe them.
    """

    async def preview(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What a call would change; None where that cannot be found out without making it."""
        ...

    def changes(self, calls: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
        """What calls changed, by their ids (`CurrentCall.id`)."""
        ...

    def undo(self, call: str) -> None:
        """Make everything what it was before a call; a `ToolcribError` says why that cannot be."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An agent to serve, the store of its sessions, and optionally a site that it works on."""

    crib: Crib
    store: Store
    name: str = "Toolcrib"
    suggestions: tuple[str, ...] = ()  # first messages that the page suggests
    remarks: Mapping[str, str] = field(default_factory=dict[str, str])  # what a suggestion demonstrates, in a few words
    site: Site | None = None  # the site that the agent works on, shown next to the chat
    content: Content | None = None  # what previews and undoes its calls
    surface_name: str = ""
    opens: tuple[AbstractAsyncContextManager[Any], ...] = ()  # open while the server runs, such as sources
    choose_model: bool = False  # whether who talks may choose another model of this machine's

    @property
    def surface(self) -> str:
        """The name of the surface by which the model finds tools; empty if it sees all of them."""
        if self.surface_name:
            return self.surface_name
        factory = getattr(self.crib.surface, "func", self.crib.surface)
        return str(getattr(factory, "__name__", "")).removesuffix("_surface")

    @property
    def model(self) -> str:
        return name_of(self.crib.llm)

    @property
    def version(self) -> str:
        return version("toolcrib")


logger = logging.getLogger(__name__)


class Warmup:
    """Builds the index and runs one turn at startup, so that the first request does not have to wait for it.

    The first search and the first turn are slow, because they load vocabularies, templates and tables.
    """

    def __init__(self, crib: Crib, load: Load | None = None, *, enabled: bool = True) -> None:
        self._crib = crib
        self._load = load or Load()
        self.done = not enabled

    async def __call__(self) -> None:
        """Run in a separate thread, so that the server can answer requests. An error is logged and does not stop it."""
        if self.done:
            return
        began = time.perf_counter()
        try:
            await asyncio.to_thread(_warm_up, self._crib, self._load)
        except Exception:  # the first message will raise the same error, where a user sees it
            logger.warning("The warm-up failed.", exc_info=True)
        self.done = True
        took = round(time.perf_counter() - began, 2)
        logger.info("Warm-up finished after %s s.", took, extra={"fields": {"seconds": took}})


def _warm_up(crib: Crib, load: Load) -> None:
    for query in sample_queries(list(crib.catalog), count=1):
        crib.tool_index.search(query)
        asyncio.run(_run_without_calls(crib, query))
        began = time.thread_time()
        asyncio.run(_run_without_calls(crib, query))  # once more, now that all is loaded
        load.rehearsed(time.thread_time() - began)


async def _run_without_calls(crib: Crib, text: str) -> None:
    """Run one turn with the offline brain. The policy denies every call, and no request goes to a provider."""
    deny_all = Policy(rules=(Rule(Decision.DENY, reason="this is the warm-up"),))
    offline = replace(crib, model=OfflineModel(), index=crib.tool_index, policy=deny_all, learn=False, on_event=None)
    async with SqliteStore(None) as store, store.open() as session:
        await run(session, text, crib=offline)


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of a server. The app's state holds one value of this class."""

    served: Served
    options: Options
    runs: Runs
    metrics: Metrics
    warming: Warmup
    chosen_models: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)  # closes their connections
    _models: dict[str, Model] = field(default_factory=dict[str, Model], init=False)
    trials: "Trials" = field(default_factory=lambda: Trials(), init=False)
    _cache: dict[str, "tuple[int, asyncio.Future[Any]]"] = field(default_factory=dict[str, Any], init=False)

    async def cached_by_revision(self, key: str, compute: Callable[[], Awaitable[Result]]) -> Result:
        """The result of `compute`, computed once per catalog revision. Concurrent callers share one computation."""
        revision = self.served.crib.catalog.revision
        entry = self._cache.get(key)
        if entry is None or entry[0] != revision or _failed(entry[1]):
            entry = self._cache[key] = revision, asyncio.ensure_future(compute())
        return await asyncio.shield(entry[1])

    async def crib_with(self, model: str | None) -> Crib:
        """The served agent with the model that a message chooses, or with its own.

        Raises:
            ModelError: Models cannot be chosen here, or this one cannot be used.
        """
        served = self.served
        if model is None or model == served.model:
            return served.crib
        if not served.choose_model:
            raise ModelError("The model cannot be chosen here.", hint=f"This server uses {served.model!r}.")
        if model not in self._models:
            offered = [one.name for one in await asyncio.to_thread(available_models, local=is_local(model))]
            if model not in offered:
                raise ModelError(f"The model {model!r} is not available.", hint=f"There are: {', '.join(offered)}.")
            chosen = await asyncio.to_thread(model_for, model)
            self._models[model] = await self.chosen_models.enter_async_context(chosen)
        return replace(served.crib, model=self._models[model], index=served.crib.tool_index)

    def toolbox(self) -> Toolbox:
        """A toolbox with no active tools, for requests outside of a session."""
        return self.served.crib.toolbox()

    @property
    def index(self) -> SearchIndex:
        """The index, limited to the tools that callers may see."""
        crib = self.served.crib
        if crib.policy.hides_nothing(crib.role):
            return crib.tool_index
        return crib.tool_index.only(visibility_for(crib.catalog, crib.policy, crib.role))


class Trials:
    """Calls outside of a conversation that wait for a yes: each is for one caller, exact arguments, and once."""

    _MOST = 1_000

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, tuple[str, PendingApproval]] = OrderedDict()

    def ask(self, tenant: str, pending: PendingApproval) -> str:
        """Remember a call that waits; returns the id of the question."""
        id = secrets.token_hex(8)
        self._waiting[id] = tenant, pending
        if len(self._waiting) > self._MOST:
            self._waiting.popitem(last=False)
        return id

    def take(self, tenant: str, id: str) -> PendingApproval | None:
        """The call that a yes is for; None if this caller was not asked, or has answered."""
        held = self._waiting.get(id)
        if held is None or held[0] != tenant:
            return None
        return self._waiting.pop(id)[1]


def is_harmless(toolbox: Toolbox, tool: Tool) -> bool:
    """Whether calls of the tool change nothing and need no confirmation."""
    return tool.risk is Risk.SAFE and toolbox.verdict(tool).decision is Decision.ALLOW


def _failed(future: "asyncio.Future[Any]") -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def services_of(request: Request) -> Services:
    return cast("Services", request.app.state.services)


def store_of(request: Request) -> Store:
    """The sessions of the caller's tenant, which `Guard` has put into the request's state."""
    services = services_of(request)
    tenant = cast("str", request.state.tenant)
    store = services.served.store
    return store if store.tenant == tenant else store.for_tenant(tenant)


def session_id(session: str) -> str:
    """The session id from the path. An invalid id raises the same error as an unknown one."""
    try:
        return checked_id(session)
    except StoreError as error:
        raise UnknownSessionError(session[:80], []) from error


ServicesHere = Annotated[Services, Depends(services_of)]
StoreHere = Annotated[Store, Depends(store_of)]
SessionId = Annotated[str, Depends(session_id)]
