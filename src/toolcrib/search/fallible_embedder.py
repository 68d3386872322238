"""An embedder that may fail: it is then left alone for a while, and search goes by words alone."""

import logging
from collections.abc import Callable, Sequence
from math import inf

from toolcrib.search.embedder import Embedder, Vectors

RETRY_SECONDS = 30.0  # how long an embedder that failed is left alone
RESTING = "Searched by words alone: the embedder failed a moment ago and is left alone for a while."

logger = logging.getLogger(__name__)
Warnings = tuple[str, ...]


class FallibleEmbedder:
    """Asks an embedder; what goes wrong becomes a warning. `clock` gives seconds."""

    def __init__(self, embedder: Embedder | None, clock: Callable[[], float]) -> None:
        self._embedder = embedder
        self._clock = clock
        self._resting_until = -inf

    def embed_queries(self, texts: Sequence[str]) -> tuple[Vectors | None, Warnings]:
        """The vectors of requests, or a word on why there are none."""
        embedder = self._embedder
        return (None, ()) if embedder is None else self.tried(lambda: embedder.embed_queries(texts))

    def tried(self, work: Callable[[], Vectors | None]) -> tuple[Vectors | None, Warnings]:
        """What `work` gives that needs the embedder, or a word on why not."""
        if self._clock() < self._resting_until:
            return None, (RESTING,)
        try:
            return work(), ()
        except Exception as error:  # foreign code, and a search by words is better than none
            self._resting_until = self._clock() + RETRY_SECONDS
            logger.warning("Search falls back to words alone: %s", error)
            return None, (f"Searched by words alone: {error}",)
