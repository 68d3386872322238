"""DOES IT WORK: measures a search on labelled requests."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.evals.retrieval import Evaluation as Evaluation, evaluate as evaluate

_HOMES = {
    "Evaluation": "toolcrib.evals.retrieval",
    "evaluate": "toolcrib.evals.retrieval",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
