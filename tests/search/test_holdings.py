"""What only the holdings themselves can show; the rest is tested through the index."""

from tests.support.search import Concepts, make
from toolcrib.search.corpus import Corpus
from toolcrib.search.usage import Usage


def test_numbers_of_tools_that_left_are_used_again() -> None:
    held = Corpus(None, Usage())
    held.apply([], [make("alpha"), make("beta"), make("gamma")])
    held.apply(["alpha", "beta"], [make("delta")])
    held.apply([], [make("epsilon"), make("zeta")])
    assert sorted(number for number, _ in held) == [0, 1, 2, 3]
    assert held.numbers == 4
    assert {tool.name for _, tool in held} == {"gamma", "delta", "epsilon", "zeta"}
    assert all(held.number(tool.name) == number for number, tool in held)
    assert held.number("alpha") is None


def test_a_tool_that_is_not_held_can_go_again() -> None:
    held = Corpus(None, Usage())
    held.apply(["nobody"], [make("alpha")])
    assert [tool.name for _, tool in held] == ["alpha"]


def test_without_an_embedder_there_is_no_meaning_to_settle() -> None:
    held = Corpus(None, Usage())
    held.apply([], [make("alpha")])
    held.embed_pending()
    assert held.dense is None


def test_vectors_are_asked_for_once() -> None:
    embedder = Concepts("feline")
    held = Corpus(embedder, Usage())
    held.embed_pending()
    assert (held.has_pending, held.dense) == (False, None)
    held.apply([], [make("alpha", "Feed the feline.")])
    assert held.has_pending
    held.embed_pending()
    held.embed_pending()
    assert not held.has_pending
    assert embedder.documents == ["alpha Feed the feline.", "alpha"]
