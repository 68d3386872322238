"""Requests are read, and tools scored by their words, as in memory."""

from collections.abc import Generator

import psycopg
import pytest

from benchmarks.postgres_server import PostgresServer
from tests.support.search import cms_tools, make
from toolcrib.postgres.index.arms import PostgresLexical, PostgresWords, Request
from toolcrib.postgres.index.tenant import TenantIndex
from toolcrib.postgres.index.writer import PostgresWriter
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.lexical import LexicalIndex

TEXTS = (
    "publish a page",
    "publsh a pge",
    "zdjęcia i obrazki",
    "GitHub issue in a GitHub repository",
    "画像を検索してください",
    "Bildersuche",
    "auth pages pages paging",
    "an image, its images, imagery",
    "supercalifragilistic",
    "don't quote \\ me 'here'",
    "a" * 100,
    "mountainphotograph",
)


@pytest.fixture(scope="module")
def both(postgres: PostgresServer) -> Generator[tuple[TenantIndex, LexicalIndex]]:
    tools = [
        *cms_tools(),
        make("github_listIssues", "List the issues of a GitHub repository.", "don't forget 'quotes' \\ here"),
        make("long", "many different words " + " ".join(f"word{number} repeated repeated" for number in range(400))),
        make("search_images_ja", "画像を検索します。"),
        make("mountain", "A mountain."),
    ]
    shelf = TenantIndex(postgres.new_database(), "cms", BuiltinEmbedder())
    with shelf.connection() as connection:
        PostgresWriter(shelf.tenant, BuiltinEmbedder()).apply(connection, (), tools)
    lexical = LexicalIndex()
    lexical.add(list(enumerate(tools)))
    yield shelf, lexical
    shelf.close()


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_read_as_in_memory(both: tuple[TenantIndex, LexicalIndex], text: str) -> None:
    shelf, lexical = both
    with shelf.connection() as connection:
        reading = PostgresWords(shelf.tenant).read(connection, [text], shelf.size(connection))
    assert reading.words[text] == lexical.read(text)


@pytest.mark.parametrize("text", TEXTS)
def test_tools_are_scored_as_in_memory(both: tuple[TenantIndex, LexicalIndex], text: str) -> None:
    shelf, lexical = both
    with shelf.connection() as connection:
        size = shelf.size(connection)
        reading = PostgresWords(shelf.tenant).read(connection, [text], size)
        found = PostgresLexical(connection, Request(shelf.table, shelf.tenant), reading).search(text, 50)
    expected = lexical.search(text, 50)
    assert list(found.scores) == pytest.approx(list(expected.scores), rel=1e-9)
    assert found.terms == expected.terms


def test_what_was_looked_up_is_remembered_until_the_index_changes(postgres_url: str) -> None:
    shelf = TenantIndex(postgres_url, "", BuiltinEmbedder())
    writer, words = PostgresWriter(shelf.tenant, BuiltinEmbedder()), PostgresWords(shelf.tenant)
    with shelf.connection() as connection:
        writer.apply(connection, (), [make("get_page")])
        size = shelf.size(connection)
        first = words.read(connection, ["page"], size).words["page"]
        with psycopg.connect(postgres_url) as other:
            other.execute("DELETE FROM toolcrib_index_term")
        assert words.read(connection, ["page"], size).words["page"] == first
        writer.apply(connection, (), [make("send_mail")])
        assert not words.read(connection, ["page"], shelf.size(connection)).words["page"][0].known
    shelf.close()
