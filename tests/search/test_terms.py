"""Terms: what the lexical arm counts and compares."""

import pytest
from hypothesis import given, strategies as st

from toolcrib.search.fillers import FILLERS
from toolcrib.search.terms import MAX_LETTERS, content_words, word_terms
from toolcrib.search.text import words

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Please find me a hero image", ["find", "hero", "image"], id="fillers are left out"),
        pytest.param("image, Image, IMAGE and page", ["image", "page"], id="each word once, in order"),
        pytest.param("What can you do for me?", [], id="nothing but fillers"),
        pytest.param("znajdź mi zdjęcie", ["znajdź", "mi", "zdjęcie"], id="another language"),
        pytest.param("请给我 the 天气", ["请给我", "天气"], id="two languages"),
        pytest.param("", [], id="empty"),
        pytest.param("😀 !?", [], id="no words"),
    ],
)
def test_a_request_is_its_telling_words(text: str, expected: list[str]) -> None:
    assert list(content_words(text)) == expected


def test_fillers_are_words_as_they_are_read() -> None:
    assert {word for filler in FILLERS for word in words(filler)} == FILLERS


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("cities", ("citi",), id="an English plural"),
        pytest.param("searching", ("search",), id="an English form"),
        pytest.param("a", ("a",), id="one letter"),
        pytest.param("zdjęcie", ("zdjęcie", "zdjeci"), id="with and without accents"),
        pytest.param("ışık", ("ışık", "isik"), id="Turkish"),
        pytest.param("صُوَر", ("صُوَر", "صور"), id="Arabic vowel points"),
        pytest.param("погода", ("погода",), id="Cyrillic"),
        pytest.param("天", ("天",), id="one ideograph"),
        pytest.param("天气图", ("天气", "气图", "天", "气", "图"), id="pairs, then characters"),
        pytest.param("날씨", ("날씨", "날", "씨"), id="Korean"),
        pytest.param("\u0301", ("\u0301",), id="an accent alone"),
        pytest.param("", ("",), id="empty"),
    ],
)
def test_a_word_stands_for_terms(word: str, expected: tuple[str, ...]) -> None:
    assert word_terms(word) == expected


@pytest.mark.parametrize(
    "forms",
    [
        pytest.param(["city", "cities", "City"], id="English plurals"),
        pytest.param(["search", "searches", "searching", "searched"], id="English verbs"),
        pytest.param(["żółty", "zolty", "ZÓŁTY"], id="missing accents"),
        pytest.param(["IŞIK", "ışık", "isik"], id="Turkish i"),
        pytest.param(["İSTANBUL", "istanbul", "Istanbul"], id="Turkish capitals"),
        pytest.param(["مُحَمَّد", "محمد"], id="Arabic vowel points"),
        pytest.param(["ｗｅａｔｈｅｒ", "WEATHER"], id="full-width forms"),
    ],
)
def test_forms_of_a_word_meet_in_a_term(forms: list[str]) -> None:
    first, *others = (set(word_terms(word)) for form in forms for word in words(form))
    assert first.intersection(*others)


def test_a_word_without_end_is_cut() -> None:
    assert word_terms("x" * 8000) == ("x" * MAX_LETTERS,)
    assert word_terms("é" * 8000) == ("é" * MAX_LETTERS, "e" * MAX_LETTERS)


@given(ANY_TEXT)
def test_every_word_of_any_text_has_terms_without_a_space(text: str) -> None:
    for word in words(text):
        terms = word_terms(word)
        # Terms travel to the index in one line, parted by spaces.
        assert " ".join(terms).split() == list(terms)
