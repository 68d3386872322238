"""From a file to an `App`: `load_app("app.yaml")`."""

import os
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from tempfile import mkdtemp

from pydantic_ai.models import Model

from toolcrib.agent.prompt import Prompt
from toolcrib.apps.agents import agent_tool, source_name, tool_name
from toolcrib.apps.app import App, Crew
from toolcrib.apps.load import AppDocument, SpecProblem, callees_of, read_spec
from toolcrib.apps.spec import Agent, Spec, Tools
from toolcrib.apps.tools import ToolLoader
from toolcrib.apps.variables import Variables
from toolcrib.discovery.protocols import Guidance
from toolcrib.errors import PromptError, UnknownEmbedderError, UnsetVariableError, did_you_mean
from toolcrib.policy.reading import policy_of
from toolcrib.search.embedders import open_embedder
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.index import ToolIndex
from toolcrib.settings import Settings
from toolcrib.sources.source import SourceGroup


def load_app(
    path: str | Path,
    *,
    model: Model | str | None = None,
    workdir: str | Path | None = None,
    embedder: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> App:
    """The app that a file describes.

    Args:
        path: The file.
        model: Takes the place of every agent's brain, such as `offline`.
        workdir: Takes the place of the file's work folder.
        embedder: Takes the place of the file's embedder.
        environment: Where `{{env.NAME}}` and `${NAME}` are looked up.

    Raises:
        AppError: The file is wrong; every mistake is told, each with its line and column.
    """
    spec, document = read_spec(path)
    variables = Variables(environment, spec.credentials, document.secrets)
    folder = _workdir(spec, document, variables, workdir)
    supply = ToolLoader(document, variables, folder, spec.app.app_id)
    crews = _crews(spec, supply, _embedder(spec, document, embedder, environment))
    app = App(
        spec,
        document,
        crews,
        variables=variables,
        sources=SourceGroup(supply.sources),
        workdir=folder,
        removes_workdir=workdir is None and spec.runtime.workdir_mode == "temporary",
        model=model,
    )
    _introduce(spec, crews, app)
    supply.mistakes += _unknown_pins(crews, supply)
    if supply.mistakes:
        raise document.error(supply.mistakes)
    return app


def _crews(spec: Spec, supply: ToolLoader, embedder: Embedder) -> dict[str, Crew]:
    """Each agent with its tools, its policy and its prompt."""
    shared = supply.catalog(("tools",), spec.tools)
    index = ToolIndex(shared, embedder)
    crews: dict[str, Crew] = {}
    for number, agent in enumerate(spec.agents):
        at: tuple[str | int, ...] = ("tools",) if agent.tools is None else ("agents", number, "tools")
        tools = agent.tools or spec.tools
        catalog = shared if agent.tools is None else supply.catalog(at, tools)
        # Agents that it may not call do not exist for it.
        others = sorted({other.id for other in spec.agents} - set(callees_of(spec, agent)))
        crews[agent.id] = Crew(
            agent=agent,
            number=number,
            tools_at=at,
            catalog=catalog,
            index=index if catalog is shared else ToolIndex(catalog, embedder),
            policy=policy_of(tools.capabilities, tuple(map(source_name, others))),
            prompt=_prompt(("agents", number), agent, supply),
            guidance=_guidance(at, tools, supply),
            pinned=tools.pinned,
        )
    return crews


def _embedder(spec: Spec, document: AppDocument, given: str | None, environment: Mapping[str, str]) -> Embedder:
    settings = Settings.from_environment(environment)
    if given is not None:
        return open_embedder(given, settings)
    try:
        return open_embedder(spec.runtime.embedder, settings)
    except UnknownEmbedderError as error:
        raise document.error([SpecProblem(("runtime", "embedder"), f"{error} {error.hint}")]) from None


def _introduce(spec: Spec, crews: Mapping[str, Crew], app: App) -> None:
    """Put each agent as a tool where another may call it."""
    for caller in crews.values():
        for name in callees_of(spec, caller.agent):
            callee = crews[name]
            if tool_name(callee.agent) not in caller.catalog:
                made = agent_tool(
                    callee.agent,
                    lambda name=name: app.cribs[name],
                    shares_tools=callee.catalog is caller.catalog,
                    heard=app.overhear,
                )
                caller.catalog.add(made)


def _prompt(at: tuple[str | int, ...], agent: Agent, supply: ToolLoader) -> Prompt:
    key, more = "system_prompt", agent.system_prompt
    if agent.system_prompt_file:
        key, path = "system_prompt_file", supply.document.folder / agent.system_prompt_file
        try:
            more = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            supply.mistakes.append(SpecProblem((*at, key), f"{agent.system_prompt_file!r} cannot be read: {said}"))
    prompt = Prompt(sections=agent.prompt, more=more)
    try:
        prompt.render(today=date.today(), finder="tool_search")
    except PromptError as error:
        supply.mistakes.append(SpecProblem((*at, key if more else "prompt"), f"{error} {error.hint}"))
    return prompt


def _guidance(at: tuple[str | int, ...], tools: Tools, supply: ToolLoader) -> Guidance | None:
    if not tools.guidance:
        return None
    folder = supply.document.folder / tools.guidance
    if not folder.is_dir():
        supply.mistakes.append(
            SpecProblem((*at, "guidance"), f"there is no folder {tools.guidance!r} beside this file")
        )
    return Guidance(folder)


def _unknown_pins(crews: Mapping[str, Crew], supply: ToolLoader) -> Iterator[SpecProblem]:
    if supply.sources or supply.mistakes:
        return  # more tools come later, or have not come because of a mistake
    for crew in crews.values():
        names = [tool.name for tool in crew.catalog]
        for number, name in enumerate(crew.pinned):
            if name not in names:
                near = did_you_mean(name, names) or ""
                yield SpecProblem((*crew.tools_at, "pinned", number), f"there is no tool {name!r}. {near}".rstrip())


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
        raise document.error([SpecProblem(at, str(error))], kind=UnsetVariableError) from None
    except OSError as error:
        raise document.error([SpecProblem(at, f"this folder cannot be used: {error.strerror}")]) from None
    return folder
