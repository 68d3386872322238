"""The border where a foreign model's numbers become vectors we trust."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from toolcrib.errors import EmbedderError
from toolcrib.search.embedder import Vectors


def unit_vectors(rows: Sequence[ArrayLike], *, count: int, dimensions: int | None, source: str) -> Vectors:
    """The rows as one matrix, each row scaled to length one; an `EmbedderError` that names `source` if they are wrong.

    A row of zeros stays as it is: it is near to nothing, which is the truth about it.
    """
    if len(rows) != count:
        raise EmbedderError(
            f"{source} gave {len(rows)} vectors for {count} texts.", hint="Use another model or server."
        )
    if not count:
        return np.zeros((0, dimensions or 0), dtype=np.float32)
    try:
        vectors = np.array(rows, dtype=np.float32)  # a copy: the caller's model may reuse its buffer
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"{source} gave vectors of unequal length, or not of numbers.") from error
    if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
        raise EmbedderError(f"{source} gave vectors that hold something else than finite numbers.")
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise EmbedderError(
            f"{source} gave vectors of {vectors.shape[1]} dimensions where {dimensions} were expected.",
            hint="Ask for a dimension the model has, and build the index again after a change of model.",
        )
    lengths = np.linalg.norm(
        vectors.astype(np.float64), axis=1, keepdims=True
    )  # squares of large numbers overflow float32
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
