"""The file itself: what is wrong with it is said in plain words, and nothing in it is ever lost."""

import asyncio
import os
import sqlite3
import stat
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support import PATIENCE
from tests.support.stores import Clock, old_store
from toolcrib.errors import SessionLostError, StoreDamagedError, StoreError
from toolcrib.stores.export import exported_sessions
from toolcrib.stores.sqlite import file as sqlite_file
from toolcrib.stores.sqlite.file import SqliteFile
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.stores.store import open_admin, open_store


async def filled(path: Path) -> None:
    async with SqliteStore(path, durable=False) as store:
        for number in range(20):
            async with store.open(f"s{number}") as session:
                await session.append([{"text": "x" * 500}])


async def test_a_damaged_file_is_told_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path)
    damaged = b"no database at all" + path.read_bytes()[18:]
    path.write_bytes(damaged)
    async with SqliteStore(path) as store:
        for _ in range(2):
            with pytest.raises(StoreError) as raised:
                async with store.open("s1"):
                    pass  # pragma: no cover
            assert str(raised.value) == (
                f"The session store {path} is damaged: file is not a database. Nothing is written to it."
            )
            assert "toolcrib store export --rescue" in (raised.value.hint or "")
    assert path.read_bytes() == damaged
    assert os.listdir(tmp_path) == ["sessions.db"]


async def test_damage_further_inside_is_told_when_it_is_met(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    async with SqliteStore(path) as store:
        with pytest.raises(StoreError, match="is damaged"):
            await store.sessions()


async def test_rows_changed_by_hand_are_told(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sessions SET memory = '{' WHERE id = 's1'")
        connection.execute("UPDATE sessions SET memory = '[]' WHERE id = 's2'")
    async with SqliteStore(path) as store:
        with pytest.raises(StoreDamagedError, match="a row of 'sessions' does not fit its checksum"):
            await store.read("s1")
        with pytest.raises(StoreDamagedError):
            await store.sessions()
        assert (await store.read("s3")).history == ({"text": "x" * 500},)  # what is whole can still be read
        with pytest.raises(StoreDamagedError):
            await store.delete("s3")


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as raised:
        await SqliteStore(tmp_path).sessions()
    assert str(raised.value) == f"The session store {tmp_path} cannot be opened."
    assert "TOOLCRIB_STORE" in (raised.value.hint or "")


async def test_a_file_below_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        await SqliteStore(tmp_path / "file" / "below" / "s.db").sessions()


async def test_a_file_that_is_locked_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sessions.db"
    await filled(path)
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with SqliteStore(path) as store:
            assert len(await store.sessions()) == 20  # readers do not mind
            with pytest.raises(StoreError, match="is locked by another program"):
                await store.delete("s1")
            other.execute("ROLLBACK")
            await store.delete("s1")


async def test_a_new_file_that_is_locked_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sessions.db"
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.03)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        async with SqliteStore(path) as store:
            with pytest.raises(StoreError, match="is locked by another program"):
                await store.sessions()
            other.execute("ROLLBACK")
            assert await store.sessions() == ()


def test_the_journal_is_switched_when_the_last_reader_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as reader,
        closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None, timeout=0)) as ours,
    ):
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM sqlite_master").fetchall()

        def leave(seconds: float) -> None:
            reader.execute("ROLLBACK")

        monkeypatch.setattr(sqlite_file.time, "sleep", leave)
        # by itself: a file's own connection waits longer
        sqlite_file._patiently(lambda: ours.execute("PRAGMA journal_mode = WAL"))  # pyright: ignore[reportPrivateUsage]
        assert ours.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    file = SqliteFile(path)
    async with SqliteStore(file) as store, store.open("s") as session:
        await session.append(["kept"])
        await file.read(lambda connection: connection.execute("PRAGMA max_page_count = 1"))
        with pytest.raises(StoreError, match="the disk is full"):
            await session.append(["x" * 1_000_000])
        assert session.history == ("kept",)
        await file.read(lambda connection: connection.execute("PRAGMA max_page_count = 1000000"))
        await session.append(["and on"])
    await file.close()
    async with SqliteStore(path) as store:
        assert (await store.read("s")).history == ("kept", "and on")


async def test_a_file_in_wal_mode_with_foreign_keys_and_full_sync(tmp_path: Path) -> None:
    async def pragmas(file: SqliteFile) -> list[Any]:
        names = ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        found = await file.read(lambda c: [c.execute(f"PRAGMA {name}").fetchone()[0] for name in names])
        await file.close()
        return found

    assert await pragmas(SqliteFile(tmp_path / "a.db")) == ["wal", 1, 2, 10_000]
    assert await pragmas(SqliteFile(tmp_path / "b.db", durable=False)) == ["wal", 1, 1, 10_000]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
async def test_conversations_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "sessions.db"
    async with SqliteStore(path) as store, store.open("s") as session:
        await session.append(["private"])
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
        assert modes == dict.fromkeys(["sessions.db", "sessions.db-wal", "sessions.db-shm"], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_an_odd_path_is_only_a_path(tmp_path: Path) -> None:
    path = tmp_path / "ünï cödé %20?mode=ro#x" / "мои сессии.db"
    async with open_store(path) as store, store.open("s"):
        pass
    assert path.is_file()


async def test_a_store_can_be_used_after_it_was_closed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.close()
    async with store, store.open("s"):
        pass
    assert [info.id for info in await store.sessions()] == ["s"]
    await store.close()
    assert repr(store) == f"SqliteStore({str(tmp_path / 's.db')!r}, tenant='')"


async def test_a_store_without_a_file_lasts_as_long_as_it_is_open() -> None:
    async with SqliteStore(None) as store:
        async with store.open("s") as session:
            await session.append(["hello"])
        assert (await store.read("s")).history == ("hello",)


def test_one_store_serves_several_event_loops(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")

    async def one() -> int:
        async with store.open("s") as session:
            await session.append(["hello"])
            return len(session.history)

    assert [asyncio.run(one()) for _ in range(3)] == [1, 2, 3]
    asyncio.run(store.close())


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_opens_the_file_anew(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    asyncio.run(_say(store, "parent"))
    child = os.fork()
    if child == 0:  # pragma: no cover - coverage is not told of the child
        try:
            asyncio.run(_say(store, "child"))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    asyncio.run(_say(store, "parent"))
    assert asyncio.run(store.read("s")).history == ("parent", "child", "parent")
    asyncio.run(store.close())


def test_after_a_fork_the_parents_thread_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    file = SqliteFile(None)
    assert file.write_soon(lambda _: 1).result(PATIENCE) == 1
    connection = file._connection  # pyright: ignore[reportPrivateUsage] - whose it is shows nowhere else
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert file.write_soon(lambda _: 2).result(PATIENCE) == 2
    assert file._connection is not connection  # pyright: ignore[reportPrivateUsage] - as above
    asyncio.run(file.close())
    monkeypatch.undo()
    assert connection is not None
    connection.close()


async def _say(store: SqliteStore, word: str) -> None:
    async with store.open("s") as session:
        await session.append([word])


async def test_text_that_is_not_unicode_is_told(tmp_path: Path) -> None:
    async with SqliteStore(None) as store, store.open("s") as session:
        with pytest.raises(StoreError, match="cannot be kept: it is not Unicode"):
            await session.take_confirmation("half \ud83d", "d")


@pytest.mark.parametrize("place", ["mysql://host/db", "https://x"])
def test_a_place_of_another_kind_is_refused(place: str) -> None:
    with pytest.raises(StoreError, match="Sessions cannot be kept in"):
        open_store(place)


async def test_every_statement_that_touches_a_table_names_the_tenant(clock: Clock) -> None:
    said: list[str] = []
    file = SqliteFile(None)
    async with SqliteStore(file, clock=clock) as store:
        await store.sessions()
        await file.read(lambda connection: connection.set_trace_callback(said.append))
        await _everything(store)
        await file.read(lambda connection: connection.set_trace_callback(None))
    await file.close()
    verbs = ("SELECT", "INSERT", "UPDATE", "DELETE")
    # SQLite carries a deletion to the other tables itself, by the foreign key, which begins with the tenant.
    touching = [text for text in said if text.startswith(verbs)]
    assert len({text.split()[0] for text in touching}) == len(verbs)
    assert [text for text in touching if "tenant" not in text] == []


async def _everything(store: SqliteStore) -> None:
    async with store.open("s") as session:
        await session.append(["m"], events=["e"], title="t")
        asked = await session.add_confirmation("t", {}, "d")
        await session.take_confirmation(asked.id, "d")
        await session.decline_confirmation("none")
    record = await store.read("s")
    await store.events("s")
    await store.sessions(limit=1)
    await store.delete("s")
    await store.restore(record)
    await store.purge(timedelta(0))


async def test_a_store_that_was_deleted_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    path, away = tmp_path / "s.db", tmp_path / "away.db"
    async with SqliteStore(path) as store, store.open("s") as session:
        await session.append(["kept"])
        path.rename(away)
        with pytest.raises(StoreError, match="was deleted or replaced while it was open; nothing is kept in it"):
            await session.append(["lost"])
        with pytest.raises(StoreError, match="was deleted or replaced"):
            await store.sessions()
        assert "s.db" not in os.listdir(tmp_path)  # no new file that would hide what happened
        away.rename(path)
        await session.append(["and on"])
    async with SqliteStore(path) as store:
        assert (await store.read("s")).history == ("kept", "and on")


async def test_a_store_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    path, backup = tmp_path / "s.db", tmp_path / "backup.db"
    await filled(backup)
    async with SqliteStore(path) as store, store.open("s") as session:
        backup.replace(path)
        for _ in range(2):  # as long as the old file's journal would come into the new one
            with pytest.raises(StoreError, match="was deleted or replaced"):
                await session.append(["lost"])
        os.unlink(f"{path}-wal")
        os.unlink(f"{path}-shm")
        with pytest.raises(StoreError, match="was deleted or replaced"):
            await session.append(["lost"])
        with pytest.raises(SessionLostError):
            await session.append(["of another file"])
        assert len(await store.sessions()) == 20
    async with SqliteStore(path) as store:
        assert len(await store.sessions()) == 20


@pytest.fixture
def archive() -> Generator[Path]:
    """A folder that others reach, too: pytest's own are for one user alone."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def only_read(folder: Path) -> Generator[None]:
    """As on a disk that cannot be written: for a user who may write only what is his, as root may write everything."""
    for one in folder.iterdir():
        one.chmod(0o444)
    folder.chmod(0o555)
    before, us = sorted(os.listdir(folder)), os.geteuid()
    os.seteuid(65534 if us == 0 else us)
    try:
        yield
        assert sorted(os.listdir(folder)) == before
    finally:
        os.seteuid(us)
        folder.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
async def test_a_store_that_cannot_be_written_is_read_and_exported(archive: Path) -> None:
    await filled(archive / "s.db")
    with only_read(archive):
        async with open_admin(archive / "s.db") as place:
            assert len([one async for one in exported_sessions(place, await place.tenants())]) == 20
            with pytest.raises(StoreError, match="cannot be written: it is read-only"):
                await place.store("").delete("s1")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
async def test_an_older_store_that_cannot_be_written_is_read_too(archive: Path) -> None:
    path = old_store(archive, 3)
    with only_read(archive):
        async with open_admin(path) as place:
            records = [one.record async for one in exported_sessions(place, await place.tenants())]
            assert [one.history[0]["text"] for one in records] == ["find the café ()", "find the café (acme)"]
            assert (await place.status()).form == 3


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
async def test_a_store_that_was_not_closed_is_not_read_without_its_journal(tmp_path: Path, archive: Path) -> None:
    async with SqliteStore(tmp_path / "s.db") as store, store.open("s") as session:
        await session.append(["only in the journal"])
        for name in ("s.db", "s.db-wal"):
            copyfile(tmp_path / name, archive / name)
    with only_read(archive):
        async with SqliteStore(archive / "s.db") as store:
            with pytest.raises(StoreError, match="it was not closed") as raised:
                await store.sessions()
            assert "s.db-wal" in (raised.value.hint or "")
