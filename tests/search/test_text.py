"""One reading for tools and requests: which words any text gives."""

import pytest
from hypothesis import given, strategies as st

from toolcrib.search.text import MAX_CHARACTERS, brands, is_unspaced, normalise, plain, words

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # also lone surrogates and control characters
ODD = "\x00\x07\x1b\x7f\u200d\u202e\ufeff\ud800\udfff\ufffe\U0001f469\u200d\U0001f467️İıßŉǅﷺ가ก็ガ①_"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("getWeatherByCity", ["get", "weather", "by", "city"], id="camel case"),
        pytest.param("get_weather_by_city", ["get", "weather", "by", "city"], id="snake case"),
        pytest.param("get-weather-by-city", ["get", "weather", "by", "city"], id="kebab case"),
        pytest.param("GET /weather/{city}", ["get", "weather", "city"], id="a route"),
        pytest.param("GET_WEATHER", ["get", "weather"], id="all caps"),
        pytest.param("parseHTTPResponse", ["parse", "http", "response"], id="an acronym inside"),
        pytest.param("HTTPServer2Go", ["http", "server2", "go"], id="a digit before a capital"),
        pytest.param("v2API", ["v2api"], id="a digit before an acronym"),
        pytest.param("weather.in.city()", ["weather", "in", "city"], id="dots and brackets"),
        pytest.param("don't", ["don", "t"], id="an apostrophe"),
        pytest.param("room 101", ["room", "101"], id="digits"),
        pytest.param("ПоискКартинок", ["поиск", "картинок"], id="Cyrillic camel case"),
        pytest.param("βρεςΕικόνα", ["βρεσ", "εικόνα"], id="Greek camel case"),
    ],
)
def test_names_open_into_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("name", ["getWeatherByCity", "get_weather_by_city", "GET /weather/{city}"])
def test_every_spelling_of_a_name_has_the_words_asked_for(name: str) -> None:
    assert set(words("weather city")) <= set(words(name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Ändere die Straßenschilder", ["ändere", "die", "strassenschilder"], id="German"),
        pytest.param("STRASSENSCHILDER", ["strassenschilder"], id="German in capitals"),
        pytest.param("Znajdź ZDJĘCIA", ["znajdź", "zdjęcia"], id="Polish"),
        pytest.param("İSTANBUL HAVA DURUMU", ["istanbul", "hava", "durumu"], id="Turkish in capitals, dotted İ"),
        pytest.param("İstanbul'daki ışıklar", ["istanbul", "daki", "ışıklar"], id="Turkish, dotless ı"),
        pytest.param("Tìm ảnh", ["tìm", "ảnh"], id="Vietnamese"),
        pytest.param("ＧＥＴ＿ｗｅａｔｈｅｒ　１２", ["get", "weather", "12"], id="full-width forms"),
        pytest.param("ﬁnd ① ℡", ["find", "1", "tel"], id="ligature and symbols"),
        pytest.param("اِبحَث عن صُوَر", ["اِبحَث", "عن", "صُوَر"], id="Arabic with vowel points"),
        pytest.param("صـــور", ["صور"], id="Arabic, stretched"),
        pytest.param("חפש תמונות", ["חפש", "תמונות"], id="Hebrew"),
        pytest.param("मौसम की जानकारी।", ["मौसम", "की", "जानकारी"], id="Hindi"),
        pytest.param("বাংলা আবহাওয়া", ["বাংলা", "আবহাওয়া"], id="Bengali"),
        pytest.param("வானிலை அறிக்கை", ["வானிலை", "அறிக்கை"], id="Tamil"),
        pytest.param("ค้นหารูปภาพ ฟรี", ["ค้นหารูปภาพ", "ฟรี"], id="Thai"),
        pytest.param("删除博客文章，谢谢！", ["删除博客文章", "谢谢"], id="Chinese"),
        pytest.param("東京の天気を調べる。", ["東京の天気を調べる"], id="Japanese"),
        pytest.param("ﾃﾝｷ・ガス", ["テンキ", "ガス"], id="Japanese, half-width and decomposed"),
        pytest.param("날씨를 알려줘", ["날씨를", "알려줘"], id="Korean"),
        pytest.param("ស្វែងរក", ["ស្វែងរក"], id="Khmer"),
        pytest.param("weather天气API", ["weather", "天气", "api"], id="two scripts in one word"),
        pytest.param("wyślij email do 田中さん", ["wyślij", "email", "do", "田中さん"], id="three languages"),
    ],
)
def test_every_script_is_read(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " \t\r\n", "\x00\x01\x1b", "\ud800\udfff", "😀👩‍👩‍👧🏽", "!?…—()[]{}", "___", "\u200b\ufeff"],
    ids=["empty", "whitespace", "control", "surrogates", "emoji", "punctuation", "underscores", "invisible"],
)
def test_what_says_nothing_gives_no_words(text: str) -> None:
    assert words(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("find\x00hero\x1bimage", ["find", "hero", "image"], id="control characters part words"),
        pytest.param("\ud800find\udfff", ["find"], id="lone surrogates are left out"),
        pytest.param("find😀image", ["find", "image"], id="emoji part words"),
        pytest.param("fi\u00adnd im\u200bage", ["find", "image"], id="soft hyphens and zero widths join"),
        pytest.param("cafe\u0301", ["café"], id="an accent of its own is put on its letter"),
    ],
)
def test_odd_characters_leave_the_words_alone(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "letters", ["weather ", "x", "天", "é ", "😀", "\x00", "İ"], ids=["words", "x", "CJK", "é", "emoji", "NUL", "İ"]
)
def test_a_text_of_100_kilobytes_is_read_as_far_as_it_tells(letters: str) -> None:
    text = letters * (100_000 // len(letters))
    assert words(text) == words(text[:MAX_CHARACTERS])


@given(ANY_TEXT)
def test_any_text_has_words(text: str) -> None:
    found = words(text)
    assert all(found)
    "".join(found).encode()  # no lone surrogate is left, so that every arm can take them


@given(st.text(ODD))
def test_any_mix_of_odd_characters_has_words(text: str) -> None:
    assert all(part and not part.isspace() for part in words(text))


@given(ANY_TEXT)
def test_what_was_read_reads_the_same(text: str) -> None:
    found = words(text)
    assert words(" ".join(found)) == found


@given(ANY_TEXT)
def test_a_plain_word_stays_plain(text: str) -> None:
    for word in words(text):
        assert plain(plain(word)) == plain(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("weather", "weather", id="ASCII"),
        pytest.param("zdjęcie", "zdjecie", id="Polish"),
        pytest.param("żółć", "zolc", id="Polish ł"),
        pytest.param("für", "fur", id="German"),
        pytest.param("ışık", "isik", id="Turkish"),
        pytest.param("đường", "duong", id="Vietnamese"),
        pytest.param("smørrebrød", "smorrebrod", id="Danish"),
        pytest.param("þæð", "thaed", id="Icelandic"),
        pytest.param("œuvre", "oeuvre", id="French"),
        pytest.param("αθήνα", "αθηνα", id="Greek"),
        pytest.param("ещё", "еще", id="Russian"),
        pytest.param("مُحَمَّد", "محمد", id="Arabic vowel points"),
        pytest.param("أخبار", "اخبار", id="Arabic hamza"),
        pytest.param("שָׁלוֹם", "שלום", id="Hebrew points"),
        pytest.param("हिन्दी", "हिन्दी", id="Hindi vowel signs stay"),
        pytest.param("ガス", "ガス", id="Japanese voicing stays"),
        pytest.param("날씨", "날씨", id="Korean"),
    ],
)
def test_a_plain_word_has_no_accents(word: str, expected: str) -> None:
    assert plain(word) == expected


def test_turkish_capitals_and_small_letters_share_their_plain_words() -> None:
    assert [plain(word) for word in words("IŞIĞI KAPAT, İSTANBUL")] == ["isigi", "kapat", "istanbul"]
    assert [plain(word) for word in words("ışığı kapat, istanbul")] == ["isigi", "kapat", "istanbul"]


def test_one_spelling_for_one_text() -> None:
    assert normalise("ＳｅａｒｃｈＩmages für İzmir") == "search images für izmir"
    assert normalise("searchImages") == "search images"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("天气", True, id="Chinese"),
        pytest.param("人々", True, id="Japanese repetition mark"),
        pytest.param("カレンダー", True, id="katakana"),
        pytest.param("อากาศ", True, id="Thai"),
        pytest.param("날씨를", True, id="Korean"),
        pytest.param("𠀋", True, id="a rare ideograph"),
        pytest.param("weather", False, id="English"),
        pytest.param("मौसम", False, id="Hindi"),
        pytest.param("天气a", False, id="mixed"),
        pytest.param("", False, id="empty"),
    ],
)
def test_a_run_is_of_a_script_without_spaces(word: str, expected: bool) -> None:
    assert is_unspaced(word) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Create a GitHub issue", {"github": ("git", "hub")}),
        ("PayPal or PostgreSQL?", {"paypal": ("pay", "pal"), "postgresql": ("postgre", "sql")}),
        ("cms_getPage, HTML, Page, iPad", {}),
    ],
)
def test_names_of_brands_are_also_read_as_one_word(text: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert brands(text) == expected
