"""Damaged SQLite files: no answer is wrong in silence, and nothing is written where damage was seen."""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.stores import Clock, old_store
from toolcrib.errors import StoreDamagedError, StoreError
from toolcrib.memory.working import Outcome, WorkingMemory
from toolcrib.stores.record import SessionRecord
from toolcrib.stores.sqlite.store import SqliteStore

PAGE = 4096


async def fill(path: Path, clock: Clock) -> dict[str, SessionRecord]:
    """A store with something in every table, checkpointed, and what it holds."""
    async with SqliteStore(path, durable=False, clock=clock) as store:
        for id in ("a", "b", "c"):
            async with store.open(id) as session:
                for number in range(40):
                    memory = WorkingMemory(discovered=(f"tool_{number}",)).with_use("get", Outcome.OK, at=clock.now)
                    messages = [{"number": number, "text": id * 400}]
                    await session.append(messages, memory=memory, usage={"tokens": number}, events=[number, "é"])
                    await session.begin_call(f"call-{number}", "get")
                for number in range(10):
                    await session.add_confirmation("delete", {"id": number}, digest=f"d{number}")
                clock.forward(seconds=1)
        return {info.id: await store.read(info.id) for info in await store.sessions()}


def flip(content: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(content))
    for place in range(start, min(len(content), start + dice.choice([1, 8, 64, 512, PAGE]))):
        content[place] = dice.randrange(256)


def flip_a_bit(content: bytearray, dice: random.Random) -> None:
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)


def flip_in_the_header(content: bytearray, dice: random.Random) -> None:
    content[dice.randrange(100)] ^= 1 << dice.randrange(8)


def cut(content: bytearray, dice: random.Random) -> None:
    del content[dice.randrange(1, len(content)) :]


def blank_a_page(content: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(content) // PAGE) * PAGE
    content[start : start + PAGE] = bytes(PAGE)


def copy_a_page(content: bytearray, dice: random.Random) -> None:
    here, there = (dice.randrange(len(content) // PAGE) * PAGE for _ in range(2))
    content[here : here + PAGE] = content[there : there + PAGE]


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip,
    flip_a_bit,
    flip_in_the_header,
    cut,
    blank_a_page,
    copy_a_page,
)


class Use:
    """Uses a store in every way, and compares each answer with what was kept."""

    def __init__(self, path: Path, kept: dict[str, SessionRecord], clock: Clock) -> None:
        self.path = path
        self.kept = dict(kept)
        self.clock = clock
        self.damage: str | None = None  # the first that was told
        self.content: bytes | None = None  # of the file, at that moment
        self.wrong: list[str] = []
        self.accepted: dict[str, int] = {}

    def tell(self, error: StoreError) -> None:
        if not isinstance(error, StoreDamagedError) and "a newer Toolcrib (form" not in str(error):
            self.wrong.append(f"not called damaged: {error}")
        if self.damage is None:
            self.damage, self.content = str(error), self.read_file()

    def read_file(self) -> bytes:
        journal = Path(f"{self.path}-wal")
        return self.path.read_bytes() + (journal.read_bytes() if journal.exists() else b"")

    def forget(self) -> None:
        for end in ("", "-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)

    async def all(self) -> None:
        async with SqliteStore(self.path, durable=False, clock=self.clock) as store:
            for id in ("c", "a"):
                await self.write(store, id)
            try:
                ids = {info.id: info.messages for info in await store.sessions()}
                if ids != {id: len(record.history) + self.accepted.get(id, 0) for id, record in self.kept.items()}:
                    self.wrong.append(f"sessions are {ids}")
            except StoreError as error:
                self.tell(error)
            for id in self.kept:
                await self.read(store, id)
            await self.write(store, "b")
        if self.damage is not None and self.content != self.read_file():
            self.wrong.append("it was written after damage was seen")
        if self.damage is not None and self.accepted.get("after"):
            self.wrong.append("a step was accepted after damage was seen")

    async def write(self, store: SqliteStore, id: str) -> None:
        saw_damage = self.damage is not None
        try:
            async with store.open(id, create=False) as session:
                if session.history != self.kept[id].history:
                    self.wrong.append(f"{id} was opened with another history")
                await session.append(["new"])
                self.accepted[id] = 1
                if saw_damage:
                    self.accepted["after"] = 1
                asked = self.kept[id].confirmations[0]
                taken = await session.take_confirmation(asked.id, asked.digest)
                if getattr(taken, "tool", None) != "delete":
                    self.wrong.append(f"a confirmation of {id} was {taken}")
        except StoreError as error:
            self.tell(error)

    async def read(self, store: SqliteStore, id: str) -> None:
        try:
            record = await store.read(id)
            added = ("new",) * self.accepted.get(id, 0)
            if record.history != self.kept[id].history + added or record.events != self.kept[id].events:
                self.wrong.append(f"{id} was read with other messages or events")
            if (record.memory, record.calls) != (self.kept[id].memory, self.kept[id].calls):
                self.wrong.append(f"{id} was read with another memory or other calls")
        except StoreError as error:
            self.tell(error)


@pytest.mark.parametrize("files", [60, pytest.param(3_000, marks=pytest.mark.chaos)])
async def test_damaged_files_give_no_wrong_answer_and_are_not_written(tmp_path: Path, files: int) -> None:
    clock = Clock()
    kept = await fill(tmp_path / "whole.db", clock)
    clock.forward(minutes=1)
    whole = (tmp_path / "whole.db").read_bytes()
    dice = random.Random(11)
    counts: Counter[str] = Counter()
    for number in range(files):
        content = bytearray(whole)
        damage = DAMAGES[number % len(DAMAGES)]
        damage(content, dice)
        path = tmp_path / f"{number}.db"
        path.write_bytes(content)
        use = Use(path, kept, clock)
        await use.all()
        assert use.wrong == [], (number, damage.__name__, use.damage)
        counts["told" if use.damage else "harmless"] += 1
        use.forget()
    assert counts["told"] > files * 0.6, counts


async def test_a_row_that_vanished_is_missed(tmp_path: Path) -> None:
    path, clock = tmp_path / "s.db", Clock()
    await fill(path, clock)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM messages WHERE session = 'a' AND position = 39")
        connection.execute("DELETE FROM events WHERE session = 'b' AND position = 3")
        connection.execute("DELETE FROM calls WHERE session = 'c' AND id = 'call-3'")
    async with SqliteStore(path, clock=clock) as store:
        for id, missing in (("a", "39 of 40 rows of 'messages'"), ("c", "39 of 40 rows of 'calls'"), ("b", "the log")):
            with pytest.raises(StoreDamagedError, match=missing):
                await store.read(id)
        assert len(await store.events("b", after=10)) == 69


async def test_a_row_cannot_stand_in_for_another(tmp_path: Path) -> None:
    path, clock = tmp_path / "s.db", Clock()
    await fill(path, clock)
    with closing(sqlite3.connect(path)) as connection, connection:
        row = "SELECT message, checksum FROM messages WHERE session = 'a' AND position = 1"
        connection.execute(f"UPDATE messages SET (message, checksum) = ({row}) WHERE session = 'a' AND position = 2")
    async with SqliteStore(path, clock=clock) as store:
        with pytest.raises(StoreDamagedError, match="a row of 'messages' does not fit its checksum"):
            await store.read("a")


async def test_a_damaged_file_that_was_replaced_is_used_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "s.db", Clock()
    kept = await fill(path, clock)
    whole = path.read_bytes()
    path.write_bytes(whole[: 5 * PAGE])
    async with SqliteStore(path, clock=clock) as store:
        with pytest.raises(StoreDamagedError):
            await store.read("a")
        (tmp_path / "backup.db").write_bytes(whole)
        (tmp_path / "backup.db").replace(path)
        assert await store.read("a") == kept["a"]


async def test_an_older_file_with_a_damaged_row_is_not_brought_up(tmp_path: Path) -> None:
    path = old_store(tmp_path, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE messages SET message = '{' WHERE tenant = 'acme' AND position = 1")
        connection.commit()
    before = path.read_bytes()
    async with SqliteStore(path) as store:
        with pytest.raises(StoreDamagedError, match="a row of 'messages' cannot be read"):
            await store.sessions()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    assert path.read_bytes()[100:] == before[100:]
