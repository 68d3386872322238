"""An index that follows its catalog: what was added, removed or replaced is seen by the next search."""

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.search import Concepts, make, office
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import UnknownToolError
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import ArmChoice, SearchOptions

SUBJECTS = """
    weather music flight mail picture money contact language garden river castle engine
    kitchen doctor school bridge camera ticket forest hammer island jacket ladder mirror
"""


def test_an_index_of_no_tools_says_so() -> None:
    index = ToolIndex(Catalog())
    found = index.search("send mail")
    assert (found.hits, found.path, found.reason) == ((), "none", "There are no tools.")
    assert len(index) == 0
    with pytest.raises(UnknownToolError):
        index.explain("send mail", "send_mail")


def test_an_index_of_no_tools_grows_to_one() -> None:
    catalog = Catalog()
    index = ToolIndex(catalog)
    index.search("send mail")
    catalog.add(make("send_mail", "Send an e-mail."))
    assert index.search("send_mail").names == ("send_mail",)
    assert index.search("send an e-mail").names in (("send_mail",), ())
    assert len(index) == 1
    assert index.similar("send_mail") == ()


@pytest.mark.parametrize("arms", ["both", "lexical", "dense"])
def test_an_index_of_one_tool_finds_it(arms: ArmChoice) -> None:
    index = ToolIndex(Catalog([make("send_mail", "Send an e-mail.")]), options=SearchOptions(arms=arms, abstain=False))
    assert index.search("send e-mail").names == ("send_mail",)


@pytest.mark.parametrize("arms", ["both", "lexical", "dense"])
def test_an_index_that_lost_its_last_tool_finds_nothing(arms: ArmChoice) -> None:
    catalog = Catalog([make("send_mail", "Send an e-mail.")])
    index = ToolIndex(catalog, options=SearchOptions(arms=arms, abstain=False))
    index.search("send e-mail")
    catalog.remove("send_mail")
    assert (index.search("send e-mail").hits, index.search("send_mail").hits, len(index)) == ((), (), 0)


def test_an_added_tool_is_found_by_the_next_search() -> None:
    catalog = office()
    index = ToolIndex(catalog)
    assert "water_plants" not in index.search("water the plants in my garden").names
    catalog.add(make("water_plants", "Water the plants in the garden."))
    assert index.search("water the plants in my garden").names[0] == "water_plants"


def test_a_removed_tool_is_not_found_by_the_next_search() -> None:
    catalog = office()
    index = ToolIndex(catalog)
    assert index.search("send_mail").names[0] == "send_mail"
    catalog.remove("send_mail")
    assert "send_mail" not in index.search("send an e-mail", limit=8).names
    assert index.search("send_mail").path != "exact"
    assert "send_mail" not in [hit.name for hit in index.similar("find_contact", limit=8)]
    with pytest.raises(UnknownToolError):
        index.explain("send mail", "send_mail")


def test_a_removed_tool_is_no_companion() -> None:
    catalog = office()
    index = ToolIndex(catalog)
    assert "find_contact" in index.search("send_mail", limit=2).names
    catalog.remove("find_contact")
    assert "find_contact" not in index.search("send_mail", limit=2).names


def test_a_replaced_tool_is_found_by_its_new_words_alone() -> None:
    catalog = office()
    index = ToolIndex(catalog, options=SearchOptions(abstain=False))
    assert index.search("play a song").names[0] == "play_music"
    catalog.replace(make("play_music", "Repair the engine of a tractor."))
    assert index.search("repair the tractor engine").names[0] == "play_music"
    assert index.explain("song album", "play_music").matched == ()
    assert len(index) == 8


def test_many_changes_between_two_searches_are_seen_together() -> None:
    catalog = office()
    index = ToolIndex(catalog, options=SearchOptions(abstain=False))
    for number in range(30):
        catalog.add(make(f"castle_{number}", f"Storm the castle number {number}."))
    for number in range(29):
        catalog.remove(f"castle_{number}")
    catalog.replace(make("castle_29", "Paint the drawbridge."))
    assert index.search("paint the drawbridge").names[0] == "castle_29"
    assert len(index) == 9


def test_a_name_may_come_back_with_another_meaning() -> None:
    catalog = office()
    index = ToolIndex(catalog)
    index.search("anything at all")
    catalog.remove("get_weather")
    index.search("anything at all")
    catalog.add(make("get_weather", "Feed the hungry cats."))
    assert index.search("feed the cats").names[0] == "get_weather"


def test_a_closed_index_follows_no_more() -> None:
    catalog = office()
    index = ToolIndex(catalog)
    index.close()
    catalog.add(make("water_plants", "Water the plants in the garden."))
    assert len(index) == 8
    assert index.search("water_plants").path != "exact"


def test_two_indexes_follow_one_catalog() -> None:
    catalog = office()
    first, second = ToolIndex(catalog), ToolIndex(catalog, options=SearchOptions(arms="lexical"))
    catalog.add(make("water_plants", "Water the plants."))
    assert first.search("water_plants").names[0] == second.search("water_plants").names[0] == "water_plants"


def test_only_what_changed_is_embedded() -> None:
    catalog = Catalog([make("send_mail", "Send mail."), make("play_music", "Play music.")])
    embedder = Concepts("mail", "music", "plants")
    index = ToolIndex(catalog, embedder, options=SearchOptions(abstain=False))
    index.search("mail")
    seen = len(embedder.documents)
    catalog.add(make("water_plants", "Water plants."))
    catalog.remove("send_mail")
    index.search("plants")
    assert set(embedder.documents[seen:]) == {"water_plants Water plants.", "water_plants"}


Steps = list[tuple[str, int, bool]]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "remove", "replace", "search"]), st.integers(0, 11), st.booleans()),
        max_size=25,
    )
)
def test_after_any_history_an_index_answers_like_a_new_one(steps: Steps) -> None:
    catalog = Catalog()
    index = ToolIndex(catalog, options=SearchOptions(abstain=False))
    subjects = SUBJECTS.split()
    for act, which, other in steps:
        name = f"tool_{which}"
        tool = make(name, f"Do something about the {subjects[which + 12 * other]}.")
        if act == "search":
            index.search(subjects[which])
        elif act == "add" and name not in catalog:
            catalog.add(tool)
        elif act == "remove" and name in catalog:
            catalog.remove(name)
        elif act == "replace" and name in catalog:
            catalog.replace(tool)
    fresh = ToolIndex(Catalog(catalog), options=SearchOptions(abstain=False))
    assert len(index) == len(fresh) == len(catalog)
    for subject in subjects:
        ours, theirs = index.search(f"the {subject} please", limit=20), fresh.search(f"the {subject} please", limit=20)
        # Tools that match no word are equals, and may stand in another order: numbers are given again.
        assert ours.names[:1] == theirs.names[:1] or subject not in str([tool.description for tool in catalog])
        assert set(ours.names) == set(theirs.names)
        assert ours.path == theirs.path
