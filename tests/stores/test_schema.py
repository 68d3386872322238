"""A store written by an older Toolcrib opens with everything in it; one by a newer is left alone."""

import asyncio
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.stores import NOON, Clock, old_store
from toolcrib.errors import SessionBusyError, StoreError
from toolcrib.memory.working import Outcome, WorkingMemory
from toolcrib.stores.record import BegunCall, Confirmation, LoggedEvent, Resolution, SessionRecord
from toolcrib.stores.sqlite.file import CURRENT, MIGRATIONS, Migration, migrate
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.tool import Entity

ERSTE = SessionRecord(
    id="erste",
    created_at=NOON,
    updated_at=NOON,
    memory=WorkingMemory(
        entities=(Entity(type="page", id="7", name="Café", seen_at=NOON),), discovered=("cms_getPage",)
    ).with_use("cms_getPage", Outcome.OK, at=NOON),
    toolbox={"active": ["cms_getPage"]},
    history=({"role": "user", "text": "find the café ()"}, {"role": "assistant", "text": "Here it is."}),
    usage={"input_tokens": 12},
    confirmations=(
        Confirmation(
            id="c0ffee",
            tool="cms_deletePage",
            arguments={"id": "7"},
            digest="d1",
            created_at=NOON,
            expires_at=NOON + timedelta(hours=1),
        ),
    ),
)


LATER = replace(
    ERSTE,
    title="Das Café",
    fence=0,
    confirmations=(
        replace(
            ERSTE.confirmations[0],
            id="c0ffe2",
            arguments={"id": "8"},
            digest="d2",
            settled_at=NOON,
            settled_as=Resolution.TAKEN,
        ),
        *ERSTE.confirmations,
    ),
    events=tuple(
        LoggedEvent(position=place, at=NOON, event={"type": type})
        for place, type in enumerate(("run_started", "answered"))
    ),
)
KEPT = {  # what is in a store of each form
    1: ERSTE,
    2: LATER,
    3: replace(LATER, calls=(BegunCall(id="call-1", tool="cms_getPage", fence=1, at=NOON),)),
}


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    return old_store(tmp_path, 1)


def fingerprint(path: Path) -> tuple[list[str], int]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump()), connection.execute("PRAGMA user_version").fetchone()[0]


@pytest.mark.parametrize("form", range(1, CURRENT))
async def test_a_store_of_each_older_form_is_brought_up_with_nothing_lost(
    tmp_path: Path, form: int, clock: Clock
) -> None:
    path = old_store(tmp_path, form)
    async with SqliteStore(path, clock=clock) as store:
        assert await store.read("erste") == KEPT[form]
        theirs = await store.for_tenant("acme").read("erste")
        assert theirs.history[0]["text"] == "find the café (acme)"
        with pytest.raises(SessionBusyError):  # another machine holds it
            async with store.open("erste"):
                pass  # pragma: no cover
        clock.forward(seconds=31)
        async with store.open("erste") as session:
            await session.append(["new"], title="Titled", events=["e"])
            asked = session.confirmations[0]
            assert await session.take_confirmation(asked.id, asked.digest) == replace(
                asked, settled_at=clock.now, settled_as=Resolution.TAKEN
            )
        assert (await store.read("erste")).history == (*KEPT[form].history, "new")
    assert fingerprint(path)[1] == CURRENT


async def test_processes_that_bring_a_store_up_at_once_do_it_once(version_1: Path) -> None:
    stores = [SqliteStore(version_1) for _ in range(6)]
    assert await asyncio.gather(*(store.read("erste") for store in stores)) == [ERSTE] * 6
    for store in stores:
        await store.close()


def test_a_migration_that_fails_changes_nothing(version_1: Path) -> None:
    before = fingerprint(version_1)
    broken = (*MIGRATIONS, Migration(CURRENT + 1, ("CREATE TABLE more (a)", "CREATE TABLE more (a)")))
    with closing(sqlite3.connect(version_1, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="already exists"):
            migrate(connection, "here", broken)
        assert not connection.in_transaction
    assert fingerprint(version_1) == before


def test_versions_are_counted_without_a_gap() -> None:
    assert [migration.version for migration in MIGRATIONS] == list(range(1, CURRENT + 1))


def test_a_store_brought_up_equals_a_new_one(version_1: Path, tmp_path: Path) -> None:
    def schema(path: Path) -> set[tuple[str, str]]:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            migrate(connection, "here")
            rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
            return {(name, " ".join(sql.split())) for name, sql in rows}

    assert schema(version_1) == schema(tmp_path / "new.db")


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(version_1: Path) -> None:
    with closing(sqlite3.connect(version_1)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = fingerprint(version_1)
    with pytest.raises(StoreError) as raised:
        await SqliteStore(version_1).sessions()
    assert "was written by a newer Toolcrib (form 99; this one knows forms up to 4)" in str(raised.value)
    assert raised.value.hint == "Update Toolcrib: pip install --upgrade toolcrib"
    assert fingerprint(version_1) == before
    assert os.listdir(version_1.parent) == [version_1.name]


async def test_a_store_that_was_brought_up_by_another_process_meanwhile_is_refused(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "s.db") as store, store.open("s") as session:
        with closing(sqlite3.connect(tmp_path / "s.db")) as newer:
            newer.execute(f"PRAGMA user_version = {CURRENT + 1}")
        with pytest.raises(StoreError, match="newer Toolcrib"):
            await session.append(["hello"])
        assert session.history == ()
        with closing(sqlite3.connect(tmp_path / "s.db")) as newer:
            newer.execute(f"PRAGMA user_version = {CURRENT}")
        await session.append(["hello"])


@pytest.mark.parametrize("version", [0, 2])
async def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"CREATE TABLE theirs (a); PRAGMA user_version = {version};")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is a database of another program; it was not touched"):
        await SqliteStore(path).sessions()
    assert path.read_bytes() == before
