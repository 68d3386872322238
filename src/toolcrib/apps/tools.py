"""The tools of an app: modules, Python, MCP servers, metadata and other agents, in one catalog."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from toolcrib.agent.crib import Crib
from toolcrib.agent.events import ConfirmationRequired
from toolcrib.agent.runner import run
from toolcrib.apps.load import AppDocument, named_server, servers_of_file
from toolcrib.apps.spec import Agent, OpenApi, RemoteAgent, Tools
from toolcrib.apps.variables import Variables
from toolcrib.catalog.approvals import Quarantine
from toolcrib.catalog.catalog import Catalog, Change
from toolcrib.catalog.loading import load_catalog
from toolcrib.credentials import current_user
from toolcrib.discovery import render as refusals
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.surfaces.domains import AGENTS, HANDS_WORK, domain_of, domain_surface
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.errors import ModuleError, ToolcribError
from toolcrib.search.interface import LazyIndex
from toolcrib.settings import Settings
from toolcrib.sources.mcp.config import McpServer
from toolcrib.sources.source import Source
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.function import tool as made_tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool
from toolcrib.yaml_file import Keys, Problem

_FORMS = "Write `package.module:catalog`, a Python file or a folder of them; paths count from the app's file."


@dataclass(slots=True)
class ToolLoader:
    """Fills catalogs, and collects all problems, so that they are reported at once."""

    document: AppDocument
    variables: Variables
    workdir: Path
    app_id: str
    mistakes: list[Problem] = field(default_factory=list[Problem])
    sources: list[Source] = field(default_factory=list[Source])  # that live outside, and have to be started
    quarantines: list[Quarantine] = field(default_factory=list[Quarantine])  # through which their tools come

    def catalog(self, at: tuple[str | int, ...], tools: Tools) -> Catalog:
        """The tools that a part of the file names."""
        catalog = Catalog()
        for name, options in tools.modules.items():
            self._try((*at, "modules", name), lambda name=name, options=options: self._module(catalog, name, options))
        for number, place in enumerate(tools.python):
            self._try((*at, "python", number), lambda place=place: self._python(catalog, place))
        for number, file in enumerate(tools.metadata):
            path = self.document.folder / file
            self._try((*at, "metadata", number), lambda path=path: catalog.load_metadata(path))
        for number, file in enumerate(tools.mcp_files):
            self._try((*at, "mcp_files", number), lambda file=file: self._mcp_file(catalog, file))
        for name, entry in tools.mcp_servers.items():
            self._try((*at, "mcp_servers", name), lambda name=name, entry=entry: self._mcp_server(catalog, name, entry))
        for name, service in tools.openapi.items():
            self._try((*at, "openapi", name), lambda name=name, service=service: self._openapi(catalog, name, service))
        for name, folder in tools.documents.items():
            keys = (*at, "documents", name)
            self._try(keys, lambda name=name, folder=folder: self._folder(catalog, "documents", name, folder))
        for name, folder in tools.skills.items():
            keys = (*at, "skills", name)
            self._try(keys, lambda name=name, folder=folder: self._folder(catalog, "skills", name, folder))
        self._try((*at, "pinned"), lambda: self._core(catalog, tools.pinned))
        for name, agent in tools.a2a.items():
            self._try((*at, "a2a", name), lambda name=name, agent=agent: self._a2a(catalog, name, agent))
        return catalog

    def _try(self, keys: Keys, work: Callable[[], object]) -> None:
        try:
            work()
        except ModuleError as error:
            option = next((name for name in error.options), None)
            self.mistakes.append(Problem((*keys, *([option] if option else [])), _message_of(error)))
        except ToolcribError as error:
            self.mistakes.append(Problem(keys, _message_of(error)))

    def _module(self, catalog: Catalog, name: str, options: Mapping[str, Any] | None) -> None:
        from toolcrib.sources.modules.registry import (
            module,  # late: loads pydantic models of its own
            module_names,
        )

        given = self.variables.expanded(dict(options or {}))
        if name == "memory" and name in module_names():
            given = {"scope": self.app_id, "index": LazyIndex, **given}
        self._hold(catalog, module(name, workdir=self.workdir, **given))

    def _core(self, catalog: Catalog, pinned: Iterable[str]) -> None:
        """What ships with Toolcrib and is pinned by name needs no module."""
        from toolcrib.sources.modules.core import NAMES
        from toolcrib.sources.modules.registry import module  # late, as above

        wanted = [name for name in pinned if name in NAMES and name not in catalog]
        if wanted:
            self._hold(catalog, (one for one in module("core", workdir=self.workdir) if one.name in wanted))

    def _folder(self, catalog: Catalog, kind: str, name: str, folder: str) -> None:
        from toolcrib.sources.documents import Documents  # late: only apps with folders need them
        from toolcrib.sources.names import safe_prefix
        from toolcrib.sources.skills import Skills

        made = Documents if kind == "documents" else Skills
        registry = made(self.document.folder / self.variables.expanded(folder), index=LazyIndex)
        self._hold(catalog, [registry.tool(f"discover_{safe_prefix(name)}")])

    def _python(self, catalog: Catalog, place: str) -> None:
        source = load_catalog(place, folder=self.document.folder, forms=_FORMS)
        self._hold(catalog, source)
        source.subscribe(lambda change: self._follow(catalog, change))

    def _follow(self, catalog: Catalog, change: Change) -> None:
        """Follow tools that are registered at run time, so that the next search finds them."""
        added = {tool.name: tool for tool in change.added}
        for name in change.removed:
            if name in catalog and name not in added:
                catalog.remove(name)
        for name, tool in added.items():
            (catalog.replace if name in catalog else catalog.add)(self._guarded(tool))

    def _mcp_file(self, catalog: Catalog, file: str) -> None:
        for server in servers_of_file(file, self.variables, self.document.folder):
            self._mcp(catalog, server)

    def _mcp_server(self, catalog: Catalog, name: str, entry: Mapping[str, Any]) -> None:
        self._mcp(catalog, named_server(name, entry, self.variables, self.document.folder))

    def _mcp(self, catalog: Catalog, server: McpServer) -> None:
        from toolcrib.sources.mcp.login import saved_login
        from toolcrib.sources.mcp.source import McpSource  # late: loads the MCP libraries, from the extra `gateway`

        for value in (*server.environment.values(), *server.headers.values()):
            self.variables.secrets.add(value)
        login = saved_login(server, Settings.from_environment(self.variables.environment).logins)
        self.sources.append(McpSource(server, self._quarantine(catalog), auth=login))

    def _openapi(self, catalog: Catalog, name: str, service: OpenApi) -> None:
        from toolcrib.sources.openapi.source import OpenApiSource  # late: only apps with services need it

        given = self.variables.expanded(service.document)
        document = given if given.startswith(("http://", "https://")) else self.document.folder / given
        source = OpenApiSource(
            name,
            document,
            self._quarantine(catalog),
            base_url=self.variables.expanded(service.base_url) or None,
            key=self._key(service),
            open_origins=tuple(self.variables.expanded(service.open_origins)),
        )
        self.sources.append(source)

    def _a2a(self, catalog: Catalog, name: str, agent: RemoteAgent) -> None:
        from toolcrib.sources.a2a import A2aSource  # late, as above

        source = A2aSource(
            name,
            self.variables.expanded(agent.address),
            self._quarantine(catalog),
            key=self._key(agent),
            open_origins=tuple(self.variables.expanded(agent.open_origins)),
        )
        self.sources.append(source)

    def _quarantine(self, catalog: Catalog) -> Quarantine:
        """A catalog as sources see it: each tool is guarded on its way in, and held back unless it is approved."""
        found = next((one for one in self.quarantines if one.catalog is catalog), None)
        if found is None:
            found = Quarantine(catalog, prepare=self._guarded)
            self.quarantines.append(found)
        return found

    def _key(self, service: OpenApi | RemoteAgent) -> str | None:
        if service.credential:
            return self.variables.credential(service.credential)
        return self.variables.expanded(service.key)

    def _hold(self, catalog: Catalog, tools: Iterable[Tool]) -> None:
        catalog.add_all(map(self._guarded, tools))

    def _guarded(self, tool: Tool) -> Tool:
        return guarded(tool, self.variables)


def guarded(tool: Tool, variables: Variables) -> Tool:
    """The tool, whose results never hold a secret of the app: a command may print its environment."""

    async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        secrets = variables.secrets
        if not secrets.values:
            return ToolResult.of(await tool.call(arguments, context))
        try:
            result = ToolResult.of(await tool.call(arguments, context))
        except Exception as error:  # foreign code: a tool; what it says of itself may quote a key
            if secrets.hidden(str(error)) == str(error):
                raise
            result = refusals.broken(tool.name, error)
        return replace(result, text=secrets.hidden(result.text), value=secrets.hidden_in(result.value))

    return tool.with_metadata(call=call)


def _message_of(error: ToolcribError) -> str:
    return f"{error} {error.hint}" if error.hint else str(error)


# Other agents of an app as tools: found like tools, called with one request, and answering once.

REQUEST = "What to do or find out, with everything it must know: it sees nothing of this conversation"
NEEDS_YES = (
    "{id} stopped: it would call {tool}, which needs the user's yes, and it cannot ask for it. Tell the user, or go "
    "on without."
)


def tool_name(agent: Agent) -> str:
    """The name by which another agent calls it."""
    return f"ask_{agent.id}"


def source_name(agent_id: str) -> str:
    """The `source` of its tool."""
    return f"agent:{agent_id}"


def agent_tool(agent: Agent, crib: Callable[[], Crib], *, shares_tools: bool) -> Tool:
    """An agent as a tool.

    It starts anew with each request and remembers nothing. When it meets a call that needs the user's yes, the agent
    that called it asks for that very call and makes it itself, if both share their tools.
    """

    async def ask(request: Annotated[str, Field(description=REQUEST, min_length=1)], context: object) -> ToolResult:
        async with SqliteStore(None, tenant=current_user()) as store, store.open(agent.id) as session:
            done = await run(session, request, crib=crib(), context=context)
        if done.confirmations:
            return _asks_for(agent, done.confirmations[0], shares_tools)
        if done.failed is not None:
            return ToolResult.failure(f"{agent.id} gave no answer: {done.failed.message} {done.failed.hint}".rstrip())
        return ToolResult(text=done.answer or f"{agent.id} had nothing to say.")

    about = agent.description.strip() or (f"It is a {agent.role}." if agent.role else "")
    made = made_tool(
        ask,
        name=tool_name(agent),
        description=f"{HANDS_WORK.format(agent.id)}{about}".rstrip(),
        category=AGENTS,
        phrases=agent.phrases,
    )
    return made.with_metadata(source=source_name(agent.id))


def with_agents(surface: Surface) -> Surface:
    """A surface with `discover_agents` beside its own tools."""

    def made(toolbox: Toolbox) -> tuple[Tool, ...]:
        own = tuple(surface(toolbox))
        names = {one.name for one in own}
        agents = (one for one in domain_surface(toolbox, domain_of=_agents_or_not) if one.name == f"discover_{AGENTS}")
        return (*own, *(one for one in agents if one.name not in names))

    return made


def _agents_or_not(tool: Tool) -> str:
    return AGENTS if domain_of(tool) == AGENTS else ""


def _asks_for(agent: Agent, asked: ConfirmationRequired, shares_tools: bool) -> ToolResult:
    if not shares_tools:
        return ToolResult.failure(NEEDS_YES.format(id=agent.id, tool=asked.tool))
    # What the caller's user agrees to is this call, and nothing near it.
    return PendingApproval.of(asked.tool, asked.arguments, asked.reason).as_result()
