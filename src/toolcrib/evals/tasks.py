"""Tasks: what an agent is asked to do, and how to judge what it did. They are datasets of Pydantic Evals.

name: shop
cases:
- name: delete-page
  inputs: Delete the old landing page
  evaluators:
  - CalledTools: [delete_page]
  - Arguments: {tool: delete_page, equal: {slug: old}}
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.loading import load_function
from toolcrib.discovery.arguments import SchemaChecker
from toolcrib.errors import TaskFileError, did_you_mean
from toolcrib.tools.tool import Tool


class Request(BaseModel):
    """What the user says, turn by turn, and whether they agree to risky calls."""

    model_config = ConfigDict(extra="forbid")

    turns: list[str] = Field(min_length=1)
    confirm: bool = True  # the user's answer when a call needs their yes


TaskSet: TypeAlias = Dataset[str | Request, Any, Any]


def request_of(inputs: str | Request) -> Request:
    """The request of a case, which may be a plain text."""
    return Request(turns=[inputs]) if isinstance(inputs, str) else inputs


# What an evaluator sees of a finished task.


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMade:
    """One call of a tool that the model made."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""  # the result, as the model read it
    failed: bool = False
    ran: bool = True  # False: it waited for the user's yes, or was refused before it ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an agent did with one task. Costs are None where the model's price is not known."""

    answers: tuple[str, ...] = ()  # one for each turn
    calls: tuple[CallMade, ...] = ()
    searches: tuple[str, ...] = ()  # the queries for tools
    confirmations: int = 0  # questions to the user
    steps: int = 0  # requests to the model
    input_tokens: int = 0
    cached_tokens: int = 0  # of the input tokens, those read from the provider's cache
    output_tokens: int = 0
    tool_tokens: int = 0  # of definitions and protocols in all requests, by our own count
    cost: float | None = None  # US dollars
    seconds: float = 0.0
    error: str = ""  # why there is no answer
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])  # by check: what it returned after the task


# Evaluators

Context: TypeAlias = EvaluatorContext[Any, Outcome, Any]
WRONG_CALLS = "wrong_calls"  # the score: how many calls were made that should not be


@dataclass(repr=False)
class CalledTools(Evaluator[Any, Outcome, Any]):
    """The right tools were called: each entry is a name, or a list of names of which one is enough.

    Other calls are counted as wrong; they are no failure unless `only` is set or they are among `never`.
    """

    tools: list[str | list[str]]
    ordered: bool = False
    only: bool = False
    never: list[str] | None = None

    def evaluate(self, ctx: Context) -> dict[str, Any]:
        """Whether the right tools were called, and the number of other calls."""
        called = [call.name for call in ctx.output.calls]
        expected = [[entry] if isinstance(entry, str) else entry for entry in self.tools]
        missing = _missing(expected, called, ordered=self.ordered)
        allowed = {name for names in expected for name in names}
        others = [name for name in called if name not in allowed]
        forbidden = others if self.only else [name for name in called if name in (self.never or ())]
        problems = [f"not called: {' or '.join(names)}" for names in missing]
        problems += [f"called: {name}" for name in dict.fromkeys(forbidden)]
        return {
            "CalledTools": EvaluationReason(not problems, "; ".join(problems) or None),
            WRONG_CALLS: len(others),
        }


def _missing(expected: Sequence[Sequence[str]], called: Sequence[str], *, ordered: bool) -> list[Sequence[str]]:
    """The entries for which no call is left; the most demanding entries choose first, so that none starves another."""
    left, missing = list(called), list[Sequence[str]]()
    for names in expected if ordered else sorted(expected, key=len):
        at = next((at for at, name in enumerate(left) if name in names), None)
        if at is None:
            missing.append(names)
        elif ordered:
            del left[: at + 1]
        else:
            del left[at]
    return missing


@dataclass(repr=False)
class Arguments(Evaluator[Any, Outcome, Any]):
    """One call of a tool had the right arguments: equal values, contained ones, a JSON Schema, a Python predicate.

    `check` is `package.module:function` or `file.py:function`: given the arguments, it says whether they are right.
    """

    tool: str
    equal: dict[str, Any] | None = None
    contains: dict[str, Any] | None = None
    schema: dict[str, Any] | None = None
    check: str = ""

    def evaluate(self, ctx: Context) -> EvaluationReason:
        """Whether one of the calls fits; the reason is that of the call that came nearest."""
        calls = [call for call in ctx.output.calls if call.name == self.tool]
        if not calls:
            return EvaluationReason(False, f"{self.tool} was not called")
        problems = min((self._problems(call.arguments) for call in calls), key=len)
        return EvaluationReason(not problems, "; ".join(problems) or None)

    def _problems(self, arguments: Mapping[str, Any]) -> list[str]:
        found = [
            f"{name} is {_short(arguments.get(name))}, not {_short(value)}"
            for name, value in (self.equal or {}).items()
            if name not in arguments or arguments[name] != value
        ]
        found += [
            f"{name} is {_short(arguments.get(name))}, without {_short(value)}"
            for name, value in (self.contains or {}).items()
            if not _contains(arguments.get(name), value)
        ]
        if self.schema:
            found += [
                f"{'.'.join(map(str, place))} {text}"
                for place, text in SchemaChecker(self.schema).complaints(dict(arguments), self.schema)
            ]
        if self.check and not load_function(self.check)(dict(arguments)):
            found.append(f"{self.check} refused {_short(dict(arguments))}")
        return found


def _contains(value: object, part: object) -> bool:
    if isinstance(value, str):
        return str(part).casefold() in value.casefold()
    if isinstance(value, list | dict):
        held = cast("list[object] | dict[object, object]", value)
        parts = cast("list[object]", part) if isinstance(part, list) else [part]
        return all(one in held for one in parts)
    return value == part


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:79]}…"


@dataclass(repr=False)
class Refused(Evaluator[Any, Outcome, Any]):
    """No tool fits: none was called, and the user got an answer."""

    def evaluate(self, ctx: Context) -> dict[str, Any]:
        """Whether nothing was called, and the number of calls."""
        called = [call.name for call in ctx.output.calls]
        reason = f"called: {', '.join(called)}" if called else ctx.output.error or None
        return {"Refused": EvaluationReason(not called and not ctx.output.error, reason), WRONG_CALLS: len(called)}


@dataclass(repr=False)
class State(Evaluator[Any, Outcome, Any]):
    """What the task left behind is right. `check` is a function that is given the fixture and returns a JSON value.

    The value is compared with `equal` or `contains` if one is given; else it has to be true.
    """

    check: str
    equal: Any = None
    contains: Any = None

    def evaluate(self, ctx: Context) -> EvaluationReason:
        """Whether the value is right."""
        value = ctx.output.state.get(self.check)
        if self.equal is not None:
            right = value == self.equal
        else:
            right = bool(value) if self.contains is None else _contains(value, self.contains)
        return EvaluationReason(right, None if right else f"{self.check} gave {_short(value)}")


@dataclass(repr=False)
class Tokens(Evaluator[Any, Outcome, Any]):
    """The task took at most so many input and output tokens."""

    at_most: int

    def evaluate(self, ctx: Context) -> EvaluationReason:
        """Whether it did."""
        used = ctx.output.input_tokens + ctx.output.output_tokens
        return EvaluationReason(used <= self.at_most, f"{used:,} tokens")


EVALUATORS: tuple[type[Evaluator[Any, Any, Any]], ...] = (CalledTools, Arguments, Refused, State, Tokens)

# Files

_EXAMPLE = "Begin with: toolcrib eval new tasks.yaml"


def load_tasks(path: Path) -> TaskSet:
    """The tasks in a YAML or JSON file."""
    try:
        tasks = TaskSet.from_file(path, custom_evaluator_types=EVALUATORS)
    except OSError as error:
        names = (near.name for near in path.parent.glob("*.yaml"))
        hint = did_you_mean(path.name, names) or _EXAMPLE
        raise TaskFileError(f"{str(path)!r} cannot be read: {error.strerror}.", hint=hint) from error
    except ExceptionGroup as group:
        raise TaskFileError(f"{path}: {group.exceptions[0]}", hint=f"Evaluators of ours: {_names()}.") from group
    except (ValueError, yaml.YAMLError) as error:
        raise TaskFileError(f"{path}: {error}", hint=_EXAMPLE) from error
    if not tasks.cases:
        raise TaskFileError(f"{str(path)!r} contains no tasks.", hint=_EXAMPLE)
    for place, case in enumerate(tasks.cases, start=1):
        case.name = case.name or f"task-{place}"
    return tasks


def _names() -> str:
    return ", ".join(kind.__name__ for kind in EVALUATORS)


def check_tools(tasks: TaskSet, catalog: Catalog) -> None:
    """Refuse tasks that expect tools which the catalog does not have."""
    known = {tool.name for tool in catalog}
    for case in tasks.cases:
        for name in expected_tools(case):
            if name not in known:
                raise TaskFileError(
                    f"The task {case.name!r} expects the tool {name!r}, which the catalog does not have.",
                    hint=did_you_mean(name, known) or "See: toolcrib tools list",
                )


def expected_tools(case: Case[Any, Any, Any]) -> Iterator[str]:
    """The names of the tools that a task's evaluators mention."""
    for evaluator in case.evaluators:
        if isinstance(evaluator, CalledTools):
            yield from (name for entry in evaluator.tools for name in ([entry] if isinstance(entry, str) else entry))
            yield from evaluator.never or ()
        elif isinstance(evaluator, Arguments):
            yield evaluator.tool


def write_tasks(tasks: TaskSet, path: Path) -> None:
    """Write a file of tasks, with its JSON Schema beside it, so that editors complete and check it."""
    try:
        tasks.to_file(path, custom_evaluator_types=EVALUATORS)
    except OSError as error:
        raise TaskFileError(f"{str(path)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error


NO_TOOL = ("How are you today?", "What do you think about the meaning of life?")


def tasks_for(catalog: Catalog, *, count: int = 20, name: str = "tasks") -> TaskSet:
    """A set of tasks to begin with: the first phrase of tools spread over a catalog, and requests for no tool."""
    tools = [tool for tool in catalog if asked_as(tool)]
    chosen = {tool.name: tool for tool in (tools[len(tools) * at // count] for at in range(count))} if tools else {}
    cases: list[Case[Any, Any, Any]] = [
        Case(name=tool.name, inputs=asked_as(tool), evaluators=[CalledTools(tools=[tool.name])])
        for tool in chosen.values()
    ]
    cases += [Case(name=f"no-tool-{at}", inputs=text, evaluators=[Refused()]) for at, text in enumerate(NO_TOOL, 1)]
    return TaskSet(name=name, cases=cases)


def asked_as(tool: Tool) -> str:
    """How a user might ask for a tool: its first phrase, or its description."""
    return next(iter(tool.phrases), "") or tool.description.split(". ")[0]


# Tasks from what users did


def task_of_session(
    id: str, events: Iterable[Mapping[str, Any]], *, surface: Iterable[str] = ()
) -> Case[Any, Any, Any] | None:
    """The requests of a session as a task that expects the calls that succeeded in it; None if there is no request."""
    turns, calls, started = list[str](), list[tuple[str, dict[str, Any]]](), dict[str, Any]()
    for event in events:
        if event.get("type") == "run_started" and event.get("confirmation") is None:
            turns.append(str(event.get("text", "")))
        elif event.get("type") == "tool_started":
            started[str(event.get("call_id"))] = event.get("arguments") or {}
        elif event.get("type") == "tool_finished" and not event.get("failed"):
            name, arguments = str(event.get("name")), dict(started.get(str(event.get("call_id"))) or {})
            if event.get("inner"):
                name, arguments = str(event["inner"]), dict(arguments.get("params") or {})
            if not str(event.get("text", "")).startswith("requires_confirmation:") and name not in surface:
                arguments.pop("confirmed", None)
                calls.append((name, arguments))
    if not turns:
        return None
    evaluators: list[Evaluator[Any, Any, Any]] = (
        [CalledTools(tools=[name for name, _ in calls])] if calls else [Refused()]
    )
    evaluators += [Arguments(tool=name, equal=arguments) for name, arguments in calls if arguments]
    inputs = turns[0] if len(turns) == 1 else Request(turns=turns)
    return Case(name=id, inputs=inputs, evaluators=evaluators)
