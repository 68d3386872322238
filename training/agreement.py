"""Fit how sure a search may be of its first tool, with requests that almost fit among them.

    python -m training.agreement

Every request is put to its catalog twice: as it is, and with the tools that serve it hidden, where whatever comes first
is wrong. So the same words are once a request and once a near miss, and no habit of whoever wrote near misses can be
learned. The near misses of `data/near_misses` come besides. Catalogs are those, servers and invented tools that no
model learned requests to (`written_sets.py`), and `dev` queries of the public sets. One catalog in five is held out,
reported on, and then fitted with, too.
"""

import argparse
import json
import pickle
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import torch

from benchmarks.data import ENGLISH, MULTILINGUAL, load
from benchmarks.near_misses import catalogs, separation
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.fusion import WEIGHTS
from toolcrib.search.index import ToolIndex
from toolcrib.search.negation import wanted
from toolcrib.search.query import SearchOptions, strategy_for
from toolcrib.tools.tool import Tool
from training.corpus import is_dev
from training.fit import fit_probability
from training.second_pass import near_tools, plain_name
from training.written_sets import written_sets

NEAR = Path(__file__).with_name("data") / "near_misses"
OPTIONS = SearchOptions(abstain=False)
SIZES, CUT_OUTS, ASKED = (12, 40, 120), 8, 30
NEAR_COUNTS, HIDDEN_COUNTS = 0.2, 0.08  # near misses, and requests whose tool is hidden, where a plain one counts 1
Asked = tuple[str, str, frozenset[str]]  # kind, text, the names of the right tools


def near_catalogs() -> Iterator[tuple[str, Sequence[Tool], list[Asked]]]:
    """Those with near misses."""
    for written in catalogs(NEAR):
        plain = [
            ("plain", text, frozenset(map(plain_name, [right] if isinstance(right, str) else right)))
            for _, text, right in written["plain"]
        ]
        yield (
            written["name"],
            near_tools(written),
            [*plain, *((kind, t, frozenset()) for _, t, kind, _ in written["near"])],
        )


def plain_catalogs() -> Iterator[tuple[str, Sequence[Tool], list[Asked]]]:
    """Small catalogs of tools that are much alike, cut out of sets, and whole sets."""
    dice = random.Random(0)
    sets = {name: load(name, split="train", limit=None) for name in (*ENGLISH, *MULTILINGUAL)}
    for name, held in (written_sets("fitted") | sets).items():
        queries = [q for q in held.queries if name not in sets or is_dev(q.text)]
        if not queries:
            continue
        whole = list(queries)
        dice.shuffle(whole)
        yield f"{name} all", held.tools, [("plain", q.text, q.relevant) for q in whole[:150]]
        index = ToolIndex(Catalog(held.tools), options=OPTIONS)
        by_name, owned = {tool.name: tool for tool in held.tools}, defaultdict(list)
        for q in queries:
            for tool in q.relevant:
                owned[tool].append(q)
        for size in SIZES if len(held.tools) > 150 else ():
            for seed in dice.sample(sorted(owned), min(CUT_OUTS, len(owned))):
                chosen = [seed, *(hit.name for hit in index.similar(seed, limit=size - 1))]
                served = {q.text: q for tool in chosen for q in owned.get(tool, ()) if q.relevant <= set(chosen)}
                asked = [("plain", q.text, q.relevant) for q in served.values()]
                yield (
                    f"{name} {size} {seed}",
                    [by_name[one] for one in chosen],
                    dice.sample(asked, min(ASKED, len(asked))),
                )


def rows(named: Iterable[tuple[str, Sequence[Tool], list[Asked]]]) -> Iterator[tuple[str, str, bool, np.ndarray]]:
    """The catalog, the kind, whether the first tool is right, and what tells that."""
    for name, tools, asked in named:
        index = ToolIndex(Catalog(tools), options=OPTIONS)
        index._catch_up(is_lexical=False)
        for kind, text, right in asked:
            if not wanted(text):
                continue
            yield name, kind, *_case(index, text, right, frozenset())
            if kind == "plain" and len(right) < len(tools):
                yield name, "hidden", *_case(index, text, frozenset(), right)


def _case(index: ToolIndex, text: str, right: frozenset[str], hidden: frozenset[str]) -> tuple[bool, np.ndarray]:
    runner, corpus = index._runner, index._corpus
    allowed = index._allowed(lambda tool: tool.name not in hidden) if hidden else None
    query = runner.start(text, OPTIONS, strategy_for(len(index)), allowed)
    vectors = index._embedder.embed_queries(query.words.corrected) if query.needs_vectors else None
    result = runner.ranked(query, vectors)
    if not result.ranking:
        return False, np.zeros(0)
    return corpus.tool(result.ranking[0][0]).name in right, runner.agreement(query, result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--kept", type=Path, help="where to keep what was collected, for another fit")
    arguments = parser.parse_args()
    if arguments.kept and arguments.kept.exists():
        cases = pickle.loads(arguments.kept.read_bytes())
    else:
        cases = [row for named in (near_catalogs(), plain_catalogs()) for row in rows(named) if len(row[3])]
        if arguments.kept:
            arguments.kept.write_bytes(pickle.dumps(cases))
    names, kinds = [row[0] for row in cases], np.array([row[1] for row in cases])
    right, features = np.array([row[2] for row in cases]), np.stack([row[3] for row in cases])
    sets = np.array(["near" if " " not in name else name.split()[0] for name in names])
    counts = Counter(zip(sets.tolist(), kinds.tolist(), strict=True))
    worth = {"plain": 1.0, "hidden": HIDDEN_COUNTS}
    of_set = {"near": 6.0} | dict.fromkeys(("our_mcp", "our_invented"), 3.0)
    weight = np.array([
        of_set.get(s, 1.0) * worth.get(k, NEAR_COUNTS / 6) / counts[s, k] for s, k in zip(sets, kinds, strict=True)
    ])  # fmt: skip
    held_out = np.array([crc32(name.encode()) % 5 == 0 for name in names])
    torch.set_num_threads(1)
    for chosen in (~held_out, np.ones(len(right), dtype=bool)):
        share = torch.tensor(weight[chosen] / weight[chosen].sum(), dtype=torch.float32)
        fitted = fit_probability(features[chosen], right[chosen], share)
        if not chosen.all():
            _report(fitted, features[held_out], right[held_out], kinds[held_out], sets[held_out])
    weights = json.loads(arguments.out.read_text(encoding="utf-8"))
    arguments.out.write_text(json.dumps(weights | {"agreed": fitted}, separators=(",", ":")), encoding="utf-8")


def _report(fitted: dict, features: np.ndarray, right: np.ndarray, kinds: np.ndarray, sets: np.ndarray) -> None:
    layers = {name: np.array(value) for name, value in fitted.items()}
    scaled = (features - layers["mean"]) / layers["spread"]
    logit = scaled @ layers["line"] + np.tanh(scaled @ layers["hidden"] + layers["hidden_bias"]) @ layers["out"]
    sure, was = 1 / (1 + np.exp(-(logit + layers["bias"])[:, 0])), features[:, 0]
    for name in dict.fromkeys(sets.tolist()):
        for kind in dict.fromkeys(kinds[sets == name].tolist()):
            own = (sets == name) & (kinds == kind)
            print(
                f"{name:16} {kind:14} {own.sum():5}  right {right[own].mean():.2f}"
                f"  sure of {sure[own].mean():.2f}, was {was[own].mean():.2f}"
                f"  over .8 {(sure[own] > 0.8).mean():.2f}, was {(was[own] > 0.8).mean():.2f}"
            )
        plain, other = (sets == name) & (kinds == "plain"), (sets == name) & (kinds != "plain")
        now, before = (separation(by[plain].tolist(), by[other].tolist()) for by in (sure, was))
        print(f"{name:16} plain above the others, AUC {now:.3f}, was {before:.3f}")


if __name__ == "__main__":
    main()
