"""Retrieval quality and speed of every arm on every open set: one run, one page (`make bench`).

python benchmarks/retrieval.py                                   # all of it, into benchmarks/results/
python benchmarks/retrieval.py --sets bfcl,ml_tldr --arms toolcrib,BM25 --limit 300 --out /tmp/quick
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread for everybody; numpy reads it when it is imported
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from benchmarks import data, ours, peers, report, trust
from benchmarks.peers import Arm
from toolcrib.search.evaluate import LabelledQuery, Outcome, Scores, percentile
from training.written_sets import WRITTEN, written_sets

ARMS: Mapping[str, Callable[[], Arm]] = {**ours.ARMS, **peers.PEERS}
KNOWN_ARMS: Mapping[str, Callable[[], Arm]] = {**ARMS, **ours.ON_REQUEST}
RESULTS = Path(__file__).parent / "results"
WARM_UP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one arm did on one set."""

    set: str
    arm: str
    tools: int
    build_seconds: float | None  # none where vectors came from a file: the time would say nothing
    p50_ms: float
    p99_ms: float
    scores: Scores
    by_language: Mapping[str, Scores]
    outcomes: Sequence[Outcome] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Everything but the rankings."""
        figures = {key: getattr(self, key) for key in ("set", "arm", "tools", "build_seconds", "p50_ms", "p99_ms")}
        languages = {language: asdict(scores) for language, scores in self.by_language.items()}
        return figures | asdict(self.scores) | {"by_language": languages}


def main() -> None:
    """Measure, then write the page and the numbers."""
    chosen = arguments()
    ours_alone = written_sets("reported") if set(chosen.sets) & set(WRITTEN) else {}
    sets = [ours_alone.get(name) or data.load(name, limit=chosen.limit) for name in chosen.sets]
    arms = available(chosen.arms)
    runs: list[Run] = []
    for bench_set in sets:
        for name, make in arms.items():
            run = measure(name, make(), bench_set)
            runs.append(run)
            say(f"{run.set:16} {run.arm:18} R@5 {run.scores.recall_at_5:.3f}  p50 {run.p50_ms:.2f} ms")
            if chosen.trec:
                report.write_trec(chosen.trec, bench_set.name, name, run.outcomes)
    sections = {} if chosen.plain else dict(trust.sections(arms, sets, say))
    report.write(chosen.out, [run.as_json() for run in runs], sections)
    say(f"written: {chosen.out.with_suffix('.md')} and {chosen.out.with_suffix('.json')}")


def measure(name: str, arm: Arm, bench_set: data.BenchSet) -> Run:
    """Build the arm's index over the set's tools, ask it every query one after the other, and score the answers."""
    started = perf_counter()
    arm.build(bench_set.tools)
    built = perf_counter() - started
    for query in bench_set.queries[:WARM_UP]:
        arm.search(query.text)
    outcomes = [ask(arm.search, query) for query in bench_set.queries]
    took = [outcome.took_ms for outcome in timed(arm, bench_set.queries, outcomes)]
    languages = sorted({query.language for query in bench_set.queries})
    return Run(
        set=bench_set.name,
        arm=name,
        tools=len(bench_set.tools),
        build_seconds=None if hasattr(arm, "search_uncached") else built,
        p50_ms=percentile(took, 50),
        p99_ms=percentile(took, 99),
        scores=Scores.of(outcomes),
        by_language={lang: Scores.of([o for o in outcomes if o.query.language == lang]) for lang in languages},
        outcomes=outcomes,
    )


def timed(arm: Arm, queries: Sequence[LabelledQuery], outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """The outcomes whose time counts: all, but for an arm that keeps vectors on disk a few asked without them."""
    uncached = getattr(arm, "search_uncached", None)
    return [ask(uncached, query) for query in queries[: peers.TIMED]] if uncached else outcomes


def ask(search: Callable[[str], Sequence[str]], query: LabelledQuery) -> Outcome:
    started = perf_counter()
    names = search(query.text)
    return Outcome(query=query, names=tuple(names), took_ms=(perf_counter() - started) * 1000)


def available(names: Iterable[str]) -> dict[str, Callable[[], Arm]]:
    """The arms whose packages are installed; the others are named and left out."""
    found: dict[str, Callable[[], Arm]] = {}
    for name in names:
        try:
            KNOWN_ARMS[name]()
        except ImportError as error:
            say(f"{name} is left out: {error}")
        else:
            found[name] = KNOWN_ARMS[name]
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda known: lambda text: checked(text.split(","), known)  # noqa: E731
    known = [*data.OPEN_SETS, *WRITTEN]
    parser.add_argument("--sets", type=listed(known), default=known, help="comma-separated")
    parser.add_argument("--arms", type=listed(KNOWN_ARMS), default=list(ARMS), help=f"of: {', '.join(KNOWN_ARMS)}")
    parser.add_argument("--limit", type=int, default=data.MAX_QUERIES, help="queries a set")
    parser.add_argument("--out", type=Path, default=RESULTS / "retrieval", help="path of the page, without suffix")
    parser.add_argument("--trec", type=Path, help="folder for run and qrels files in TREC form")
    parser.add_argument("--plain", action="store_true", help="leave out junk, calibration, robustness and learning")
    return parser.parse_args()


def checked(names: list[str], known: Iterable[str]) -> list[str]:
    if unknown := set(names) - set(known):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return names


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
