"""What only the corpus itself can show; the rest is tested through the index."""

from tests.support.search import Concepts, make
from toolcrib.search.corpus import Corpus
from toolcrib.search.usage import Usage


def test_ids_of_tools_that_left_are_used_again() -> None:
    corpus = Corpus(Concepts(), Usage())
    corpus.apply([], [make("alpha"), make("beta"), make("gamma")])
    corpus.apply(["alpha", "beta"], [make("delta")])
    corpus.apply([], [make("epsilon"), make("zeta")])
    assert sorted(tool_id for tool_id, _ in corpus) == [0, 1, 2, 3]
    assert corpus.id_count == 4
    assert {tool.name for _, tool in corpus} == {"gamma", "delta", "epsilon", "zeta"}
    assert all(corpus.tool_id(tool.name) == tool_id for tool_id, tool in corpus)
    assert corpus.tool_id("alpha") is None


def test_a_tool_that_is_not_there_can_go_again() -> None:
    corpus = Corpus(Concepts(), Usage())
    corpus.apply(["nobody"], [make("alpha")])
    assert [tool.name for _, tool in corpus] == ["alpha"]


def test_vectors_are_made_only_when_they_are_needed() -> None:
    embedder = Concepts("cat")
    corpus = Corpus(embedder, Usage())
    corpus.apply([], [make("alpha")])
    assert (corpus.dense, embedder.documents) == (None, [])
    corpus.embed_pending()
    assert corpus.dense is not None


def test_vectors_are_asked_for_once() -> None:
    embedder = Concepts("feline")
    corpus = Corpus(embedder, Usage())
    corpus.embed_pending()
    assert (corpus.has_pending, corpus.dense) == (False, None)
    corpus.apply([], [make("alpha", "Feed the feline.")])
    assert corpus.has_pending
    corpus.embed_pending()
    corpus.embed_pending()
    assert not corpus.has_pending
    assert embedder.documents == ["alpha Feed the feline.", "alpha"]
