"""Words one slip of the fingers apart."""

import random

import pytest

from toolcrib.search.typos import RECENT, TypoIndex, is_one_edit_apart

pytestmark = pytest.mark.usefixtures("either_way")


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        pytest.param("weather", "weather", False, id="the same word"),
        pytest.param("weather", "wether", True, id="a letter lost"),
        pytest.param("wether", "weather", True, id="a letter too many"),
        pytest.param("weather", "wearher", True, id="another letter"),
        pytest.param("weather", "waether", True, id="two swapped"),
        pytest.param("weather", "weathre", True, id="two swapped at the end"),
        pytest.param("weather", "wehater", False, id="two that are not neighbours"),
        pytest.param("weather", "weath", False, id="two letters lost"),
        pytest.param("weather", "weathers", True, id="one more at the end"),
        pytest.param("погода", "погдоа", True, id="Cyrillic"),
    ],
)
def test_one_slip_is_one_edit_or_one_swap(one: str, other: str, apart: bool) -> None:
    assert is_one_edit_apart(one, other) is apart


def test_words_added_after_the_first_question_are_found() -> None:
    slips = TypoIndex()
    slips.add("weather")
    assert slips.near("wether") == ["weather"]
    slips.add("feather")
    assert slips.near("fether") == ["feather"]


def test_a_word_added_twice_is_found_once() -> None:
    slips = TypoIndex()
    slips.add("weather")
    slips.add("weather")
    assert slips.near("weathr") == ["weather"]


def test_short_words_and_numbers_have_no_neighbours() -> None:
    slips = TypoIndex()
    for word in ("page", "section2"):
        slips.add(word)
    assert slips.near("pgae") == []
    assert slips.near("secton2") == []


def test_sums_are_sorted_anew_when_many_words_came() -> None:
    dice = random.Random(0)
    slips = TypoIndex()
    slips.add("weather")
    assert slips.near("wether") == ["weather"]
    words = {"".join(dice.choices("abcdefghijklmnop", k=9)) for _ in range(RECENT + 10)}
    for word in sorted(words):
        slips.add(word)
    sought = min(words)
    assert sought in slips.near(sought[:-2] + sought[-1] + sought[-2])
    assert slips.near("wether") == ["weather"]
