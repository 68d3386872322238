"""Fit fusion and confidence to the arms as they are now, and write `fusion.json` beside the model.

    python -m training.fit UNSEEN_MODEL_FOLDER

Fitted on what neither arm has learned from: the `dev` queries of each set for the model that ships, and the `train`
queries of the English sets for a model trained without any of them, which is how a catalog looks that nobody trained
for. So do requests written for this project (`written_sets.py`) to servers that neither model learned requests to; they
sound most like what people say, and count thrice. Small talk is from `training/data`. No `test` query and nothing of
`benchmarks/data` is read.
"""

import argparse
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from benchmarks.data import MULTILINGUAL, load
from toolcrib.search.confidence import Calibration, confidence_features
from toolcrib.search.dense import DenseIndex, Similarity, passages
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.fusion import (
    LEXICAL_FEATURES,
    WEIGHTS,
    Candidates,
    Fusion,
    collect_candidates,
    load_weights,
    rerank_depth,
)
from toolcrib.search.kernels.plain import SCORE_ROWS, score_matrix
from toolcrib.search.lexical import LexicalIndex, lexical_features, with_typos_fixed
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.text import split_request
from training.corpus import is_dev
from training.material import REQUEST_SETS_ENGLISH, SMALL_TALK
from training.spoken import small_talk
from training.written_sets import WRITTEN, written_sets

PER_SET = 1_500
TALK_PER_SET = 250
STRANGERS = 12  # requests meant for quite another catalog; more would teach it to refuse whatever is unusual
SMALL = (4, 12, 25, 45, 100)  # sizes of the catalogs cut out of the sets
CUT_OUTS = 6  # of each size
CANDIDATES = 100
WRITTEN_COUNTS = 3.0  # a written set, where a public one counts 1
MEMBERS = 4  # networks fitted from different seeds and averaged: one alone learns the accidents of its start


@dataclass(frozen=True, slots=True)
class Case:
    """One request put to one catalog: what the arms said, and which tools are right (none for small talk)."""

    group: str
    evidence: Candidates
    parts: tuple[Candidates, ...]
    query: np.ndarray
    relevant: frozenset[int]


class Arms:
    """Both arms over one catalog."""

    def __init__(self, tools, embedder: BuiltinEmbedder) -> None:
        self.tools = tools
        self._embedder = embedder
        self._lexical = LexicalIndex()
        self._lexical.add(list(enumerate(tools)))
        self._dense = DenseIndex(embedder.dimensions)
        self._dense.put(range(len(tools)), [embedder.embed_documents(passages(tool)) for tool in tools])
        self._meanings = LateInteraction(embedder)
        self._meanings.put((number, self._lexical.words(number)) for number in range(len(tools)))

    def case(self, group: str, text: str, relevant: frozenset[int]) -> Case:
        whole, query = self._ask(text, whole=True)
        return Case(
            group, whole, tuple(self._ask(part, whole=False)[0] for part in split_request(text)), query, relevant
        )

    def _ask(self, text: str, *, whole: bool) -> tuple[Candidates, np.ndarray]:
        match = self._lexical.search(text, 50)
        meant = with_typos_fixed(text, match.terms)
        query = self._embedder.embed_queries([meant])
        similarity = Similarity.of(self._dense.scores(query)[0], self._dense.alive)
        depth = rerank_depth(len(self.tools), whole=whole)
        said = lexical_features(match, self._lexical)
        return collect_candidates(match, said, similarity, self._meanings, meant, depth), query[0]


def collect(unseen: Path) -> list[Case]:
    """The cases to fit on: whole catalogs, and small ones cut out of them."""
    ships, stranger = BuiltinEmbedder(), BuiltinEmbedder(unseen)
    # The table has learned from the other files, and would look better on them than on what people will say.
    talk = small_talk("small_talk_west", "small_talk_east", "small_talk_rare_fit")
    sets = {name: load(name, split="train", limit=None) for name in (*REQUEST_SETS_ENGLISH, *MULTILINGUAL)}
    written = written_sets("fitted")
    cases: list[Case] = []
    for name, chosen in (sets | written).items():
        strangers = [q.text for other, held in sets.items() if _differ(name, other) for q in held.queries[:200]]
        for kind, embedder in (("unseen", stranger), ("dev", ships)):
            if kind == "unseen" and name not in REQUEST_SETS_ENGLISH:
                continue
            queries = [query for query in chosen.queries if name in written or is_dev(query.text) == (kind == "dev")]
            random.Random(name).shuffle(queries)
            cases += _cases(f"{name} {kind} all", Arms(chosen.tools, embedder), queries, talk, [])
            for size in SMALL:
                group = f"{name} {kind} {size}"
                for part in _cut_out(chosen.tools, queries, size, embedder):
                    cases += _cases(group, Arms(part, embedder), queries, talk, strangers)
                print(group, len(cases), flush=True)
    return cases


def _differ(one: str, other: str) -> bool:
    """Whether two sets are about different things: a request to one is then no request to the other."""
    about = {
        "ml_vscode": "editor",
        "ml_tldr": "shell",
        "ml_cms_actions": "cms",
        "ml_apps": "apps",
        "metatool_single": "daily life",
    }
    return one in about and other in about and about[one] != about[other]


def _cut_out(tools, queries, size: int, embedder: BuiltinEmbedder) -> list:
    """A few catalogs of `size` tools that are much alike, as the tools of one program are, around tools asked for."""
    wholes = embedder.embed_documents([passages(tool)[0] for tool in tools])
    number = {tool.name: index for index, tool in enumerate(tools)}
    asked = list(dict.fromkeys(name for query in queries for name in sorted(query.relevant)))
    seeds = [number[name] for name in asked[:: max(1, len(asked) // CUT_OUTS)][:CUT_OUTS]]
    wanted = np.isin(np.arange(len(tools)), [number[name] for name in asked])
    # Nearness decides, but tools somebody asks for come first, or large sets would give catalogs nobody asks.
    nearest = [np.argsort(-(wholes @ wholes[seed] + 0.15 * wanted))[:size] for seed in seeds]
    return [[tools[index] for index in sorted(chosen.tolist())] for chosen in nearest]


def _cases(group: str, arms: Arms, queries, talk: list[str], strangers: list[str]) -> list[Case]:
    number = {tool.name: index for index, tool in enumerate(arms.tools)}
    served = [query for query in queries if all(name in number for name in query.relevant)]
    dice = random.Random(group)
    share = 1 if group.endswith("all") else CUT_OUTS
    nobody = dice.sample(talk, TALK_PER_SET // share) + dice.sample(strangers, min(len(strangers), STRANGERS // share))
    return [
        *(arms.case(group, q.text, frozenset(number[name] for name in q.relevant)) for q in served[: PER_SET // share]),
        *(arms.case(group, text, frozenset()) for text in nobody),
    ]


def network(features: torch.Tensor, loss, outputs: int, *, hidden: int, decay: float, steps: int = 1_500) -> dict:
    """Fit `MEMBERS` networks to the loss of their output and return their mean, which is one wider network."""
    mean, spread = features.mean(0), features.std(0) + 1e-3
    scaled = (features - mean) / spread
    members = []
    for seed in range(MEMBERS):
        torch.manual_seed(seed)
        line, inner = torch.nn.Linear(features.shape[1], outputs), torch.nn.Linear(features.shape[1], hidden)
        out = torch.nn.Linear(hidden, outputs, bias=False)
        weights = [*line.parameters(), *inner.parameters(), *out.parameters()]
        optimizer = torch.optim.Adam(weights, lr=0.02)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 0.02 * (1 - step / steps)
            total = loss(line(scaled) + out(torch.tanh(inner(scaled)))) + decay * sum((w**2).sum() for w in weights)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
        members.append((line, inner, out))
    tensors = {
        "mean": mean,
        "spread": spread,
        "line": sum(line.weight.T for line, _, _ in members) / MEMBERS,
        "hidden": torch.cat([inner.weight.T for _, inner, _ in members], 1),
        "hidden_bias": torch.cat([inner.bias for _, inner, _ in members]),
        "out": torch.cat([out.weight.T / MEMBERS for _, _, out in members], 0),
        "bias": sum(line.bias for line, _, _ in members) / MEMBERS,
    }
    return {key: [_short(row) for row in value.tolist()] for key, value in tensors.items()}


def _short(value):
    return [round(v, 4) for v in value] if isinstance(value, list) else round(value, 4)


def _balance(groups: list[str], *, small: float, unseen: float) -> torch.Tensor:
    """Each group counts by what it is, however many cases it has."""
    counts = Counter(groups)
    kind = {
        group: unseen if " unseen " in group else WRITTEN_COUNTS if group.startswith(WRITTEN) else 1.0
        for group in counts
    }
    weights = torch.tensor([kind[group] * (1.0 if " all" in group else small) / counts[group] for group in groups])
    return weights / weights.sum()


def fit_trust(cases: list[Case]) -> dict:
    """How much each way of scoring counts: the right tools must get the largest shares."""
    cases = [case for case in cases if case.relevant & set(case.evidence.tool_ids.tolist())]
    ways = torch.zeros(len(cases), SCORE_ROWS, CANDIDATES)
    right = torch.zeros(len(cases), CANDIDATES, dtype=torch.bool)
    there = torch.zeros(len(cases), CANDIDATES, dtype=torch.bool)
    for row, case in enumerate(cases):
        count = len(case.evidence.tool_ids)
        ways[row, :, :count] = torch.tensor(
            score_matrix(case.evidence.lexical, case.evidence.dense, *case.evidence.close)
        )
        right[row, :count] = torch.tensor([n in case.relevant for n in case.evidence.tool_ids.tolist()])
        there[row, :count] = True
    weight, wanted = _balance([case.group for case in cases], small=0.02, unseen=0.7), right.sum(1)

    def loss(trust: torch.Tensor) -> torch.Tensor:
        logits = torch.einsum("qk,qkn->qn", trust, ways).masked_fill(~there, -1e9)
        return -(weight * (logits.log_softmax(1).masked_fill(~right, 0).sum(1) / wanted)).sum()

    features = torch.tensor(np.stack([case.evidence.features for case in cases]), dtype=torch.float32)
    return network(features, loss, SCORE_ROWS, hidden=12, decay=1e-4)


def fit_probability(rows: np.ndarray, right: np.ndarray, weight: torch.Tensor, hidden: int = 6) -> dict:
    """A calibrated yes or no."""
    target = torch.tensor(right, dtype=torch.float32)

    def loss(logits: torch.Tensor) -> torch.Tensor:
        return (weight * F.binary_cross_entropy_with_logits(logits[:, 0], target, reduction="none")).sum()

    return network(torch.tensor(rows, dtype=torch.float32), loss, 1, hidden=hidden, decay=2e-4)


def fit_small_talk(embedder: BuiltinEmbedder, requests: list[Case]) -> np.ndarray:
    """A direction of the embedding space that small talk lies in, and requests do not."""
    chatter = embedder.embed_queries(small_talk(*SMALL_TALK))
    vectors = torch.tensor(np.concatenate([chatter, np.stack([case.query for case in requests])]))
    target = torch.tensor([1.0] * len(chatter) + [0.0] * len(requests))
    weight = torch.where(target > 0, 0.5 / target.sum(), 0.5 / (1 - target).sum())
    line = torch.nn.Linear(vectors.shape[1], 1)
    optimizer = torch.optim.Adam(line.parameters(), lr=0.05)
    for _ in range(400):
        wrong = F.binary_cross_entropy_with_logits(line(vectors)[:, 0], target, reduction="none")
        total = (weight * wrong).sum() + 1e-4 * (line.weight**2).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    return np.concatenate([line.weight.detach().numpy()[0], line.bias.detach().numpy()])


def fit(cases: list[Case], path: Path) -> None:
    """Fit everything to the cases and write it."""
    weights: dict[str, dict] = {"trust": fit_trust(cases)}
    talk_line = fit_small_talk(
        BuiltinEmbedder(), [case for case in cases if " dev all" in case.group and case.relevant]
    )
    weights["small_talk"] = {"line": _short(talk_line.tolist())}
    path.write_text(json.dumps(weights), encoding="utf-8")
    load_weights.cache_clear()
    fusion = Fusion(path)
    rankings = [fusion.ranking(case.evidence, case.parts) for case in cases]
    talk = [float(np.clip(case.query @ talk_line[:-1] + talk_line[-1], -6, 6)) / 6 for case in cases]
    # The line was fitted to the shipped model's vectors; for the stranger's it says nothing.
    talk = [value if " dev " in case.group else 0.0 for case, value in zip(cases, talk, strict=True)]
    outlooks = np.stack(
        [
            confidence_features(case.evidence, ranking, len(case.parts), value)
            for case, ranking, value in zip(cases, rankings, talk, strict=True)
        ]
    )
    answerable = np.array([bool(case.relevant) for case in cases])
    first = np.array([bool(r) and r[0][0] in c.relevant for c, r in zip(cases, rankings, strict=True)])
    found = np.array([any(n in c.relevant for n, _ in r[:5]) for c, r in zip(cases, rankings, strict=True)])
    lexical = np.array(
        [
            bool(case.evidence.lexical.max(initial=0) > 0)
            and int(case.evidence.tool_ids[int(case.evidence.lexical.argmax())]) in case.relevant
            for case in cases
        ]
    )
    groups = [case.group for case in cases]
    asked = [group for group, real in zip(groups, answerable, strict=True) if real]
    features = np.stack([case.evidence.features for case in cases])
    weights["lexical"] = fit_probability(
        features[answerable][:, LEXICAL_FEATURES], lexical[answerable], _balance(asked, small=0.3, unseen=2.0)
    )
    weights["first"] = fit_probability(outlooks[answerable], first[answerable], _balance(asked, small=0.3, unseen=2.0))
    kept = found | ~answerable
    kinds = [f"{group} {real}" for group, real, keep in zip(groups, answerable, kept, strict=True) if keep]
    weight = _balance(kinds, small=0.5, unseen=1.0)
    weights["serves"] = fit_probability(outlooks[kept], answerable[kept], weight)
    path.write_text(json.dumps(weights), encoding="utf-8")
    load_weights.cache_clear()
    report(cases, outlooks, Calibration(path), found, answerable)


def report(
    cases: list[Case], outlooks: np.ndarray, calibration: Calibration, found: np.ndarray, answerable: np.ndarray
) -> None:
    """What a threshold on the probability that any tool serves costs and saves, on the fitting data."""
    chance = np.array([calibration.p_answerable(row) for row in outlooks])
    groups = np.array([case.group for case in cases])
    for threshold in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        lost = {g: (chance[(groups == g) & found] < threshold).mean() for g in dict.fromkeys(groups)}
        print(
            f"answer above {threshold}: lost {(chance[found] < threshold).mean():.3f} (worst {max(lost.values()):.3f}),"
            f" small talk answered {(chance[~answerable] >= threshold).mean():.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unseen", type=Path, help="model trained with --without-requests")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    fit(collect(arguments.unseen), arguments.out)


if __name__ == "__main__":
    main()
