"""The report of an eval: what each mode did, side by side, and how sure the differences are."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from toolcrib.errors import EvalError
from toolcrib.evals.experiment import Experiment, TrialRecord
from toolcrib.evals.statistics import Estimate, difference, estimate
from toolcrib.evals.tasks import WRONG_CALLS

REPORT, PAGE, TEMPLATE = "report.json", "report.html", "page.html"
MOST_SHOWN_CHARACTERS = 2_000  # of a result, on the page
Unit = Literal["share", "count", "tokens", "dollars", "seconds"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One row of the report: what is read from a trial; None where it says nothing about that trial."""

    name: str
    of: Callable[[TrialRecord], float | None]
    unit: Unit
    meaning: str


def _check(name: str) -> Callable[[TrialRecord], float | None]:
    def read(trial: TrialRecord) -> float | None:
        return float(trial.checks[name].value) if name in trial.checks else None

    return read


MEASURES = (
    Measure("success", lambda trial: float(trial.success), "share", "answered, and every check is right"),
    Measure("right tools", _check("CalledTools"), "share", "of tasks that expect tools: they were called"),
    Measure("right arguments", _check("Arguments"), "share", "of tasks that check arguments: they were right"),
    Measure("refused", _check("Refused"), "share", "of tasks for which no tool fits: none was called"),
    Measure("wrong calls", _check(WRONG_CALLS), "count", "calls of tools that the task does not expect"),
    Measure("searches", lambda trial: float(len(trial.outcome.searches)), "count", "searches for tools"),
    Measure("steps", lambda trial: float(trial.outcome.steps), "count", "requests to the model"),
    Measure("input tokens", lambda trial: float(trial.outcome.input_tokens), "tokens", "as the provider counts"),
    Measure("cached tokens", lambda trial: float(trial.outcome.cached_tokens), "tokens", "of these, from its cache"),
    Measure("output tokens", lambda trial: float(trial.outcome.output_tokens), "tokens", "as the provider counts"),
    Measure("tool tokens", lambda trial: float(trial.outcome.tool_tokens), "tokens", "definitions and protocols"),
    Measure("cost", lambda trial: trial.outcome.cost, "dollars", "US dollars, where the price is known"),
    Measure("seconds", lambda trial: trial.outcome.seconds, "seconds", "from the request to the answer"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure of one variant: its mean over tasks, and its difference from the first variant."""

    measure: str
    unit: Unit
    variant: str
    value: Estimate
    difference: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalReport:
    """A finished eval in numbers."""

    name: str
    model: str
    began: str
    variants: tuple[str, ...]
    planned: int
    done: int
    stopped: str
    rows: tuple[Row, ...]
    spent: float | None = None  # US dollars; None where a price is not known
    problems: tuple[str, ...] = field(default=())  # thresholds that were missed

    def row(self, measure: str, variant: str) -> Row | None:
        """One row."""
        return next((row for row in self.rows if (row.measure, row.variant) == (measure, variant)), None)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return asdict(self)


def report_of(run: Experiment) -> EvalReport:
    """The report of a run."""
    by_variant = {
        variant.label: [trial for trial in run.trials if trial.variant == variant.label] for variant in run.variants
    }
    first = next(iter(by_variant), "")
    rows = list[Row]()
    for measure in MEASURES:
        values = {label: _values(measure, trials) for label, trials in by_variant.items()}
        for label, held in values.items():
            found = estimate(held)
            if found is not None:
                versus = None if label == first else difference(held, values[first])
                rows.append(Row(measure=measure.name, unit=measure.unit, variant=label, value=found, difference=versus))
    costs = [trial.outcome.cost for trial in run.trials]
    return EvalReport(
        name=run.name,
        model=run.model,
        began=run.began,
        variants=tuple(by_variant),
        planned=run.planned,
        done=len(run.trials),
        stopped=run.stopped,
        rows=tuple(rows),
        spent=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _values(measure: Measure, trials: Sequence[TrialRecord]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for trial in trials:
        if (value := measure.of(trial)) is not None:
            values.setdefault(trial.case, []).append(value)
    return values


def shown(value: float, unit: Unit, *, signed: bool = False) -> str:
    """A number with its unit."""
    sign = "+" if signed and value > 0 else "-" if value < 0 else ""
    number = abs(value)
    text = {
        "share": f"{100 * number:.1f} %",
        "count": f"{number:.2f}",
        "tokens": f"{number:,.0f}",
        "dollars": f"${number:.4f}",
        "seconds": f"{number:.2f} s",
    }[unit]
    return f"{sign}{text}"


def table_of(report: EvalReport) -> list[tuple[str, ...]]:
    """The rows of the table: the measure, and each variant with its difference from the first."""
    lines = list[tuple[str, ...]]()
    for measure in MEASURES:
        rows = [report.row(measure.name, variant) for variant in report.variants]
        if any(row is not None for row in rows):
            lines.append((measure.name, *("" if row is None else cell(row) for row in rows)))
    return lines


def cell(row: Row) -> str:
    """A mean, and the interval of its difference from the first variant."""
    text = shown(row.value.mean, row.unit)
    if row.difference is None:
        return text
    low, high = (shown(end, row.unit, signed=True) for end in (row.difference.low, row.difference.high))
    return f"{text} ({low} to {high})"


def markdown_of(report: EvalReport) -> str:
    """The table as Markdown, for the summary of a CI job."""
    lines = [f"### Eval of {report.name} on {report.model}", ""]
    lines += [f"| | {' | '.join(report.variants)} |", f"|---|{'--:|' * len(report.variants)}"]
    lines += [f"| {' | '.join(line)} |" for line in table_of(report)]
    against = f" In brackets: the difference from {report.variants[0]}, 95 % interval." if report.variants[1:] else ""
    lines += ["", f"{report.done} of {report.planned} trials.{against}"]
    lines += [f"\n**{problem}**" for problem in (*filter(None, [report.stopped]), *report.problems)]
    return "\n".join(lines) + "\n"


# Thresholds


def missed_thresholds(
    report: EvalReport, *, min_success: float | None, max_drop: float | None, before: EvalReport | None = None
) -> list[str]:
    """Why a run does not pass; empty if it does. A drop counts against the first mode, and against an earlier run."""
    problems = list[str]()
    if report.done < report.planned:
        problems.append(f"Only {report.done} of {report.planned} trials were run.")
    rates = {row.variant: row.value.mean for row in report.rows if row.measure == "success"}
    for variant, rate in rates.items():
        if min_success is not None and rate < min_success:
            problems.append(f"{variant}: success is {rate:.1%}, below {min_success:.1%}.")
        if max_drop is None:
            continue
        earlier = before.row("success", variant) if before is not None else None
        marks = {report.variants[0]: rates.get(report.variants[0], rate)}
        if earlier is not None:
            marks["the earlier run"] = earlier.value.mean
        problems += [
            f"{variant}: success is {rate:.1%}, {100 * (mark - rate):.1f} points below {name}."
            for name, mark in marks.items()
            if mark - rate > max_drop
        ]
    return problems


def read_report(path: Path) -> EvalReport:
    """The report that an eval wrote."""
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(EvalReport).validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no report of an eval"
        raise EvalError(
            f"{str(path)!r} cannot be read: {reason}.", hint=f"Give a {REPORT} of an earlier run."
        ) from error


def write_report(report: EvalReport, run: Experiment, folder: Path) -> None:
    """Write the report as JSON and as a page."""
    try:
        text = json.dumps(report.to_json(), ensure_ascii=False, indent=2)
        (folder / REPORT).write_text(text + "\n", encoding="utf-8")
        (folder / PAGE).write_text(page_of(report, run.trials), encoding="utf-8")
    except OSError as error:
        raise EvalError(f"{str(folder)!r} cannot be written: {error.strerror}.", hint="Name another folder.") from error


# The page: one file without scripts or addresses, so that it can be mailed and kept.

_CHARTS = ("success", "input tokens", "tool tokens", "steps", "cost", "seconds")


def page_of(report: EvalReport, trials: Sequence[TrialRecord]) -> str:
    """The report as a page that needs nothing else."""
    from minijinja import Environment

    template = files("toolcrib.evals").joinpath(TEMPLATE).read_text("utf-8")
    # By a name that ends in `.html`, so that everything is escaped: models and tools write what they like.
    environment = Environment(templates={TEMPLATE: template}, undefined_behavior="strict")
    return environment.render_template(
        TEMPLATE,
        report=report.to_json(),
        table=table_of(report),
        charts=_bars(report),
        measures={measure.name: measure.meaning for measure in MEASURES},
        cases=_by_case(trials),
    )


def _by_case(trials: Sequence[TrialRecord]) -> list[dict[str, Any]]:
    """Each task with its trials, those that failed somewhere first."""
    cases: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        cases.setdefault(trial.case, []).append(trial)
    ordered = sorted(cases.items(), key=lambda item: all(trial.success for trial in item[1]))
    return [
        {"name": name, "turns": held[0].turns, "trials": [_transcript(trial) for trial in held]}
        for name, held in ordered
    ]


def _transcript(trial: TrialRecord) -> dict[str, Any]:
    return {
        "variant": trial.variant,
        "repeat": trial.repeat,
        "success": trial.success,
        "outcome": asdict(trial.outcome),
        "checks": {name: asdict(check) for name, check in trial.checks.items()},
        "lines": list(filter(None, map(_line, trial.events))),
    }


def _line(event: Mapping[str, Any]) -> tuple[str, str] | None:
    """An event as a kind and a text; None for those that the rest of the page says."""
    kind = str(event.get("type"))
    if kind == "run_started":
        return "user", str(event["text"])
    if kind == "tool_discovery_result":
        return "search", f"{event['query']} → {', '.join(event['tools']) or 'nothing'}"
    if kind == "tool_started":
        return "call", f"{event['name']} {json.dumps(event['arguments'], ensure_ascii=False)}"
    if kind == "tool_finished":
        return "failed" if event["failed"] else "result", str(event["text"])[:MOST_SHOWN_CHARACTERS]
    if kind == "answered":
        return "answer", str(event["text"])
    return (kind, str(event.get("text") or event.get("message"))) if kind in ("failed", "warning") else None


def _bars(report: EvalReport) -> list[dict[str, Any]]:
    """The charts: of each measure a bar a variant, as wide as its share of the largest."""
    charts = list[dict[str, Any]]()
    for name in _CHARTS:
        rows = [row for row in report.rows if row.measure == name]
        top = max((row.value.high for row in rows), default=0.0)
        if top > 0:
            bars = [
                {
                    "variant": row.variant,
                    "text": shown(row.value.mean, row.unit),
                    "width": round(100 * row.value.mean / top, 2),
                    "low": round(100 * max(row.value.low, 0.0) / top, 2),
                    "high": round(100 * row.value.high / top, 2),
                }
                for row in rows
            ]
            charts.append({"name": name, "bars": bars})
    return charts
