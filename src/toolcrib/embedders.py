"""The embedders under one name: the built-in one, endpoints, local models, and a cache for any of them."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.search.embedders import open_embedder as open_embedder
    from toolcrib.search.embedders.builtin import BuiltinEmbedder as BuiltinEmbedder
    from toolcrib.search.embedders.cache import CachedEmbedder as CachedEmbedder
    from toolcrib.search.embedders.embedder import Embedder as Embedder
    from toolcrib.search.embedders.local import (
        FastembedEmbedder as FastembedEmbedder,
        SentenceTransformersEmbedder as SentenceTransformersEmbedder,
    )
    from toolcrib.search.embedders.openai import OpenAIEmbedder as OpenAIEmbedder

_HOMES = {
    "BuiltinEmbedder": "toolcrib.search.embedders.builtin",
    "CachedEmbedder": "toolcrib.search.embedders.cache",
    "Embedder": "toolcrib.search.embedders.embedder",
    "FastembedEmbedder": "toolcrib.search.embedders.local",
    "OpenAIEmbedder": "toolcrib.search.embedders.openai",
    "SentenceTransformersEmbedder": "toolcrib.search.embedders.local",
    "open_embedder": "toolcrib.search.embedders",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
