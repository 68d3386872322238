"""A session as one JSON document: nothing is lost on the way, and nothing odd gets in."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.support.stores import NOON, Backend, Clock
from toolcrib.errors import StoreError
from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.export import from_document, to_document
from toolcrib.stores.record import Confirmation, LoggedEvent, Resolution, SessionRecord
from toolcrib.stores.store import Store
from toolcrib.tools.tool import Entity

PLAIN = to_document(SessionRecord(id="s", created_at=NOON, updated_at=NOON))


async def test_a_session_goes_to_another_store_with_all_it_has(backend: Backend, store: Store, clock: Clock) -> None:
    async with store.open("s") as session:
        memory = WorkingMemory(entities=(Entity(type="page", id="1", name="Home", seen_at=NOON),))
        await session.append(["m"], memory=memory, toolbox={"a": 1}, usage={"cost": 0.25}, title="T", events=["e"])
        asked = [await session.add_confirmation("wipe", {"n": n}, "d") for n in range(3)]
        await session.take_confirmation(asked[0].id, "d")
        await session.decline_confirmation(asked[1].id)
    text = json.dumps(to_document(await store.read("s")))
    async with backend.open(backend.new_place(), clock) as other:
        await other.restore(from_document(json.loads(text)))
        assert await other.read("s") == await store.read("s")
        async with other.open("s") as session:
            assert [one.id for one in session.confirmations] == [asked[2].id]


def test_a_document_says_what_it_is() -> None:
    assert PLAIN == {
        "format": "toolcrib-session",
        "version": 1,
        "id": "s",
        "title": "",
        "created_at": "2026-05-04T12:00:00Z",
        "updated_at": "2026-05-04T12:00:00Z",
        "memory": {"version": 1, "entities": [], "discovered": [], "used": [], "summary": ""},
        "toolbox": None,
        "history": [],
        "usage": {},
        "confirmations": [],
        "events": [],
        "calls": [],
        "fence": 0,
    }


moments = st.datetimes(timezones=st.just(NOON.tzinfo))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
confirmations = st.builds(
    Confirmation,
    id=st.text(),
    tool=st.text(),
    arguments=st.dictionaries(st.text(), json_values, max_size=3),
    digest=st.text(),
    created_at=moments,
    expires_at=moments,
    settled_at=st.none() | moments,
    settled_as=st.none() | st.sampled_from(Resolution),
)
records = st.builds(
    SessionRecord,
    id=st.sampled_from(["s", "日本語"]),
    title=st.sampled_from(["", "Café"]),
    created_at=moments,
    updated_at=moments,
    memory=st.just(WorkingMemory(summary="so far")),
    toolbox=st.none() | st.dictionaries(st.text(), json_values, max_size=3),
    history=st.lists(json_values, max_size=4).map(tuple),
    usage=st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    confirmations=st.lists(confirmations, max_size=2).map(tuple),
    events=st.lists(st.tuples(moments, json_values), max_size=3).map(
        lambda rows: tuple(LoggedEvent(position=n, at=at, event=event) for n, (at, event) in enumerate(rows))
    ),
)


@given(records)
def test_any_session_survives_its_document(record: SessionRecord) -> None:
    assert from_document(json.loads(json.dumps(to_document(record)))) == record


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (None, "This is not an exported session: document"),
        ([], "This is not an exported session: document"),
        ({}, "This is not an exported session: format"),
        (PLAIN | {"version": 7}, "exported in another form than 1"),
        (PLAIN | {"id": "a\nb"}, "cannot be the id"),
        (PLAIN | {"history": "text"}, "history: "),
        (PLAIN | {"created_at": "2026-05-04T12:00:00"}, "created_at: .*timezone"),
        (PLAIN | {"usage": {"cost": "NaN"}}, "usage.cost"),
        (PLAIN | {"confirmations": [{"id": "x"}]}, "confirmations.0.tool: "),
        (PLAIN | {"more": 1}, "more: "),
        (PLAIN | {"memory": {"version": 1}}, "This is not a valid working memory"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_session_is_refused_with_the_place(document: Any, complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        from_document(document)


async def test_text_that_cannot_be_stored_is_cleaned_or_refused(store: Store) -> None:
    assert from_document(PLAIN | {"title": "half \ud83d\nmoon"}).title == "half moon"
    question: dict[str, Any] = {
        "id": "\ud83d",
        "tool": "t",
        "arguments": {},
        "digest": "d",
        "settled_at": None,
        "settled_as": None,
    }
    times = {"created_at": PLAIN["created_at"], "expires_at": PLAIN["created_at"]}
    with pytest.raises(StoreError, match="it is not Unicode"):
        await store.restore(from_document(PLAIN | {"confirmations": [question | times]}))
    assert await store.sessions() == ()


async def test_a_session_that_is_there_is_not_overwritten(store: Store) -> None:
    async with store.open("s") as session:
        await session.append(["mine"])
    with pytest.raises(StoreError, match="There is a session 's' already"):
        await store.restore(from_document(PLAIN))
    assert (await store.read("s")).history == ("mine",)
