"""What each part of an app's file says may be right, and still they may not go together."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

from pydantic import BaseModel, ValidationError
from ruamel.yaml.reader import ReaderError

from toolcrib.agent.prompt import section_names
from toolcrib.apps.spec import Agent, Brain, Spec, Tools
from toolcrib.apps.variables import VARIABLE, Secrets, Variables
from toolcrib.errors import AppError, MetadataError, did_you_mean
from toolcrib.policy.reading import RuleSpec as Rule
from toolcrib.settings import OFFLINE
from toolcrib.sources.mcp.config import McpServer, read_mcp_server, read_mcp_servers
from toolcrib.yaml_file import Place, YamlDocument

# An app's file as a value whose parts know where they stand, and what is said about a part that is wrong.

_MOST_VALUES = 20_000  # aliases written out; a few lines of them can stand for billions
_LOCATED = re.compile(r":\d+:\d+: ")
HINT = "Nothing was run; correct the file. See docs/reference/yaml.md, or let an editor use `toolcrib schema`."

Keys: TypeAlias = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class SpecProblem:
    """Something wrong at a place."""

    keys: Keys
    what: str
    place: Place | None = None  # where it is another than that of the keys


@dataclass(frozen=True, slots=True)
class AppDocument:
    """The file of an app, read but not understood."""

    path: Path
    yaml: YamlDocument
    secrets: Secrets = field(default_factory=Secrets)

    @classmethod
    def read(cls, path: Path) -> "AppDocument":
        """Read a file; raises `AppError` with a line when it is not YAML, or not a mapping."""
        if path.is_dir():
            hint = f"Name the file in it: {path / 'app.yaml'}" if (path / "app.yaml").is_file() else "Name its file."
            raise AppError(f"{path}: an app is a file, and this is a folder.", hint=hint)
        try:
            yaml = YamlDocument.read(path)
        except MetadataError as error:
            raise AppError(_with_line(path, error), hint=error.hint) from error
        except Exception as error:  # foreign code: what a YAML parser makes of dates, numbers and tags that are none
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            raise AppError(f"{path}:1:1: a value cannot be read: {said}", hint="Put texts in quotes.") from error
        if not _is_small(yaml.value):
            raise AppError(f"{path}:1:1: the file's aliases stand for too many values.", hint="Use fewer of them.")
        return cls(path, yaml)

    @property
    def folder(self) -> Path:
        """Where the file lies; what it names is looked for from here."""
        return self.path.resolve().parent

    def said(self, mistake: SpecProblem) -> str:
        """`file:line:column: key: what is wrong`, without secrets."""
        line, column = mistake.place or self.yaml.place(mistake.keys)
        key = ".".join(map(str, mistake.keys))
        return self.secrets.hidden(
            f"{self.path}:{line}:{column}: {f'{key}: ' if key else ''}{' '.join(mistake.what.split())}"
        )

    def error(self, mistakes: Iterable[SpecProblem], *, hint: str = HINT, kind: type[AppError] = AppError) -> AppError:
        """All mistakes as one error, in the order of the file."""
        ordered = sorted(mistakes, key=lambda one: (one.place or self.yaml.place(one.keys), one.what))
        said = dict.fromkeys(map(self.said, ordered))
        return kind("\n".join(said), hint=self.secrets.hidden(hint))


def _with_line(path: Path, error: MetadataError) -> str:
    said = str(error)
    if _LOCATED.search(said.removeprefix(str(path))[:32]):
        return said
    place = Place(1, 1)
    cause = error.__cause__
    if isinstance(cause, ReaderError):  # a control character: it knows where, but not in which line
        before = path.read_text(encoding="utf-8-sig")[: cast("Any", cause).position]
        place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        said = f"{path}: a character that YAML does not allow; write it as an escape, in double quotes."
    return f"{path}:{place.line}:{place.column}: {said.removeprefix(f'{path}: ')}"


def _is_small(value: object) -> bool:
    """Whether a value is not too large with its aliases written out; one that holds itself never is small."""
    left = _MOST_VALUES
    waiting: list[object] = [value]
    while waiting:
        one = waiting.pop()
        left -= 1
        if left < 0:
            return False
        if isinstance(one, dict):
            waiting += cast("dict[Any, Any]", one).values()
        elif isinstance(one, list):
            waiting += cast("list[Any]", one)
    return True


def inconsistencies(spec: Spec) -> Iterator[SpecProblem]:
    """Everything that does not go together."""
    if not spec.agents:  # said here: pydantic would say it also of agents with mistakes
        yield SpecProblem(("agents",), "needs at least one agent")
        return
    yield from _runtime(spec)
    yield from _rules(("tools",), spec.tools)
    ids = [agent.id for agent in spec.agents]
    for number, agent in enumerate(spec.agents):
        at = ("agents", number)
        if agent.id in ids[:number]:
            yield SpecProblem((*at, "id"), f"there are two agents {agent.id!r}")
        yield from _brain((*at, "brain"), agent.brain, spec)
        yield from _prompts(at, agent)
        yield from _callees(at, agent, ids)
        if agent.tools is not None:
            yield from _rules((*at, "tools"), agent.tools)
    yield from _circles(spec)


def entry_of(spec: Spec) -> Agent:
    """The agent that talks with the user."""
    return next((agent for agent in spec.agents if agent.id == spec.runtime.entry_agent), spec.agents[0])


def callees_of(spec: Spec, agent: Agent) -> tuple[str, ...]:
    """The agents that one may call."""
    if agent.agents is not None:
        return agent.agents
    return tuple(other.id for other in spec.agents if other is not agent) if agent is entry_of(spec) else ()


def _runtime(spec: Spec) -> Iterator[SpecProblem]:
    runtime = spec.runtime
    ids = [agent.id for agent in spec.agents]
    if runtime.entry_agent and runtime.entry_agent not in ids:
        yield SpecProblem(("runtime", "entry_agent"), _unknown_agent(runtime.entry_agent, ids))
    if runtime.workdir and runtime.workdir_mode != "auto":
        yield SpecProblem(
            ("runtime", "workdir"), f"does not go with `workdir_mode: {runtime.workdir_mode}`; leave one out"
        )


def _brain(at: tuple[str | int, ...], brain: Brain, spec: Spec) -> Iterator[SpecProblem]:
    config = brain.config
    if brain.provider != OFFLINE and not brain.model:
        yield SpecProblem((*at, "model"), f"is missing; which model of {brain.provider!r} should it be?")
    if config.api_key is not None and config.credential:
        yield SpecProblem((*at, "config", "credential"), "stands beside `api_key`; leave one out")
    if config.credential and config.credential not in spec.credentials:
        near = did_you_mean(config.credential, spec.credentials)
        yield SpecProblem(
            (*at, "config", "credential"),
            f"there is no credential {config.credential!r}. {near or 'Write it under `credentials`.'}",
        )


def _prompts(at: tuple[str | int, ...], agent: Agent) -> Iterator[SpecProblem]:
    if agent.system_prompt and agent.system_prompt_file:
        yield SpecProblem((*at, "system_prompt_file"), "stands beside `system_prompt`; leave one out")
    texts: Mapping[tuple[str, ...], str] = {
        ("system_prompt",): agent.system_prompt,
        **{("prompt", name): text for name, text in agent.prompt.items()},
    }
    for keys, text in texts.items():
        if found := VARIABLE.search(text):
            yield SpecProblem((*at, *keys), f"{found[0]} cannot stand in a prompt: a model repeats what it is told")
    known = section_names()
    for name in agent.prompt:
        if name not in known:
            hint = did_you_mean(name, known) or f"There are {', '.join(known)}."
            yield SpecProblem((*at, "prompt", name), f"the prompt has no such section. {hint}")


def _callees(at: tuple[str | int, ...], agent: Agent, ids: list[str]) -> Iterator[SpecProblem]:
    for number, name in enumerate(agent.agents or ()):
        if name not in ids:
            yield SpecProblem((*at, "agents", number), _unknown_agent(name, ids))


def _circles(spec: Spec) -> Iterator[SpecProblem]:
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
            yield SpecProblem(at, f"{agent.id!r} would be called by agents that it calls, without end")


def _rules(at: tuple[str | int, ...], tools: Tools) -> Iterator[SpecProblem]:
    for number, rule in enumerate(tools.capabilities.rules):
        yield from _rule((*at, "capabilities", "rules", number), rule)


def _rule(at: tuple[str | int, ...], rule: Rule) -> Iterator[SpecProblem]:
    if rule.module is not None and rule.source is not None:
        yield SpecProblem((*at, "source"), "stands beside `module`, which is a source; leave one out")


def _unknown_agent(name: str, ids: list[str]) -> str:
    hint = did_you_mean(name, ids) or f"There are {', '.join(ids)}."
    return f"there is no agent {name!r}. {hint}"


# From a file to a `Spec`: every mistake at once, each with its place.

_IN_WORDS_OF_YAML = {
    "model_type": "should be a mapping",
    "dict_type": "should be a mapping",
    "tuple_type": "should be a list",
    "string_type": "should be text; put it in quotes",
    "missing": "is missing",
    "string_pattern_mismatch": "should be letters, digits, '_' and '-', beginning with a letter, at most 40",
    "too_short": "needs at least one entry",
}


def read_spec(path: str | Path) -> tuple[Spec, AppDocument]:
    """What an app's file says, and where.

    Raises:
        AppError: The file cannot be read, is not YAML, or says something that cannot be.
    """
    document = AppDocument.read(Path(path))
    mistakes = list(_duplicates(document))
    try:
        spec = Spec.model_validate(document.yaml.value)
    except ValidationError as error:
        rest = _without(document.yaml.value, error)
        more = () if rest is None else inconsistencies(rest)
        raise document.error([*mistakes, *_misfits(error), *more]) from None
    mistakes += inconsistencies(spec)
    if mistakes:
        raise document.error(mistakes)
    return spec, document


def _duplicates(document: AppDocument) -> Iterator[SpecProblem]:
    for keys, place in document.yaml.duplicates:
        first = document.yaml.place(keys).line
        yield SpecProblem(keys, f"this key stands twice, first in line {first}", place)


def _misfits(error: ValidationError) -> Iterator[SpecProblem]:
    for one in error.errors(include_url=False, include_context=False):
        keys = tuple(key for key in one["loc"] if key != "[key]")  # pydantic's mark for an error in a key itself
        yield SpecProblem(keys, _what_is_wrong(keys, one))


def _without(value: dict[Any, Any], error: ValidationError) -> Spec | None:
    """What the file says without the values that are wrong in themselves; None if that is no app."""
    rest = deepcopy(value)
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        *above, last = one["loc"]
        with suppress(KeyError, IndexError, TypeError):  # what is missing cannot be left out
            inner: Any = rest
            for key in above:
                inner = inner[key]
            if isinstance(inner, dict):  # an entry of a list stays: the numbers of the others would be wrong
                del inner[last]
    try:
        return Spec.model_validate(rest)
    except ValidationError:
        return None


def _what_is_wrong(keys: Sequence[str | int], error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        known = list(_model_at(keys[:-1]).model_fields)
        return f"unknown key. {did_you_mean(str(keys[-1]), known) or 'It can be ' + ', '.join(known) + '.'}"
    said = _IN_WORDS_OF_YAML.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
    said = said[0].lower() + said[1:]
    given = error["input"]
    # Nothing longer or more deeply nested is quoted, and nothing where a key may stand.
    is_word = isinstance(given, str | int | float) and len(str(given)) <= 40 and not _may_be_secret(keys)
    return f"{said}, not {given!r}" if is_word and error["type"] != "missing" else said


def _may_be_secret(keys: Sequence[str | int]) -> bool:
    return bool({"config", "credentials", "modules", "mcp_servers", "openapi", "a2a"} & set(map(str, keys)))


def _model_at(keys: Sequence[str | int]) -> type[BaseModel]:
    """The model whose mapping stands at a path."""
    model: type[BaseModel] = Spec
    for key in keys:
        if isinstance(key, str) and key in model.model_fields:  # others are names that the file gives
            model = next(_models_in(model.model_fields[key].annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation such as `tuple[Rule, ...]` names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


# The MCP servers that an app's file names, without the app: for whoever logs in to them.


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
