"""A session's log as JSON Lines: while it happens, and from the store."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from tests.support.agent import Shop, scripted
from tests.support.apps import WriteApp
from toolcrib.agent.events import Answered, Text
from toolcrib.agent.runner import run, stream
from toolcrib.apps.build import load_app
from toolcrib.apps.session_log import SessionLog
from toolcrib.errors import StoreError
from toolcrib.server.app import create_app
from toolcrib.server.services import Served
from toolcrib.stores.log import log_of, tool_calls_in
from toolcrib.stores.record import LoggedEvent, SessionRecord
from toolcrib.stores.sqlite.store import SqliteStore

TALK = (
    [("tool_search", {"query": "rename a page"})],
    [("rename_page", {"slug": "home", "title": "Start"}), ("broken_report", {"name": "x"})],
    "Done.",
)


async def test_the_log_of_a_session_has_calls_with_durations_tokens_and_counts() -> None:
    _, model = scripted(*TALK, "Again.")
    crib = Shop().crib(model)
    async with SqliteStore(None) as store:
        async with store.open("talk") as session:
            await run(session, "rename it", crib=crib)
            await run(session, "thanks", crib=crib)
        record = await store.read("talk")
    head, *lines = log_of(record)
    counts = {"tool_calls_count": 3, "discovery_calls_count": 1, "inner_calls_count": 0}
    assert {name: head[name] for name in ("type", "id", *counts)} == {"type": "session", "id": "talk", **counts}
    assert [line["type"] for line in lines] == [
        "run_started",
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
        "tool_started",
        "tool_started",
        "tool_finished",
        "tool_finished",
        "answered",
        "usage",
        "run_started",
        "answered",
        "usage",
    ]
    first, second = [line for line in lines if line["type"] == "usage"]
    assert (first["tool_calls_count"], first["discovery_calls_count"], second["tool_calls_count"]) == (3, 1, 0)
    assert [set(step) for step in first["report"]["steps"]] == [
        {"prompt", "definitions", "protocols", "memory", "history"}
    ] * 3
    assert all(line["took_ms"] >= 0 for line in lines if line["type"] == "tool_finished")
    assert all(datetime.fromisoformat(line["at"]).tzinfo is not None for line in lines)
    assert tool_calls_in(record) == (2, 1)


async def test_a_log_is_written_while_it_happens(tmp_path: Path) -> None:
    _, model = scripted(*TALK)
    log = SessionLog(tmp_path / "logs")
    path = log.path("talk")
    crib = replace(Shop().crib(model), on_event=log.write)
    async with SqliteStore(None) as store, store.open("talk") as session:
        seen = 0
        async for event in stream(session, "rename it", crib=crib):
            seen += not isinstance(event, Text)
            assert len(path.read_text("utf-8").splitlines()) >= seen
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(lines) == seen
    assert (lines[0]["type"], lines[-1]["type"], lines[-1]["tool_calls_count"]) == ("run_started", "usage", 3)
    assert path.stat().st_mode & 0o077 == 0


def test_any_session_has_a_file_of_its_own_in_the_folder(tmp_path: Path) -> None:
    ids = [
        "talk",
        "Talk",
        "a/b",
        "a_b",
        "../../x",
        "café",
        "cafe\u0301",
        "a:b",
        "con",
        "nul.txt",
        "talk@acme",
        "a+b",
        "話" * 200,
    ]
    log = SessionLog(tmp_path)
    paths = [log.path(id, tenant) for id in ids for tenant in ("", "acme", "Acme", "a/b", "話" * 200)]
    assert len({path.name.lower() for path in paths}) == len(paths)
    assert all(path.parent == tmp_path for path in paths)
    assert all(re.fullmatch(r"[a-z0-9_.@+-]{1,200}", path.name) for path in paths)
    assert [log.path("talk").name, log.path("talk", "acme").name] == ["talk.jsonl", "talk@acme.jsonl"]


async def test_two_tenants_with_one_session_id_have_a_log_each(tmp_path: Path) -> None:
    _, model = scripted("Hello.", "Hello.", "Hello.")
    log = SessionLog(tmp_path)
    crib = replace(Shop().crib(model), on_event=log.write)
    async with SqliteStore(None) as store:
        for tenant, text in [("", "none"), ("acme", "first"), ("globex", "second")]:
            async with store.for_tenant(tenant).open("talk") as session:
                await run(session, text, crib=crib)
    names = ["talk.jsonl", "talk@acme.jsonl", "talk@globex.jsonl"]
    texts = {name: json.loads((tmp_path / name).read_text("utf-8").splitlines()[0])["text"] for name in names}
    assert texts == {"talk.jsonl": "none", "talk@acme.jsonl": "first", "talk@globex.jsonl": "second"}


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreError, match="No log can be written"):
        SessionLog(tmp_path / "logs")


async def test_a_log_that_cannot_be_written_does_not_end_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, model = scripted("Done.")
    log = SessionLog(tmp_path)
    log.path("talk").mkdir()
    async with SqliteStore(None) as store, store.open("talk") as session:
        done = await run(session, "go", crib=replace(Shop().crib(model), on_event=log.write))
    assert done.answer == "Done."
    assert "cannot be written" in caplog.text


OFFICE = """\
app: {app_id: office}
runtime: {tool_injection: direct, session_log: logs}
agents:
  - {id: desk}
  - {id: clerk, description: Knows the files., phrases: [look something up]}
"""
CALLS = ([("ask_clerk", {"request": "Look."})], "I looked.", "The clerk looked.")


def lines_of(path: Path) -> list[tuple[str, str]]:
    """The agent and the type of each line."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [(line.get("agent", ""), line["type"]) for line in lines]


WRITTEN = [
    ("", "run_started"),
    ("", "tool_started"),
    ("clerk", "run_started"),
    ("clerk", "answered"),
    ("clerk", "usage"),
    ("", "tool_finished"),
    ("", "answered"),
    ("", "usage"),
]


async def test_an_app_logs_its_sessions_with_what_the_agents_it_calls_do(write: WriteApp) -> None:
    _, model = scripted(*CALLS)
    file = write(OFFICE)
    app = load_app(file, model=model, environment={})
    async with app, SqliteStore(None) as store, store.open("talk") as session:
        await app.run(session, "look")
    assert lines_of(file.parent / "logs" / "talk.jsonl") == WRITTEN


async def test_an_app_that_is_served_logs_each_session_apart(write: WriteApp) -> None:
    _, model = scripted(*CALLS, *CALLS)
    file = write(OFFICE)
    app = load_app(file, model=model, environment={})
    served = create_app(Served(crib=app.crib, store=SqliteStore(None), opens=(app,)))
    transport = httpx2.ASGITransport(app=served)
    async with (
        served.router.lifespan_context(served),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http,
    ):
        ids = [(await http.post("/api/sessions")).json()["id"] for _ in range(2)]
        for one in ids:
            assert (await http.post(f"/api/sessions/{one}/messages", json={"text": "look"})).status_code == 200
    logs = file.parent / "logs"
    assert {path.name for path in logs.iterdir()} == {f"{one}.jsonl" for one in ids}  # and none of the rehearsal
    assert [lines_of(logs / f"{one}.jsonl") for one in ids] == [WRITTEN, WRITTEN]


def test_what_is_no_event_is_passed_over() -> None:
    now = datetime.now(UTC)
    kept = [
        LoggedEvent(position=at, at=now, event=event) for at, event in enumerate(["x", Answered(text="a").to_json()])
    ]
    record = SessionRecord(id="s", created_at=now, updated_at=now, events=tuple(kept))
    assert [line["type"] for line in log_of(record)] == ["session", "answered"]
