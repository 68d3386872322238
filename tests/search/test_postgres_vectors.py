"""A text that one replica had embedded is never sent to a slow model by another."""

import pytest

from tests.support.search import Concepts, office
from toolcrib.postgres.index.vectors import VectorTable
from toolcrib.search.embedders.cache import CachedEmbedder
from toolcrib.search.index import ToolIndex


def shared(url: str, tenant: str = "") -> tuple[Concepts, CachedEmbedder]:
    model = Concepts("mail letter", "weather rain")
    return model, CachedEmbedder(model, VectorTable(url, model.id, tenant=tenant))


def test_replicas_share_what_was_embedded(postgres_url: str) -> None:
    first, embedder = shared(postgres_url)
    assert ToolIndex(office(), embedder).search("a letter").names[0] == "send_mail"
    second, other = shared(postgres_url)
    assert other.dimensions == first.dimensions
    assert ToolIndex(office(), other).search("a letter").names[0] == "send_mail"
    assert (len(first.documents) > 8, second.documents) == (True, [])
    assert repr(other).endswith("VectorTable(''))")


def test_tenants_do_not_share_vectors(postgres_url: str) -> None:
    _, embedder = shared(postgres_url, "a")
    embedder.embed_documents(["a letter"])
    other, apart = shared(postgres_url, "b")
    assert apart.embed_documents(["a letter"]).shape == (1, other.dimensions)
    assert (other.documents, apart.prune([]), embedder.prune(["a letter"])) == (["a letter"], 1, 0)


def test_without_a_database_texts_are_embedded_as_if_there_were_none(caplog: pytest.LogCaptureFixture) -> None:
    model, embedder = shared("postgresql://nobody@127.0.0.1:9/none")
    embedder.embed_documents(["a letter"])
    assert (model.documents, embedder.prune([])) == (["a letter"], 0)
    assert "Vectors are not shared: The database postgresql://nobody@127.0.0.1:9/none cannot be reached" in caplog.text
