"""What a session remembers, and what it forgets."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from toolcrib.errors import StoreError
from toolcrib.memory.entities import Reading
from toolcrib.memory.working import MOST_ENTITIES, MOST_TOOLS, Outcome, ToolUse, WorkingMemory
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Entity, Extraction

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def page(id: str, name: str = "", at: datetime = NOON) -> Entity:
    return Entity(type="page", id=id, name=name or f"Page {id}", seen_at=at)


@tool(extraction=Extraction(path="pages", type="page", name_field="title", is_array=True))
def list_pages() -> dict[str, object]:
    """List the pages."""
    return {}


def test_the_newest_ten_entities_are_kept() -> None:
    memory = WorkingMemory()
    for minute in range(15):
        memory = memory.with_entities([page(str(minute), at=NOON + minute * MINUTE)])
    assert [entity.id for entity in memory.entities] == [str(minute) for minute in range(14, 4, -1)]
    assert len(memory.entities) == MOST_ENTITIES


def test_of_one_thing_the_newest_word_wins() -> None:
    memory = WorkingMemory().with_entities([page("1", "Old"), page("2", "Other")])
    memory = memory.with_entities([page("1", "New", NOON + MINUTE)])
    assert memory.entities == (page("1", "New", NOON + MINUTE), page("2", "Other"))


def test_an_older_word_does_not_replace_a_newer_one() -> None:
    memory = WorkingMemory().with_entities([page("1", "New", NOON + MINUTE)]).with_entities([page("1", "Old")])
    assert memory.entities == (page("1", "New", NOON + MINUTE),)


def test_the_same_id_of_another_type_is_another_thing() -> None:
    image = Entity(type="image", id="1", name="Hero", seen_at=NOON)
    assert len(WorkingMemory().with_entities([page("1"), image]).entities) == 2


def test_entities_of_one_result_stay_in_its_order() -> None:
    assert [entity.id for entity in WorkingMemory().with_entities(map(page, "abc")).entities] == ["a", "b", "c"]


def test_found_tools_are_named_once_the_latest_first() -> None:
    memory = WorkingMemory().with_discovered(["a", "b"]).with_discovered(["b", "c"])
    assert memory.discovered == ("b", "c", "a")


def test_uses_are_counted_with_the_last_outcome() -> None:
    memory = WorkingMemory().with_use("send", Outcome.FAILED, at=NOON).with_use("find", Outcome.OK, at=NOON)
    memory = memory.with_use("send", Outcome.OK, at=NOON + MINUTE)
    assert memory.used == (
        ToolUse(name="send", count=2, last_used=NOON + MINUTE, last_outcome=Outcome.OK),
        ToolUse(name="find", count=1, last_used=NOON, last_outcome=Outcome.OK),
    )


def test_a_long_session_does_not_grow_a_long_memory() -> None:
    names = [f"tool_{number}" for number in range(3 * MOST_TOOLS)]
    memory = WorkingMemory().with_discovered(names)
    for name in names:
        memory = memory.with_use(name, Outcome.OK, at=NOON)
    assert (len(memory.discovered), len(memory.used)) == (MOST_TOOLS, MOST_TOOLS)
    assert memory.used[0].name == names[-1]


def test_a_summary_is_one_line() -> None:
    assert WorkingMemory().with_summary("found\nthe \x1b[31mhero").summary == "found the [31mhero"


def test_a_result_adds_its_use_and_its_entities() -> None:
    noted = WorkingMemory().with_result(list_pages, ToolResult.of({"pages": [{"id": 1, "title": "Home"}]}), at=NOON)
    assert noted.reading is Reading.READ
    assert noted.memory == WorkingMemory(
        entities=(page("1", "Home"),),
        used=(ToolUse(name="list_pages", count=1, last_used=NOON, last_outcome=Outcome.OK),),
    )


def test_a_failed_result_is_a_use_without_entities() -> None:
    noted = WorkingMemory().with_result(list_pages, ToolResult.failure("down"), at=NOON)
    assert (noted.reading, noted.memory.entities) == (Reading.SKIPPED, ())
    assert noted.memory.used[0].last_outcome is Outcome.FAILED


moments = st.datetimes(timezones=st.just(UTC))
entities = st.builds(Entity, type=st.text(), id=st.text(), name=st.text(), seen_at=moments)
uses = st.builds(
    ToolUse, name=st.text(), count=st.integers(0), last_used=moments, last_outcome=st.sampled_from(Outcome)
)
memories = st.builds(
    WorkingMemory,
    entities=st.lists(entities, max_size=MOST_ENTITIES).map(tuple),
    discovered=st.lists(st.text(), max_size=MOST_TOOLS).map(tuple),
    used=st.lists(uses, max_size=5).map(tuple),
    summary=st.text(),
)


@given(memories)
def test_a_memory_survives_json(memory: WorkingMemory) -> None:
    assert WorkingMemory.from_json(memory.to_json()) == memory


@given(
    st.lists(
        st.lists(
            st.builds(
                Entity, type=st.sampled_from("ab"), id=st.sampled_from("123456789"), name=st.text(), seen_at=moments
            ),
            max_size=5,
        )
    )
)
def test_no_thing_is_ever_kept_twice(results: list[list[Entity]]) -> None:
    memory = WorkingMemory()
    for result in results:
        memory = memory.with_entities(result)
    keys = [(entity.type, entity.id) for entity in memory.entities]
    assert len(keys) == len(set(keys)) <= MOST_ENTITIES
    assert [one.seen_at for one in memory.entities] == sorted((one.seen_at for one in memory.entities), reverse=True)


GOOD = WorkingMemory(entities=(page("1"),)).with_use("a", Outcome.OK, at=NOON).to_json()


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"version": 2}, r"has format 2; this Toolcrib reads formats up to 1"),
    ({"entities": "none"}, "'entities' is not a list"),
    ({"entities": [{}]}, "KeyError: 'type'"),
    ({"used": [{"name": "a", "count": 1, "last_used": "2026-01-01", "last_outcome": "ok"}]}, "no time zone"),
    ({"used": [{"name": "a", "count": 1, "last_used": "2026-01-01T00:00:00Z", "last_outcome": "so-so"}]}, "so-so"),
    ({"discovered": "abc"}, "'discovered' is not a list"),
]


@pytest.mark.parametrize(("changes", "complaint"), REFUSED)
def test_what_is_no_memory_is_refused(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        WorkingMemory.from_json({**GOOD, **changes})
