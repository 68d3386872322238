"""DOES IT WORK: measures search with labelled queries, and agents with tasks, which needs the extra `evals`."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.evals.experiment import EvalOptions as EvalOptions, Experiment as Experiment, run_eval as run_eval
    from toolcrib.evals.report import EvalReport as EvalReport, report_of as report_of
    from toolcrib.evals.retrieval import Evaluation as Evaluation, evaluate as evaluate
    from toolcrib.evals.tasks import (
        Arguments as Arguments,
        CalledTools as CalledTools,
        Outcome as Outcome,
        Refused as Refused,
        Request as Request,
        State as State,
        TaskSet as TaskSet,
        Tokens as Tokens,
        load_tasks as load_tasks,
    )

_HOMES = {
    "Arguments": "toolcrib.evals.tasks",
    "CalledTools": "toolcrib.evals.tasks",
    "EvalOptions": "toolcrib.evals.experiment",
    "EvalReport": "toolcrib.evals.report",
    "Evaluation": "toolcrib.evals.retrieval",
    "Experiment": "toolcrib.evals.experiment",
    "Outcome": "toolcrib.evals.tasks",
    "Refused": "toolcrib.evals.tasks",
    "Request": "toolcrib.evals.tasks",
    "State": "toolcrib.evals.tasks",
    "TaskSet": "toolcrib.evals.tasks",
    "Tokens": "toolcrib.evals.tasks",
    "evaluate": "toolcrib.evals.retrieval",
    "load_tasks": "toolcrib.evals.tasks",
    "report_of": "toolcrib.evals.report",
    "run_eval": "toolcrib.evals.experiment",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, extra="evals")
