"""The lexical arm: which tools share words with a request, in what order, and what it knew of the request."""

from collections.abc import Mapping
from math import log
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.support.search import make
from toolcrib.search.lexical import WEIGHTS, LexicalIndex, LexicalMatch, QueryTerm, part_texts
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

pytestmark = pytest.mark.usefixtures("either_way")


async def no_call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    raise NotImplementedError


def tool(name: str, description: str = "", **details: Any) -> Tool:
    return Tool(name=name, description=description, call=no_call, **details)


def index_of(*tools: Tool) -> LexicalIndex:
    """An index of the tools, numbered from 0."""
    index = LexicalIndex()
    index.add(list(enumerate(tools)))
    return index


def rarity(tools: int, frequency: int) -> float:
    return log(1 + (tools - frequency + 0.5) / (frequency + 0.5))


WEATHER = tool("getWeatherByCity", "Current conditions for a place.")
IMAGES = tool("search_images", "Find free stock pictures.", phrases=("look for a photo",), category="media")
INVOICE = tool(
    "create_invoice",
    "Bills a customer.",
    parameters={"type": "object", "properties": {"amount": {"type": "number", "description": "Gross total"}}},
)
CATALOG = (WEATHER, IMAGES, INVOICE)


@pytest.mark.parametrize("name", ["getWeatherByCity", "get_weather_by_city"])
@pytest.mark.parametrize(
    "request_", ["weather city", "GET /weather/{city}", "the Weather of my CITIES?", "ｗｅａｔｈｅｒ"]
)
def test_a_name_is_found_however_it_is_spelled(name: str, request_: str) -> None:
    assert index_of(tool("list_pages"), tool(name), IMAGES).search(request_, 5).tool_ids == (1,)


@pytest.mark.parametrize(
    ("request_", "number"),
    [
        pytest.param("weather", 0, id="name"),
        pytest.param("conditions", 0, id="description"),
        pytest.param("photo", 1, id="phrase"),
        pytest.param("media", 1, id="category"),
        pytest.param("amount", 2, id="parameter name"),
        pytest.param("gross", 2, id="parameter description"),
    ],
)
def test_every_part_of_a_tool_is_searched(request_: str, number: int) -> None:
    assert index_of(*CATALOG).search(request_, 5).tool_ids == (number,)


def test_a_tool_is_texts_by_part_in_the_order_of_their_weights() -> None:
    assert part_texts(INVOICE) == {
        "name": "create_invoice",
        "phrases": "",
        "description": "Bills a customer.",
        "category": "",
        "parameters": "amount Gross total",
    }
    assert list(part_texts(INVOICE)) == list(WEIGHTS)


def test_a_word_in_the_name_counts_more_than_one_in_the_description() -> None:
    found = index_of(tool("publish_page", "Sends a menu."), tool("publish_menu", "Sends a page."), IMAGES)
    assert found.search("page", 5).tool_ids == (0, 1)
    assert found.search("menu", 5).tool_ids == (1, 0)


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    found = index_of(tool("page_a"), tool("page_b"), tool("page_c"), tool("archive_d"))
    assert found.search("page archive", 1).tool_ids == (3,)


def test_scores_fall_and_the_limit_holds() -> None:
    index = index_of(tool("image_search_web"), tool("image_search"), tool("image"), tool("unrelated"))
    match = index.search("image search web", 10)
    assert match.tool_ids == (0, 1, 2)
    assert list(match.scores) == sorted(match.scores, reverse=True)
    assert all(score > 0 for score in match.scores)
    assert index.search("image search web", 2).tool_ids == (0, 1)


@pytest.mark.parametrize(
    ("limit", "numbers"), [(0, ()), (-1, ()), (1, (0,)), (10**15, (0,))], ids=["none", "negative", "one", "huge"]
)
def test_any_limit_will_do(limit: int, numbers: tuple[int, ...]) -> None:
    assert index_of(*CATALOG).search("weather", limit).tool_ids == numbers


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        pytest.param("Bild Suche", "Bildersuche", id="German compound in the request"),
        pytest.param("Bildersuche", "Bild", id="German compound in the tool"),
        pytest.param("Straßenkarte", "STRASSENKARTE", id="German ß"),
        pytest.param("zdjęcie strony", "zdjęcia stron", id="Polish inflection"),
        pytest.param("znajdź zdjęcie", "ZNAJDZ ZDJECIE", id="Polish without accents"),
        pytest.param("hava durumu İstanbul", "ISTANBUL", id="Turkish İ, typed I"),
        pytest.param("istanbul", "İSTANBUL", id="Turkish in capitals"),
        pytest.param("ışık kapat", "IŞIK KAPAT", id="Turkish dotless ı in capitals"),
        pytest.param("weather", "ｗｅａｔｈｅｒ", id="full-width forms"),
        pytest.param("صُوَر", "صور", id="Arabic, vowel points in the tool"),
        pytest.param("صور", "صُوَر", id="Arabic, vowel points in the request"),
        pytest.param("मौसम की जानकारी", "मौसम", id="Hindi"),
        pytest.param("ค้นหารูปภาพฟรี", "รูปภาพ", id="Thai"),
        pytest.param("删除博客文章", "文章删除", id="Chinese"),
        pytest.param("東京の天気を調べる", "天気は？", id="Japanese"),
        pytest.param("ｶﾚﾝﾀﾞｰ", "カレンダー", id="Japanese, half-width"),
        pytest.param("날씨를 알려줘", "날씨", id="Korean particle"),
        pytest.param("погода в городе", "погоду", id="Russian inflection"),
        pytest.param("фильтр", "филтр", id="Russian typo"),
        pytest.param("search images", "serach imges", id="English typos"),
        pytest.param("authenticate", "auth", id="a beginning"),
    ],
)
def test_a_request_finds_the_tool_in_any_language(text: str, request_: str) -> None:
    assert index_of(tool("other", "qqq"), tool("wanted", text), tool("another", "zzz")).search(
        request_, 5
    ).tool_ids == (1,)


def test_a_tool_of_nothing_but_chinese_is_ranked_by_the_characters_it_shares() -> None:
    index = index_of(tool("a", "删除页面"), tool("b", "删除博客文章"), tool("c", "创建博客"))
    assert index.search("我要删除文章", 5).tool_ids == (1, 0)


@pytest.mark.parametrize("request_", ["", "  \n", "😀", "\x00\ud800", "qwrtpsdfgh", "xqzvkjwy 未知"])
def test_a_request_that_shares_nothing_finds_nothing(request_: str) -> None:
    match = index_of(*CATALOG).search(request_, 5)
    assert (match.tool_ids, match.scores, match.known_share) == ((), (), 0.0)


def test_an_empty_request_has_no_words() -> None:
    assert index_of(*CATALOG).search("", 5) == LexicalMatch(tool_ids=(), scores=(), terms=())


def test_a_request_of_fillers_alone_points_at_no_tool() -> None:
    index = index_of(tool("help_me", "What can you do?"), IMAGES)
    assert index.search("what can you do", 5) == LexicalMatch(tool_ids=(), scores=(), terms=())


def test_fillers_beside_telling_words_do_not_count() -> None:
    index = index_of(tool("help_me", "What can you do?"), IMAGES)
    assert index.search("what images can you find", 5).tool_ids == (1,)


def test_a_request_is_read_into_known_guessed_and_unknown_words() -> None:
    assert index_of(*CATALOG).read("find a wether pictures zebra") == (
        QueryTerm(word="find", terms=("find",), rarity=rarity(3, 1)),
        QueryTerm(word="wether", terms=("weather",), rarity=rarity(3, 1), guessed=True),
        QueryTerm(word="pictures", terms=("pictur",), rarity=rarity(3, 1)),
        QueryTerm(word="zebra", terms=(), rarity=rarity(3, 0)),
    )


def test_a_guessed_word_counts_less_than_the_word_itself() -> None:
    index = index_of(*CATALOG)
    (right,), (guessed,) = index.search("weather", 1).scores, index.search("wether", 1).scores
    assert guessed == pytest.approx(0.6 * right, rel=1e-4)


def test_several_guesses_together_count_little_more_than_one() -> None:
    index = index_of(tool("a", "authenticate authorise"), tool("b", "other"))
    (word,) = index.read("auth")
    assert word.terms == ("authent", "authoris")
    both, one = index.search("auth", 1).scores[0], index.search("authenticate", 1).scores[0]
    assert both == pytest.approx(0.6 * 2**0.5 * one, rel=1e-4)


def test_known_share_is_what_the_catalog_has_words_for() -> None:
    match = index_of(*CATALOG).search("weather zebra", 5)
    assert match.known_share == pytest.approx(rarity(3, 1) / (rarity(3, 1) + rarity(3, 0)))


def test_matched_words_are_those_the_tool_holds() -> None:
    index = index_of(*CATALOG)
    asked = index.read("wether and images for an invoice, zebra")
    assert [[word.word for word in words] for words in index.matched(range(3), asked)] == [
        ["wether"],
        ["images"],
        ["invoice"],
    ]


def test_an_index_without_tools_finds_nothing() -> None:
    index = LexicalIndex()
    assert len(index) == 0
    assert index.search("weather", 5).tool_ids == ()
    assert index.search("weather", 5).tool_ids == ()


def test_an_added_tool_is_found() -> None:
    index = index_of(WEATHER)
    assert index.search("images", 5).tool_ids == ()
    index.add([(1, IMAGES)])
    assert (index.search("images", 5).tool_ids, len(index)) == ((1,), 2)


def test_a_removed_tool_is_gone() -> None:
    index = index_of(WEATHER, tool("weather_map"))
    index.remove(0)
    assert (index.search("weather city", 5).tool_ids, len(index)) == ((1,), 1)
    assert index.read("city weather") == (
        QueryTerm(word="city", terms=(), rarity=rarity(1, 0)),
        QueryTerm(word="weather", terms=("weather",), rarity=rarity(1, 1)),
    )


def test_a_replaced_tool_is_found_by_its_new_words_alone() -> None:
    index = index_of(WEATHER, IMAGES)
    index.remove(0)
    index.add([(2, tool("get_forecast"))])
    assert [index.search(text, 5).tool_ids for text in ("weather", "forecast", "images")] == [(), (2,), (1,)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("weather " * 13_000, (0,), id="one word"),
        pytest.param("x" * 100_000, (), id="one letter"),
        pytest.param("天气" * 50_000, (3,), id="a run"),
        pytest.param("未知" * 50_000, (), id="an unknown run"),
        pytest.param("é😀" * 50_000, (), id="odd"),
    ],
)
def test_a_request_of_100_kilobytes_is_answered(text: str, numbers: tuple[int, ...]) -> None:
    assert index_of(*CATALOG, tool("zh", "天气预报")).search(text, 5).tool_ids == numbers


def test_a_request_is_read_up_to_64_words() -> None:
    assert len(index_of(WEATHER).read(" ".join(f"word{number}" for number in range(500)))) == 64


@pytest.fixture(scope="module")
def many_languages() -> LexicalIndex:
    return index_of(*CATALOG, tool("zh", "删除博客文章"), tool("pl", "znajdź zdjęcie"), tool("ru", "фильтр погода"))


@given(text=st.text(st.characters(exclude_categories=()), max_size=200), limit=st.integers(-3, 20))
def test_any_request_is_answered(many_languages: LexicalIndex, text: str, limit: int) -> None:
    match = many_languages.search(text, limit)
    assert len(match.tool_ids) == len(match.scores) <= max(limit, 0)
    assert 0 <= match.known_share <= 1


@given(text=st.text("weathrimgs_ 删文ęźпогда", max_size=60))
def test_what_is_found_shares_a_word_with_the_request(many_languages: LexicalIndex, text: str) -> None:
    match = many_languages.search(text, 20)
    every = range(len(many_languages))
    matched = many_languages.matched(every, match.terms)
    assert set(match.tool_ids) == {number for number, words in zip(every, matched, strict=True) if words}


@pytest.mark.parametrize("request_", ["open a github ticket", "open a GitHub ticket", "open a GITHUB ticket"])
@pytest.mark.parametrize("spelled", ["GitHub", "github"])
def test_a_brand_is_found_however_it_is_spelled(spelled: str, request_: str) -> None:
    index = LexicalIndex()
    index.add([(0, make("new_bug", f"File a bug at {spelled}.")), (1, make("hub", "Switch a hub on."))])
    assert index.search(request_, 5).tool_ids == (0,)
