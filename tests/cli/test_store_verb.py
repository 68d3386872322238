"""`toolcrib store`: status, migrate, gc, export, import and audit, from SQLite to PostgreSQL and back."""

import asyncio
import io
import itertools
import json
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer
from tests.support.stores import old_store
from toolcrib.cli import store as store_work
from toolcrib.cli.main import INTERRUPTED, main
from toolcrib.memory.working import Outcome, WorkingMemory
from toolcrib.stores.record import SessionRecord
from toolcrib.stores.store import open_admin, open_store

NewPlace = Callable[[], str]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.process)])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> NewPlace:
    """Empty places of each kind."""
    if request.param == "sqlite":
        numbers = itertools.count()
        return lambda: str(tmp_path / f"sessions-{next(numbers)}.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database


@pytest.fixture
def filled(tmp_path: Path) -> str:
    """A SQLite store in which there is something of everything."""
    path = tmp_path / "filled.db"
    asyncio.run(fill(str(path)))
    return str(path)


async def fill(place: str) -> None:
    async with open_store(place) as root:
        for tenant in ("", "acme", "日本"):
            store = root.for_tenant(tenant)
            for number in range(3):
                async with store.open(f"s{number}") as session:
                    memory = WorkingMemory(summary=f"of {tenant}").with_use("t", Outcome.OK, at=datetime.now(UTC))
                    await session.append(
                        [{"text": f"{tenant}{number}\x00 half \ud83d"}, number],
                        memory=memory,
                        toolbox={"a": [1]},
                        usage={"cost": 0.1, "input_tokens": 10**12},
                        title=f"Nr. {number}",
                        events=[
                            {"type": "tool_started", "call_id": "1", "name": "wipe", "arguments": {"key": "s3cret"}},
                            {"type": "tool_finished", "call_id": "1", "name": "wipe", "failed": number == 1},
                        ],
                    )
                    asked = [await session.add_confirmation("wipe", {"key": "s3cret"}, "d") for _ in range(3)]
                    await session.take_confirmation(asked[0].id, "d")
                    await session.decline_confirmation(asked[1].id)


def everything(place: str) -> dict[tuple[str, str], SessionRecord]:
    async def read() -> dict[tuple[str, str], SessionRecord]:
        async with open_admin(place) as here:
            return {
                (tenant, info.id): await here.store(tenant).read(info.id)
                for tenant in await here.tenants()
                for info in await here.store(tenant).sessions()
            }

    return asyncio.run(read())


def test_a_store_is_moved_there_and_back_with_nothing_lost(
    filled: str, new_place: NewPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    there, back = new_place(), new_place()
    assert main(["store", "migrate", "--store", filled, "--to", there]) == 0
    assert capsys.readouterr().err == "9 new, 0 already there; every session was verified\n"
    assert main(["store", "migrate", "--store", there, "--to", back]) == 0
    assert len(everything(filled)) == 9
    assert everything(filled) == everything(there) == everything(back)
    assert main(["store", "migrate", "--store", filled, "--to", back]) == 0
    assert capsys.readouterr().err.endswith("0 new, 9 already there; every session was verified\n")


def test_an_export_is_taken_in_elsewhere_with_nothing_lost(
    filled: str,
    new_place: NewPlace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, there, again = tmp_path / "all.jsonl", new_place(), new_place()
    assert main(["store", "export", "--store", filled, "--output", str(file)]) == 0
    assert capsys.readouterr() == ("", f"9 sessions written to {file}\n")
    assert file.stat().st_mode & 0o777 == 0o600 or sys.platform == "win32"
    assert main(["store", "import", str(file), "--store", there]) == 0
    assert everything(there) == everything(filled)

    assert main(["store", "export", "--store", there]) == 0
    written = capsys.readouterr().out
    assert sorted(written.splitlines()) == sorted(file.read_text("utf-8").splitlines())
    monkeypatch.setattr("sys.stdin", io.StringIO(written))
    assert main(["store", "import", "-", "--store", again]) == 0
    assert everything(again) == everything(filled)


def test_only_one_tenant_may_be_exported(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "export", "--store", filled, "--tenant", "acme"]) == 0
    shown = capsys.readouterr()
    assert {json.loads(line)["tenant"] for line in shown.out.splitlines()[1:-1]} == {"acme"}
    assert shown.err == "3 sessions written\n"


def test_what_differs_is_not_overwritten_unless_told(
    filled: str, new_place: NewPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    there = new_place()

    async def write_another() -> None:
        async with open_store(there, tenant="acme") as store, store.open("s1") as session:
            await session.append(["theirs"])

    asyncio.run(write_another())
    before = everything(there)
    assert main(["store", "migrate", "--store", filled, "--to", there]) == 4
    assert capsys.readouterr().err == (
        "error: 1 sessions are there already and differ, the first is 's1' of the tenant 'acme'. Nothing was written.\n"
        "hint: Give --overwrite to replace them, or another store.\n"
    )
    assert everything(there) == before
    assert main(["store", "migrate", "--store", filled, "--to", there, "--overwrite", "--dry-run"]) == 0
    assert capsys.readouterr().err == "8 new, 0 already there, 1 replaced; nothing was written\n"
    assert everything(there) == before
    assert main(["store", "migrate", "--store", filled, "--to", there, "--overwrite"]) == 0
    assert everything(there) == everything(filled)


def test_a_move_that_was_broken_off_goes_on_where_it_stopped(
    filled: str, new_place: NewPlace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = new_place()
    import_session = store_work.Destination.import_session
    left = iter(range(4))

    async def interrupted(self: store_work.Destination, session: store_work.ExportedSession) -> object:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return await import_session(self, session)

    with monkeypatch.context() as patched:
        patched.setattr(store_work.Destination, "import_session", interrupted)
        assert main(["store", "migrate", "--store", filled, "--to", there]) == INTERRUPTED
    assert len(everything(there)) == 4
    assert main(["store", "migrate", "--store", filled, "--to", there]) == 0
    assert capsys.readouterr().err == "5 new, 4 already there; every session was verified\n"
    assert everything(there) == everything(filled)


def test_a_session_that_did_not_arrive_as_it_was_sent_is_told(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(*_: object, **__: object) -> None:
        async with open_store(there) as store, store.open("s0"):
            pass

    there = str(tmp_path / "there.db")
    monkeypatch.setattr("toolcrib.stores.sqlite.store.SqliteStore.restore", lose)
    assert main(["store", "migrate", "--store", filled, "--to", there]) == 4
    assert "did not arrive as it was sent" in capsys.readouterr().err


def test_a_store_is_not_moved_onto_itself(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "migrate", "--store", filled, "--to", filled]) == 4
    assert capsys.readouterr().err.startswith("error: The two stores are the same.\n")


DAMAGES: list[tuple[Callable[[list[str]], list[str]], str]] = [
    (lambda lines: lines[:-1], "The file ends too early: after 9 sessions."),
    (lambda lines: [*lines[:4], lines[-1]], "The file ends too early: after 3 sessions."),
    (lambda lines: lines[1:], "This is not an exported store, or one of another version."),
    (lambda lines: [lines[0], "{"], "Line 2 of the file cannot be read"),
    (lambda lines: [lines[0], "[]"], "Line 2 of the file holds no session."),
    (lambda lines: [], "Line 1 of the file cannot be read"),
    (lambda lines: [lines[0], '{"tenant": "", "session": {}}'], "This is not an exported session"),
]


@pytest.mark.parametrize(("change", "problem"), DAMAGES)
def test_a_damaged_file_is_refused_before_anything_is_written(
    filled: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[list[str]], list[str]],
    problem: str,
) -> None:
    assert main(["store", "export", "--store", filled]) == 0
    file, there = tmp_path / "some.jsonl", tmp_path / "there.db"
    file.write_text("\n".join(change(capsys.readouterr().out.splitlines())), encoding="utf-8")
    assert main(["store", "import", str(file), "--store", str(there)]) == 4
    assert capsys.readouterr().err.startswith(f"error: {problem}")
    assert not there.exists()


def test_files_that_cannot_be_read_or_written_are_told(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "import", str(tmp_path / "none"), "--store", filled]) == 4
    assert "cannot be read" in capsys.readouterr().err
    assert main(["store", "export", "--output", str(tmp_path / "none" / "x"), "--store", filled]) == 4
    assert "cannot be written" in capsys.readouterr().err


def test_the_status_tells_what_is_there(filled: str, new_place: NewPlace, capsys: pytest.CaptureFixture[str]) -> None:
    place = new_place()
    assert main(["store", "status", "--store", place]) == 2
    shown = capsys.readouterr()
    assert "none yet" in shown.out
    assert shown.err == "migrate it with: toolcrib store migrate\n"

    assert main(["store", "migrate", "--dry-run", "--store", place]) == 0
    assert "would be migrated from schema version 0 to" in capsys.readouterr().err
    assert main(["store", "migrate", "--store", place]) == 0
    assert "was migrated from schema version 0 to" in capsys.readouterr().err
    assert main(["store", "migrate", "--store", place]) == 0
    assert "is up to date" in capsys.readouterr().err

    assert main(["store", "migrate", "--store", filled, "--to", place]) == 0
    capsys.readouterr()

    async def held_open() -> None:
        async with open_store(place) as store, store.open("s1"):
            assert await asyncio.to_thread(main, ["store", "status", "--json", "--store", place]) == 0

    asyncio.run(held_open())
    found = json.loads(capsys.readouterr().out)
    assert found.pop("bytes") > 4096
    assert found.pop("form") == found.pop("newest_form")
    assert found.pop("place").endswith(Path(place.partition("?")[0]).name)
    assert found.pop("engine") in ("SQLite", "PostgreSQL")
    assert found == {
        "tenants": 3,
        "sessions": 9,
        "messages": 18,
        "events": 18,
        "open_sessions": 1,
        "open_questions": 9,
    }
    assert main(["store", "status", "--store", place]) == 0
    assert re.search(r"open questions +9", capsys.readouterr().out)


def test_the_status_of_an_older_file_does_not_bring_it_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = old_store(tmp_path, 1)
    assert main(["store", "status", "--store", str(path)]) == 2
    assert re.search(r"1, the newest is \d", capsys.readouterr().out)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_old_sessions_of_all_tenants_are_forgotten_and_open_ones_stay(
    new_place: NewPlace, capsys: pytest.CaptureFixture[str]
) -> None:
    place = new_place()

    async def fill_and_hold(work: Callable[[], None]) -> None:
        old = datetime.now(UTC) - timedelta(days=100)
        async with open_store(place) as root:
            for tenant in ("", "acme"):
                for id in ("old", "open"):
                    await root.for_tenant(tenant).restore(SessionRecord(id=id, created_at=old, updated_at=old))
                async with root.for_tenant(tenant).open("new") as session:
                    await session.append(["hello"])
            async with root.open("open"):
                await asyncio.to_thread(work)

    def forget() -> None:
        assert main(["store", "gc", "--days", "90", "--dry-run", "--store", place]) == 0
        assert capsys.readouterr().err == "3 sessions would be deleted\n"
        assert main(["store", "gc", "--days", "90", "--tenant", "acme", "--store", place]) == 0
        assert capsys.readouterr().err == "2 sessions deleted\n"
        assert main(["store", "gc", "--days", "90", "--store", place]) == 0
        assert capsys.readouterr().err == "1 session deleted\n"

    asyncio.run(fill_and_hold(forget))
    assert set(everything(place)) == {("", "open"), ("", "new"), ("acme", "new")}


def test_an_audit_tells_who_called_what_and_no_value(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "audit", "--store", filled, "--tenant", "acme"]) == 0
    shown = capsys.readouterr()
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert shown.err == "18 lines\n"
    assert "s3cret" not in shown.out
    of_one = [line for line in lines if line["session"] == "s1"]
    assert [(line["what"], line["tool"], line["outcome"]) for line in of_one] == [
        ("call", "wipe", "failed"),
        ("question", "wipe", "asked"),
        ("question", "wipe", "asked"),
        ("question", "wipe", "asked"),
        ("answer", "wipe", "taken"),
        ("answer", "wipe", "declined"),
    ]
    assert len({line["arguments"] for line in lines}) == 1
    assert {line["tenant"] for line in lines} == {"acme"}


def test_what_is_whole_in_a_damaged_file_is_taken_along(
    filled: str, new_place: NewPlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, archive = everything(filled), tmp_path / "rescued.jsonl"
    assert main(["store", "check", "--store", filled]) == 0
    assert capsys.readouterr().err == "9 sessions checked, 0 faults\n"
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute(
            "UPDATE messages SET message = '0' WHERE tenant = 'acme' AND session = 's1' AND position = 1"
        )
        connection.execute("DELETE FROM events WHERE tenant = '' AND session = 's2' AND position = 0")
    damaged = Path(filled).read_bytes()
    assert main(["store", "check", "--store", filled]) == 1
    assert "'s1' of the tenant 'acme': " in (said := capsys.readouterr().err)
    assert said.endswith("9 sessions checked, 2 faults\n")
    assert main(["store", "export", "--store", filled, "--output", str(archive)]) == 4
    assert "toolcrib store export --rescue" in capsys.readouterr().err
    assert main(["store", "export", "--rescue", "--store", filled, "--output", str(archive)]) == 1
    assert "7 sessions are whole; 2 are not" in capsys.readouterr().err
    there = new_place()
    assert main(["store", "import", str(archive), "--store", there]) == 0
    assert everything(there) == {key: kept for key, kept in before.items() if key not in {("acme", "s1"), ("", "s2")}}
    assert Path(filled).read_bytes() == damaged


def test_a_file_with_a_broken_page_gives_what_lies_beside_it(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sessions_by_change'").fetchone()[0]
    content = bytearray(Path(filled).read_bytes())
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    Path(filled).write_bytes(content)
    assert main(["sessions", "list", "--store", filled]) == 4
    assert "is damaged: " in capsys.readouterr().err
    assert main(["store", "check", "--store", filled]) == 1
    assert main(["store", "export", "--rescue", "--store", filled, "--tenant", "acme"]) == 0
    assert "3 sessions are whole; 0 are not" in capsys.readouterr().err


def test_only_a_file_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "check", "--store", "postgresql://nobody@127.0.0.1:1/none"]) == 4
    assert "This is for SQLite files." in capsys.readouterr().err


def test_a_place_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "none.db")
    for verb in (["gc", "--days", "1"], ["export"], ["audit"], ["migrate", "--to", "postgresql://x/y"]):
        assert main(["store", *verb, "--store", place]) == 4
        assert capsys.readouterr().err.startswith(f"error: No sessions are kept in {place}.\n")
    assert not list(tmp_path.iterdir())


def test_no_password_is_ever_shown(postgres: PostgresServer, capsys: pytest.CaptureFixture[str]) -> None:
    place = postgres.new_database().replace("toolcrib@", "toolcrib:s3cret@")
    for verb in (
        ["store", "status"],
        ["store", "migrate"],
        ["store", "status", "--json"],
        ["sessions", "list"],
        ["sessions", "show", "none"],
    ):
        main([*verb, "--store", place])
    main(["store", "status", "--store", place.replace("toolcrib:", "stranger:")])
    shown = capsys.readouterr()
    assert "postgresql://toolcrib@" in shown.out
    assert "0 sessions in postgresql://toolcrib@" in shown.err
    assert "cannot be reached" in shown.err
    assert "s3cret" not in shown.out + shown.err
