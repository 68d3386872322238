"""An evaluation as a picture: how good, in which language, how fast."""

from pathlib import Path
from typing import Any

from toolcrib.errors import ToolcribError, require
from toolcrib.search.evaluate import Evaluation

FORMATS = (".svg", ".png")
COLOUR = "#2a6f97"


def require_plot(path: Path) -> None:
    """Say at once, before the long work, that a picture cannot be made."""
    if path.suffix.lower() not in FORMATS:
        raise ToolcribError(f"{str(path)!r} is not a picture we can draw.", hint="Name it `.svg` or `.png`.")
    require("plot", "A plot")


def draw(seen: Evaluation, path: Path) -> None:
    """Write the picture: all measures on the left, recall by language on the right when languages are known."""
    from matplotlib.figure import Figure  # late: slow to import, and an extra

    # Matplotlib's own types are partly unknown, hence `Any`.
    size = (10 if seen.by_language else 6, max(4.0, 1 + 0.3 * len(seen.by_language)))
    figure: Any = Figure(figsize=size, layout="constrained")
    measures: Any = figure.add_subplot(1, 2 if seen.by_language else 1, 1)
    scores = seen.scores
    _bars(
        measures,
        {
            "Recall@1": scores.recall_at_1,
            "Recall@5": scores.recall_at_5,
            "Recall@10": scores.recall_at_10,
            "nDCG@10": scores.ndcg_at_10,
            "MRR": scores.mrr,
            "COMP@5": scores.comp_at_5,
        },
    )
    if seen.by_language:
        languages: Any = figure.add_subplot(1, 2, 2)
        languages.set_title("Recall@5 by language")
        _bars(languages, {language: of.recall_at_5 for language, of in seen.by_language.items()})
    figure.suptitle(f"{scores.queries} requests, p50 {seen.p50_ms:.2f} ms, p99 {seen.p99_ms:.2f} ms")
    figure.savefig(path)


def _bars(axes: Any, values: dict[str, float]) -> None:
    labels = list(reversed(values))
    bars = axes.barh(labels, [100 * values[label] for label in labels], color=COLOUR)
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.set_xlim(0, 112)  # room for the number beside a full bar
    axes.set_xlabel("percent")
    axes.spines[["top", "right"]].set_visible(False)
