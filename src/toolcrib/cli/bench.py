"""`toolcrib bench`: measures how well search finds the tools of a catalog, on labelled queries."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolcrib.cli.options import EmbedderName, From, Json, load_catalog, make_index
from toolcrib.cli.output import Columns, note, progress, say, write_json
from toolcrib.errors import ToolcribError, require
from toolcrib.evals.retrieval import Evaluation, Scores, evaluate, read_queries

# --plot: the evaluation as a chart

FORMATS = (".svg", ".png")
COLOUR = "#2a6f97"


def require_plot(path: Path) -> None:
    """Fail before the evaluation starts when the chart cannot be drawn."""
    if path.suffix.lower() not in FORMATS:
        raise ToolcribError(
            f"{str(path)!r} is not a supported image format.", hint="Use a name that ends in `.svg` or `.png`."
        )
    require("plot", "A plot")


def draw(evaluation: Evaluation, path: Path) -> None:
    """Write the chart: all metrics on the left, and recall by language on the right if the queries have languages."""
    from matplotlib.figure import Figure  # late: slow to import, and an extra

    # Matplotlib is only partly typed, hence `Any`.
    size = (10 if evaluation.by_language else 6, max(4.0, 1 + 0.3 * len(evaluation.by_language)))
    figure: Any = Figure(figsize=size, layout="constrained")
    metrics: Any = figure.add_subplot(1, 2 if evaluation.by_language else 1, 1)
    scores = evaluation.scores
    _bars(
        metrics,
        {
            "Recall@1": scores.recall_at_1,
            "Recall@5": scores.recall_at_5,
            "Recall@10": scores.recall_at_10,
            "nDCG@10": scores.ndcg_at_10,
            "MRR": scores.mrr,
            "COMP@5": scores.comp_at_5,
        },
    )
    if evaluation.by_language:
        languages: Any = figure.add_subplot(1, 2, 2)
        languages.set_title("Recall@5 by language")
        _bars(languages, {language: scores.recall_at_5 for language, scores in evaluation.by_language.items()})
    figure.suptitle(f"{scores.queries} requests, p50 {evaluation.p50_ms:.2f} ms, p99 {evaluation.p99_ms:.2f} ms")
    figure.savefig(path)


def _bars(axes: Any, values: dict[str, float]) -> None:
    labels = list(reversed(values))
    bars = axes.barh(labels, [100 * values[label] for label in labels], color=COLOUR)
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.set_xlim(0, 112)  # leaves space for the number beside a full bar
    axes.set_xlabel("percent")
    axes.spines[["top", "right"]].set_visible(False)


SHOWN_MISSES = 10


def bench(
    *,
    queries: Path,
    source: From = None,
    plot: Path | None = None,
    fail_under: float | None = None,
    embedder: EmbedderName = None,
    json: Json = False,
) -> int:
    """Measure the search on your own labelled requests.

    Each line of the file is a JSON object: `{"text": "find a photo", "relevant": ["search_images"], "lang": "en"}`;
    an empty `relevant` means that no tool should match the request.

    Example: `toolcrib bench --from examples/office --queries examples/office/queries.jsonl`

    Args:
        queries: The labelled requests, a JSONL file.
        plot: Write a chart of the result to this file, `.svg` or `.png`.
        fail_under: Exit with code 2 if Recall@5, in percent, is below this.
    """
    if plot:
        require_plot(plot)
    catalog = load_catalog(source)
    labelled = read_queries(queries, [tool.name for tool in catalog])
    evaluation = evaluate(make_index(catalog, embedder, probe=True), progress(labelled, "searching"))
    if plot:
        draw(evaluation, plot)
        note(f"plot: {plot}")
    if json:
        write_json(as_dict(evaluation))
    else:
        show(evaluation)
    passed = fail_under is None or 100 * evaluation.scores.recall_at_5 >= fail_under
    return 0 if passed else 2


def show(evaluation: Evaluation) -> None:
    """Print the metrics, the languages and the first misses as text."""
    scores = evaluation.scores
    table = Columns(("measure", "value", "meaning"))
    table.add("recall@1", _percent(scores.recall_at_1), "relevant tools at rank 1")
    table.add("recall@5", _percent(scores.recall_at_5), "relevant tools in the top 5")
    table.add("recall@10", _percent(scores.recall_at_10), "relevant tools in the top 10")
    table.add("ndcg@10", _percent(scores.ndcg_at_10), "relevant tools in the top 10, weighted by rank")
    table.add("mrr", _percent(scores.mrr), "mean of 1 / rank of the first relevant tool")
    table.add("comp@5", _percent(scores.comp_at_5), "requests with all their tools in the top 5")
    table.add("unanswered", _percent(scores.unanswered), "requests that found no tool")
    if evaluation.junk_queries:
        table.add(
            "junk",
            _percent(evaluation.junk_rate),
            f"of {evaluation.junk_queries} requests without a relevant tool that found one",
        )
    table.add("p50", f"{evaluation.p50_ms:.2f} ms", "half of the searches are faster")
    table.add("p99", f"{evaluation.p99_ms:.2f} ms", "99 of 100 searches are faster")
    table.show()
    if evaluation.by_language:
        _show_languages(evaluation.by_language)
    for missed in evaluation.missed[:SHOWN_MISSES]:
        expected, found = ", ".join(sorted(missed.query.relevant)), ", ".join(missed.names[:5]) or "nothing"
        say(f"missed: {missed.query.text!r} expected {expected}, found {found}")
    note(f"{scores.queries} requests, {len(evaluation.missed)} with a tool missing from the top 5")


def as_dict(evaluation: Evaluation) -> dict[str, object]:
    """Return the whole evaluation as JSON values; rates are between 0 and 1."""
    return {
        "scores": asdict(evaluation.scores),
        "by_language": {language: asdict(scores) for language, scores in evaluation.by_language.items()},
        "junk_queries": evaluation.junk_queries,
        "junk_rate": evaluation.junk_rate,
        "p50_ms": evaluation.p50_ms,
        "p99_ms": evaluation.p99_ms,
        "missed": [
            {"text": missed.query.text, "relevant": sorted(missed.query.relevant), "found": list(missed.names)}
            for missed in evaluation.missed
        ],
    }


def _show_languages(by_language: Mapping[str, Scores]) -> None:
    table = Columns(("language", "requests", "recall@1", "recall@5", "mrr"))
    for language, scores in by_language.items():
        shares = (scores.recall_at_1, scores.recall_at_5, scores.mrr)
        table.add(language, str(scores.queries), *map(_percent, shares))
    say("")
    table.show()


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
