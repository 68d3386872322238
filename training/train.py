"""Train the table on a GPU and write the model.

python -m training.train --out OUT                      the model that ships
python -m training.train --out OUT --without-requests   sees no English request: how well it does on catalogues
                                                        it never met, and what fusion is fitted with
"""

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from toolcrib.search.dense import WHOLE
from training.encode import choose_features, encode
from training.material import REQUEST_SETS_ENGLISH, Material, gather, pairs
from training.measure import measure
from training.quantize import dequantize, export, quantize
from training.table import Table
from training.teacher import Teacher

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PASSAGES = 8  # of a tool, in training
CHATTER_COSINE = 0.15  # nearer than that, small talk looks like a request


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything a run depends on besides the data."""

    seed: int = 0
    rows: int = 130_000
    dimensions: int = 256
    steps: int = 4_000
    rate: float = 0.02
    batch: int = 8_192
    drop: float = 0.1
    temperature: float = 0.05
    teacher: float = 5.0  # cosine to the teacher
    relation: float = 0.5  # the teacher's similarities inside a batch
    requests: float = 1.0
    names: float = 0.5
    definitions: float = 0.3
    chatter: float = 1.0
    rounded: float = 0.25  # the last share of the steps, trained with the weights rounded as they are shipped


class Sampler:
    """Draws pairs: first the group (a language, a set), small groups more often than their share, then a pair of it."""

    def __init__(self, groups: dict[str, list[tuple[int, int]]], power: float) -> None:
        arrays = [pairs(rows) for rows in groups.values()]
        sizes = torch.tensor([len(rows) for rows in arrays], device=DEVICE)
        self._pairs = torch.tensor(np.concatenate(arrays), device=DEVICE)
        self._starts, self._sizes, self._weights = sizes.cumsum(0) - sizes, sizes, sizes.float() ** power

    def draw(self, count: int) -> torch.Tensor:
        group = torch.multinomial(self._weights, count, replacement=True)
        return self._pairs[self._starts[group] + (torch.rand(count, device=DEVICE) * self._sizes[group]).long()]


class Lessons:
    """The losses, each a question the table must answer better."""

    def __init__(self, material: Material, table: Table, recipe: Recipe, taught: torch.Tensor, english: list[int]):
        self.table, self.recipe, self.taught = table, recipe, taught
        self.english = torch.tensor(english, device=DEVICE)
        self.translations = Sampler(material.translations, 0.7)
        self.requests = Sampler(material.requests, 0.5) if material.requests else None
        self.names = Sampler({"names": material.names}, 1.0)
        self.definitions = Sampler({"definitions": material.definitions}, 1.0)
        self.chatter = torch.tensor(material.chatter, device=DEVICE)
        tools = material.tools[: material.learned_tools]
        padded = np.full((len(tools), PASSAGES), -1, dtype=np.int64)
        for index, numbers in enumerate(tools):
            padded[index, : min(len(numbers), PASSAGES)] = numbers[:PASSAGES]
        self.passages = torch.tensor(padded, device=DEVICE)
        self.projection = _principal(taught, recipe.dimensions)

    def loss(self, progress: float) -> torch.Tensor:
        recipe = self.recipe
        total = self._translation() + self._english()
        # Requests come in force once the languages have found each other.
        count, weight = (1024, 0.5) if progress < 0.5 else (3072, 1.0)
        if self.requests:
            total = total + weight * recipe.requests * self._request(self.requests.draw(count))
        total = total + recipe.names * self._same(self.names.draw(count))
        total = total + recipe.chatter * self._chatter()
        return total + recipe.definitions * self._same(self.definitions.draw(1536))

    def _translation(self) -> torch.Tensor:
        pair = self.translations.draw(self.recipe.batch)
        said, meant = self.table(pair[:, 0], self.recipe.drop), self.table(pair[:, 1], self.recipe.drop)
        target = self._target(pair[:, 1])
        pulled = (1 - (said * target).sum(-1)).mean() + (1 - (meant * target).sum(-1)).mean()
        return self._contrast(said @ meant.T, pair[:, 1]) + 0.5 * self.recipe.teacher * pulled

    def _english(self) -> torch.Tensor:
        drawn = self.english[torch.randint(len(self.english), (4096,), device=DEVICE)]
        vectors = self.table(drawn, self.recipe.drop)
        loss = self.recipe.teacher * (1 - (vectors * self._target(drawn)).sum(-1)).mean()
        ours, theirs = vectors[:2048], self.taught[drawn[:2048]].float()
        apart = -1e4 * torch.eye(len(ours), device=DEVICE)
        relation = F.kl_div(
            F.log_softmax(ours @ ours.T / 0.05 + apart, -1),
            F.softmax(theirs @ theirs.T / 0.05 + apart, -1),
            reduction="batchmean",
        )
        return loss + self.recipe.relation * relation

    def _same(self, pair: torch.Tensor) -> torch.Tensor:
        drop = self.recipe.drop
        return self._contrast(self.table(pair[:, 0], drop) @ self.table(pair[:, 1], drop).T, pair[:, 1])

    def _request(self, pair: torch.Tensor) -> torch.Tensor:
        """The right tool, as a whole and by its nearest passage, must be nearer than any other."""
        passages = self.passages[pair[:, 1]]
        unique, inverse = torch.unique(passages.clamp(min=0), return_inverse=True)
        vectors = self.table(unique, self.recipe.drop)
        near = self.table(pair[:, 0], self.recipe.drop) @ vectors.T
        scores = near[:, inverse.flatten()].unflatten(1, passages.shape)
        scores = scores.masked_fill(passages[None] < 0, -1.0)
        return self._contrast(WHOLE * scores[..., 0] + (1 - WHOLE) * scores.amax(-1), pair[:, 1])

    def _chatter(self) -> torch.Tensor:
        """Small talk must be near no tool: the nearest of a few thousand passages is pushed away."""
        said = self.chatter[torch.randint(len(self.chatter), (256,), device=DEVICE)]
        tools = self.passages[torch.randint(len(self.passages), (4096,), device=DEVICE), 0]
        near = self.table(said, self.recipe.drop) @ self.table(tools, self.recipe.drop).T
        return F.relu(near.topk(16, dim=1).values - CHATTER_COSINE).mean()

    def _contrast(self, scores: torch.Tensor, meaning: torch.Tensor) -> torch.Tensor:
        """InfoNCE both ways; others of the same meaning do not count as wrong."""
        same = meaning[:, None] == meaning[None, :]
        same.fill_diagonal_(False)
        logits = (scores / self.recipe.temperature).masked_fill(same, -1e4)
        right = torch.arange(len(scores), device=DEVICE)
        return 0.5 * (F.cross_entropy(logits, right) + F.cross_entropy(logits.T, right))

    def _target(self, texts: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.taught[texts].float() @ self.projection, dim=-1)


def _principal(taught: torch.Tensor, dimensions: int) -> torch.Tensor:
    sample = taught[taught.abs().sum(1) > 0][:200_000].float()
    _, _, directions = torch.linalg.svd(sample - sample.mean(0), full_matrices=False)
    return directions[: min(dimensions, 384)].T


def train(material: Material, table: Table, recipe: Recipe, taught: torch.Tensor, english: list[int]) -> None:
    lessons = Lessons(material, table, recipe, taught, english)
    optimizer = torch.optim.Adam(table.parameters(), lr=recipe.rate, betas=(0.9, 0.98))
    for step in range(recipe.steps):
        progress = step / recipe.steps
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * min(1, step / 200) * (1 - progress) + 1e-5
        table.rounded = progress >= 1 - recipe.rounded
        loss = lessons.loss(progress)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 500 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without-requests", action="store_true")
    parser.add_argument("--splits", default="dev", help="what to measure on, comma separated")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change the recipe; may repeat; a,b tries several",
    )
    arguments = parser.parse_args()
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("high")
    began = time.time()

    def log(text: str) -> None:
        print(f"[{time.time() - began:6.1f}] {text}", flush=True)

    material = gather(without=REQUEST_SETS_ENGLISH if arguments.without_requests else ())
    log(f"{len(material.texts)} texts, {sum(map(len, material.translations.values()))} translations")
    encoded = encode(material.texts, learned=material.learned, processes=os.cpu_count() or 1)
    log(f"{len(encoded.counts)} words, {len(encoded.words.flat)} features")
    english = sorted(material.english)
    taught = torch.zeros(len(material.texts), 384, dtype=torch.half, device=DEVICE)
    taught[torch.tensor(english, device=DEVICE)] = Teacher(Path("training/work/pack"), DEVICE).embed(
        [material.texts[number] for number in english]
    )
    log(f"teacher done, {len(english)} texts")
    base = asdict(Recipe())
    variants: list[dict[str, float]] = [{}]
    for change in arguments.set:
        name, _, values = change.partition("=")
        kind = type(base[name])
        variants = [{**variant, name: kind(value)} for variant in variants for value in values.split(",")]
    for variant in variants:
        recipe = Recipe(**{**base, **variant})
        torch.manual_seed(recipe.seed)
        chosen = choose_features(encoded, recipe.rows)
        table = Table(encoded, chosen, recipe.dimensions, DEVICE)
        train(material, table, recipe, taught, english)
        log(f"trained {variant}")
        learned = table.weight.detach()[: len(chosen)].cpu().numpy()
        table.rounded = False
        with torch.no_grad():
            table.weight[: len(chosen)] = torch.tensor(dequantize(*quantize(learned)), device=DEVICE)
            figures = measure(material, table, arguments.splits.split(","))
        label = "-".join(f"{key}{value}" for key, value in variant.items()) or "model"
        export(arguments.out / label, chosen, learned)
        (arguments.out / label / "figures.json").write_text(json.dumps({"recipe": asdict(recipe), **figures}, indent=1))
        log(f"measured {label}")


if __name__ == "__main__":
    main()
