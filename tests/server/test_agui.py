"""AG-UI: our runs in its words, read back with its own types."""

import json
from typing import Any

import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from tests.support.agent import Shop
from tests.support.server import Scene, scene

pytestmark = pytest.mark.process

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
SEARCH = [("tool_search", {"query": "find an image"})]
IMAGES = [("search_images", {"query": "fern"})]
DELETE = [("delete_page", {"slug": "old"})]


def run(here: Scene, text: str = "", thread: str = "t1", **more: Any) -> list[Any]:
    """The events of an AG-UI run, each checked against the protocol."""
    messages = [{"id": "m1", "role": "user", "content": text}] if text else []
    asked = {"threadId": thread, "runId": "r1", "messages": messages, **more}
    with here.http.stream("POST", "/agui", json=asked) as answer:
        assert answer.status_code == 200, answer.read()
        return [
            EVENT.validate_python(json.loads(line[6:])) for line in answer.iter_lines() if line.startswith("data: ")
        ]


def names(told: list[Any]) -> list[str]:
    found = [str(event.type.value) for event in told]
    return [one for at, one in enumerate(found) if at == 0 or one != "TEXT_MESSAGE_CONTENT" or found[at - 1] != one]


def test_a_run_tells_its_text_and_tool_calls() -> None:
    with scene(SEARCH, IMAGES, "Here is a fern.", "Again.") as here:
        told = run(here, "a fern, please")
        assert here.http.get("/api/sessions/t1").json()["title"] == "a fern, please"  # a session like any other
        run(here, "and again")
    assert names(told) == [
        "RUN_STARTED",
        "CUSTOM",
        "CUSTOM",
        "CUSTOM",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "CUSTOM",
        "RUN_FINISHED",
    ]
    assert [event.name for event in told if event.type == "CUSTOM"] == [
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
        "usage",
    ]
    assert "".join(event.delta for event in told if event.type == "TEXT_MESSAGE_CONTENT") == "Here is a fern."
    assert told[-1].outcome is None


def test_a_question_is_an_interrupt_and_resume_answers_it() -> None:
    shop = Shop()
    with scene(DELETE, "Shall I?", "Gone.", shop=shop) as here:
        asked = run(here, "delete it")
        interrupt = asked[-1].outcome.interrupts[0]
        assert interrupt.tool_call_id == next(one.tool_call_id for one in asked if one.type == "TOOL_CALL_START")
        assert shop.deleted == []
        answer = {"interruptId": interrupt.id, "status": "resolved", "payload": {"approved": True}}
        after = run(here, resume=[answer])
    assert shop.deleted == ["old"]
    assert names(after)[-1] == "RUN_FINISHED"
    assert after[-1].outcome is None


def test_anything_but_a_clear_yes_is_a_no() -> None:
    for answer in (
        {"status": "cancelled"},
        {"status": "resolved", "payload": "sure"},
        {"status": "resolved", "payload": {"approved": "yes"}},
    ):
        shop = Shop()
        with scene(DELETE, "Shall I?", "Fine.", shop=shop) as here:
            interrupt = run(here, "delete it")[-1].outcome.interrupts[0]
            run(here, resume=[{"interruptId": interrupt.id, **answer}])
        assert shop.deleted == []


def test_a_run_that_fails_ends_with_an_error() -> None:
    with scene(RuntimeError("no")) as here:
        told = run(here, "hello")
    assert names(told)[-1] == "RUN_ERROR"
    assert "RuntimeError" in told[-1].message


def test_a_run_that_was_stopped_is_cancelled() -> None:
    with scene([("slow_archive", {"name": "x"})]) as here:
        asked = {"threadId": "t1", "runId": "r1", "messages": [{"id": "m", "role": "user", "content": "go"}]}
        with here.http.stream("POST", "/agui", json=asked) as answer:
            lines = (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))
            assert next(one for one in lines if one["type"] == "TOOL_CALL_END")
            here.post("/api/sessions/t1/stop")
            assert list(lines)[-1]["outcome"] == {"type": "cancelled"}


def test_what_cannot_be_run_is_refused() -> None:
    with scene() as here:
        silent = here.post("/agui", {"threadId": "t1", "runId": "r1", "messages": []})
        strange = here.post(
            "/agui", {"threadId": "-x", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "hi"}]}
        )
        parts = [{"type": "text", "text": "x" * 20_001}]
        long = here.post(
            "/agui", {"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": parts}]}
        )
        unknown = here.post(
            "/agui",
            {"threadId": "t2", "runId": "r", "messages": [], "resume": [{"interruptId": "x", "status": "resolved"}]},
        )
    assert [silent.status_code, strange.status_code, long.status_code, unknown.status_code] == [400, 400, 400, 409]
