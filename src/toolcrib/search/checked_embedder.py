"""Embedders that others wrote: what they give is looked at before tools are compared by it."""

from collections.abc import Callable, Sequence

from toolcrib.search.builtin_embedder import BuiltinEmbedder
from toolcrib.search.embedder import Embedder, Vectors
from toolcrib.search.unit_vectors import unit_vectors


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


def checked(embedder: Embedder) -> Embedder:
    """The embedder with its vectors checked; the built-in one needs no check, and is asked in microseconds."""
    return embedder if isinstance(embedder, BuiltinEmbedder | CheckedEmbedder) else CheckedEmbedder(embedder)
