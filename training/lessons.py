"""The losses, each a question the table must answer better."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
import torch.nn.functional as F

from toolcrib.search.dense import WHOLE
from training.material import Material, pairs

PASSAGES = 8  # of a tool, in training
CHATTER_COSINE = 0.15  # nearer than that, small talk looks like a request
CHATTER_NEAREST = 16

# A lesson says which texts it is about, gets their vectors, and says how wrong they are.
Lesson: TypeAlias = Generator[torch.Tensor, torch.Tensor, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything a run depends on besides the data."""

    seed: int = 0
    rows: int = 172_000  # 116 bytes each; the model may take 20 MB
    dimensions: int = 256
    steps: int = 4_000
    rate: float = 0.02
    batch: int = 8_192  # translations a step; the other lessons take their share of it
    drop: float = 0.1
    temperature: float = 0.05
    teacher: float = 5.0  # cosine to the teacher
    relation: float = 0.5  # the teacher's similarities inside a batch
    requests: float = 1.5
    asked: float = 0.75  # requests a step, of the batch
    siblings: int = 12  # requests in a row, to tools of one server where a set is in that order
    names: float = 0.5
    definitions: float = 0.3
    chatter: float = 1.0
    languages_first: float = 0.5  # the first share of the steps, before requests come in force
    rounded: float = 0.25  # the last share of the steps, trained with the weights rounded as they are shipped
    tuning: int = 1_200  # steps of a second, gentler stage, in which the table's own English is the teacher

    def second_stage(self) -> "Recipe":
        """What the second stage does otherwise."""
        return replace(
            self, steps=self.tuning, batch=self.batch // 2, rate=0.4 * self.rate, languages_first=0.0, rounded=0.3
        )


class Sampler:
    """Draws pairs: first the group (a language, a set), small groups more often than their share, then a pair of it.

    Where pairs are drawn `together`, that many which stand one after another come at once.
    """

    def __init__(
        self, groups: dict[str, list[tuple[int, int]]], power: float, device: str, *, together: int = 1
    ) -> None:
        arrays = [pairs(rows) for rows in groups.values()]
        sizes = torch.tensor([len(rows) for rows in arrays], device=device)
        self._pairs = torch.tensor(np.concatenate(arrays), device=device)
        self._starts, self._sizes, self._weights = sizes.cumsum(0) - sizes, sizes, sizes.float() ** power
        self._together = torch.arange(together, device=device)

    def draw(self, count: int) -> torch.Tensor:
        group = torch.multinomial(self._weights, count // len(self._together), replacement=True)
        place = (torch.rand(len(group), device=group.device) * self._sizes[group]).long()
        row = (place[:, None] + self._together) % self._sizes[group][:, None]
        return self._pairs[(self._starts[group][:, None] + row).flatten()]


class Lessons:
    """All of them over one body of material. `taught` has the teacher's vector of each English text."""

    def __init__(self, material: Material, recipe: Recipe, taught: torch.Tensor, english: list[int]) -> None:
        device = str(taught.device)
        self._recipe, self._taught, self._device = recipe, taught, device
        self._english = torch.tensor(english, device=device)
        self._translations = Sampler(material.translations, 0.7, device)
        # Tools of one server stand together: they are what a request is hardest to tell apart by.
        self._requests = Sampler(material.requests, 0.5, device, together=recipe.siblings)
        self._names = Sampler({"names": material.names}, 1.0, device)
        self._definitions = Sampler({"definitions": material.definitions}, 1.0, device)
        self._chatter = torch.tensor(material.chatter, device=device)
        tools = material.tools[: material.learned_tools]
        padded = np.full((len(tools), PASSAGES), -1, dtype=np.int64)
        for index, numbers in enumerate(tools):
            padded[index, : min(len(numbers), PASSAGES)] = numbers[:PASSAGES]
        self._passages = torch.tensor(padded, device=device)
        self._projection = _principal(taught, recipe.dimensions)

    def at(self, progress: float) -> list[tuple[float, Lesson]]:
        """The lessons of one step, and how much each counts."""
        recipe, batch = self._recipe, self._recipe.batch
        count, weight = (batch // 8, 0.5) if progress < recipe.languages_first else (int(batch * recipe.asked), 1.0)
        return [
            (1.0, self._translation(self._translations.draw(batch))),
            (1.0, self._meaning(batch // 2)),
            (weight * recipe.requests, self._request(self._requests.draw(count))),
            (recipe.names, self._same(self._names.draw(count))),
            (recipe.chatter, self._small_talk(batch // 32, batch // 2)),
            (recipe.definitions, self._same(self._definitions.draw(batch * 3 // 16))),
        ]

    def _translation(self, pair: torch.Tensor) -> Lesson:
        said, meant = (yield pair.T.flatten()).chunk(2)
        target = self._target(pair[:, 1])
        moved_toward = (1 - (said * target).sum(-1)).mean() + (1 - (meant * target).sum(-1)).mean()
        yield self._contrast(said @ meant.T, pair[:, 1]) + 0.5 * self._recipe.teacher * moved_toward

    def _meaning(self, count: int) -> Lesson:
        """English texts lie as the teacher lays them."""
        drawn = self._english[torch.randint(len(self._english), (count,), device=self._device)]
        vectors = yield drawn
        moved_toward = (1 - (vectors * self._target(drawn)).sum(-1)).mean()
        ours, theirs = vectors[: count // 2], self._taught[drawn[: count // 2]].float()
        apart = -1e4 * torch.eye(len(ours), device=self._device)
        relation = F.kl_div(
            F.log_softmax(ours @ ours.T / 0.05 + apart, -1),
            F.softmax(theirs @ theirs.T / 0.05 + apart, -1),
            reduction="batchmean",
        )
        yield self._recipe.teacher * moved_toward + self._recipe.relation * relation

    def _same(self, pair: torch.Tensor) -> Lesson:
        one, other = (yield pair.T.flatten()).chunk(2)
        yield self._contrast(one @ other.T, pair[:, 1])

    def _request(self, pair: torch.Tensor) -> Lesson:
        """The right tool, as a whole and by its nearest passage, must be nearer than any other."""
        passages = self._passages[pair[:, 1]]
        vectors = yield torch.cat([pair[:, 0], passages.clamp(min=0).flatten()])
        scores = (vectors[: len(pair)] @ vectors[len(pair) :].T).unflatten(1, passages.shape)
        scores = scores.masked_fill(passages[None] < 0, -1.0)
        yield self._contrast(WHOLE * scores[..., 0] + (1 - WHOLE) * scores.amax(-1), pair[:, 1], pair[:, 0])

    def _small_talk(self, said: int, tools: int) -> Lesson:
        """Small talk must be near no tool: the nearest of some passages is pushed away."""
        talk = self._chatter[torch.randint(len(self._chatter), (said,), device=self._device)]
        passages = self._passages[torch.randint(len(self._passages), (tools,), device=self._device), 0]
        vectors = yield torch.cat([talk, passages])
        near = (vectors[:said] @ vectors[said:].T).topk(CHATTER_NEAREST, dim=1).values
        yield F.relu(near - CHATTER_COSINE).mean()

    def _contrast(self, scores: torch.Tensor, meaning: torch.Tensor, said: torch.Tensor | None = None) -> torch.Tensor:
        """InfoNCE both ways; others of the same meaning do not count as wrong, nor what the same text wants besides."""
        same = meaning[:, None] == meaning[None, :]
        if said is not None:
            same |= said[:, None] == said[None, :]
        same.fill_diagonal_(False)
        logits = (scores / self._recipe.temperature).masked_fill(same, -1e4)
        right = torch.arange(len(scores), device=self._device)
        return 0.5 * (F.cross_entropy(logits, right) + F.cross_entropy(logits.T, right))

    def _target(self, texts: torch.Tensor) -> torch.Tensor:
        taught = self._taught[texts].float()
        return taught if self._projection is None else F.normalize(taught @ self._projection, dim=-1)


def _principal(taught: torch.Tensor, dimensions: int) -> torch.Tensor | None:
    """The directions in which the teacher's vectors differ most, where it has more of them than the table."""
    if taught.shape[1] == dimensions:
        return None
    sample = taught[taught.abs().sum(1) > 0][:200_000].float()
    _, _, directions = torch.linalg.svd(sample - sample.mean(0), full_matrices=False)
    return directions[:dimensions].T
