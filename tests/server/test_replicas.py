"""Several servers on one store: whatever one begins, another can tell."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.agent import Shop
from tests.support.server import Gate, Scene, events, kinds, scene
from toolcrib.stores.store import open_store

pytestmark = pytest.mark.process

WAIT = [("wait_for_gate", {"name": "Ada"})]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where all replicas keep their sessions."""
    if request.param == "sqlite":
        return str(tmp_path / "sessions.db")
    return request.getfixturevalue("postgres").new_database()


@contextmanager
def replicas(place: str, *said: Any, shop: Shop | None = None) -> Generator[tuple[Scene, Scene]]:
    """Two servers; the first one's model has something to say."""
    with ExitStack() as both:
        yield (
            both.enter_context(scene(*said, shop=shop, store=open_store(place))),
            both.enter_context(scene(*said, shop=shop, store=open_store(place))),
        )


def began(here: Scene, path: str, until: str) -> int:
    """Say something, listen until something happened, and go; gives the number of what was heard last."""
    with here.http.stream("POST", path, json={"text": "go"}) as answer:
        return next(number for number, event in events(answer) if event["type"] == until)


def heard(answer: httpx2.Response) -> list[tuple[int, dict[str, Any]]]:
    assert answer.status_code == 200, answer.read()
    return list(events(answer))


def test_a_client_that_comes_back_to_another_replica_hears_the_rest(place: str) -> None:
    shop = Shop()
    gate = Gate(shop)
    with replicas(place, WAIT, "Ada is through.", shop=shop) as (one, other):
        session = one.session()
        path = f"/api/sessions/{session}/messages"
        last = began(one, path, "tool_started")
        with other.http.stream("GET", path, headers={"Last-Event-ID": str(last)}) as answer:
            gate.open()
            rest = heard(answer)
    assert kinds([event for _, event in rest]) == ["tool_finished", "answered", "usage"]
    assert [number for number, _ in rest] == [last + 100_000 * step for step in (1, 2, 3)]
    assert rest[1][1]["text"] == "Ada is through."


def test_without_a_number_another_replica_tells_the_run_from_its_beginning(place: str) -> None:
    shop = Shop()
    gate = Gate(shop)
    with replicas(place, "Hello.", WAIT, "Ada is through.", shop=shop) as (one, other):
        session = one.session()
        path = f"/api/sessions/{session}/messages"
        one.say(session, "hi")
        began(one, path, "tool_started")
        with other.http.stream("GET", path) as answer:
            gate.open()
            told = heard(answer)
    assert kinds([event for _, event in told]) == ["run_started", "tool_started", "tool_finished", "answered", "usage"]


def test_a_session_in_which_another_replica_works_is_busy(place: str) -> None:
    shop = Shop()
    gate = Gate(shop)
    with replicas(place, WAIT, "Ada is through.", shop=shop) as (one, other):
        session = one.session()
        began(one, f"/api/sessions/{session}/messages", "tool_started")
        busy = other.post(f"/api/sessions/{session}/messages", {"text": "me too"})
        running = other.http.get(f"/api/sessions/{session}").json()["running"]
        gate.open()
    assert busy.status_code == 409
    assert running


def test_a_conversation_goes_from_replica_to_replica(place: str) -> None:
    with replicas(place, "One.", "Two.") as (one, other):
        session = one.session()
        one.say(session, "first")
        other.say(session, "second")
        seen = one.http.get(f"/api/sessions/{session}").json()
    assert [(line["role"], line["text"]) for line in seen["messages"]] == [
        ("user", "first"),
        ("assistant", "One."),
        ("user", "second"),
        ("assistant", "One."),  # each replica has a script of its own
    ]
    assert [line["id"] for line in seen["events"]] == [100_000 * position for position in range(6)]


def test_who_heard_more_than_was_kept_goes_on_where_the_log_ends(place: str) -> None:
    with replicas(place, "One.", "Two.") as (one, other):
        session = one.session()
        one.say(session, "first")
        told = other.http.get(f"/api/sessions/{session}/messages", headers={"Last-Event-ID": "900000"})
        other.say(session, "second")
    assert told.status_code == 200
    assert heard(told) == []


def test_a_run_can_be_stopped_from_another_replica(place: str) -> None:
    shop = Shop()
    gate = Gate(shop)
    with replicas(place, WAIT, "Ada is through.", shop=shop) as (one, other):
        session = one.session()
        path = f"/api/sessions/{session}/messages"
        with one.http.stream("POST", path, json={"text": "go"}) as answer:
            told = events(answer)
            assert next(event for _, event in told if event["type"] == "tool_started")
            stopped = other.post(f"/api/sessions/{session}/stop").json()
            again = other.post(f"/api/sessions/{session}/stop").json()
            gate.open()  # what it was doing comes to an end, and finds that it cannot go on
            rest = [event for _, event in told]
        seen = one.http.get(f"/api/sessions/{session}").json()
    assert (stopped, again) == ({"stopped": True}, {"stopped": False})
    assert kinds(rest)[-2:] == ["failed", "usage"]
    assert "answered" not in kinds(rest)
    assert [line["event"]["type"] for line in seen["events"]] == ["run_started", "failed"]
    assert seen["events"][-1]["event"]["message"] == "Stopped."


def test_a_session_can_be_deleted_while_another_replica_works_in_it(place: str) -> None:
    shop = Shop()
    gate = Gate(shop)
    with replicas(place, WAIT, "Ada is through.", shop=shop) as (one, other):
        session = one.session()
        began(one, f"/api/sessions/{session}/messages", "tool_started")
        assert other.http.delete(f"/api/sessions/{session}").status_code == 204
        assert other.http.get(f"/api/sessions/{session}").status_code == 404
        gate.open()
