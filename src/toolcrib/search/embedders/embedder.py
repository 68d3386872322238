"""The seam between search and whatever turns texts into vectors."""

import logging
from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from toolcrib.errors import EmbedderError
from toolcrib.search.kernels.rows import Vectors


class Embedder(Protocol):
    """Maps texts to unit vectors, so that a dot product says how near two texts are in meaning."""

    @property
    def id(self) -> str:
        """Names the model and its version: vectors of two ids are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def remote(self) -> bool:
        """Whether a call may take long or fail: it then runs off the event loop, cached and with a fallback."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors: ...


# Where a foreign model's numbers become vectors that we trust.


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


# Foreign embedders: their vectors are checked before they are used.


class CheckedEmbedder:
    """Wraps an embedder; raises `EmbedderError` where its vectors are too few, of another size, or no numbers."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._seen: int | None = None  # how many dimensions its vectors have had so far

    @property
    def id(self) -> str:
        return self._embedder.id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def remote(self) -> bool:
        return self._embedder.remote

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._checked(self._embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._checked(self._embedder.embed_queries, texts)

    def _checked(self, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
        vectors = unit_vectors(list(embed(texts)), count=len(texts), dimensions=self._seen, source=repr(self.id))
        if len(texts):
            self._seen = vectors.shape[1]
        return vectors


# Failures of an embedder: it is not called for a while, and search is lexical only.

RETRY_SECONDS = 30.0  # how long an embedder that failed is left alone
RESTING = "Searched by words alone: the embedder failed a moment ago and is left alone for a while."

logger = logging.getLogger(__name__)
Warnings = tuple[str, ...]


class FallibleEmbedder:
    """Calls an embedder; a failure becomes a warning. `clock` gives seconds."""

    def __init__(self, embedder: Embedder | None, clock: Callable[[], float]) -> None:
        self._embedder = embedder
        self._clock = clock
        self._resting_until = -inf

    def embed_queries(self, texts: Sequence[str]) -> tuple[Vectors | None, Warnings]:
        """The vectors of queries, or a warning that says why there are none."""
        embedder = self._embedder
        return (None, ()) if embedder is None else self.run(lambda: embedder.embed_queries(texts))

    def run(self, work: Callable[[], Vectors | None]) -> tuple[Vectors | None, Warnings]:
        """The result of `work`, which needs the embedder, or a warning that says why there is none."""
        if self._clock() < self._resting_until:
            return None, (RESTING,)
        try:
            return work(), ()
        except Exception as error:  # foreign code, and a search by words is better than none
            self._resting_until = self._clock() + RETRY_SECONDS
            logger.warning("Search falls back to words alone: %s", error)
            return None, (f"Searched by words alone: {error}",)
