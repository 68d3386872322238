"""Words are told from slips of the fingers, and slips are mended where it is clear what was meant."""

import pytest
from hypothesis import given, strategies as st

from toolcrib.search.lexical import QueryTerm, with_typos_fixed
from toolcrib.search.typos import corrected, familiarity, is_one_edit_apart

pytestmark = pytest.mark.usefixtures("either_way")


@pytest.mark.parametrize(
    ("typed", "near", "meant"),
    [
        pytest.param("serach", ["search"], "search", id="letters swapped"),
        pytest.param("imges", ["images"], "images", id="a letter lost"),
        pytest.param("weatther", ["weather"], "weather", id="a letter doubled"),
        pytest.param("wearher", ["weather"], "weather", id="the key beside"),
        pytest.param("weagther", ["weather"], "weather", id="a key too many"),
        pytest.param("zdjcęie", ["zdjęcie"], "zdjęcie", id="Polish"),
        pytest.param("погдоа", ["погода"], "погода", id="Russian"),
        pytest.param("imges", ["pages", "images"], "images", id="the first one that begins alike"),
        pytest.param("films", ["files"], "", id="another word"),
        pytest.param("shipping", ["shopping"], "", id="another frequent word"),
        pytest.param("heather", ["weather"], "", id="a name"),
        pytest.param("domani", ["domain"], "", id="a word of another language"),
        pytest.param("eerach", ["search"], "", id="the first letter"),
        pytest.param("esarch", ["search"], "search", id="the first two swapped"),
    ],
)
def test_a_strange_word_near_one_of_the_catalog_is_that_one(typed: str, near: list[str], meant: str) -> None:
    assert corrected(typed, near) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        pytest.param("docuemnt", "document", id="letters swapped"),
        pytest.param("vacatoin", "vacation", id="letters swapped in a rare word"),
        pytest.param("messge", "message", id="a letter lost"),
        pytest.param("documment", "document", id="a letter doubled"),
        pytest.param("dokuemnt", "dokument", id="German"),
        pytest.param("konrtol", "kontrol", id="Turkish"),
        pytest.param("докмент", "документ", id="Russian"),
        pytest.param("calender", "", id="a frequent misspelling is a word"),
        pytest.param("zqxvkj", "", id="nothing like a word"),
        pytest.param("mesagee", "", id="two slips"),
        pytest.param("מסמךך", "", id="a script whose letters are not tried"),
        pytest.param("msg", "", id="too short to tell"),
        pytest.param("docuemnt2", "", id="a digit"),
        pytest.param("docuemnt" * 4, "", id="too long for a word"),
        pytest.param("", "", id="no word"),
    ],
)
def test_a_strange_word_is_the_one_familiar_word_near_it(typed: str, meant: str) -> None:
    assert corrected(typed, []) == meant


@pytest.mark.parametrize(
    ("word", "slip"),
    [
        ("weather", "waether"),
        ("document", "docuemnt"),
        ("wetter", "wtetr"),
        ("strona", "stornna"),
        ("картинка", "каритнка"),
        ("recherche", "rehcerche"),
        ("calendario", "caelndario"),
    ],
)
def test_a_word_is_more_familiar_than_a_slip_in_it(word: str, slip: str) -> None:
    assert 1 >= familiarity(word) > familiarity(slip) + 0.2 >= 0.2


@given(st.text(st.characters(exclude_categories=()), max_size=30), st.lists(st.text(min_size=1, max_size=12)))
def test_what_was_meant_is_one_slip_away_and_begins_alike_or_has_the_same_letters(
    typed: str, others: list[str]
) -> None:
    near = [other for other in others if is_one_edit_apart(typed, other)]
    if meant := corrected(typed, near):
        assert is_one_edit_apart(typed, meant)
        assert meant[0] == typed[0] or sorted(meant) == sorted(typed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Serach imges, please!", "search images, please!"),
        ("SERACH the serachable imges_2", "search the serachable imges_2"),
        ("nothing to mend", "nothing to mend"),
    ],
)
def test_a_text_is_mended_word_by_word_and_keeps_the_rest(text: str, expected: str) -> None:
    asked = [
        QueryTerm("serach", ("search",), 1.0, meant="search"),
        QueryTerm("imges", ("imag",), 1.0, meant="images"),
        QueryTerm("please", ("pleas",), 1.0),
    ]
    assert with_typos_fixed(text, asked) == expected
