"""From a file to an `App`: `load_app("app.yaml")`."""

import os
from collections.abc import Iterator, Mapping
from datetime import date
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from pydantic_ai.models import Model

from toolcrib.agent.crib import Crib, Limits
from toolcrib.agent.prompt import Prompt
from toolcrib.apps.app import App, settings_of, surface_of
from toolcrib.apps.load import AppDocument, callees_of, read_spec
from toolcrib.apps.spec import Agent, Spec, SurfaceName, Tools
from toolcrib.apps.tools import ToolLoader, agent_tool, source_name, tool_name
from toolcrib.apps.variables import Variables
from toolcrib.catalog.catalog import Catalog
from toolcrib.credentials import CredentialStore
from toolcrib.discovery.modes import Mode, forced_mode
from toolcrib.discovery.protocols import Guidance
from toolcrib.discovery.surfaces.display import SourceStates
from toolcrib.errors import ModeError, PromptError, UnknownEmbedderError, UnsetVariableError, did_you_mean
from toolcrib.policy.reading import policy_of, rule_places
from toolcrib.search.embedders import BUILTIN, check_embedder, open_embedder
from toolcrib.search.interface import LazyIndex, SearchIndex
from toolcrib.settings import MODE_VARIABLE, Settings, is_postgres
from toolcrib.sources.source import SourceGroup
from toolcrib.tools.tool import match_dotted
from toolcrib.yaml_file import Problem

if TYPE_CHECKING:
    from toolcrib.search.embedders.embedder import Embedder

_FOLDERS = ("module:documents", "module:skills")  # sources of tools that disclose a folder


def load_app(
    path: str | Path,
    *,
    model: Model | str | None = None,
    workdir: str | Path | None = None,
    embedder: str | None = None,
    mode: Mode | str | None = None,
    environment: Mapping[str, str] = os.environ,
    credentials: CredentialStore | None = None,
) -> App:
    """The app that a file describes.

    Args:
        path: The file.
        model: Takes the place of every agent's brain, such as `offline`.
        workdir: Takes the place of the file's work folder.
        embedder: Takes the place of the file's embedder.
        mode: Takes the place of the file's `tool_injection`, and of TOOLCRIB_MODE.
        environment: Where `{{env.NAME}}` and `${NAME}` are looked up.
        credentials: Where `credential` of a brain is looked up; else what this machine's user keeps.

    Raises:
        AppError: The file is wrong; every mistake is told, each with its line and column.
    """
    spec, document = read_spec(path)
    variables = Variables(environment, spec.credentials, document.secrets)
    folder = _workdir(spec, document, variables, workdir)
    loader = ToolLoader(document, variables, folder, spec.app.app_id)
    settings = Settings.from_environment(environment)
    url = _index_url(spec, document, settings)
    cribs = _cribs(spec, loader, _embedder(spec, document, embedder, settings), url, settings)
    app = App(
        spec,
        document,
        cribs,
        variables=variables,
        sources=SourceGroup(loader.sources),
        quarantines=loader.quarantines,
        lock=_lock(spec, document, variables, settings),
        workdir=folder,
        removes_workdir=workdir is None and spec.runtime.workdir_mode == "temporary",
        model=model,
        credentials=credentials or CredentialStore.open(environment),
        mode=_mode(spec, document, variables, mode, settings),
    )
    _add_agent_tools(spec, cribs, app)
    loader.mistakes += _unknown_pins(spec, cribs, loader)
    if loader.mistakes:
        raise document.error(loader.mistakes)
    app.require_rules()
    return app


def _cribs(
    spec: Spec, loader: ToolLoader, embedder: "Embedder | None", url: str | None, settings: Settings
) -> dict[str, Crib]:
    """The crib of each agent, without its model."""
    shared = loader.catalog(("tools",), spec.tools)
    tenant = f"app:{spec.app.app_id}"
    index = _index(shared, embedder, url, tenant, settings)
    catalogs = [
        shared if agent.tools is None else loader.catalog(_tools_at(number, agent), agent.tools)
        for number, agent in enumerate(spec.agents)
    ]
    states = SourceGroup(loader.sources).states  # all sources are known now
    return {
        agent.id: _crib(
            spec,
            number,
            loader,
            catalog,
            index if catalog is shared else _index(catalog, embedder, url, f"{tenant}/{agent.id}", settings),
            states,
            learn=settings.learn or spec.runtime.learn,
        )
        for number, (agent, catalog) in enumerate(zip(spec.agents, catalogs, strict=True))
    }


def _pinned(surface: SurfaceName, tools: Tools, catalog: Catalog) -> tuple[str, ...]:
    """What the model always sees. Folders of documents and skills are domains: each has its discovery tool already."""
    folders = [tool.name for tool in catalog if tool.source in _FOLDERS] if surface == "domains" else []
    return (*tools.pinned, *(name for name in folders if name not in tools.pinned))


def _crib(
    spec: Spec,
    number: int,
    loader: ToolLoader,
    catalog: Catalog,
    index: SearchIndex,
    states: SourceStates,
    *,
    learn: bool,
) -> Crib:
    runtime, agent = spec.runtime, spec.agents[number]
    tools, callees = agent.tools or spec.tools, callees_of(spec, agent)
    uncallable = sorted({other.id for other in spec.agents} - set(callees))
    return Crib(
        catalog,
        index=index,
        policy=policy_of(
            tools.capabilities,
            tuple(map(source_name, uncallable)),
            place=rule_places(loader.document.yaml, (*_tools_at(number, agent), "capabilities")),
        ),
        role=agent.role or None,
        pinned=_pinned(runtime.surface, tools, catalog),
        surface=surface_of(runtime.surface, states, bool(tools.a2a or callees), runtime.code.limits(loader.workdir)),
        prompt=_prompt(("agents", number), agent, loader),
        limits=Limits(
            steps=runtime.max_turns,
            seconds=runtime.timeout,
            cost=runtime.max_cost,
            output_tokens=agent.brain.setting("max_tokens") or Limits().output_tokens,
        ),
        guidance=_guidance(_tools_at(number, agent), tools, loader),
        learn=learn,
        preload_tokens=runtime.preload,
        confirm_in_words=runtime.confirm_in_words,
        model_settings=settings_of(agent.brain),
        # A call of another agent may take as long as a whole answer.
        toolbox_options={"timeout_seconds": runtime.timeout if callees else runtime.tool_timeout},
    )


def _tools_at(number: int, agent: Agent) -> tuple[str | int, ...]:
    """The path of an agent's tools in the file."""
    return ("tools",) if agent.tools is None else ("agents", number, "tools")


def _lock(spec: Spec, document: AppDocument, variables: Variables, settings: Settings) -> Path | None:
    """Where the approved definitions are; None if nothing is pinned."""
    given = variables.expanded(spec.runtime.lock)
    if given == "off":
        return None
    if given:
        return document.folder / Path(given).expanduser()
    digest = sha256(str(document.yaml.path.resolve()).encode()).hexdigest()[:12]
    return settings.locks / f"{spec.app.app_id}-{digest}.lock"


def _embedder(spec: Spec, document: AppDocument, given: str | None, settings: Settings) -> "Embedder | None":
    """The embedder of the indexes; None for the built-in one, which they open themselves."""
    try:
        name = given or spec.runtime.embedder or BUILTIN
        return None if check_embedder(name)[0] == BUILTIN else open_embedder(name, settings)
    except UnknownEmbedderError as error:
        if given is not None:
            raise
        raise document.error([Problem(("runtime", "embedder"), f"{error} {error.hint}")]) from None


def _index(
    catalog: Catalog, embedder: "Embedder | None", url: str | None, tenant: str, settings: Settings
) -> SearchIndex:
    if embedder is None and url is None:
        return LazyIndex(catalog, folder=settings.indexes)
    from toolcrib.search.index import open_index  # late: numpy

    return open_index(catalog, embedder, url=url, tenant=tenant, folder=settings.indexes)


def _index_url(spec: Spec, document: AppDocument, settings: Settings) -> str | None:
    """The database of the index; None for an index in memory."""
    if spec.runtime.index == "memory":
        return None
    place = settings.store or ""
    if not is_postgres(place):
        raise document.error(
            [Problem(("runtime", "index"), "an index in PostgreSQL needs a database, and TOOLCRIB_STORE names none")],
            hint="Set TOOLCRIB_STORE=postgresql://user@host/database, or leave `index` out.",
        )
    return place


def _mode(
    spec: Spec, document: AppDocument, variables: Variables, given: Mode | str | None, settings: Settings
) -> Mode | None:
    """The mode that is forced; what is given takes the place of the file's, and so does the variable."""
    if given is not None:
        return forced_mode(given)
    if settings.mode is not None:
        return forced_mode(settings.mode, variable=MODE_VARIABLE)
    at = ("runtime", "tool_injection")
    try:
        return forced_mode(variables.expanded(spec.runtime.tool_injection))
    except UnsetVariableError as error:
        raise document.error([Problem(at, str(error))], kind=UnsetVariableError) from None
    except ModeError as error:
        raise document.error([Problem(at, f"{error} {error.hint}")]) from None


def _add_agent_tools(spec: Spec, cribs: Mapping[str, Crib], app: App) -> None:
    """Add each agent as a tool to the catalogs of those that may call it."""
    agents = {agent.id: agent for agent in spec.agents}
    for caller in spec.agents:
        catalog = cribs[caller.id].catalog
        for name in callees_of(spec, caller):
            if tool_name(agents[name]) not in catalog:
                shares_tools = cribs[name].catalog is catalog
                catalog.add(agent_tool(agents[name], lambda name=name: app.cribs[name], shares_tools=shares_tools))


def _prompt(at: tuple[str | int, ...], agent: Agent, loader: ToolLoader) -> Prompt:
    key, more = "system_prompt", agent.system_prompt
    if agent.system_prompt_file:
        key, path = "system_prompt_file", loader.document.folder / agent.system_prompt_file
        try:
            more = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            loader.mistakes.append(Problem((*at, key), f"{agent.system_prompt_file!r} cannot be read: {cause}"))
    prompt = Prompt(sections=agent.prompt, more=more)
    try:
        prompt.render(today=date.today(), finders=["tool_search"])
    except PromptError as error:
        loader.mistakes.append(Problem((*at, key if more else "prompt"), f"{error} {error.hint}"))
    return prompt


def _guidance(at: tuple[str | int, ...], tools: Tools, loader: ToolLoader) -> Guidance | None:
    if not tools.guidance:
        return None
    folder = loader.document.folder / tools.guidance
    if not folder.is_dir():
        loader.mistakes.append(Problem((*at, "guidance"), f"there is no folder {tools.guidance!r} beside this file"))
    return Guidance(folder)


def _unknown_pins(spec: Spec, cribs: Mapping[str, Crib], loader: ToolLoader) -> Iterator[Problem]:
    if loader.sources or loader.mistakes:
        return  # more tools come later, or are missing because of a mistake
    for number, agent in enumerate(spec.agents):
        names = [tool.name for tool in cribs[agent.id].catalog]
        for at, name in enumerate(cribs[agent.id].pinned):
            if name not in names and match_dotted(name, cribs[agent.id].catalog) is None:
                near = did_you_mean(name, names) or ""
                keys = (*_tools_at(number, agent), "pinned", at)
                yield Problem(keys, f"there is no tool {name!r}. {near}".rstrip())


def _workdir(spec: Spec, document: AppDocument, variables: Variables, given: str | Path | None) -> Path:
    """Where the tools work."""
    runtime = spec.runtime
    if given is not None:
        return Path(given).expanduser()
    if runtime.workdir_mode == "temporary":
        return Path(mkdtemp(prefix=f"{spec.app.app_id}-"))
    if runtime.workdir_mode == "app":
        return document.folder
    if not runtime.workdir:
        return Path.cwd()
    at = ("runtime", "workdir")
    try:
        folder = document.folder / Path(variables.expanded(runtime.workdir)).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
    except UnsetVariableError as error:
        raise document.error([Problem(at, str(error))], kind=UnsetVariableError) from None
    except OSError as error:
        raise document.error([Problem(at, f"this folder cannot be used: {error.strerror}")]) from None
    return folder
