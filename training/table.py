"""The model: a table of feature vectors. A text is the normalised sum of its words, a word the sum of its features."""

import torch
import torch.nn.functional as F

from training.encode import Encoded, rows_of
from training.quantize import GROUP, LEVELS


class Table(torch.nn.Module):
    """The table, with the corpus beside it on the device so that a batch is only numbers."""

    def __init__(self, encoded: Encoded, chosen, dimensions: int, device: str) -> None:
        super().__init__()
        rows, known = rows_of(encoded.words.flat, chosen)
        # Features without a row point at one that stays zero.
        rows[~known] = len(chosen)
        self.empty = len(chosen)
        self.rows = torch.tensor(rows, device=device, dtype=torch.int32)
        self.row_offsets = torch.tensor(encoded.words.offsets, device=device)
        self.words = torch.tensor(encoded.texts.flat, device=device, dtype=torch.int32)
        self.word_offsets = torch.tensor(encoded.texts.offsets, device=device)
        start = torch.randn(len(chosen) + 1, dimensions, device=device) * 0.05
        start[self.empty] = 0
        self.weight = torch.nn.Parameter(start)
        self.rounded = False  # whether texts are read with the weights as they will be shipped

    def forward(self, texts: torch.Tensor, drop: float = 0.0) -> torch.Tensor:
        """Unit vectors of the texts; in training a share of words and of features is left out."""
        words, text_starts = _ragged(self.words, self.word_offsets, texts)
        unique, inverse = torch.unique(words, return_inverse=True)
        rows, word_starts = _ragged(self.rows, self.row_offsets, unique)
        keep = (rows != self.empty).float() * _mask(len(rows), drop, rows.device)
        weight = _shipped(self.weight) if self.rounded else self.weight
        vectors = F.embedding_bag(rows, weight, word_starts, mode="sum", per_sample_weights=keep)
        kept = _mask(len(inverse), drop, rows.device)
        summed = F.embedding_bag(inverse, vectors, text_starts, mode="sum", per_sample_weights=kept)
        return F.normalize(summed + 1e-6, dim=-1)


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


def _mask(size: int, drop: float, device: torch.device) -> torch.Tensor:
    return (torch.rand(size, device=device) >= drop).float() if drop else torch.ones(size, device=device)
