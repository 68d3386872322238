"""The tasks that come with the repository: they can be run, and say what is right."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic_evals import Case

from benchmarks.evals import SUITES
from benchmarks.tasks.worlds import Folder
from tests.support import ROOT
from toolcrib.catalog import Catalog, load_catalog
from toolcrib.catalog.loading import load_function
from toolcrib.evals import EvalOptions, State, TaskSet, load_tasks, run_eval
from toolcrib.evals.tasks import check_tools

COUNTS = {"cms": 60, "modules": 41}
# One of each kind: nothing to do, a reading, a yes, a no, and a talk.
TRIED = {
    "cms": ["a-hello", "b-posts", "b-rename-page", "c-delete-page", "c-delete-page-no"],
    "modules": ["a-hello", "b-read", "b-mkdir", "c-delete", "c-delete-no"],
}


def tasks_of(suite: str) -> TaskSet:
    return load_tasks(ROOT / "benchmarks" / "tasks" / f"{suite}.yaml")


@contextmanager
def catalog_of(suite: str) -> Generator[Catalog]:
    if suite == "cms":
        yield load_catalog("toolcrib_cms:definitions")
        return
    world = Folder()
    try:
        yield world.catalog
    finally:
        world.close()


@pytest.mark.parametrize("suite", SUITES)
def test_the_tasks_expect_tools_and_checks_that_there_are(suite: str) -> None:
    tasks = tasks_of(suite)
    assert len(tasks.cases) == COUNTS[suite]
    assert len({str(case.metadata) for case in tasks.cases}) == 10  # languages
    with catalog_of(suite) as catalog:
        check_tools(tasks, catalog)
    for case in tasks.cases:
        assert case.evaluators
        for one in case.evaluators:
            if isinstance(one, State):
                load_function(one.check)


@pytest.mark.parametrize("suite", SUITES)
def test_tasks_that_the_offline_brain_can_do_are_done(suite: str, tmp_path: Path) -> None:
    every: list[Case[object, object, object]] = tasks_of(suite).cases  # pyright: ignore[reportAssignmentType] - only passed on
    chosen = TaskSet(name=suite, cases=[case for case in every if case.name in TRIED[suite]])  # pyright: ignore[reportArgumentType] - as above
    options = EvalOptions(modes=("search",), fixture=SUITES[suite])
    with catalog_of(suite) as catalog:
        run = asyncio.run(run_eval(chosen, catalog, model="offline", folder=tmp_path, options=options))
    failed = {trial.case: (trial.outcome.error, dict(trial.checks)) for trial in run.trials if not trial.success}
    assert (failed, len(run.trials)) == ({}, len(TRIED[suite]))
