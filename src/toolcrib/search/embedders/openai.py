"""The embedder for any OpenAI-compatible endpoint: OpenAI, Azure, Ollama, vLLM, llama.cpp, LM Studio and others."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

import numpy as np

from toolcrib.errors import EmbedderError, require
from toolcrib.search.embedders.embedder import Embedder, unit_vectors
from toolcrib.search.kernels.rows import Vectors

OPENAI_HOST = "api.openai.com"
BATCH_CHARACTERS = 200_000  # under OpenAI's 300,000 tokens a request, also where a character is a token
TEXT_CHARACTERS = 8_000  # under its 8,192 tokens a text; what a longer text is about stands at its beginning
DOCUMENT_WAIT_SECONDS = 60.0
DEFAULT_CACHE = ""  # the cache folder of the settings
QUERY_WAIT_SECONDS = 2.0  # a user waits for the query: better no vector than a late one


class OpenAIEmbedder:
    """Asks an endpoint for vectors, in batches, and asks again when it is busy. Safe under threads.

    Documents are repeated up to `retries` times; a query at most once and with short waits, so that a search
    whose endpoint is down soon falls back to words. The key appears in no `repr`, log or error.

    The vectors of documents are kept on disk, so that tools that did not change are never paid for twice: in `cache`,
    by default the cache folder of the settings; None keeps none.
    """

    remote = True

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        api_key: str | None = None,
        base_url: str = "https://api.openai.com/v1",
        dimensions: int | None = None,
        batch_size: int = 256,
        timeout_seconds: float = 20.0,
        retries: int = 4,
        query_prefix: str = "",
        document_prefix: str = "",
        encoding: Literal["float", "base64"] = "float",
        cache: Path | str | None = DEFAULT_CACHE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        require("openai", "OpenAIEmbedder")
        from toolcrib.search.embedders.endpoint import EmbeddingsEndpoint  # late: an HTTP stack

        if batch_size < 1 or retries < 0 or timeout_seconds <= 0 or (dimensions is not None and dimensions < 1):
            raise EmbedderError(
                "`batch_size`, `timeout_seconds` and `dimensions` must be positive, `retries` at least 0."
            )
        self.model = model
        self._place = _place(base_url)
        self._asked_dimensions = dimensions
        self._dimensions = dimensions  # learned at the first reply when not given
        self._batch_size = batch_size
        self._prefixes = (query_prefix, document_prefix)
        self._encoding = encoding
        self._retries = retries
        self._documents = _cached(_Documents(self), cache) if cache is not None else _Documents(self)
        self._endpoint = EmbeddingsEndpoint(
            base_url.rstrip("/"), api_key=_usable(api_key, self._place), timeout_seconds=timeout_seconds, sleep=sleep
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The endpoint, key and model that `TOOLCRIB_EMBEDDER_*` or `OPENAI_API_KEY` name (see `toolcrib.settings`)."""
        from toolcrib.settings import Settings

        settings = Settings.from_environment(environment)
        return cls(settings.embedder_model, api_key=settings.embedder_key, base_url=settings.embedder_url)

    @property
    def id(self) -> str:
        """Names model, place, size and prefixes; it never changes, so that a cache can be keyed by it."""
        prefixes = hashlib.sha256("\0".join(self._prefixes).encode("utf-8", "replace")).hexdigest()[:8]
        ending = f"+{prefixes}" if any(self._prefixes) else ""
        return f"openai:{self.model}@{self._place}#{self._asked_dimensions or 'native'}{ending}"

    @property
    def dimensions(self) -> int:
        """As given, or as learned from a reply; asks the endpoint once when there was none yet."""
        return self._dimensions or self.embed_queries(["dimensions"]).shape[1]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text; only texts never seen before reach the endpoint."""
        vectors = self._documents.embed_documents(texts)
        self._dimensions = vectors.shape[1] or self._dimensions
        return vectors

    def request_documents(self, texts: Sequence[str]) -> Vectors:
        """The same, asked of the endpoint whatever the cache has."""
        prefixed = [self._prefixes[1] + text for text in texts]
        return self._embed(prefixed, retries=self._retries, longest_wait_seconds=DOCUMENT_WAIT_SECONDS)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per request, with the query's prefix and less patience."""
        prefixed = [self._prefixes[0] + text for text in texts]
        return self._embed(prefixed, retries=min(self._retries, 1), longest_wait_seconds=QUERY_WAIT_SECONDS)

    def close(self) -> None:
        """Close the connections; the embedder may still be used and then opens new ones."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.id!r})"

    def _embed(self, texts: Sequence[str], *, retries: int, longest_wait_seconds: float) -> Vectors:
        done: list[Vectors] = []
        for batch in _batches([_sendable(text) for text in texts], self._batch_size):
            body: dict[str, object] = {"model": self.model, "input": batch, "encoding_format": self._encoding}
            if self._asked_dimensions is not None:
                body["dimensions"] = self._asked_dimensions
            rows = self._endpoint.ask(body, retries=retries, longest_wait_seconds=longest_wait_seconds)
            done.append(unit_vectors(rows, count=len(batch), dimensions=self._dimensions, source=repr(self.model)))
            self._dimensions = done[-1].shape[1]
        return np.concatenate(done) if done else np.zeros((0, self._dimensions or 0), dtype=np.float32)


class _Documents:
    """The endpoint itself, for the cache to ask."""

    remote = True

    def __init__(self, embedder: OpenAIEmbedder) -> None:
        self._embedder = embedder
        self.id = embedder.id
        self.embed_documents = embedder.request_documents
        self.embed_queries = embedder.embed_queries

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions


def _cached(documents: Embedder, folder: Path | str) -> Embedder:
    from toolcrib.search.embedders.cache import CachedEmbedder  # late, as the settings: a default may not be needed
    from toolcrib.settings import Settings

    return CachedEmbedder(documents, folder or Settings.from_environment().cache / "vectors")


def _sendable(text: str) -> str:
    """The text as an endpoint takes it: not too long, valid UTF-8, and not empty, which OpenAI refuses."""
    return text[:TEXT_CHARACTERS].encode("utf-8", "replace").decode("utf-8") or " "


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    """The texts in order, at most `size` and about `BATCH_CHARACTERS` at a time."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == size or characters + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _place(base_url: str) -> str:
    """Host, port and path of the endpoint: what tells two services apart and may be shown to anybody."""
    try:
        parts = urlsplit(base_url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise EmbedderError("`base_url` is not a URL.", hint="It looks like 'https://api.openai.com/v1'.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.query:
        raise EmbedderError(
            "`base_url` must start with http:// or https:// and hold no user name, password or query.",
            hint="It looks like 'https://api.openai.com/v1'; the key goes into `api_key`.",
        )
    return f"{parts.hostname}{port}{parts.path.rstrip('/')}"


def _usable(api_key: str | None, place: str) -> str | None:
    """The key as it can stand in a header; other endpoints than OpenAI's may need none."""
    key = (api_key or "").strip()
    if not key and place.partition("/")[0] == OPENAI_HOST:
        raise EmbedderError(
            "OpenAI's embeddings need a key, and none was given.",
            hint="Pass `api_key`, or set OPENAI_API_KEY and call `OpenAIEmbedder.from_environment()`.",
        )
    if not (key.isascii() and key.isprintable()):
        raise EmbedderError("`api_key` holds characters no key has.", hint="Copy it again, without line breaks.")
    return key or None
