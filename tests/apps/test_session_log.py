"""A session's log as JSON Lines: while it happens, and from the store."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.agent import Shop, scripted
from toolcrib.agent.events import Answered, Text
from toolcrib.agent.runner import run, stream
from toolcrib.apps.app import SessionLog
from toolcrib.errors import StoreError
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
    assert (head["type"], head["id"], head["tool_calls_count"], head["discovery_calls_count"]) == (
        "session",
        "talk",
        2,
        1,
    )
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
    assert (first["tool_calls_count"], first["discovery_calls_count"], second["tool_calls_count"]) == (2, 1, 0)
    assert [set(step) for step in first["report"]["steps"]] == [
        {"prompt", "definitions", "protocols", "memory", "history"}
    ] * 3
    assert all(line["took_ms"] >= 0 for line in lines if line["type"] == "tool_finished")
    assert all(datetime.fromisoformat(line["at"]).tzinfo is not None for line in lines)
    assert tool_calls_in(record) == (2, 1)


async def test_a_log_is_written_while_it_happens(tmp_path: Path) -> None:
    _, model = scripted(*TALK)
    async with SqliteStore(None) as store, store.open("talk") as session:
        log = SessionLog(tmp_path / "logs", session.id)
        seen = 0
        async for event in stream(session, "rename it", crib=Shop().crib(model)):
            log.write(event)
            seen += not isinstance(event, Text)
            assert len(log.path.read_text("utf-8").splitlines()) == seen
    lines = [json.loads(line) for line in log.path.read_text("utf-8").splitlines()]
    assert (lines[0]["type"], lines[-1]["type"], lines[-1]["tool_calls_count"]) == ("run_started", "usage", 2)
    assert log.path.stat().st_mode & 0o077 == 0


def test_any_session_has_a_file_of_its_own_in_the_folder(tmp_path: Path) -> None:
    ids = ["talk", "a/b", "a_b", "../../x", "café", "a:b"]
    paths = [SessionLog(tmp_path, id).path for id in ids]
    assert len(set(paths)) == len(ids)
    assert all(path.parent == tmp_path for path in paths)
    assert [paths[0].name, paths[4].name] == ["talk.jsonl", "café.jsonl"]


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreError, match="No log can be written"):
        SessionLog(tmp_path / "logs", "talk")


def test_what_is_no_event_is_passed_over() -> None:
    now = datetime.now(UTC)
    kept = [
        LoggedEvent(position=at, at=now, event=event) for at, event in enumerate(["x", Answered(text="a").to_json()])
    ]
    record = SessionRecord(id="s", created_at=now, updated_at=now, events=tuple(kept))
    assert [line["type"] for line in log_of(record)] == ["session", "answered"]
