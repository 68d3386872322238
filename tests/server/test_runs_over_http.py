"""A conversation over HTTP: said, streamed, resumed, shared, stopped, and there again after a restart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.agent import Shop, scripted
from tests.support.server import QUIET, Quarantine, Scene, events, kinds, scene
from toolcrib.agent.crib import Crib
from toolcrib.server.app import create_app
from toolcrib.server.runs import Load
from toolcrib.server.services import Served
from toolcrib.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.process

SEARCH = [("tool_search", {"query": "find an image"})]
IMAGES = [("search_images", {"query": "fern"})]
WAIT = [("wait_for_gate", {"name": "Ada"})]
HANG = [("slow_archive", {"name": "x"})]


def test_what_happens_comes_as_events_each_with_a_larger_number() -> None:
    with scene(SEARCH, IMAGES, "Here is a fern.") as here:
        session = here.session()
        with here.http.stream("POST", f"/api/sessions/{session}/messages", json={"text": "a fern, please"}) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            told = list(events(answer))
    assert kinds([event for _, event in told]) == [
        "run_started",
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
        "tool_started",
        "tool_finished",
        "text",
        "answered",
        "usage",
    ]
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers))
    assert next(event for _, event in told if event["type"] == "answered")["text"] == "Here is a fern."


def test_a_session_tells_what_was_said_done_and_remembered() -> None:
    with scene(SEARCH, IMAGES, "Here is a fern.") as here:
        session = here.session()
        told = here.say(session, "a fern, please")
        seen = here.http.get(f"/api/sessions/{session}").json()
        listed = here.http.get("/api/sessions").json()
    assert [(one["role"], one["name"]) for one in seen["messages"]] == [
        ("user", None),
        ("tool", "tool_search"),
        ("tool", "search_images"),
        ("assistant", None),
    ]
    assert seen["messages"][2]["arguments"] == {"query": "fern"}
    assert seen["active"] == ["search_images"]
    assert seen["memory"]["entities"][0]["id"] == "img-7"
    assert seen["title"] == "a fern, please"
    assert [line["event"]["type"] for line in seen["events"]] == [kind for kind in kinds(told) if kind != "text"]
    assert seen["last_event_id"] == seen["events"][-1]["id"]
    assert not seen["running"]
    assert [(one["id"], one["title"], one["running"]) for one in listed] == [(session, "a fern, please", False)]


def test_a_client_that_comes_back_gets_the_rest_of_a_run_under_way() -> None:
    shop = Shop()
    gate = Quarantine(shop)
    with scene(WAIT, "Ada is through.", shop=shop) as here:
        session = here.session()
        path = f"/api/sessions/{session}/messages"
        before = _listen_until(here, "POST", path, "tool_started", json={"text": "go"})  # and then the client is gone
        assert here.http.get(f"/api/sessions/{session}").json()["running"]
        with here.http.stream("GET", path, headers={"Last-Event-ID": str(before[-1][0])}) as answer:
            gate.open()
            after = list(events(answer))
    numbers = [number for number, _ in (*before, *after)]
    assert numbers == sorted(set(numbers))
    assert kinds([event for _, event in (*before, *after)]) == [
        "run_started",
        "tool_started",
        "tool_finished",
        "text",
        "answered",
        "usage",
    ]
    assert "".join(event["delta"] for _, event in after if event["type"] == "text") == "Ada is through."


def test_after_the_run_the_rest_comes_from_the_log() -> None:
    with scene("One.", "Two.") as here:
        session = here.session()
        here.say(session, "first")
        last = here.http.get(f"/api/sessions/{session}").json()["last_event_id"]
        here.say(session, "second")
        with here.http.stream("GET", f"/api/sessions/{session}/messages?after={last}") as answer:
            told = [event for _, event in events(answer)]
    assert kinds(told) == ["run_started", "answered", "usage"]
    assert told[1]["text"] == "Two."


def test_a_client_far_behind_gets_the_log_and_then_the_run() -> None:
    shop = Shop()
    gate = Quarantine(shop)
    with scene("One.", WAIT, "Two.", shop=shop) as here:
        session = here.session()
        path = f"/api/sessions/{session}/messages"
        here.say(session, "first")
        _listen_until(here, "POST", path, "tool_started", json={"text": "second"})
        with here.http.stream("GET", path, headers={"Last-Event-ID": "0"}) as answer:
            gate.open()
            told = list(events(answer))
    assert [event["type"] for _, event in told if event["type"] != "text"] == [
        "answered",
        "usage",
        "run_started",
        "tool_started",
        "tool_finished",
        "answered",
        "usage",
    ]
    assert [number for number, _ in told] == sorted({number for number, _ in told})


def test_where_nothing_happens_there_is_nothing_to_listen_to() -> None:
    with scene("One.") as here:
        session = here.session()
        assert here.http.get(f"/api/sessions/{session}/messages").status_code == 204
        here.say(session, "first")
        last = here.http.get(f"/api/sessions/{session}").json()["last_event_id"]
        behind = here.http.get(f"/api/sessions/{session}/messages", headers={"Last-Event-ID": str(last)})
        strange = here.http.get(f"/api/sessions/{session}/messages", headers={"Last-Event-ID": "x y"})
    assert behind.status_code == 204
    assert strange.status_code == 400


def test_two_clients_share_one_run_and_cannot_begin_another() -> None:
    shop = Shop()
    gate = Quarantine(shop)
    with scene(WAIT, "Ada is through.", shop=shop) as here:
        session = here.session()
        path = f"/api/sessions/{session}/messages"
        with here.http.stream("POST", path, json={"text": "go"}) as first:
            told = events(first)
            assert next(told)[1]["type"] == "run_started"
            busy = here.post(path, {"text": "me too"})
            with here.http.stream("GET", path) as second:
                gate.open()
                seen = list(events(second))
            rest = list(told)
    assert (busy.status_code, busy.json()["error"]) == (
        409,
        f"The session {session!r} is busy: a run of this server has it open.",
    )
    assert seen[1:] == rest
    assert seen[0][1]["type"] == "run_started"


def test_stop_ends_a_run_in_mid_stream_and_the_session_goes_on() -> None:
    with scene(HANG, "Better now.") as here:
        session = here.session()
        with here.http.stream("POST", f"/api/sessions/{session}/messages", json={"text": "go"}) as answer:
            told = events(answer)
            assert [next(told)[1]["type"] for _ in range(2)] == ["run_started", "tool_started"]
            assert here.post(f"/api/sessions/{session}/stop").json() == {"stopped": True}
            rest = [event for _, event in told]
        assert rest == [{"type": "failed", "message": "Stopped.", "hint": "What was done so far is kept."}]
        assert here.post(f"/api/sessions/{session}/stop").json() == {"stopped": False}
        here.say(session, "again")
        seen = here.http.get(f"/api/sessions/{session}").json()
    ids = [line["id"] for line in seen["events"]]
    assert ids == [100_000 * position for position in range(len(ids))]  # no number was given twice
    assert [line["event"]["type"] for line in seen["events"]] == [
        "run_started",
        "tool_started",
        "failed",
        "run_started",
        "answered",
        "usage",
    ]


def test_a_session_can_be_deleted_also_while_the_agent_is_at_work() -> None:
    with scene(HANG) as here:
        session = here.session()
        _listen_until(here, "POST", f"/api/sessions/{session}/messages", "tool_started", json={"text": "go"})
        assert here.http.delete(f"/api/sessions/{session}").status_code == 204
        assert here.http.get(f"/api/sessions/{session}").status_code == 404
        assert here.http.get("/api/sessions").json() == []


def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    place = tmp_path / "sessions.db"
    with scene(SEARCH, IMAGES, "Here is a fern.", store=SqliteStore(place)) as here:
        session = here.session()
        here.say(session, "a fern, please")
        before = here.http.get(f"/api/sessions/{session}").json()
    with scene("It is img-7.", store=SqliteStore(place)) as here:
        assert here.http.get(f"/api/sessions/{session}").json() == before
        here.say(session, "which id does it have?")
        after = here.http.get(f"/api/sessions/{session}").json()
        behind = here.http.get(f"/api/sessions/{session}/messages?after={before['last_event_id']}")
    assert [one["text"] for one in after["messages"]][-2:] == ["which id does it have?", "It is img-7."]
    assert "img-7" in here.script.instructions[0]  # what it remembers is in the prompt
    assert [event["type"] for _, event in events(behind)] == ["run_started", "answered", "usage"]


def test_what_a_stopped_run_was_asked_is_still_known_to_the_next_one() -> None:
    with scene(HANG, "Here it goes on.") as here:
        session = here.session()
        _listen_until(here, "POST", f"/api/sessions/{session}/messages", "run_started", json={"text": "write a poem"})
        here.post(f"/api/sessions/{session}/stop")
        assert kinds(here.say(session, "go on"))[-2:] == ["answered", "usage"]
        kept = here.http.get(f"/api/sessions/{session}").json()
        metrics = here.http.get("/metrics").text
    assert [one["text"] for one in kept["messages"] if one["role"] == "user"] == ["write a poem", "go on"]
    assert 'toolcrib_runs_total{outcome="stopped"} 1.0' in metrics
    assert 'toolcrib_runs_total{outcome="failed"}' not in metrics


def test_sessions_are_found_by_what_was_written_and_get_titles_of_their_own() -> None:
    with scene("Ferns like shade.", "Cacti do not.") as here:
        ferns, cacti = here.session(), here.session()
        here.say(ferns, "tell me about plants")
        here.say(cacti, "tell me about other plants")

        def found(query: str) -> set[str]:
            return {one["id"] for one in here.http.get("/api/sessions", params={"query": query}).json()}

        assert (found("shade FERNS"), found("plants"), found("orchids")) == ({ferns}, {ferns, cacti}, set())
        renamed = here.http.patch(f"/api/sessions/{ferns}", json={"title": "Orchids, too"})
        assert (renamed.status_code, found("orchids")) == (204, {ferns})
        assert here.http.get(f"/api/sessions/{ferns}").json()["title"] == "Orchids, too"
        assert here.http.patch(f"/api/sessions/{ferns}", json={"title": " "}).status_code == 422
        assert here.http.patch("/api/sessions/nope", json={"title": "x"}).status_code == 404


def test_a_rating_teaches_the_search_which_tool_was_right() -> None:
    with scene([("search_images", {"query": "fern"})], "Here it is.", options=QUIET) as here:
        session = here.session()
        here.say(session, "flurble the gromph")
        at = f"/api/sessions/{session}/feedback"
        start = here.http.get(f"/api/sessions/{session}").json()["events"][0]["id"]
        good = here.post(at, {"run": start, "good": True}).json()
        bad = here.post(at, {"run": start, "good": False, "note": "no", "tool": "rename_page"}).json()
        nothing = here.post(at, {"run": start + 100_000, "good": True}).json()
        unknown = here.post(at, {"run": start, "good": False, "tool": "nope"}).json()
        kept = here.http.get(f"/api/sessions/{session}").json()["events"]
        crib = here.script
    assert (good["learned"], bad["learned"]) == (["search_images"], ["rename_page"])
    assert (nothing["learned"], unknown["learned"]) == ([], [])
    rated = [one["event"] for one in kept if one["event"]["type"] == "feedback"]
    assert [(one["good"], one["note"], one["learned"]) for one in rated][:2] == [
        (True, "", ["search_images"]),
        (False, "no", ["rename_page"]),
    ]
    assert crib.said == []


def test_a_server_with_tokens_learns_from_ratings_only_where_it_may() -> None:
    options = replace(QUIET, tokens={"alices-secret": ""})
    headers = {"Authorization": "Bearer alices-secret"}
    with scene([("search_images", {"query": "fern"})], "Here it is.", options=options) as here:
        here.http.headers.update(headers)
        session = here.session()
        here.say(session, "flurble the gromph")
        start = here.http.get(f"/api/sessions/{session}").json()["events"][0]["id"]
        rated = here.post(f"/api/sessions/{session}/feedback", {"run": start, "good": True}).json()
    assert rated == {"learned": []}


def test_a_model_that_fails_is_told_in_the_stream() -> None:
    with scene(RuntimeError("sk-secret-secret-secret")) as here:
        told = here.say(here.session(), "hello")
    assert kinds(told) == ["run_started", "failed", "usage"]
    assert "sk-secret" not in str(told)


def test_an_unknown_session_is_missing_everywhere() -> None:
    with scene() as here:
        for method, path, body in (
            ("GET", "/api/sessions/nope", None),
            ("DELETE", "/api/sessions/nope", None),
            ("GET", "/api/sessions/nope/messages", None),
            ("GET", "/api/sessions/nope/messages?after=1", None),
            ("POST", "/api/sessions/nope/messages", {"text": "hi"}),
            ("POST", "/api/sessions/nope/stop", None),
            ("POST", "/api/sessions/nope/confirmations/x", {"approved": True}),
            ("GET", "/api/sessions/%00", None),
        ):
            answer = here.http.request(method, path, json=body)
            assert (answer.status_code, "There is no session" in answer.json()["error"]) == (404, True), path


def test_messages_must_say_something_and_not_too_much() -> None:
    with scene() as here:
        path = f"/api/sessions/{here.session()}/messages"
        sent: tuple[object, ...] = ({"text": ""}, {}, {"text": "x" * 20_001}, ["no"], {"text": " \n\t\u3000"})
        answers = [here.post(path, body) for body in sent]
        kept = here.http.get(path.removesuffix("/messages")).json()
    assert [answer.status_code for answer in answers] == [422] * 5
    assert answers[0].json()["error"] == answers[4].json()["error"] == "This text is empty."
    assert answers[1].json() == {"error": "text: Field required.", "hint": "What is expected: /docs."}
    assert answers[2].json()["error"] == "This text is too long (20,001 of 20,000 characters)."
    assert kept["events"] == []


def test_more_runs_than_allowed_have_to_wait() -> None:
    with scene(HANG, "Hi.", options=replace(QUIET, most_runs=1)) as here:
        one, other = here.session(), here.session()
        _listen_until(here, "POST", f"/api/sessions/{one}/messages", "tool_started", json={"text": "go"})
        full = here.post(f"/api/sessions/{other}/messages", {"text": "hi"})
        here.post(f"/api/sessions/{one}/stop")
        told = here.say(other, "hi")
    assert (full.status_code, full.headers["retry-after"]) == (503, "5")
    assert kinds(told)[-2:] == ["answered", "usage"]


async def test_a_message_that_would_wait_too_long_for_the_processor_is_told_when_to_come_again() -> None:
    shop = Shop()
    _, model = scripted("Hi.")
    options = replace(QUIET, longest_wait_seconds=10.0)
    app = create_app(Served(crib=Crib(shop.catalog, model=model), store=SqliteStore(None)), options)
    load: Load = app.state.services.runs.load
    load.rehearsed(2.0)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        begun = [load.begin() for _ in range(8)]
        path = f"/api/sessions/{(await client.post('/api/sessions')).json()['id']}/messages"
        load.observe(late_seconds=1.0, share=1.0)
        busy = await client.post(path, json={"text": "hi"})
        for one in begun[2:]:
            load.end(one)
        reply = await client.post(path, json={"text": "hi"})
    assert busy.status_code == 503
    assert 6 <= int(busy.headers["retry-after"]) <= 60  # eight times two seconds, and what this test needs itself
    assert busy.json()["error"].startswith("The server is busy: this would wait for some ")
    assert "event: answered" in reply.text


def test_turns_are_waited_for_only_when_the_event_loop_is_late() -> None:
    now = 0.0
    load = Load(lambda: now)
    load.rehearsed(0.5)
    begun = [load.begin() for _ in range(4)]
    now = 2.0
    load.end(begun.pop())  # a second turn every two seconds of processor time: 0.78 s on average
    assert load.wait_seconds == 0.0
    load.observe(late_seconds=1.0, share=1.0)
    wait = load.wait_seconds
    assert wait == pytest.approx(3 * (0.98 * 4.0) / (0.98 * 4 + 1), rel=0.01)
    now = 50.0
    load.end(begun.pop())  # what happens while it is late says nothing about a turn
    assert load.wait_seconds == pytest.approx(wait * 2 / 3)
    for _ in range(50):
        load.observe(late_seconds=1.0, share=0.25)  # others take three quarters of the processor
    assert load.wait_seconds == pytest.approx(4 * wait * 2 / 3, rel=0.01)
    for _ in range(50):
        load.observe(late_seconds=0.0, share=0.1)
    assert load.wait_seconds == 0.0


def _listen_until(here: Scene, method: str, path: str, kind: str, **options: Any) -> list[tuple[int, dict[str, Any]]]:
    """Listen until something happened, then go away."""
    told: list[tuple[int, dict[str, Any]]] = []
    answer: httpx2.Response
    with here.http.stream(method, path, **options) as answer:
        for one in events(answer):
            told.append(one)
            if one[1]["type"] == kind:
                break
    return told
