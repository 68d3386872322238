"""What any store does with sessions, whatever engine is behind it."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import example, given, settings, strategies as st

from tests.support.stores import NOON, Backend, Clock
from toolcrib.errors import StoreError, UnknownSessionError
from toolcrib.memory.working import Outcome, WorkingMemory
from toolcrib.stores.record import LoggedEvent, SessionInfo, SessionRecord
from toolcrib.stores.session import shielded
from toolcrib.stores.store import Store
from toolcrib.tools.tool import Entity

MEMORY = WorkingMemory(entities=(Entity(type="page", id="7", name="Home", seen_at=NOON),)).with_use(
    "get_page", Outcome.OK, at=NOON
)


async def test_a_new_session_is_empty(store: Store) -> None:
    async with store.open("first") as session:
        assert (session.id, session.history, session.memory, session.toolbox) == ("first", (), WorkingMemory(), None)
        assert (dict(session.usage), session.confirmations, session.title) == ({}, (), "")
        assert (session.created_at, repr(session)) == (NOON, "<Session 'first', 0 messages>")


async def test_a_session_without_an_id_gets_one_of_its_own(store: Store) -> None:
    async with store.open() as one, store.open() as other:
        assert one.id != other.id
        assert len(one.id) == 16


async def test_what_a_step_leaves_behind_is_there_when_the_session_is_opened_again(
    backend: Backend, clock: Clock
) -> None:
    place = backend.new_place()
    async with backend.open(place, clock) as store, store.open("s") as session:
        await session.append([{"role": "user"}], usage={"input_tokens": 10, "cost": 0.5})
        clock.forward(minutes=1)
        await session.append(
            [{"role": "tool"}, ["anything", None, 1.5, "山"]],
            memory=MEMORY,
            toolbox={"active": ["get_page"]},
            usage={"input_tokens": 5, "output_tokens": 7},
            title="A\nhome page",
            events=[{"type": "answered"}],
        )
        kept = session.history, session.memory, session.toolbox, session.usage, session.title
    async with backend.open(place) as store:
        record = await store.read("s")
        assert record == SessionRecord(
            id="s",
            title="A home page",
            created_at=NOON,
            updated_at=NOON + timedelta(minutes=1),
            memory=MEMORY,
            toolbox={"active": ["get_page"]},
            history=({"role": "user"}, {"role": "tool"}, ["anything", None, 1.5, "山"]),
            usage={"input_tokens": 15, "cost": 0.5, "output_tokens": 7},
            events=(LoggedEvent(position=0, at=NOON + timedelta(minutes=1), event={"type": "answered"}),),
        )
        async with store.open("s") as again:
            assert (again.history, again.memory, again.toolbox, again.usage, again.title) == kept


async def test_a_session_in_memory_is_what_a_later_process_will_read(store: Store) -> None:
    message = {"role": "user", "parts": ("a", "b")}
    async with store.open("s") as session:
        await session.append([message])
        message["role"] = "changed later"
        assert session.history == (await store.read("s")).history == ({"role": "user", "parts": ["a", "b"]},)


async def test_what_a_step_does_not_name_stays_as_it_was(store: Store) -> None:
    async with store.open("s") as session:
        await session.append(memory=MEMORY, toolbox={"a": 1}, title="t", usage={"cost": 1})
        await session.append(["hello"])
        assert (session.memory, session.toolbox, session.title, session.usage) == (MEMORY, {"a": 1}, "t", {"cost": 1})
    record = await store.read("s")
    assert (record.memory, record.toolbox, record.title, record.usage) == (MEMORY, {"a": 1}, "t", {"cost": 1})


@pytest.mark.parametrize("message", [float("nan"), {1, 2}, b"bytes", object()], ids=["nan", "set", "bytes", "object"])
async def test_a_step_that_json_cannot_say_leaves_nothing_behind(store: Store, message: object) -> None:
    async with store.open("s") as session:
        with pytest.raises(StoreError, match="The step cannot be kept, because JSON cannot say it"):
            await session.append(["fine", message], title="t")
        assert (session.history, session.title) == ((), "")
    assert (await store.read("s")).history == ()


@pytest.mark.parametrize("value", [float("inf"), True])
async def test_usage_is_counted_in_finite_numbers(store: Store, value: float) -> None:
    async with store.open("s") as session:
        with pytest.raises(StoreError, match="not a number"):
            await session.append(["x"], usage={"cost": value})
    assert (await store.read("s")).history == ()


async def test_steps_of_several_tasks_do_not_mix(store: Store) -> None:
    async with store.open("s") as session:
        await asyncio.gather(*(session.append([[n, 0], [n, 1]], usage={"steps": 1}) for n in range(20)))
        assert session.usage == {"steps": 20}
    history = (await store.read("s")).history
    assert history == session.history
    assert [pair[1] for pair in history] == [0, 1] * 20


async def test_the_log_can_be_read_from_where_one_stopped(store: Store) -> None:
    async with store.open("s") as session:
        await session.append(events=["a", "b"])
        await session.append(events=["c"])
    assert [(one.position, one.event) for one in await store.events("s")] == [(0, "a"), (1, "b"), (2, "c")]
    assert [one.event for one in await store.events("s", after=1)] == ["c"]
    with pytest.raises(UnknownSessionError):
        await store.events("t")


async def test_sessions_are_listed_the_last_changed_first(store: Store, clock: Clock) -> None:
    for id in ("a", "b", "c"):
        async with store.open(id) as session:
            await session.append(["hello"], usage={"cost": 1})
        clock.forward(minutes=1)
    async with store.open("a") as session:
        await session.append(["again"], title="First")
    infos = await store.sessions()
    assert [info.id for info in infos] == ["a", "c", "b"]
    assert infos[0] == SessionInfo(
        id="a", title="First", created_at=NOON, updated_at=clock.now, messages=2, usage={"cost": 1}
    )
    assert [info.id for info in await store.sessions(limit=1)] == ["a"]


async def test_a_deleted_session_is_gone_with_all_that_belongs_to_it(store: Store) -> None:
    async with store.open("s") as session:
        await session.append(["hello"], events=["e"])
        await session.add_confirmation("wipe", {}, "d")
    await store.delete("s")
    assert await store.sessions() == ()
    async with store.open("s") as again:
        assert (again.history, again.confirmations) == ((), ())


async def test_an_unknown_session_is_told_with_the_nearest(store: Store) -> None:
    async with store.open("groceries"):
        pass
    for ask in (store.read, store.delete):
        with pytest.raises(UnknownSessionError) as raised:
            await ask("grocery")
        assert (str(raised.value), raised.value.hint) == (
            "There is no session 'grocery'.",
            "Did you mean 'groceries'?",
        )
    with pytest.raises(UnknownSessionError):
        async with store.open("other", create=False):
            pass  # pragma: no cover
    assert len(await store.sessions()) == 1


async def test_old_sessions_can_be_purged_but_open_ones_stay(store: Store, clock: Clock) -> None:
    for id in ("old", "old and open", "new"):
        if id == "new":
            clock.forward(days=10)
        async with store.open(id) as session:
            await session.append(["hello"])
    async with store.open("old and open"):
        assert await store.purge(timedelta(days=5)) == 1
    assert {info.id for info in await store.sessions()} == {"new", "old and open"}


@pytest.mark.parametrize("id", ["ünïcödé", "日本語のセッション", "user@example.com/7", "a b", "🙂", "É" * 200])
async def test_ids_may_be_in_any_script(store: Store, id: str) -> None:
    async with store.open(id) as session:
        await session.append(["hello"])
    assert [info.id for info in await store.sessions()] == [id]
    assert (await store.read(id)).history == ("hello",)


@pytest.mark.parametrize("id", ["", " a", "a\n", "a\x00b", "-rf", "half \ud83d", "x" * 201, "\u202eabc"])
async def test_ids_that_cannot_be_shown_are_refused(store: Store, id: str) -> None:
    for ask in (store.read, store.delete, store.events):
        with pytest.raises(StoreError, match="cannot be the id of a session"):
            await ask(id)
    with pytest.raises(StoreError, match="cannot be the id of a session"):
        async with store.open(id):
            pass  # pragma: no cover


async def test_a_session_is_usable_after_its_run_was_cancelled(store: Store) -> None:
    wrote = asyncio.Event()

    async def run() -> None:
        async with store.open("s") as session:
            await session.append(["kept"])
            wrote.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(run())
    await wrote.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with store.open("s") as session:
        assert session.history == ("kept",)


async def test_a_cancelled_append_is_finished_and_memory_knows(store: Store) -> None:
    async with store.open("s") as session:
        task = asyncio.create_task(session.append(["kept"]))
        await asyncio.sleep(0)  # it begins
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert session.history == (await store.read("s")).history


async def test_a_write_is_finished_however_often_its_caller_is_cancelled() -> None:
    may_finish, done = asyncio.Event(), list[str]()

    async def write() -> None:
        await may_finish.wait()
        done.append("written")

    async def fail() -> None:
        await may_finish.wait()
        raise StoreError("The disk is full.")

    tasks = [asyncio.create_task(shielded(write())), asyncio.create_task(shielded(fail()))]
    for _ in range(3):
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
    await asyncio.sleep(0)
    may_finish.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert (done, list(map(type, ended))) == (["written"], [asyncio.CancelledError] * 2)


async def test_a_session_whose_opening_was_cancelled_is_free(store: Store) -> None:
    async def hold() -> None:
        async with store.open("s"):
            await asyncio.Event().wait()

    for turns in range(8):
        task = asyncio.create_task(hold())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with store.open("s"):
            pass


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
any_text = st.text(st.characters(exclude_categories=()), max_size=5)  # also half surrogate pairs


@settings(max_examples=40)
@example(history=["half \ud83d", "\x00"], toolbox={"\udc00": "\x00"})
@given(history=st.lists(json_values | any_text, max_size=6), toolbox=st.dictionaries(any_text, json_values, max_size=3))
def test_any_json_comes_back_as_it_was(backend: Backend, history: list[object], toolbox: dict[str, object]) -> None:
    async def there_and_back() -> SessionRecord:
        async with backend.open(backend.emptied_place()) as store:
            async with store.open("s") as session:
                for message in history:
                    await session.append([message], toolbox=toolbox, events=[message])
            return await store.read("s")

    record = asyncio.run(there_and_back())
    assert list(record.history) == [one.event for one in record.events] == history
    assert record.toolbox == (toolbox if history else None)
