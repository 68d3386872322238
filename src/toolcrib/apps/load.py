"""From an app's file to a `Spec`: every problem at once, each with its line; and the MCP servers that a file names."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib.agent.prompt import section_names
from toolcrib.apps.spec import MODEL_SETTINGS, Agent, Brain, Spec
from toolcrib.apps.variables import VARIABLE, Secrets, Variables
from toolcrib.errors import AppError, did_you_mean
from toolcrib.policy.reading import rule_conflicts
from toolcrib.settings import OFFLINE
from toolcrib.sources.mcp.config import McpServer, read_mcp_server, read_mcp_servers
from toolcrib.yaml_file import Problem, YamlDocument, validate

HINT = "Nothing was run; correct the file. See docs/reference/yaml.md, or let an editor use `toolcrib schema`."
_SECRET_BELOW = frozenset({"config", "credential", "credentials", "modules", "mcp_servers", "openapi", "a2a"})


def read_spec(path: str | Path) -> tuple[Spec, "AppDocument"]:
    """The spec in an app's file, and the document it was read from.

    Raises:
        AppError: The file cannot be read, is not YAML, or is not a valid app.
    """
    document = AppDocument.read(Path(path))
    spec, problems = validate(document.yaml, Spec, inconsistencies, secret_below=_SECRET_BELOW)
    if spec is None or problems:
        raise document.error(problems)
    return spec, document


@dataclass(frozen=True, slots=True)
class AppDocument:
    """The YAML of an app's file, and the secrets that no error may show."""

    yaml: YamlDocument
    secrets: Secrets = field(default_factory=Secrets)

    @classmethod
    def read(cls, path: Path) -> "AppDocument":
        """Read a file; raises `AppError` with a line when it is not YAML, or not a mapping."""
        if path.is_dir():
            hint = f"Name the file in it: {path / 'app.yaml'}" if (path / "app.yaml").is_file() else "Name its file."
            raise AppError(f"{path}: an app is a file, and this is a folder.", hint=hint)
        return cls(YamlDocument.read_safely(path, AppError))

    @property
    def folder(self) -> Path:
        """The file's folder; relative paths in the file start here."""
        return self.yaml.path.resolve().parent

    def describe(self, problem: Problem) -> str:
        """Renders `file:line:column: key: what is wrong`, without secrets."""
        return self.secrets.hidden(self.yaml.describe(problem))

    def error(self, problems: Iterable[Problem], *, hint: str = HINT, kind: type[AppError] = AppError) -> AppError:
        """All problems as one error, in the order of the file, without secrets."""
        return kind(self.secrets.hidden(self.yaml.report(problems)), hint=self.secrets.hidden(hint))


def inconsistencies(spec: Spec) -> Iterator[Problem]:
    """Values that are valid but contradict each other."""
    if not spec.agents:  # checked here: pydantic would also report it for agents with problems
        yield Problem(("agents",), "needs at least one agent")
        return
    yield from _runtime(spec)
    yield from rule_conflicts(spec.tools.capabilities, ("tools", "capabilities"))
    ids = [agent.id for agent in spec.agents]
    for number, agent in enumerate(spec.agents):
        at = ("agents", number)
        if agent.id in ids[:number]:
            yield Problem((*at, "id"), f"there are two agents {agent.id!r}")
        yield from _brain((*at, "brain"), agent.brain, spec)
        yield from _prompts(at, agent)
        yield from _callees(at, agent, ids)
        if agent.tools is not None:
            yield from rule_conflicts(agent.tools.capabilities, (*at, "tools", "capabilities"))
    yield from _circles(spec)


def entry_of(spec: Spec) -> Agent:
    """The agent that talks with the user."""
    return next((agent for agent in spec.agents if agent.id == spec.runtime.entry_agent), spec.agents[0])


def callees_of(spec: Spec, agent: Agent) -> tuple[str, ...]:
    """The agents that one may call."""
    if agent.agents is not None:
        return agent.agents
    return tuple(other.id for other in spec.agents if other is not agent) if agent is entry_of(spec) else ()


def _runtime(spec: Spec) -> Iterator[Problem]:
    runtime = spec.runtime
    ids = [agent.id for agent in spec.agents]
    if runtime.entry_agent and runtime.entry_agent not in ids:
        yield Problem(("runtime", "entry_agent"), _unknown_agent(runtime.entry_agent, ids))
    if runtime.workdir and runtime.workdir_mode != "auto":
        yield Problem(("runtime", "workdir"), f"does not go with `workdir_mode: {runtime.workdir_mode}`; leave one out")


def _brain(at: tuple[str | int, ...], brain: Brain, spec: Spec) -> Iterator[Problem]:
    config = brain.config
    if brain.provider != OFFLINE and not brain.model:
        yield Problem((*at, "model"), f"is missing; which model of {brain.provider!r} should it be?")
    if config.api_key is not None and config.credential:
        yield Problem((*at, "config", "credential"), "stands beside `api_key`; leave one out")
    if brain.credential is not None:
        made_for = brain.credential.provider
        if made_for and made_for != brain.provider:
            yield Problem(
                (*at, "credential", "provider"),
                f"a key of {made_for!r} is not sent to {brain.provider!r}; leave one out",
            )
        if config.credential:
            yield Problem((*at, "config", "credential"), "stands beside `credential`; leave one out")
    for name in MODEL_SETTINGS:
        if getattr(brain, name) is not None and getattr(config, name) is not None:
            yield Problem((*at, "config", name), f"stands beside `config`, too: `{name}`; leave one out")
    if config.credential and config.credential not in spec.credentials:
        near = did_you_mean(config.credential, spec.credentials)
        yield Problem(
            (*at, "config", "credential"),
            f"there is no credential {config.credential!r}. {near or 'Write it under `credentials`.'}",
        )


def _prompts(at: tuple[str | int, ...], agent: Agent) -> Iterator[Problem]:
    if agent.system_prompt and agent.system_prompt_file:
        yield Problem((*at, "system_prompt_file"), "stands beside `system_prompt`; leave one out")
    texts: Mapping[tuple[str, ...], str] = {
        ("system_prompt",): agent.system_prompt,
        **{("prompt", name): text for name, text in agent.prompt.items()},
    }
    for keys, text in texts.items():
        if found := VARIABLE.search(text):
            yield Problem((*at, *keys), f"{found[0]} cannot stand in a prompt: a model repeats what it is told")
    known = section_names()
    for name in agent.prompt:
        if name not in known:
            hint = did_you_mean(name, known) or f"There are {', '.join(known)}."
            yield Problem((*at, "prompt", name), f"the prompt has no such section. {hint}")


def _callees(at: tuple[str | int, ...], agent: Agent, ids: list[str]) -> Iterator[Problem]:
    for number, name in enumerate(agent.agents or ()):
        if name not in ids:
            yield Problem((*at, "agents", number), _unknown_agent(name, ids))


def _circles(spec: Spec) -> Iterator[Problem]:
    """Agents that would call each other without end."""
    calls = {agent.id: callees_of(spec, agent) for agent in spec.agents}
    for number, agent in enumerate(spec.agents):
        waiting, seen = list(calls[agent.id]), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += calls.get(name, ())
        if agent.id in seen:
            at = ("agents", number, "agents") if agent.agents is not None else ("agents", number)
            yield Problem(at, f"{agent.id!r} would be called by agents that it calls, without end")


def _unknown_agent(name: str, ids: list[str]) -> str:
    hint = did_you_mean(name, ids) or f"There are {', '.join(ids)}."
    return f"there is no agent {name!r}. {hint}"


def servers_of_app(path: str | Path, environment: Mapping[str, str] = os.environ) -> tuple[McpServer, ...]:
    """All servers of an app's file, those of single agents too; raises `AppError` as `load_app` does."""
    spec, document = read_spec(path)
    variables = Variables(environment, spec.credentials, document.secrets)
    found: list[McpServer] = []
    for tools in (spec.tools, *(agent.tools for agent in spec.agents if agent.tools is not None)):
        for file in tools.mcp_files:
            found += servers_of_file(file, variables, document.folder)
        for name, entry in tools.mcp_servers.items():
            found.append(named_server(name, entry, variables, document.folder))
    return tuple(found)


def servers_of_file(file: str, variables: Variables, folder: Path) -> tuple[McpServer, ...]:
    """The servers of a file that an app names; paths count from the app's folder."""
    return read_mcp_servers([folder / file], variables.environment, folder)


def named_server(name: str, entry: Mapping[str, Any], variables: Variables, folder: Path) -> McpServer:
    """A server whose entry stands in the app's file itself."""
    given = variables.expanded(dict(entry), plain=False)  # `${...}` means what it means in such files
    return read_mcp_server(name, given, variables.environment, folder)
