"""Runs a set of tasks in several modes side by side, and keeps each finished task, so that a killed run goes on.

A folder holds the run: `tape.jsonl` what the model and the tools answered, `trials.jsonl` the finished tasks, and in
the end `report.json` and `report.html`. Each mode is one experiment of Pydantic Evals, with its spans and its judge.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.test import TestModel
from pydantic_evals import Case
from pydantic_evals.lifecycle import CaseLifecycle
from pydantic_evals.reporting import ReportCase, ReportCaseFailure

from toolcrib.agent.crib import Crib, Limits
from toolcrib.agent.models import model_for, name_of, wire_of
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.loading import load_function
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.protocols import delivery_for
from toolcrib.discovery.surfaces.browse import browse_surface, compact_surface
from toolcrib.discovery.surfaces.domains import domain_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.errors import BudgetUsedError, EvalError, did_you_mean
from toolcrib.evals.distractors import with_distractors
from toolcrib.evals.tape import Tape, digest_of, read_lines
from toolcrib.evals.tasks import Outcome, State, TaskSet, check_tools, request_of
from toolcrib.evals.trial import TapedModel, Trial, eval_catalog, run_trial
from toolcrib.search.index import ToolIndex
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.tool import Tool

# What the model sees of the tools, as options of a `Crib`. A further way to find tools is a further line.
MODES: Mapping[str, Mapping[str, Any]] = {
    "direct": {"mode": Mode.DIRECT},
    "compact": {"mode": Mode.COMPACT, "surface": compact_surface},
    "search": {"mode": Mode.DISCOVERY, "surface": search_surface},
    "browse": {"mode": Mode.DISCOVERY, "surface": browse_surface},
    "domains": {"mode": Mode.DISCOVERY, "surface": domain_surface},
}
TRIALS, TAPE = "trials.jsonl", "tape.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """How an eval runs."""

    modes: Sequence[str] = ("direct", "search")  # the first is what the others are compared with
    repeat: int = 1
    distractors: Sequence[int] = ()  # each a number of further tools, beside a run without any
    distractors_from: Sequence[Tool] = ()
    stub: bool = False
    fixture: str = ""  # a function that makes a world for each task
    concurrency: int = 4
    rate: float | None = None  # requests to the model per minute
    budget: float | None = None  # US dollars
    price: tuple[float, float] | None = None  # US dollars for a million input and output tokens
    replay: Path | None = None  # a tape that stands for the model
    record: Path | None = None  # where the tape is kept, unless in the folder
    resume: bool = False
    limits: Limits = field(default_factory=Limits)

    def variants(self) -> list["Variant"]:
        """Each mode, with each number of distractors."""
        for mode in self.modes:
            if mode not in MODES:
                hint = did_you_mean(mode, MODES) or f"There are: {', '.join(MODES)}."
                raise EvalError(f"There is no mode {mode!r} for evals.", hint=hint)
        return [
            Variant(mode=mode, distractors=count)
            for count in dict.fromkeys([0, *self.distractors])
            for mode in self.modes
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One column of the report."""

    mode: str
    distractors: int = 0

    @property
    def label(self) -> str:
        """Its name."""
        return f"{self.mode} +{self.distractors}" if self.distractors else self.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one evaluator said."""

    value: bool | int | float | str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One task, once, in one mode: what happened, and what the evaluators said."""

    variant: str
    case: str
    repeat: int
    turns: tuple[str, ...]
    outcome: Outcome
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])
    events: tuple[Mapping[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """Its name within the run."""
        return trial_key(self.variant, self.case, self.repeat)

    @property
    def success(self) -> bool:
        """Whether there is an answer and everything that was checked is right."""
        wrong = (check.value is False for check in self.checks.values())
        return not self.outcome.error and not any(wrong)


_RECORDS = TypeAdapter(TrialRecord)


def trial_key(variant: str, case: str, repeat: int) -> str:
    """The name of one trial within a run."""
    return f"{variant}/{case}#{repeat}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A run, finished or stopped."""

    name: str
    model: str
    began: str
    variants: tuple[Variant, ...]
    planned: int
    trials: tuple[TrialRecord, ...]
    stopped: str = ""  # why not all of it was run


async def run_eval(
    tasks: TaskSet,
    catalog: Catalog,
    *,
    model: Model | str | None,
    folder: Path,
    options: EvalOptions,
    on_trial: Callable[[TrialRecord], None] = lambda _: None,
) -> Experiment:
    """Run each task in each mode; with `options.resume`, only what is left of the run in the folder."""
    check_tools(tasks, catalog)
    variants = options.variants()
    if options.fixture:
        load_function(options.fixture)  # fail early
    if model is None and options.replay is None:
        raise EvalError("No model was named.", hint="Give --model openai:gpt-5.4, --model offline, or --replay FILE.")
    tape = (
        Tape(options.replay, strict=True)
        if options.replay
        else Tape(options.record or folder / TAPE, keep=options.resume)
    )
    try:
        run = _Run(tasks, catalog, model, folder, options, tape, on_trial)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(run.model)
            stopped = ""
            for variant in variants:
                stopped = stopped or await run.variant(variant)
    finally:
        tape.close()
    order = {trial_key(v.label, str(case.name), n): None for v in variants for case, n in run.repeated()}
    return Experiment(
        name=tasks.name,
        model=str(tape.header["model"]),
        began=str(tape.header["began"]),
        variants=tuple(variants),
        planned=len(order),
        trials=tuple(run.done[key] for key in order if key in run.done),
        stopped=stopped,
    )


def finished_trials(folder: Path) -> list[TrialRecord]:
    """The finished tasks of the run in a folder."""
    path = folder / TRIALS
    return [_RECORDS.validate_python(line) for line in read_lines(path)] if path.exists() else []


_case: ContextVar[tuple[str, str, int]] = ContextVar("toolcrib_eval_case")


_Result: TypeAlias = ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any] | None


class _Run:
    """What the variants of one run share."""

    def __init__(
        self,
        tasks: TaskSet,
        catalog: Catalog,
        model: Model | str | None,
        folder: Path,
        options: EvalOptions,
        tape: Tape,
        on_trial: Callable[[TrialRecord], None],
    ) -> None:
        self._tasks = tasks
        self._catalog = catalog
        self._options = options
        self._tape = tape
        self._on_trial = on_trial
        self._ledger = _Ledger(options)
        # On a replay nothing is asked, but messages are written as they were for the recorded model.
        wrapped = (
            TestModel(model_name="replay", profile=tape.header["profile"]) if options.replay else model_for(model or "")
        )
        self.model = TapedModel(wrapped, self._ledger.ask)
        plan = [options.modes, options.repeat, options.distractors, options.stub, options.fixture]
        header = {
            "model": name_of(wrapped),
            "delivery": delivery_for(wire_of(wrapped)).value,
            "profile": {name: value for name, value in wrapped.profile.items() if isinstance(value, bool | int | str)},
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "plan": digest_of([*plan, tasks.model_dump(mode="json"), sorted(tool.name for tool in catalog)]),
        }
        if (
            options.resume
            and tape.header
            and (tape.header["plan"], tape.header["model"])
            != (
                header["plan"],
                header["model"],
            )
        ):
            raise EvalError(
                f"The run in {str(folder)!r} is of other tasks, tools, modes or another model.",
                hint="Run without --resume, which begins anew, or with the options of then.",
            )
        tape.begin(header)
        self.done = {record.key: record for record in finished_trials(folder)} if options.resume else {}
        self._ledger.spent = sum(record.outcome.cost or 0.0 for record in self.done.values())
        self._trials = folder / TRIALS
        try:  # what was read is written anew, so that half a line of a killed run is gone
            folder.mkdir(parents=True, exist_ok=True)
            self._trials.write_text("".join(map(_line, self.done.values())), encoding="utf-8")
        except OSError as error:
            raise EvalError(f"{str(folder)!r} cannot be written: {error.strerror}.", hint="Name another.") from error

    def repeated(self) -> Iterator[tuple[Case[Any, Any, Any], int]]:
        """Each case as often as it is run."""
        for case in self._tasks.cases:
            for number in range(1, self._options.repeat + 1):
                yield case, number

    async def variant(self, variant: Variant) -> str:
        """Run what is left of a variant; returns why it stopped, if it did."""
        named: dict[str, tuple[str, int]] = {}
        cases = list[Case[Any, Any, Any]]()
        for case, number in self.repeated():
            key = trial_key(variant.label, str(case.name), number)
            if key not in self.done:
                named[key] = (str(case.name), number)
                cases.append(
                    Case(
                        name=key,
                        inputs=case.inputs,
                        metadata=case.metadata,
                        expected_output=case.expected_output,
                        evaluators=case.evaluators,
                    )
                )
        if not cases:
            return ""
        tools = with_distractors(self._catalog, variant.distractors, self._options.distractors_from)
        shown = eval_catalog(tools, stub=self._options.stub)
        began = datetime.fromisoformat(str(self._tape.header["began"]))
        crib = Crib(
            shown,
            model=self.model,
            index=ToolIndex(shown),
            limits=self._options.limits,
            delivery=str(self._tape.header["delivery"]),
            clock=lambda: began,  # a replay reads the same date
            **MODES[variant.mode],
        )
        events: dict[str, list[dict[str, Any]]] = {}
        run = self

        class Keep(CaseLifecycle[Any, Any, Any]):
            """Says which case runs, and keeps each finished one."""

            async def setup(self) -> None:
                _case.set((str(self.case.name), *named[str(self.case.name)]))

            async def teardown(
                self, result: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any] | None
            ) -> None:
                if isinstance(result, ReportCase):
                    case, number = named[result.name]
                    run.keep(_record(variant, case, number, result, events.pop(result.name, [])))

        async with SqliteStore(None) as store:

            async def task(inputs: Any) -> Outcome:
                key, _, _ = _case.get()
                outcome, events[key] = await self._trial(key, inputs, crib, store, _checks(named[key][0], self._tasks))
                return outcome

            dataset = TaskSet(name=self._tasks.name, cases=cases, evaluators=self._tasks.evaluators)
            await dataset.evaluate(
                task,
                name=f"{self._tasks.name}: {variant.label}",
                max_concurrency=self._options.concurrency,
                progress=False,
                metadata={
                    "mode": variant.mode,
                    "distractors": variant.distractors,
                    "model": self._tape.header["model"],
                },
                lifecycle=Keep,
            )
        return self._ledger.stopped

    async def _trial(
        self, key: str, inputs: Any, crib: Crib, store: SqliteStore, checks: Sequence[str]
    ) -> tuple[Outcome, list[dict[str, Any]]]:
        self._ledger.check()
        fixture = None
        try:
            fixture = load_function(self._options.fixture)() if self._options.fixture else None
            trial = Trial(
                task=key, tape=self._tape, fixture=fixture, replays_tools=fixture is None and not self._options.stub
            )
            outcome, events = await run_trial(crib, store, request_of(inputs), trial, checks=checks)
        except BudgetUsedError:
            raise  # it was not run; a resumed run does it
        except EvalError as error:
            return Outcome(error=str(error)), []
        except Exception as error:  # a fixture, a check: foreign code
            return Outcome(error=f"{type(error).__name__}: {error}"), []
        finally:
            if callable(close := getattr(fixture, "close", None)):
                close()
        if self._options.price:
            outcome = replace(outcome, cost=self._ledger.price(outcome.input_tokens, outcome.output_tokens))
        return outcome, events

    def keep(self, record: TrialRecord) -> None:
        """Keep a finished trial, and write it at once."""
        self.done[record.key] = record
        with self._trials.open("a", encoding="utf-8") as file:
            file.write(_line(record))
        self._on_trial(record)


def _line(record: TrialRecord) -> str:
    return json.dumps(_RECORDS.dump_python(record, mode="json"), separators=(",", ":")) + "\n"


def _checks(name: str, tasks: TaskSet) -> list[str]:
    """The state checks of a case."""
    found = next(case for case in tasks.cases if case.name == name)
    return [one.check for one in (*found.evaluators, *tasks.evaluators) if isinstance(one, State)]


def _record(
    variant: Variant, case: str, number: int, result: ReportCase[Any, Any, Any], events: Sequence[Mapping[str, Any]]
) -> TrialRecord:
    checks: dict[str, Check] = {}
    for held in (result.assertions, result.scores, result.labels):
        for name, found in held.items():
            checks[name] = Check(value=found.value, reason=found.reason or "")
    for failure in result.evaluator_failures:
        checks[failure.name] = Check(value=False, reason=failure.error_message)
    return TrialRecord(
        variant=variant.label,
        case=case,
        repeat=number,
        turns=tuple(request_of(result.inputs).turns),
        outcome=result.output,
        checks=checks,
        events=tuple(events),
    )


class _Ledger:
    """What the model may cost, and how often it may be asked."""

    def __init__(self, options: EvalOptions) -> None:
        self._options = options
        self._next = 0.0
        self.spent = 0.0
        self.stopped = ""

    def check(self) -> None:
        """Refuse to go on when the budget is used up."""
        if self._options.budget is not None and self.spent >= self._options.budget and not self.stopped:
            self.stopped = f"The budget of ${self._options.budget:g} is used up: ${self.spent:.4f}."
        if self.stopped:
            raise BudgetUsedError(self.stopped, hint="Raise --budget, and go on with --resume.")

    async def ask(self, request: Callable[[], Any]) -> ModelResponse:
        """Send a request when its turn comes."""
        self.check()
        if self._options.rate:
            now = monotonic()
            self._next = max(self._next, now) + 60.0 / self._options.rate
            wait = self._next - 60.0 / self._options.rate - now
            if wait > 0:
                await asyncio.sleep(timedelta(seconds=wait).total_seconds())
        response: ModelResponse = await request()
        cost = self._cost(response)
        if cost is None and self._options.budget is not None:
            self.stopped = f"The price of {response.model_name} is not known, so no budget can be kept."
        self.spent += cost or 0.0
        return response

    def _cost(self, response: ModelResponse) -> float | None:
        if self._options.price:
            return self.price(response.usage.input_tokens, response.usage.output_tokens)
        try:
            return float(response.cost().total_price)
        except (AssertionError, LookupError, ValueError):  # no price is known
            return None

    def price(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars for these tokens, at the price that was given."""
        assert self._options.price is not None
        per_input, per_output = self._options.price
        return (input_tokens * per_input + output_tokens * per_output) / 1_000_000
