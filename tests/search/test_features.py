"""Features: what the built-in embedder sees of a word. A change here needs a new model."""

from zlib import crc32

import pytest
from hypothesis import given, strategies as st

from toolcrib.search.embedders.builtin import MAX_WORDS, text_words, word_features
from toolcrib.search.kernels.hashing import MAX_GRAMS_PER_SIZE, MAX_RUN, whole_word, whole_words

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


@pytest.mark.parametrize(
    ("word", "texts"),
    [
        pytest.param("a", ["wa"], id="one letter"),
        pytest.param("api", ["wapi", "<ap", "api", "pi>", "<api", "api>", "<api>"], id="a short word"),
        pytest.param(
            "page",
            ["wpage", "<pa", "pag", "age", "ge>", "<pag", "page", "age>", "<page", "page>", "<page>"],
            id="grams of three to six letters",
        ),
        pytest.param("żuk", ["wżuk", "<zu", "zuk", "uk>", "<zuk", "zuk>", "<zuk>"], id="the grams have no accents"),
        pytest.param("сад", ["wсад", "<са", "сад", "ад>", "<сад", "сад>", "<сад>"], id="Cyrillic"),
        pytest.param("天", ["w天", "c天"], id="one ideograph"),
        pytest.param("天气图", ["w天气图", "c天", "c气", "c图", "c天气", "c气图", "c天气图"], id="a run"),
    ],
)
def test_a_word_is_itself_and_its_grams(word: str, texts: list[str]) -> None:
    assert word_features(word) == tuple(crc32(text.encode()) for text in texts)


def test_a_long_run_is_its_grams_alone() -> None:
    run = "一二三四五六七"
    assert word_features(run) == tuple(
        crc32(f"c{run[start : start + size]}".encode()) for size in (1, 2, 3) for start in range(len(run) - size + 1)
    )


def test_words_that_begin_and_end_alike_have_the_features_they_have_alone() -> None:
    assert whole_words("wea", ["t", "ż", "я"], "her") == [whole_word(f"wea{one}her") for one in ("t", "ż", "я")]
    assert whole_word("weather") == word_features("weather")[0]


@pytest.mark.parametrize(
    ("one", "other", "at_least"),
    [
        pytest.param("zdjęcie", "zdjecie", 0.9, id="missing accents"),
        pytest.param("zdjęcie", "zdjęcia", 0.4, id="another ending"),
        pytest.param("bildersuche", "suche", 0.2, id="a compound"),
        pytest.param("picture", "pictrue", 0.15, id="a typo"),
        pytest.param("天气预报", "天气", 0.25, id="a longer run"),
    ],
)
def test_words_that_are_akin_share_features(one: str, other: str, at_least: float) -> None:
    first, second = set(word_features(one)), set(word_features(other))
    assert len(first & second) / len(first | second) >= at_least


def test_words_that_are_not_akin_share_none() -> None:
    assert not set(word_features("weather")) & set(word_features("invoice"))


def test_what_a_word_costs_is_bounded() -> None:
    assert len(word_features("abcdefghij" * 800)) == 1 + 4 * MAX_GRAMS_PER_SIZE
    assert len(word_features("śćżźńółęąé" * 800)) == 1 + 4 * MAX_GRAMS_PER_SIZE
    assert len(word_features("天气预报" * 2000)) == 3 * MAX_RUN - 3


def test_a_text_counts_as_far_as_it_tells() -> None:
    assert text_words("Find the heroImage") == ["find", "the", "hero", "image"]
    assert text_words("word " * 1000) == ["word"] * MAX_WORDS


@given(ANY_TEXT)
def test_every_word_of_any_text_has_features_of_32_bits(text: str) -> None:
    for word in text_words(text):
        features = word_features(word)
        assert features
        assert all(0 <= feature < 2**32 for feature in features)
