"""The words of a catalog, and what an unknown word may stand for."""

import pytest
from hypothesis import given, strategies as st

from toolcrib.search.typos import MAX_GUESSES, Vocabulary

pytestmark = pytest.mark.usefixtures("either_way")

WORDS = st.text("abcęłдьก天", min_size=1, max_size=8)
TOOLS = st.lists(st.sets(WORDS, max_size=6), max_size=12)


def vocabulary(*words: str) -> Vocabulary:
    made = Vocabulary()
    made.add_all([[word] for word in words])
    return made


@pytest.mark.parametrize(
    ("known", "word", "expected"),
    [
        pytest.param(
            ["authenticate", "authorise"], "auth", ["authenticate", "authorise"], id="the beginning of a word"
        ),
        pytest.param(["internationalisation"], "inter", [], id="the beginning of a far longer word"),
        pytest.param(["category"], "cat", [], id="a beginning too short to tell"),
        pytest.param(["zdjęcie", "zdjęciem"], "zdjęcia", ["zdjęcie", "zdjęciem"], id="Polish inflection"),
        pytest.param(["strona", "stronę"], "stronach", ["strona"], id="Polish locative: the longest beginning"),
        pytest.param(["картинка"], "картинку", ["картинка"], id="Russian inflection"),
        pytest.param(["sayfa"], "sayfalar", ["sayfa"], id="Turkish plural"),
        pytest.param(["page"], "pageant", ["page"], id="a known word with an ending"),
        pytest.param(["card"], "cart", [], id="too little in common"),
        pytest.param(["bild", "suche"], "bildersuche", ["bild", "suche"], id="German compound"),
        pytest.param(["bilder", "bild", "suche"], "bildersuche", ["bilder", "suche"], id="the longest parts"),
        pytest.param(["wetter"], "unwetterwarnung", [], id="a part in the middle"),
        pytest.param(["warnung"], "unwetterwarnung", ["warnung"], id="a part at the end"),
        pytest.param(["search"], "serach", ["search"], id="two letters swapped"),
        pytest.param(["image"], "imgae", ["image"], id="two letters swapped at the end"),
        pytest.param(["weather"], "wether", ["weather"], id="a letter lost"),
        pytest.param(["weather"], "weatther", ["weather"], id="a letter doubled"),
        pytest.param(["weather"], "wearher", ["weather"], id="a wrong letter"),
        pytest.param(["weather"], "eather", ["weather"], id="the first letter lost"),
        pytest.param(["weather"], "wefher", [], id="two slips"),
        pytest.param(["menu"], "mnuu", [], id="a word too short for a slip"),
        pytest.param(["a" * 19 + "x"], "a" * 19 + "yzz", ["a" * 19 + "x"], id="a long word with another ending"),
        pytest.param(["a" * 20 + "x"], "a" * 9 + "b" + "a" * 10 + "x", [], id="a word too long for a slip"),
        pytest.param(["section2"], "secton2", [], id="a word with a digit"),
        pytest.param(["zdjęcie"], "zdęcie", ["zdjęcie"], id="Polish slip"),
        pytest.param(["погода"], "погдоа", ["погода"], id="Russian slip"),
        pytest.param(["фильтр"], "филтр", ["фильтр"], id="a letter after all those typed"),
        pytest.param(["объект"], "обьект", ["объект"], id="a letter beside the one meant"),
        pytest.param(["weather"], "погода", [], id="another script"),
        pytest.param([], "anything", [], id="no words"),
        pytest.param(["page"], "", [], id="no word"),
    ],
)
def test_an_unknown_word_stands_for_known_ones(known: list[str], word: str, expected: list[str]) -> None:
    assert vocabulary(*known).guesses(word) == expected


def test_frequent_words_are_guessed_first_and_only_so_many() -> None:
    words = [f"page{letter}" for letter in "abcdefghijklmnop"]
    known = vocabulary(*words, "pagep", "pagep", "pageo")
    assert known.guesses("page") == ["pagep", "pageo", *words[: MAX_GUESSES - 2]]


def test_a_word_counts_until_its_last_tool_leaves() -> None:
    known = Vocabulary()
    known.add_all([["page", "image"], ["page"]])
    known.remove(["page", "image"])
    assert ("page" in known, "image" in known, len(known)) == (True, False, 1)
    known.remove(["page"])
    assert ("page" in known, len(known), known.guesses("pages")) == (False, 0, [])


@pytest.mark.parametrize("size", [3, 500], ids=["few at once", "many at once"])
def test_words_are_found_however_they_came(size: int) -> None:
    known = vocabulary("webpages")
    known.add_all([[f"page{number:03}" for number in range(size)], ["pages"]])
    assert len(known) == size + 2
    assert known.guesses("pages00")[:1] == ["pages"]
    assert known.guesses("page00") == [f"page{number:03}" for number in range(min(size, 10))]


@given(TOOLS, st.data())
def test_what_is_left_is_what_was_never_removed(tools: list[set[str]], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(range(len(tools)))) if tools else st.just(set[int]()))
    changed = Vocabulary()
    changed.add_all(tools)
    for number in gone:
        changed.remove(tools[number])
    fresh = Vocabulary()
    for number, words in enumerate(tools):
        if number not in gone:
            fresh.add_all([words])
    assert len(changed) == len(fresh)
    asked = data.draw(WORDS)
    assert (asked in changed) == (asked in fresh)
    if asked not in fresh:
        assert changed.guesses(asked) == fresh.guesses(asked)


@given(TOOLS, st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_word_may_be_asked_for(tools: list[set[str]], word: str) -> None:
    known = Vocabulary()
    known.add_all(tools)
    guesses = known.guesses(word)
    assert len(guesses) <= MAX_GUESSES
    assert all(guess in known for guess in guesses)
