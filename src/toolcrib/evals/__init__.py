"""DOES IT WORK: measures search quality with labelled queries."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.evals.retrieval import Evaluation as Evaluation, evaluate as evaluate

_HOMES = {
    "Evaluation": "toolcrib.evals.retrieval",
    "evaluate": "toolcrib.evals.retrieval",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
