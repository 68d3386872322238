"""`toolcrib eval`: whether an agent does its tasks as well with few tools in sight, and what it saves."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App, Parameter

from toolcrib.cli.options import OK, STOPPED, Flag, From, Json, load_catalog
from toolcrib.cli.output import Columns, console, note, say, write_json
from toolcrib.errors import EvalError, require
from toolcrib.settings import Settings

if TYPE_CHECKING:
    from toolcrib.evals.experiment import Experiment, TrialRecord

app = App(name="eval", default_parameter=Parameter(negative=()))
MISSED = 2
RESULTS = Path("eval-results")


@app.default
def run_tasks(
    tasks: Path,
    /,
    *,
    source: From = None,
    model: str | None = None,
    modes: str = "direct,search",
    repeat: int = 1,
    fixture: str | None = None,
    stub: Flag = False,
    distractors: str | None = None,
    distractors_from: str | None = None,
    output: Path | None = None,
    resume: Flag = False,
    record: Path | None = None,
    replay: Path | None = None,
    concurrency: int = 4,
    rate: float | None = None,
    budget: float | None = None,
    price: str | None = None,
    min_success: float | None = None,
    max_drop: float | None = None,
    compare: Path | None = None,
    summary: Path | None = None,
    json: Json = False,
    verbose: Flag = False,
) -> int:
    """Run tasks on your model in several modes, and compare success, tokens, money and time.

    The table goes to stdout; the folder of --output gets `report.json`, `report.html` with every transcript, and what
    --resume needs. Each further mode is compared with the first one, task by task.

    Exit codes: 0 ok, 2 a threshold was missed, 3 the model's key is not set, 130 stopped.

    Example: `toolcrib eval tasks.yaml --from examples/office --model offline --stub`

    Args:
        tasks: The tasks, a dataset of Pydantic Evals in YAML or JSON; `toolcrib eval new` begins one.
        model: As for `toolcrib chat`; by default TOOLCRIB_MODEL, else by the key that is set, else `offline`.
        modes: What the model sees of the tools: of `direct`, `compact`, `search`, `browse`, `domains`, with commas.
        repeat: How often each task is run.
        fixture: A function, `module:name` or `file.py:name`, that makes a world for each task: an object with a
            `catalog`. State checks are given the same object.
        stub: Run no tool: each answers with an example of its output schema.
        distractors: Run all of it again with so many further tools, such as `50,500,5000`.
        distractors_from: Take these tools first, in a form of --from; made-up ones follow.
        output: The folder of the run; by default `eval-results/` and the name of the tasks.
        resume: Go on with the run in that folder, if it was stopped; nothing is asked or paid twice.
        record: Keep what the model and the tools answered in this file.
        replay: Let this file answer in place of the model and the tools, as in CI.
        concurrency: How many tasks run at a time.
        rate: How many requests a minute are sent to the model.
        budget: Stop when the model has cost so many US dollars.
        price: US dollars for a million input and output tokens, such as `2.5,10`, where the price is not known.
        min_success: Exit with code 2 if a mode succeeds in a smaller share of tasks, such as 0.9.
        max_drop: Exit with code 2 if a mode succeeds in a share of tasks that is by so much smaller than that of the
            first mode, or than its own in --compare.
        compare: The `report.json` of an earlier run.
        summary: Append the table as Markdown to this file, such as $GITHUB_STEP_SUMMARY.
        verbose: Show the logs.
    """
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    require("evals", "An eval")
    from toolcrib.evals.experiment import EvalOptions, run_eval  # late: Pydantic AI takes a second or two
    from toolcrib.evals.report import (
        markdown_of,
        missed_thresholds,
        read_report,
        report_of,
        table_of,
        write_report,
    )
    from toolcrib.evals.tasks import load_tasks

    loaded = load_tasks(tasks)
    before = read_report(compare) if compare else None
    catalog = load_catalog(source, calls=not (stub or fixture or replay))
    options = EvalOptions(
        modes=[mode.strip() for mode in modes.split(",") if mode.strip()],
        repeat=repeat,
        distractors=_numbers(distractors),
        distractors_from=list(load_catalog(distractors_from)) if distractors_from else (),
        stub=stub,
        fixture=fixture or "",
        concurrency=concurrency,
        rate=rate,
        budget=budget,
        price=_price(price),
        replay=replay,
        record=record,
        resume=resume,
    )
    folder = output or RESULTS / tasks.stem
    if not verbose:
        logging.getLogger("toolcrib").addHandler(logging.NullHandler())  # the transcripts tell what failed
    chosen = None if replay else model or Settings.from_environment().model
    planned = len(loaded.cases) * repeat * len(options.variants())

    async def run(on_trial: "Callable[[TrialRecord], None]") -> "Experiment":
        return await run_eval(loaded, catalog, model=chosen, folder=folder, options=options, on_trial=on_trial)

    try:
        with _progress(planned) as advance:
            done = asyncio.run(run(lambda _: advance()))
    except KeyboardInterrupt:
        note(f"stopped; go on with the same command and --resume (results in {folder})")
        return STOPPED
    report = report_of(done)
    problems = missed_thresholds(report, min_success=min_success, max_drop=max_drop, before=before)
    report = replace(report, problems=tuple(problems))
    write_report(report, done, folder)
    if summary:
        _append(summary, markdown_of(report))
    if json:
        write_json(report.to_json())
    else:
        table = Columns(("measure", *report.variants))
        for line in table_of(report):
            table.add(*line)
        table.show()
        if len(report.variants) > 1:
            note(f"in brackets: the difference from {report.variants[0]} on the same tasks, 95 % interval")
        _show_failures(done)
    note(f"{report.done} of {report.planned} trials on {report.model}; {folder / 'report.html'}")
    for problem in (*filter(None, [report.stopped]), *problems):
        note(problem)
    return MISSED if problems else OK


@app.command(name="new")
def new_tasks(file: Path, /, *, source: From = None, count: int = 20) -> int:
    """Begin a file of tasks for a catalog: requests for its tools, and some for which no tool fits.

    Example: `toolcrib eval new tasks.yaml --from examples/office`

    Args:
        file: The file to write, `.yaml` or `.json`; its JSON Schema is written beside it.
        count: For how many tools.
    """
    require("evals", "An eval")
    from toolcrib.evals.tasks import tasks_for, write_tasks

    if file.exists():
        raise EvalError(f"{str(file)!r} is there already.", hint="Name another file.")
    tasks = tasks_for(load_catalog(source), count=count, name=file.stem)
    write_tasks(tasks, file)
    say(str(file))
    note(f"{len(tasks.cases)} tasks; edit them, then: toolcrib eval {file} --model offline --stub")
    return OK


MOST_FAILURES = 10


def _show_failures(run: "Experiment") -> None:
    failed = [trial for trial in run.trials if not trial.success]
    for trial in failed[:MOST_FAILURES]:
        wrong = [f"{name}: {check.reason or 'no'}" for name, check in trial.checks.items() if check.value is False]
        reasons = "; ".join(filter(None, [trial.outcome.error, *wrong]))
        say(f"failed: {trial.variant} {trial.case}: {reasons}")
    if len(failed) > MOST_FAILURES:
        note(f"{len(failed) - MOST_FAILURES} more failed; the page has all")


@contextmanager
def _progress(total: int) -> "Generator[Callable[[], Any]]":
    """A progress bar on stderr if it is a terminal."""
    from rich.progress import Progress

    with Progress(console=console(sys.stderr), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("running", total=total)
        yield lambda: bar.advance(task)


def _numbers(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in (text or "").split(",") if part.strip())
    except ValueError:
        raise EvalError(f"{text!r} are no numbers.", hint="Write --distractors 50,500,5000.") from None


def _price(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        per_input, per_output = map(float, text.split(","))
    except ValueError:
        raise EvalError(f"{text!r} is no price.", hint="Write --price 2.5,10: dollars per million tokens.") from None
    return per_input, per_output


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise EvalError(f"{str(path)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
