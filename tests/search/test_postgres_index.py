"""An index in PostgreSQL answers as the one in memory does, for whoever asks and whatever changes."""

from collections.abc import Callable, Generator, Iterable
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer
from tests.support.search import Concepts, cms_tools, make, office, sure_above
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import PolicyError, StoreError
from toolcrib.postgres.index import arms as postgres_dense, arms as postgres_lexical
from toolcrib.postgres.index.filter import Filter, FilterRule
from toolcrib.postgres.index.index import PostgresIndex
from toolcrib.search.embedders.embedder import RESTING
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import NOTHING_FITS, SearchOptions
from toolcrib.search.result import SearchResult
from toolcrib.tools.tool import Tool

REQUESTS = (
    "find a picture of mountains",
    "znajdź zdjęcie gór",
    "Seite veröffentlichen",
    "publishh the post",
    "create a page about bees and add a photo of a meadow to it",
    "delete everything",
    "画像を検索",
    "cms_getPage",
    "please call cms_getPage and cms_listPages for me",
    "cms get page",
    "how are you?",
    "colourless green ideas",
)
Opened = Callable[..., PostgresIndex]


@pytest.fixture
def opened(postgres_url: str) -> Generator[Opened]:
    indexes: list[PostgresIndex] = []

    def make_index(tools: Iterable[Tool] = (), embedder: Any = None, **options: Any) -> PostgresIndex:
        index = PostgresIndex(postgres_url, embedder, **options)
        indexes.append(index)
        index.fill(tools)
        return index

    yield make_index
    for index in indexes:
        index.close()


@pytest.fixture(scope="module")
def cms(postgres: PostgresServer) -> Generator[tuple[PostgresIndex, ToolIndex]]:
    tools = cms_tools()
    index = PostgresIndex(postgres.new_database())
    index.fill(tools)
    yield index, ToolIndex(Catalog(tools))
    index.close()


def said(result: SearchResult) -> tuple[object, ...]:
    return [(hit.name, hit.why) for hit in result.hits], result.path, result.reason, result.warnings


@pytest.mark.parametrize("request_text", [*REQUESTS, "publishh the page", "serach imges", "chnage the docuemnt"])
def test_it_answers_as_the_index_in_memory(cms: tuple[PostgresIndex, ToolIndex], request_text: str) -> None:
    found, expected = (index.search(request_text) for index in cms)
    assert said(found) == said(expected)
    assert found.confidence == pytest.approx(expected.confidence, abs=0.02)
    assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in expected.hits], abs=0.02)


@pytest.mark.parametrize("request_text", REQUESTS)
def test_it_answers_so_as_well_where_the_graph_is_walked_and_words_are_frequent(
    cms: tuple[PostgresIndex, ToolIndex], request_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_dense, "COMPARE_ALL_UP_TO", 0)
    monkeypatch.setattr(postgres_lexical, "ENOUGH", 30)
    there, here = cms
    found, expected = there.search(request_text), here.search(request_text)
    assert (found.names[:1], found.path) == (expected.names[:1], expected.path)


def test_few_candidates_are_found_by_pairs_of_frequent_words(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_lexical, "ENOUGH", 3)
    tools = [make(f"get_{thing}_{number}", f"Get the {thing}.") for thing in ("page", "user") for number in range(5)]
    index = opened([*tools, make("get_page_of_user", "Get the page of a user.")], strategies=sure_above(0))
    assert index.search("get page user").names[0] == "get_page_of_user"
    assert index.search("get").names  # every tool has it
    assert index.search("get page of unicorn").hits


async def test_it_can_be_asked_from_an_event_loop(cms: tuple[PostgresIndex, ToolIndex]) -> None:
    assert (await cms[0].search_async("cms_getPage", limit=1)).names == ("cms_getPage",)


def test_requests_that_say_nothing_are_not_asked(cms: tuple[PostgresIndex, ToolIndex]) -> None:
    assert [cms[0].search(text, limit=limit).reason for text, limit in (("?!", 5), ("page", 0))] == [
        "The request has no words.",
        "No tools were wanted.",
    ]


def test_an_empty_index_says_so(opened: Opened) -> None:
    index = opened()
    assert (len(index), index.search("anything").reason) == (0, "There are no tools.")


def test_what_was_put_is_found_and_what_was_removed_is_not(opened: Opened) -> None:
    index = opened(office())
    assert index.put([make("brew_coffee", "Brew a cup of espresso.")]) == 1
    assert (index.search("an espresso, please").names[0], len(index)) == ("brew_coffee", 9)
    assert index.put([make("brew_coffee", "Brew a pot of tea.")], removed=["play_music", "unheard_of"]) == 2
    assert (index.search("tea").names[0], index.search("play_music").path, len(index)) == ("brew_coffee", "none", 8)
    assert index.remove(["brew_coffee"]) == 1
    assert index.search("brew coffee").reason == NOTHING_FITS


def test_the_same_tools_put_again_change_nothing(opened: Opened) -> None:
    index = opened(office())
    assert index.put(office()) == 0
    assert opened(office()).put([*office(), make("new_one")]) == 1


def test_the_words_of_tools_that_went_are_forgotten(opened: Opened, postgres_url: str) -> None:
    import psycopg

    index = opened(office(), tenant="a")
    index.remove([tool.name for tool in office()])
    with psycopg.connect(postgres_url) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM toolcrib_index_{table}").fetchone()  # type: ignore[arg-type]
            for table in ("term", "word", "tool_256")
        ]
        kept = connection.execute("SELECT tools, tokens FROM toolcrib_index").fetchone()
    assert (counts, kept) == ([(0,), (0,), (0,)], (0, 0))


def test_companions_come_along(opened: Opened) -> None:
    found = opened(office(), options=SearchOptions(abstain=False)).search("send_mail", limit=3)
    assert [(hit.name, hit.why) for hit in found.hits[:2]] == [
        ("send_mail", "words: send, mail"),
        ("find_contact", "often used with send_mail"),
    ]


def test_a_tool_called_by_name_comes_first_as_it_was_spelled(opened: Opened) -> None:
    index = opened([make("get_page"), make("getPage"), make("get-page")])
    assert [index.search(name).names[0] for name in ("getPage", "get-page", "get_page")] == [
        "getPage",
        "get-page",
        "get_page",
    ]


def test_hidden_tools_are_not_found_by_any_way(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = Filter((FilterRule(shows=False, name="send_*"), FilterRule(shows=False, name="find_contact")))
    index = opened([*office(), make("write_mail", "Write an e-mail.", related=["find_contact"])])
    for up_to in (0, 2_000):
        monkeypatch.setattr(postgres_dense, "COMPARE_ALL_UP_TO", up_to)
        for text in ("send_mail", "send an e-mail", "write to a colleague", "write_mail", "phone number of a person"):
            assert not {"send_mail", "find_contact"} & set(index.search(text, where=hidden, limit=100).names)
            assert index.only(hidden).search(text, limit=100).names == index.search(text, where=hidden, limit=100).names


def test_a_condition_that_only_python_understands_is_refused(cms: tuple[PostgresIndex, ToolIndex]) -> None:
    with pytest.raises(PolicyError, match="cannot be asked inside a database"):
        cms[0].search("page", where=lambda tool: True)


def test_a_few_tools_are_found_among_very_many_of_others(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_dense, "COMPARE_ALL_UP_TO", 0)
    opened([make(f"send_mail_{number}", "Send an e-mail to somebody.") for number in range(300)], tenant="many")
    index = opened(office(), tenant="few")
    assert index.search("an electronic letter to my friend", limit=1).names == ("send_mail",)


def test_an_embedder_that_fails_is_left_alone_for_a_while(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    embedder, now = Concepts("mail letter", "weather rain"), 0.0
    index = opened(office(), embedder, strategies=sure_above(1), clock=lambda: now)
    assert index.search("a letter").names[0] == "send_mail"
    embedder.down = True
    assert index.search("weather of a city").warnings == ("Searched by words alone: The model server does not answer.",)
    assert index.search("weather of a city").warnings == (RESTING,)
    embedder.down, now = False, 31.0
    assert index.search("weather of a city").warnings == ()
    assert "Search falls back to words alone" in caplog.text


def test_vectors_of_two_embedders_are_never_mixed(opened: Opened) -> None:
    opened(office(), Concepts("mail", id="one:1"))
    with pytest.raises(StoreError, match="was made with one:1, not with two:1"):
        opened(office(), Concepts("mail", id="two:1"))


@pytest.mark.process
def test_a_search_survives_a_restart_of_postgresql() -> None:
    with PostgresServer(in_memory=True) as server:
        index = PostgresIndex(server.new_database())
        index.put(office())
        assert index.search("send an e-mail").names[0] == "send_mail"
        server.restart()
        assert index.search("send an e-mail").names[0] == "send_mail"
        index.close()


def test_a_database_that_is_not_there_is_told() -> None:
    index = PostgresIndex("postgresql://nobody@127.0.0.1:9/none")
    with pytest.raises(StoreError, match="cannot be reached"):
        index.search("send an e-mail")


def test_a_database_that_may_only_be_read_can_be_searched(opened: Opened, postgres_url: str) -> None:
    opened(office())
    with PostgresIndex(f"{postgres_url}&options=-c%20default_transaction_read_only%3Don") as standby:
        assert standby.search("send an e-mail").names[0] == "send_mail"
        with pytest.raises(StoreError, match="it is a standby"):
            standby.put([make("brew_coffee")])
