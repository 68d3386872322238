"""`toolcrib bench`: how well a catalog's tools are found by requests whose answer you know."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolcrib.cli.output import Columns, note, progress, say, write_json
from toolcrib.cli.places import EmbedderName, From, Json, load_catalog, make_index
from toolcrib.errors import ToolcribError, require
from toolcrib.evals.retrieval import Evaluation, Scores, evaluate, read_queries

# An evaluation as a picture: how good, in which language, how fast.

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
    a request with an empty `relevant` is one that no tool should answer.

    Example: `toolcrib bench --from examples/office --queries examples/office/queries.jsonl`

    Args:
        queries: The labelled requests, a JSONL file.
        plot: Draw the result into this file, `.svg` or `.png`.
        fail_under: Exit with 2 when Recall@5, in percent, is below this.
    """
    if plot:
        require_plot(plot)
    catalog = load_catalog(source)
    asked = read_queries(queries, [tool.name for tool in catalog])
    seen = evaluate(make_index(catalog, embedder, probe=True), progress(asked, "searching"))
    if plot:
        draw(seen, plot)
        note(f"plot: {plot}")
    if json:
        write_json(as_dict(seen))
    else:
        show(seen)
    enough = fail_under is None or 100 * seen.scores.recall_at_5 >= fail_under
    return 0 if enough else 2


def show(seen: Evaluation) -> None:
    """The measures, the languages and the first misses, for people."""
    scores = seen.scores
    table = Columns(("measure", "value", "meaning"))
    table.add("recall@1", _percent(scores.recall_at_1), "right tools in the first place")
    table.add("recall@5", _percent(scores.recall_at_5), "right tools in the first five")
    table.add("recall@10", _percent(scores.recall_at_10), "right tools in the first ten")
    table.add("ndcg@10", _percent(scores.ndcg_at_10), "the same, earlier counts more")
    table.add("mrr", _percent(scores.mrr), "one over the rank of the first right tool")
    table.add("comp@5", _percent(scores.comp_at_5), "requests with all their tools in the first five")
    table.add("unanswered", _percent(scores.unanswered), "requests that got no tool")
    if seen.junk_queries:
        table.add("junk", _percent(seen.junk_rate), f"of {seen.junk_queries} requests for no tool that got one")
    table.add("p50", f"{seen.p50_ms:.2f} ms", "half of the searches are faster")
    table.add("p99", f"{seen.p99_ms:.2f} ms", "99 of 100 searches are faster")
    table.show()
    if seen.by_language:
        _show_languages(seen.by_language)
    for missed in seen.missed[:SHOWN_MISSES]:
        wanted, found = ", ".join(sorted(missed.query.relevant)), ", ".join(missed.names[:5]) or "nothing"
        say(f"missed: {missed.query.text!r} wants {wanted}; finds {found}")
    note(f"{scores.queries} requests, {len(seen.missed)} missed something in the first five")


def as_dict(seen: Evaluation) -> dict[str, object]:
    """All of it, for programs; shares are 0..1."""
    return {
        "scores": asdict(seen.scores),
        "by_language": {language: asdict(scores) for language, scores in seen.by_language.items()},
        "junk_queries": seen.junk_queries,
        "junk_rate": seen.junk_rate,
        "p50_ms": seen.p50_ms,
        "p99_ms": seen.p99_ms,
        "missed": [
            {"text": missed.query.text, "relevant": sorted(missed.query.relevant), "found": list(missed.names)}
            for missed in seen.missed
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
