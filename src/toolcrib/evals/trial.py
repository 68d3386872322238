"""Runs one task in one mode, with the real runner: what the model sees, searches and calls is what a user's agent does.

Tools run as in a conversation, or harmlessly: on a fixture made for the task, or as stubs that answer by their schema.
"""

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable
from time import perf_counter
from typing import Any, Protocol, cast

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from toolcrib.agent.crib import Crib
from toolcrib.agent.events import (
    Answered,
    ConfirmationRequired,
    Event,
    Failed,
    RunStarted,
    Text,
    ToolDiscoveryStart,
    ToolFinished,
    ToolStarted,
    UsageEvent,
)
from toolcrib.agent.runner import confirm, stream
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.loading import load_function
from toolcrib.discovery.toolbox import EXECUTE_TOOL
from toolcrib.errors import EvalError
from toolcrib.evals.tape import Places, Tape, request_digest
from toolcrib.evals.tasks import CallMade, Outcome, Request
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import ROOT, Extraction, Tool, ToolCall

MOST_QUESTIONS = 10  # answers to confirmations in one turn; a model that asks forever ends


class Fixture(Protocol):
    """A world for one task: `--fixture` names a function that makes one. Its `close()`, if any, is called."""

    @property
    def catalog(self) -> Catalog:
        """The tools of this world."""
        ...


@dataclass(slots=True, kw_only=True)
class Trial:
    """One task while it runs."""

    task: str  # its name on the tape: variant, case and repetition
    tape: Tape
    fixture: Any = None
    replays_tools: bool = False
    requests: int = 0
    places: Places = field(default_factory=Places)
    calls: list[CallMade] = field(default_factory=list[CallMade])
    problem: EvalError | None = None  # the tape and the run differ, or the budget is used up


_trial: ContextVar[Trial] = ContextVar("toolcrib_trial")


# Tools


def eval_catalog(tools: Iterable[Tool], *, stub: bool) -> Catalog:
    """The tools, each of which runs in the world of the task that calls it; with `stub`, they only seem to run."""
    return Catalog(replace(tool, call=partial(_call, tool, _stub(tool) if stub else tool.call)) for tool in tools)


async def _call(tool: Tool, call: ToolCall, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    trial = _trial.get()
    if trial.fixture is not None and tool.name in trial.fixture.catalog:
        call = trial.fixture.catalog.get(tool.name).call
    try:
        result = await trial.tape.result(
            trial.task,
            tool.name,
            trial.places.of(tool.name, arguments),
            lambda: call(arguments, context),
            replay=trial.replays_tools,
        )
    except EvalError as error:
        trial.problem = error
        result = ToolResult.failure(str(error))
    trial.calls.append(CallMade(name=tool.name, arguments=dict(arguments), text=result.text, failed=result.failed))
    return result


def _stub(tool: Tool) -> ToolCall:
    async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        return ToolResult.of(stub_value(tool, arguments))

    return call


def stub_value(tool: Tool, arguments: Mapping[str, Any]) -> object:
    """What a tool could have returned: by its output schema, or with an entity where its results hold them."""
    if tool.output_schema:
        return example(tool.output_schema)
    value: dict[str, Any] = {"status": "ok", **{name: given for name, given in arguments.items() if given is not None}}
    if isinstance(tool.extraction, Extraction):
        held = tool.extraction
        entity: dict[str, Any] = {held.id_field: f"{held.type}-1", held.name_field: "Example"}
        found: Any = [entity] if held.is_array else entity
        for step in reversed([] if held.path == ROOT else held.path.split(".")):
            found = {step: found}
        return value | cast("dict[str, Any]", found) if isinstance(found, dict) else found
    return value


def example(schema: Mapping[str, Any], level: int = 0) -> Any:
    """A small value that fits a JSON Schema."""
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return example(schema[key][0], level + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = cast("list[str]", kind)[0]
    if kind == "object" or "properties" in schema:
        inner = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {})
        return {name: example(one, level + 1) for name, one in inner.items()} if level < 8 else {}
    if kind == "array":
        return [example(schema.get("items") or {}, level + 1)] if level < 8 else []
    return {"integer": 1, "number": 1.0, "boolean": True, "null": None}.get(str(kind), "example")


# The model


class TapedModel(WrapperModel):
    """A model whose answers are on a tape, and whose requests are counted by `ask` before they are sent."""

    stream_function = None  # an eval reads whole answers, which a tape can hold

    def __init__(self, wrapped: Model, ask: Callable[[Callable[[], Any]], Any]) -> None:
        super().__init__(wrapped)
        self._ask = ask

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The model's answer to the current task."""
        trial = _trial.get()
        number = trial.requests + 1  # of those that are answered: one that fails is tried again under the same number
        digest = request_digest(messages, model_request_parameters)

        def asked() -> Any:
            return self._ask(lambda: self.wrapped.request(messages, model_settings, model_request_parameters))

        try:
            response = await trial.tape.response(trial.task, number, digest, asked)
        except EvalError as error:
            trial.problem = error
            raise
        trial.requests = number
        return response


# One task


async def run_trial(
    crib: Crib, store: Store, request: Request, trial: Trial, *, checks: Iterable[str] = ()
) -> tuple[Outcome, list[dict[str, Any]]]:
    """What the agent did with the request, and its events.

    Raises:
        EvalError: The run is not what is on the tape, or the budget is used up.
    """
    token = _trial.set(trial)
    began = perf_counter()
    happened = list[Event]()
    waiting = _Waiting(trial, crib.catalog)
    try:
        async with store.open() as session:
            for text in request.turns:
                await _turn(session, text, request, crib, waiting, happened)
                if trial.problem is not None:
                    raise trial.problem
                if any(isinstance(event, Failed) for event in happened):
                    break
            messages = session.history
        state = {check: await _checked(check, trial.fixture) for check in checks}
    finally:
        _trial.reset(token)
    return _outcome(happened, trial, messages, state, perf_counter() - began), [
        event.to_json() for event in happened if not isinstance(event, Text)
    ]


async def _checked(check: str, fixture: object) -> Any:
    """What a check finds, which may be an async function."""
    found = load_function(check)(fixture)
    return await found if isawaitable(found) else found


async def _turn(
    session: Session, text: str, request: Request, crib: Crib, waiting: "_Waiting", happened: list[Event]
) -> None:
    """One turn: the text, and the user's answer to each question."""
    questions = list[ConfirmationRequired]()
    events = stream(session, text, crib=crib)
    for _ in range(MOST_QUESTIONS):
        async for event in events:
            happened.append(event)
            waiting.note(event)
            if isinstance(event, ConfirmationRequired):
                questions.append(event)
        open_ids = {one.id for one in session.confirmations}
        questions = [one for one in questions if one.id in open_ids]
        if not questions:
            return
        question = questions.pop(0)
        if request.confirm:
            waiting.approved(question)
        events = confirm(session, question.id, request.confirm, crib=crib)


class _Waiting:
    """Adds the calls that did not run to those of a trial: they waited for a yes, or were refused."""

    def __init__(self, trial: Trial, catalog: Catalog) -> None:
        self._trial = trial
        self._catalog = catalog
        self._begun: dict[str, tuple[int, str, dict[str, Any]]] = {}

    def note(self, event: Event) -> None:
        """Take an event."""
        calls = self._trial.calls
        if isinstance(event, ToolStarted):
            name, arguments = event.name, dict(event.arguments)
            if name == EXECUTE_TOOL:
                params: Any = arguments.get("params")
                name = str(arguments.get("name", ""))
                arguments = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
            self._begun[event.call_id] = (len(calls), name, arguments)
        elif isinstance(event, ConfirmationRequired):
            calls.append(CallMade(name=event.tool, arguments=dict(event.arguments), text="asked the user", ran=False))
        elif isinstance(event, ToolFinished) and event.call_id in self._begun:
            since, name, arguments = self._begun.pop(event.call_id)
            if not any(call.name == name for call in calls[since:]) and event.name not in _META:
                calls.append(CallMade(name=name, arguments=arguments, text=event.text, failed=event.failed, ran=False))

    def approved(self, question: ConfirmationRequired) -> None:
        """The user says yes: the call that waited is made now."""
        for at, call in enumerate(self._trial.calls):
            if not call.ran and call.name == question.tool and call.arguments == dict(question.arguments):
                del self._trial.calls[at]
                return


# Tools of a surface that are no tools of the user's: what they run is counted by itself.
_META = {"run_code"}


def _outcome(
    happened: Iterable[Event], trial: Trial, messages: Iterable[Any], state: Mapping[str, Any], seconds: float
) -> Outcome:
    events = list(happened)
    usage = [event for event in events if isinstance(event, UsageEvent)]
    costs = [one.cost for one in usage]
    answers = list[str]()
    for event in events:
        if isinstance(event, RunStarted) and event.confirmation is None:
            answers.append("")
        elif isinstance(event, Answered):
            answers[-1] = event.text  # of several within a turn, the one after the user's yes
    failed = next((event for event in events if isinstance(event, Failed)), None)
    return Outcome(
        answers=tuple(answers),
        calls=tuple(trial.calls),
        searches=tuple(event.query for event in events if isinstance(event, ToolDiscoveryStart)),
        confirmations=sum(isinstance(event, ConfirmationRequired) for event in events),
        steps=sum(one.requests for one in usage),
        input_tokens=sum(one.input_tokens for one in usage),
        cached_tokens=sum(_cached(message) for message in messages),
        output_tokens=sum(one.output_tokens for one in usage),
        tool_tokens=sum(int(one.report.get("tools_share", {}).get("tokens", 0)) for one in usage),
        cost=None if None in costs or not costs else sum(cost for cost in costs if cost is not None),
        seconds=round(seconds, 3),
        error=f"{failed.message} {failed.hint}".strip() if failed else "",
        state=dict(state),
    )


def _cached(message: Any) -> int:
    """The input tokens of one response that came from the provider's cache."""
    return int((message.get("usage") or {}).get("cache_read_tokens", 0)) if isinstance(message, dict) else 0  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - opaque to a store; ours, as Pydantic AI dumped it
