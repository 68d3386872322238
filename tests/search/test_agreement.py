"""How sure a search is of its first tool depends on how the words of the request agree with it."""

import numpy as np

from tests.support.search import cms_tools, make, near
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.agreement import Ranked, agreement_features
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.index import ToolIndex
from toolcrib.search.lexical import LexicalFeatures
from toolcrib.search.query import SearchOptions
from toolcrib.search.rerank import LateInteraction

ALWAYS = SearchOptions(abstain=False)


def test_a_request_that_fits_is_answered_more_surely_than_one_that_almost_does() -> None:
    index = ToolIndex(
        Catalog(
            [
                make("rename_file", "Give a file another name."),
                make("book_room", "Book a meeting room."),
                make("cancel_booking", "Cancel the booking of a meeting room."),
                make("send_mail", "Send an e-mail."),
                make("list_files", "List the files of a folder."),
            ]
        ),
        options=ALWAYS,
    )
    for fits, almost, tool in (
        ("rename the file report.txt", "rename my cat", "rename_file"),
        ("book a meeting room for tomorrow", "turn on the living room lights", "book_room"),
    ):
        plain, other = index.search(fits), index.search(almost)
        assert plain.names[0] == tool
        assert plain.confidence > other.confidence


def test_what_agrees_changes_no_order() -> None:
    index = ToolIndex(Catalog(cms_tools()), options=ALWAYS)
    runner, query = index._runner, index._start("find a photo of mountains", ALWAYS, None)  # pyright: ignore[reportPrivateUsage] - the ranking before it is no part of a result
    ranked, finished = runner.ranked(query.query, query.vectors), runner.finish(query.query, query.vectors)
    assert finished.ranking == ranked.ranking


def test_words_of_another_candidate_and_of_nobody_are_told_apart() -> None:
    meanings = LateInteraction(BuiltinEmbedder())
    meanings.put([(0, ["rename", "file"]), (1, ["delete", "project"])])
    lexical = LexicalFeatures(*[0.5] * len(LexicalFeatures._fields))
    ranked = Ranked([0, 1], "rename_file", 0.9, 0.9, False, [0.9, 0.1], near(0.8, 0.2), 0.0)
    fits, elsewhere, nowhere = (
        agreement_features(meanings, text, ranked, lexical)
        for text in ("rename file", "rename project", "rename violin")
    )
    assert not np.array_equal(fits, elsewhere)
    assert not np.array_equal(elsewhere, nowhere)
    assert all(np.isfinite(one).all() for one in (fits, elsewhere, nowhere))


def test_a_tool_whose_words_are_still_to_come_can_be_first() -> None:
    meanings = LateInteraction(BuiltinEmbedder())
    own, around = meanings.nearest_words(np.ones((2, 64), dtype=np.float32), [7])
    assert own.shape == around.shape == (2,)
