"""Whatever a request is made of, the index has an answer: defined, and never an exception."""

from time import thread_time

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.search import cms_tools, make, office
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import SearchInputError
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import MAX_LIMIT, SearchOptions
from toolcrib.tools.tool import Tool

NOTHING = ((), "none", "The request has no words.")


@pytest.fixture(scope="module")
def index() -> ToolIndex:
    return ToolIndex(office())


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "\t\n\r  ",
        "...",
        "?!",
        "😀",
        "👩‍👩‍👧‍👦🎉",
        "\x00\x01\x1b\x7f",
        "\ud800",
        "\udfff\ud800",
        "—",
        "___",
        "\u200b\ufeff",
    ],
    ids=ascii,
)
def test_a_request_without_words_asks_for_nothing(index: ToolIndex, query: str) -> None:
    found = index.search(query)
    assert (found.hits, found.path, found.reason) == NOTHING
    assert (found.confidence, found.warnings) == (0.0, ())


def test_what_is_no_text_or_no_number_is_named(index: ToolIndex) -> None:
    with pytest.raises(SearchInputError, match="The query is None, not a text"):
        index.search(None)  # pyright: ignore[reportArgumentType] - that is the mistake
    with pytest.raises(SearchInputError, match="The limit is '5', not a whole number"):
        index.search("mail", limit="5")  # pyright: ignore[reportArgumentType] - that is the mistake


@pytest.mark.parametrize("limit", [0, -1, -(10**12)])
def test_no_hits_can_be_asked_for(index: ToolIndex, limit: int) -> None:
    found = index.search("send_mail", limit=limit)
    assert (found.hits, found.path) == ((), "none")


@pytest.mark.parametrize("limit", [MAX_LIMIT, MAX_LIMIT + 1, 2**63, 10**30])
def test_a_huge_limit_gives_what_there_is(index: ToolIndex, limit: int) -> None:
    found = index.search("send_mail", limit=limit)
    assert found.names[0] == "send_mail"
    assert len(found.names) <= 8


@pytest.mark.parametrize(
    "query",
    [
        "weather in Oslo " * 6_250,
        "x" * 100_000,
        "天气" * 50_000,
        "and " * 25_000,
        "weather. " * 11_000,
        "a_b " * 25_000,
        "🙂 " * 50_000,
        "(" * 100_000,
        "\n" * 100_000,
        "e\u0301" * 50_000,
        "\u0300" * 100_000,
    ],
    ids=[
        "words",
        "one word",
        "one run",
        "fillers",
        "sentences",
        "names",
        "emoji",
        "brackets",
        "lines",
        "accents",
        "marks",
    ],
)
def test_a_hundred_kilobytes_are_answered(index: ToolIndex, query: str) -> None:
    before = thread_time()  # not the clock on the wall: the machine may have other things to do
    found = index.search(query)
    assert len(found.hits) <= 5
    assert thread_time() - before < 5


def test_a_long_request_is_read_from_its_beginning(index: ToolIndex) -> None:
    assert index.search("what will the weather be in Oslo? " + "x" * 100_000).names[:1] in (("get_weather",), ())


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("☀️ weather in Oslo ☀️", "get_weather"),
        ("weather\x00in\x1bOslo", "get_weather"),
        ("weather\ud83d in Oslo\udc00", "get_weather"),
        ("ＷＥＡＴＨＥＲ in Oslo", "get_weather"),
        ("wea\u00adther in\u200b Oslo", "get_weather"),
        ("WEATHER IN OSLO!!!", "get_weather"),
        ("wether forcast", "get_weather"),
    ],
    ids=ascii,
)
def test_noise_does_not_hide_the_words(query: str, name: str) -> None:
    assert ToolIndex(office(), options=SearchOptions(abstain=False)).search(query).names[0] == name


@pytest.mark.parametrize(
    "query",
    ["ⴰⵣⵓⵍ ⴼⵍⵍⴰⵡⵏ", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", "ꦲꦏ꧀ꦱꦫꦗꦮ", "𐤀𐤁𐤂 𐤃𐤄𐤅", "ᐃᓄᒃᑎᑐᑦ", "qwertz uiopü"],
)
def test_a_language_it_never_saw_finds_nothing(index: ToolIndex, query: str) -> None:
    found = index.search(query)
    assert (found.hits, found.path) == ((), "none")
    assert found.reason


def test_tools_may_hold_any_text() -> None:
    strange = make("strange", "\ud800 broken \x00 text \udfff 🎉", "\ud83d", "", category="\ud800", related=["\ud800"])
    silent = make("_", "", "   ")
    index = ToolIndex(Catalog([strange, silent, make("long", "word " * 20_000)]), options=SearchOptions(abstain=False))
    assert index.search("broken text").names[0] == "strange"
    assert index.search("strange").path == "exact"
    assert index.explain("broken", "_").lexical_rank is None
    assert index.explain("", "_").path in ("exact", "none", "dense")
    assert index.similar("_")
    index.learn("\ud800 broken", "_")
    assert index.search("broken").hits


@settings(max_examples=150)
@given(
    query=st.text(st.characters(exclude_categories=()), max_size=200)
    | st.lists(
        st.sampled_from(
            ["page", "image ", " and ", "删除", "zdjęcie", "\ud800", "_", "cms_getPage", "?", "'", '"', "\x00"]
        ),
        max_size=30,
    ).map("".join),
    limit=st.integers(-5, 200),
    hidden=st.booleans(),
)
def test_no_request_raises(query: str, limit: int, hidden: bool) -> None:
    def gets_nothing(tool: Tool) -> bool:
        return "get" not in tool.name

    where = gets_nothing if hidden else None
    for index in FUZZED:
        found = index.search(query, limit=limit, where=where)
        assert len(found.hits) <= max(0, limit)
        assert 0 <= found.confidence <= 1
        assert len(set(found.names)) == len(found.names)
        assert bool(found.hits) == (found.path != "none")
        assert bool(found.hits) != bool(found.reason)
        assert not hidden or not any("get" in name for name in found.names)
        assert index.explain(query, "cms_getPage").render()


FUZZED = [
    ToolIndex(Catalog(cms_tools())),
    ToolIndex(Catalog([make("cms_getPage", "Get a page.")]), options=SearchOptions(abstain=False)),
]
