"""Searches and changes from many threads at once; every wait is bounded."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.support import PATIENCE
from tests.support.search import Concepts, make, office, sure_above
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions


def together(*acts: Callable[[], object]) -> None:
    """Run all of these at once; the first error of any is raised."""
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> None:
        start.wait(PATIENCE)
        act()

    with ThreadPoolExecutor(len(acts)) as pool:
        running: list[Future[None]] = [pool.submit(run, act) for act in acts]
        for future in running:
            future.result(PATIENCE)


def test_many_threads_get_the_answers_one_thread_gets() -> None:
    index = ToolIndex(office())
    queries = ["send a mail", "weather in Oslo", "play a song", "смотреть погоду", "book a flight and play a song"]
    expected = {query: index.search(query).hits for query in queries}
    fresh = ToolIndex(office())  # its first search is a race, too

    def ask() -> None:
        for _ in range(20):
            for query in queries:
                assert fresh.search(query).hits == expected[query]

    together(*[ask] * 6)


def test_searches_go_on_while_the_catalog_changes() -> None:
    catalog = office()
    index = ToolIndex(catalog, options=SearchOptions(abstain=False))
    always = {tool.name for tool in catalog}
    coming = [f"castle_{number}" for number in range(40)]
    known = always | set(coming)

    def change(own: list[str]) -> Callable[[], None]:
        def act() -> None:
            for name in own:
                catalog.add(make(name, f"Storm the castle {name}."))
                catalog.replace(make(name, f"Paint the castle {name}."))
                catalog.remove(name)

        return act

    def search() -> None:
        for _ in range(60):
            found = index.search("paint the castle and send an e-mail", limit=10)
            assert set(found.names) <= known
            assert len(set(found.names)) == len(found.names)

    def look() -> None:
        for _ in range(60):
            assert index.search("send_mail").names[0] == "send_mail"
            assert index.similar("send_mail")
            assert index.explain("send mail", "send_mail").matched
            assert len(index) >= len(always)

    def learn() -> None:
        for number in range(60):
            index.learn(f"castle {number}", "send_mail")
        index.forget()

    together(change(coming[::2]), change(coming[1::2]), search, search, look, learn)
    assert len(index) == len(always)
    query = "write to a colleague about money"
    assert index.search(query).hits == ToolIndex(office(), options=SearchOptions(abstain=False)).search(query).hits


def test_a_tool_is_found_right_after_it_was_added_in_the_same_thread() -> None:
    catalog = Catalog()
    index = ToolIndex(catalog)

    def act(which: int) -> Callable[[], None]:
        def run() -> None:
            for number in range(15):
                name = f"tool_{which}_{number}"
                catalog.add(make(name, "Something."))
                assert index.search(name).names[0] == name
                catalog.remove(name)
                assert name not in index.search(name).names

        return run

    together(*(act(which) for which in range(5)))


def searched(index: ToolIndex) -> object:
    return index.search("play_music")


@pytest.mark.parametrize("look", [len, searched])
def test_tools_may_change_while_a_request_is_embedded(look: Callable[[ToolIndex], object]) -> None:
    """Numbers are given again: what was found before the change must not name what came after it."""
    catalog = Catalog([make("send_mail", "Send mail."), make("play_music", "Play music.")])
    embedder = Concepts("mail letter", "music")
    index = ToolIndex(catalog, embedder, strategies=sure_above(1.0), options=SearchOptions(abstain=False))
    index.search("warm up")

    def swap() -> None:
        embedder.before_queries = lambda: None
        catalog.remove("send_mail")
        catalog.add(make("feed_cats", "Feed cats."))
        look(index)  # the index takes it in

    embedder.before_queries = swap
    found = index.search("mail letter")
    assert set(found.names) <= {"play_music", "feed_cats"}
    assert "send_mail" not in found.names
    assert not any("mail" in hit.why for hit in found.hits)


def test_tools_that_came_without_vectors_while_a_request_was_embedded_are_searched_by_words() -> None:
    catalog = Catalog([make("send_mail", "Send mail.")])
    embedder = Concepts("mail letter", "music")
    index = ToolIndex(catalog, embedder, strategies=sure_above(1.0), options=SearchOptions(abstain=False))
    index.search("warm up")

    def add() -> None:
        embedder.before_queries = lambda: None
        catalog.add(make("feed_cats", "Feed the hungry cats."))
        embedder.down = True
        assert index.search("send_mail").names[0] == "send_mail"

    embedder.before_queries = add
    assert set(index.search("feed hungry cats").names) == {"send_mail", "feed_cats"}


def test_a_request_that_is_being_embedded_holds_up_no_other_search() -> None:
    embedder = Concepts("mail letter")
    index = ToolIndex(office(), embedder, strategies=sure_above(0.0), options=SearchOptions(abstain=False))
    index.search("warm up")
    waiting, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        waiting.set()
        assert go_on.wait(PATIENCE)

    embedder.before_queries = wait
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(index.search, "lettre")  # no word is known: it has to be embedded
        assert waiting.wait(PATIENCE)
        assert index.search("weather forecast").names[0] == "get_weather"  # the words are enough
        assert not slow.done()
        go_on.set()
        slow.result(PATIENCE)
    assert embedder.queries[-1] == "lettre"
