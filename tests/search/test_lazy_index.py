"""An index that is made at its first use: it answers as a `ToolIndex` does."""

from dataclasses import replace

from tests.support.search import make, office
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.interface import LazyIndex, SearchIndex
from toolcrib.search.result import SearchResult
from toolcrib.tools.tool import Tool

QUERY = "send an e-mail"


def untimed(found: SearchResult) -> SearchResult:
    return replace(found, took_ms=0.0)


def is_about_mail(tool: Tool) -> bool:
    return "mail" in tool.name


async def test_it_answers_everything_as_the_index_does_that_was_made_at_once() -> None:
    def answers(index: SearchIndex) -> list[object]:
        name = index.search(QUERY).names[0]
        index.learn("tell my boss", name)
        return [
            len(index),
            untimed(index.search(QUERY, limit=3)),
            untimed(index.search(QUERY, where=is_about_mail)),
            untimed(index.only(is_about_mail).search(QUERY)),
            untimed(index.search("tell my boss")),
            index.explain(QUERY, name),
            index.similar(name, limit=2),
        ]

    catalog = office()
    lazy, eager = LazyIndex(catalog), ToolIndex(catalog)
    assert answers(lazy) == answers(eager)
    assert untimed(await lazy.search_async(QUERY)) == untimed(await eager.search_async(QUERY))


def test_its_first_search_sees_what_was_added_before_and_the_next_what_was_added_since() -> None:
    catalog = Catalog()
    index = LazyIndex(catalog)
    catalog.add(make("send_mail", "Send an e-mail."))
    assert index.search("send_mail").names == ("send_mail",)
    catalog.add(make("play_song", "Play a song."))
    assert index.search("play_song").names == ("play_song",)


def test_a_closed_one_follows_the_catalog_no_more() -> None:
    catalog = Catalog([make("send_mail", "Send an e-mail.")])
    index = LazyIndex(catalog)
    index.close()  # nothing was begun yet
    assert len(index) == 1
    index.close()
    catalog.add(make("play_song", "Play a song."))
    assert len(index) == 1
