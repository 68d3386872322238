"""Embedders turn texts into vectors: the built-in table, endpoints, local models, and a cache for any of them."""

from typing import TYPE_CHECKING

from toolcrib.errors import UnknownEmbedderError

if TYPE_CHECKING:
    from toolcrib.search.embedders.embedder import Embedder
    from toolcrib.settings import Settings

BUILTIN = "builtin"
EMBEDDERS = (BUILTIN, "openai", "fastembed", "sentence-transformers")


def check_embedder(name: str) -> tuple[str, str]:
    """The kind and the model that a name such as `openai:bge-m3` stands for; the model may be empty.

    Raises:
        UnknownEmbedderError: There is no such kind, or the built-in embedder is given a model.
    """
    kind, _, model = (part.strip() for part in name.partition(":"))
    if kind not in EMBEDDERS or (kind == BUILTIN and model):
        raise UnknownEmbedderError(name, EMBEDDERS)
    return kind, model


def open_embedder(name: str | None = None, settings: "Settings | None" = None) -> "Embedder":
    """The embedder that a name stands for: `builtin`, or `openai`, `fastembed`, `sentence-transformers`, with `:model`.

    `openai` takes its address, its key and, without `:model`, its model from the settings (`TOOLCRIB_EMBEDDER_*`).
    All but the built-in one keep the vectors of documents in the cache folder.

    Raises:
        UnknownEmbedderError: There is no embedder of that name.
        MissingExtraError: Its packages are not installed.
        EmbedderError: It cannot be used like this, such as OpenAI's endpoint without a key.
    """
    kind, model = check_embedder(name or BUILTIN)
    if kind == BUILTIN:
        from toolcrib.search.embedders.builtin import BuiltinEmbedder  # late, as below: numpy

        return BuiltinEmbedder()
    from toolcrib.search.embedders.cache import CachedEmbedder
    from toolcrib.settings import Settings

    settings = settings or Settings.from_environment()
    return CachedEmbedder(_uncached(kind, model, settings), settings.cache / "vectors")


def _uncached(kind: str, model: str, settings: "Settings") -> "Embedder":
    if kind == "openai":
        from toolcrib.search.embedders.openai import OpenAIEmbedder

        return OpenAIEmbedder(
            model or settings.embedder_model,
            api_key=settings.embedder_key,
            base_url=settings.embedder_url,
            cache=None,  # kept by the wrapper, as of all others
        )
    from toolcrib.search.embedders.local import (
        MULTILINGUAL_MODEL,
        FastembedEmbedder,
        SentenceTransformersEmbedder,
    )

    make = FastembedEmbedder if kind == "fastembed" else SentenceTransformersEmbedder
    return make(model or MULTILINGUAL_MODEL)
