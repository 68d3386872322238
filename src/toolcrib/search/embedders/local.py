"""Embedders that run on this machine: fastembed (ONNX, small models) or sentence-transformers (PyTorch, any model).

Both take a model's name, or also a model that is loaded already. They count as `remote`: nothing leaves the machine,
but a call takes milliseconds to seconds and the first one may download weights, so it belongs off the event loop and
its vectors into a `CachedEmbedder`.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from numpy.typing import ArrayLike

from toolcrib.errors import EmbedderError, require
from toolcrib.search.embedders.embedder import unit_vectors
from toolcrib.search.kernels.rows import Vectors

MULTILINGUAL_MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"  # 50 languages, 384 dimensions


@dataclass(frozen=True, slots=True)
class _Encoders:
    documents: Callable[[list[str]], Sequence[ArrayLike]]
    queries: Callable[[list[str]], Sequence[ArrayLike]]


class _LocalEmbedder:
    """What both have in common: loads late, encodes one call at a time, learns its dimensions, checks all numbers."""

    remote = True

    def __init__(self, model: str, *, id: str, load: Callable[[], _Encoders]) -> None:
        self.model = model
        self.id = id
        self._load = load
        self._encoders: _Encoders | None = None
        self._dimensions: int | None = None
        self._one_at_a_time = threading.Lock()  # a tokenizer that two threads share may fail in either

    @property
    def dimensions(self) -> int:
        """Learned from the model's first vector."""
        return self._dimensions or self.embed_queries(["dimensions"]).shape[1]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text."""
        return self._embed(texts, lambda encoders: encoders.documents)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per request; many models encode a request differently from what it should find."""
        return self._embed(texts, lambda encoders: encoders.queries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def _embed(
        self, texts: Sequence[str], which: Callable[[_Encoders], Callable[[list[str]], Sequence[ArrayLike]]]
    ) -> Vectors:
        rows: Sequence[ArrayLike] = []
        with self._one_at_a_time:
            try:
                if texts:
                    self._encoders = self._encoders or self._load()
                    rows = which(self._encoders)([_readable(text) for text in texts])
            except Exception as error:  # foreign code: whatever a model library raises, it cannot answer
                raise EmbedderError(
                    f"{self.model!r} cannot embed: {error}",
                    hint="Check the model's name, and that its weights are here or can be downloaded.",
                ) from error
            vectors = unit_vectors(rows, count=len(texts), dimensions=self._dimensions, source=repr(self.model))
            self._dimensions = vectors.shape[1] or None
            return vectors


class FastembedModel(Protocol):
    """What we use of `fastembed.TextEmbedding`."""

    def passage_embed(self, texts: list[str], /, *, batch_size: int) -> Iterable[ArrayLike]: ...

    def query_embed(self, query: list[str], /, *, batch_size: int) -> Iterable[ArrayLike]: ...


class FastembedEmbedder(_LocalEmbedder):
    """A model of fastembed's list, on the CPU through ONNX."""

    def __init__(
        self, model: str = MULTILINGUAL_MODEL, *, loaded: FastembedModel | None = None, batch_size: int = 64
    ) -> None:
        if loaded is None:
            require("fastembed", "FastembedEmbedder")

        def load() -> _Encoders:
            encoder: FastembedModel = loaded or import_module("fastembed").TextEmbedding(model_name=model)
            return _Encoders(
                documents=lambda texts: list(encoder.passage_embed(texts, batch_size=batch_size)),
                queries=lambda texts: list(encoder.query_embed(texts, batch_size=batch_size)),
            )

        super().__init__(model, id=f"fastembed:{model}", load=load)


class SentenceTransformersModel(Protocol):
    """What we use of `sentence_transformers.SentenceTransformer`."""

    def encode_document(
        self, texts: list[str], /, *, prompt: str | None, batch_size: int, show_progress_bar: bool
    ) -> Iterable[ArrayLike]: ...

    def encode_query(
        self, texts: list[str], /, *, prompt: str | None, batch_size: int, show_progress_bar: bool
    ) -> Iterable[ArrayLike]: ...


class SentenceTransformersEmbedder(_LocalEmbedder):
    """Any model of sentence-transformers. Without prompts of yours it uses those the model brings along."""

    def __init__(
        self,
        model: str = MULTILINGUAL_MODEL,
        *,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        loaded: SentenceTransformersModel | None = None,
        batch_size: int = 32,
    ) -> None:
        if loaded is None:
            require("sentence-transformers", "SentenceTransformersEmbedder")

        def load() -> _Encoders:
            encoder: SentenceTransformersModel = loaded or import_module("sentence_transformers").SentenceTransformer(
                model
            )
            return _Encoders(
                documents=lambda texts: list(
                    encoder.encode_document(
                        texts, prompt=document_prompt, batch_size=batch_size, show_progress_bar=False
                    )
                ),
                queries=lambda texts: list(
                    encoder.encode_query(texts, prompt=query_prompt, batch_size=batch_size, show_progress_bar=False)
                ),
            )

        super().__init__(model, id=f"sentence-transformers:{model}{_mark(query_prompt, document_prompt)}", load=load)


def _mark(*prompts: str | None) -> str:
    """A few letters that differ with the prompts, because the vectors do."""
    return "+" + hashlib.sha256(repr(prompts).encode()).hexdigest()[:8] if any(prompts) else ""


def _readable(text: str) -> str:
    """Valid Unicode: tokenizers refuse half a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")
