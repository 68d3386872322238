"""Whether our answers can be trusted: junk refused, confidence honest, spelling forgiven, use learnt from.

Each function gives a table whose first row is the head. All but `junk` and `spelling` need our own index.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import toolcrib_cms
from benchmarks.damage import DAMAGE, damaged
from benchmarks.data import BenchSet, Query, load, read_jsonl
from benchmarks.metrics import calibration_error
from benchmarks.ours import Toolcrib, without_abstention
from benchmarks.peers import Arm
from benchmarks.report import Table, percent
from toolcrib.evals.retrieval import recall
from toolcrib.tools.tool import Tool

HERE = Path(__file__).parent
ArmT = TypeVar("ArmT", bound=Arm)
Arms = Mapping[str, Callable[[], Arm]]


def sections(arms: Arms, sets: Sequence[BenchSet], say: Callable[[str], None]) -> Iterator[tuple[str, Table]]:
    """The tables, each when it is done, under its title."""
    say("junk ...")
    yield "Requests no tool serves: share that got a tool", junk(arms, sets)
    say("spelling ...")
    yield "Requests to a CMS of 45 tools, spelled in five ways: share with the right tool among five", spelling(arms)
    if "toolcrib" not in arms:
        return
    say("confidence ...")
    yield "Our confidence and abstention", confidence(sets)
    say("damaged requests ...")
    yield "Recall@5 of `toolcrib` on damaged requests", robustness(sets)
    say("learning ...")
    yield "Learning from use: metatool_single, train split learnt, test split asked", learning()


def junk(arms: Arms, sets: Sequence[BenchSet]) -> Table:
    """How often each arm hands out tools for small talk, whatever the catalog."""
    requests = list(read_jsonl(HERE / "data" / "unanswerable.jsonl"))
    groups = {"all": requests, "English": [row for row in requests if row["lang"] == "en"]}
    rows = []
    for bench_set in sets:
        built = [build(make, bench_set.tools) for make in arms.values()]
        for group, asked in groups.items():
            answered = [sum(bool(arm.search(row["text"])) for row in asked) / len(asked) for arm in built]
            rows.append([bench_set.name, f"{len(asked)} {group}", *map(percent, answered)])
    return [["catalog", "requests", *arms], *rows]


def spelling(arms: Arms) -> Table:
    """Hand-written requests, each as people write it, without accents, with slips, shouted, and with foreign words."""
    rows = list(read_jsonl(HERE / "data" / "robustness.jsonl"))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    head = ["spelled", "requests", *arms]
    built = [build(make, cms_tools()) for make in arms.values()]
    table = []
    for kind in kinds:
        asked = [row for row in rows if row["kind"] == kind]
        found = [sum(row["tool"] in arm.search(row["text"])[:5] for row in asked) / len(asked) for arm in built]
        table.append([kind, len(asked), *map(percent, found)])
    return [head, *table]


def confidence(sets: Sequence[BenchSet]) -> Table:
    """Calibration error, and how many requests abstention loses of those that search had found."""
    head = ["set", "ECE", "mean confidence", "first hit right", "got a tool", "found, then lost by abstaining"]
    seen = {bench_set.name: judged(bench_set) for bench_set in sets}
    together = [answer for answers in seen.values() for answer in answers]
    return [head, *([name, *summed(answers)] for name, answers in seen.items()), ["all requests", *summed(together)]]


class Judged(NamedTuple):
    """What became of one request, and of the same without abstention."""

    stated: float
    first_right: bool
    answered: bool
    found: bool


def judged(bench_set: BenchSet) -> list[Judged]:
    index, frank = build(Toolcrib, bench_set.tools).index, build(without_abstention, bench_set.tools).index
    answers: list[Judged] = []
    for query in bench_set.queries:
        result, always = index.search(query.text, limit=5), frank.search(query.text, limit=5)
        right = not query.relevant.isdisjoint(always.names[:1])
        found = not query.relevant.isdisjoint(always.names)
        answers.append(Judged(result.confidence, right, bool(result.hits), found))
    return answers


def summed(answers: Sequence[Judged]) -> list[str]:
    count, found = len(answers), [answer for answer in answers if answer.found]
    stated, right = [answer.stated for answer in answers], [answer.first_right for answer in answers]
    lost = sum(not answer.answered for answer in found) / max(1, len(found))
    shares = [sum(stated) / count, sum(right) / count, sum(answer.answered for answer in answers) / count, lost]
    return [f"{calibration_error(stated, right):.3f}", *map(percent, shares)]


def robustness(sets: Sequence[BenchSet]) -> Table:
    """The test queries, damaged by rule; sets without an English original have no mixed form."""
    rows = []
    for bench_set in sets:
        arm = build(Toolcrib, bench_set.tools)
        has_english = any(query.english for query in bench_set.queries)
        shares = [
            percent(recall_at_5(arm, [damaged(query, kind) for query in bench_set.queries]))
            if has_english or kind != "half in English"
            else ""
            for kind in DAMAGE
        ]
        rows.append([bench_set.name, *shares])
    return [["set", *DAMAGE], *rows]


def learning() -> Table:
    """What `index.learn` gains when every train request led to its tool."""
    test, train = load("metatool_single"), load("metatool_single", split="train", limit=None)
    arm = build(Toolcrib, test.tools)
    rows = [["before", 0, *recalls(arm, test.queries)]]
    for query in train.queries:
        for name in sorted(query.relevant):
            arm.index.learn(query.text, name)
    rows.append(["after", len(train.queries), *recalls(arm, test.queries)])
    return [["metatool_single", "requests learnt", "R@1", "R@5"], *rows]


def recalls(arm: Arm, queries: Sequence[Query]) -> list[str]:
    answers = [(arm.search(query.text), query.relevant) for query in queries]
    return [percent(sum(recall(names, right, depth) for names, right in answers) / len(answers)) for depth in (1, 5)]


def recall_at_5(arm: Arm, queries: Sequence[Query]) -> float:
    return sum(recall(arm.search(query.text), query.relevant, 5) for query in queries) / max(1, len(queries))


def build(make: Callable[[], ArmT], tools: Sequence[Tool]) -> ArmT:
    arm = make()
    arm.build(tools)
    return arm


def cms_tools() -> list[Tool]:
    """The 45 tools of the reference CMS."""
    return list(toolcrib_cms.build(":memory:", seeded=False).catalog)
