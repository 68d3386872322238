"""The model: a table of feature vectors. A text is the normalised sum of its words, a word the sum of its features."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from training.encode import Encoded, rows_of
from training.quantize import GROUP, LEVELS

MOMENTUM, MEMORY = 0.9, 0.98  # Adam's


class Table:
    """The table, with the corpus beside it on the device so that a batch is only numbers.

    A batch touches a part of the rows, and only these move (Adam, row by row): a step costs what it reads, so that a
    CPU can train too. `torch.optim.SparseAdam` wants sparse gradients, which rounding does not give.
    """

    def __init__(self, encoded: Encoded, chosen: np.ndarray, start: torch.Tensor, device: str) -> None:
        rows, known = rows_of(encoded.words.flat, chosen)
        # Features without a row point at one that stays zero.
        rows[~known] = len(chosen)
        self.empty = len(chosen)
        self.rows = torch.tensor(rows, device=device, dtype=torch.int32)
        self.row_offsets = torch.tensor(encoded.words.offsets, device=device)
        self.words = torch.tensor(encoded.texts.flat, device=device, dtype=torch.int32)
        self.word_offsets = torch.tensor(encoded.texts.offsets, device=device)
        self.weight = torch.cat([start.to(device), torch.zeros(1, start.shape[1], device=device)])
        self.rounded = False  # whether texts are read with the weights as they will be shipped
        self._mean, self._square = torch.zeros_like(self.weight), torch.zeros_like(self.weight)
        self._steps = torch.zeros(len(self.weight), 1, device=device)

    def __call__(self, texts: torch.Tensor, drop: float = 0.0) -> torch.Tensor:
        """Unit vectors of the texts; in training a share of words and of features is left out."""
        return self._vectors(self._read(texts), drop)

    def lesson(self, texts: torch.Tensor, drop: float) -> "tuple[torch.Tensor, _Read]":
        """The same, and what `learn` needs to move the rows that were read."""
        read = self._read(texts)
        read.weight.requires_grad_()
        return self._vectors(read, drop), read

    @torch.no_grad()
    def turn(self) -> None:
        """Turn all vectors so that the first dimensions tell most, which are read alone where every word is compared.

        No distance changes, but for what rounding does. What was learned about the steps is forgotten.
        """
        _, _, directions = torch.linalg.svd(self.weight[::4], full_matrices=False)
        self.weight = self.weight @ directions.T
        for learned in (self._mean, self._square, self._steps):
            learned.zero_()

    @torch.no_grad()
    def learn(self, read: "_Read", rate: float) -> None:
        """Move the rows that were read against their gradient."""
        rows, slope = read.rows, read.weight.grad
        assert slope is not None
        steps = self._steps[rows] + 1
        mean = self._mean[rows].mul_(MOMENTUM).add_(slope, alpha=1 - MOMENTUM)
        square = self._square[rows].mul_(MEMORY).addcmul_(slope, slope, value=1 - MEMORY)
        self._steps[rows], self._mean[rows], self._square[rows] = steps, mean, square
        change = (mean / (1 - MOMENTUM**steps)) / ((square / (1 - MEMORY**steps)).sqrt_() + 1e-8)
        self.weight[rows] -= rate * change
        self.weight[self.empty] = 0

    def _read(self, texts: torch.Tensor) -> "_Read":
        which, of_text = torch.unique(texts, return_inverse=True)
        words, text_starts = _ragged(self.words, self.word_offsets, which)
        which, of_word = torch.unique(words, return_inverse=True)
        features, word_starts = _ragged(self.rows, self.row_offsets, which)
        rows, of_feature = torch.unique(features, return_inverse=True)
        return _Read(rows, self.weight[rows], of_feature, word_starts, of_word, text_starts, of_text)

    def _vectors(self, read: "_Read", drop: float) -> torch.Tensor:
        weight = _shipped(read.weight) if self.rounded else read.weight
        words = _sums(weight, read.of_feature, read.word_starts, drop)
        return F.normalize(_sums(words, read.of_word, read.text_starts, drop) + 1e-6, dim=-1)[read.of_text]


@dataclass(slots=True)
class _Read:
    """What a batch reads: rows of the table, as the features of words, as the words of texts."""

    rows: torch.Tensor
    weight: torch.Tensor
    of_feature: torch.Tensor
    word_starts: torch.Tensor
    of_word: torch.Tensor
    text_starts: torch.Tensor
    of_text: torch.Tensor


def _sums(rows: torch.Tensor, which: torch.Tensor, starts: torch.Tensor, drop: float) -> torch.Tensor:
    """Bags of rows added up, without the share that is dropped."""
    kept = (torch.rand(len(which), device=which.device) >= drop).to(rows.dtype)
    return F.embedding_bag(which, rows, starts, mode="sum", per_sample_weights=kept)


def _shipped(weight: torch.Tensor) -> torch.Tensor:
    """The weights rounded as `quantize` rounds them; gradients pass as if nothing had happened."""
    with torch.no_grad():
        grouped = weight.reshape(len(weight), -1, GROUP)
        scale = (grouped.abs().amax(dim=2, keepdim=True) / LEVELS).half().float().clamp(min=1e-8)
        rounded = ((grouped / scale).round().clamp(-LEVELS, LEVELS) * scale).reshape(weight.shape)
    return weight + (rounded - weight).detach()


def _ragged(flat: torch.Tensor, offsets: torch.Tensor, which: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The bags `which`, end to end, and where each starts."""
    which = which.long()
    lengths = offsets[which + 1] - offsets[which]
    ends = lengths.cumsum(0)
    starts = ends - lengths
    total = int(ends[-1])
    position = torch.arange(total, device=flat.device) + torch.repeat_interleave(
        offsets[which] - starts, lengths, output_size=total
    )
    return flat[position].long(), starts
