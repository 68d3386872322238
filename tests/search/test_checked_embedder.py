"""Embedders that others wrote, with whatever they may give."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.search import office, sure_above
from toolcrib.errors import EmbedderError
from toolcrib.search.embedders.builtin import BuiltinEmbedder, checked
from toolcrib.search.embedders.embedder import CheckedEmbedder
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions

SIZE = 16
Numbers = NDArray[np.float64]
Spoil = Callable[[Numbers], Any]


class Own:
    """Counts letters; what it gives for tools and for requests may be spoiled."""

    id = "own:1"
    dimensions = SIZE
    remote = False

    def __init__(self, *, documents: Spoil = np.array, queries: Spoil = np.array) -> None:
        self._documents, self._queries = documents, queries

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self._documents(self._counted(texts))

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return self._queries(self._counted(texts))

    def _counted(self, texts: Sequence[str]) -> Numbers:
        return np.array([[text.count(chr(97 + letter)) + 0.5 for letter in range(SIZE)] for text in texts])


def infinite(vectors: Numbers) -> Numbers:
    vectors[0, 0] = np.inf
    return vectors


def no_number(vectors: Numbers) -> Numbers:
    vectors[0, 0] = np.nan
    return vectors


BAD: dict[str, Spoil] = {
    "no number": no_number,
    "infinite": infinite,
    "too few": lambda vectors: vectors[:-1],
    "flat": lambda vectors: vectors[:, 0],
    "words": lambda vectors: [["a"] * SIZE for _ in vectors],
}


@pytest.mark.parametrize("spoil", BAD.values(), ids=list(BAD))
@pytest.mark.parametrize("side", ["documents", "queries"])
def test_search_goes_by_words_where_vectors_are_none(side: str, spoil: Spoil) -> None:
    found = ToolIndex(office(), Own(**{side: spoil}), strategies=sure_above(1)).search("send an e-mail")
    assert found.names[0] == "send_mail"
    assert found.path == "lexical"
    assert found.warnings[0].startswith("Searched by words alone: 'own:1' gave ")


def test_a_request_of_another_size_than_the_tools_is_refused() -> None:
    own = Own(queries=lambda vectors: vectors[:, :5])
    found = ToolIndex(office(), own, strategies=sure_above(1)).search("send an e-mail")
    assert found.names[0] == "send_mail"
    assert "vectors of 5 dimensions where 16 were expected" in found.warnings[0]


OTHER_KINDS: list[Spoil] = [np.float64, np.float16, lambda vectors: vectors.tolist(), lambda vectors: vectors * 1e6]


@pytest.mark.parametrize("change", OTHER_KINDS)
def test_other_kinds_of_numbers_and_lengths_are_understood(change: Spoil) -> None:
    plain, changed = Own(), Own(documents=change, queries=change)
    expected, found = (
        ToolIndex(office(), own, options=SearchOptions(abstain=False)).search("gjhk dcba") for own in (plain, changed)
    )
    assert not found.warnings
    assert [hit.name for hit in found.hits] == [hit.name for hit in expected.hits]
    assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in expected.hits], abs=0.02)


def test_nothing_to_embed_is_no_mistake() -> None:
    own = CheckedEmbedder(Own())
    assert len(own.embed_documents([])) == 0
    assert own.embed_queries(["a"]).shape == (1, SIZE)
    assert (own.id, own.dimensions, own.remote) == ("own:1", SIZE, False)


def test_an_embedder_is_wrapped_once_and_the_built_in_one_never() -> None:
    builtin, own = BuiltinEmbedder(), checked(Own())
    assert checked(builtin) is builtin
    assert checked(own) is own
    with pytest.raises(EmbedderError):
        checked(Own(queries=BAD["too few"])).embed_queries(["a"])
