"""The seam between search and whatever turns texts into vectors."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]  # one row per text, each of length one


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
