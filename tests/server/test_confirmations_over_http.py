"""A risky call over HTTP: asked, approved or declined by the user, once."""

import pytest

from tests.support.agent import Shop
from tests.support.server import events, kinds, scene

pytestmark = pytest.mark.process

DELETE = [("delete_page", {"slug": "old"})]


def test_a_call_runs_after_the_user_agreed_and_only_once() -> None:
    shop = Shop()
    with scene(DELETE, "Shall I?", "It is gone.", shop=shop) as here:
        session = here.session()
        told = here.say(session, "delete the old page")
        asked = next(event for event in told if event["type"] == "confirmation_required")
        waiting = here.http.get(f"/api/sessions/{session}").json()["confirmations"]
        assert shop.deleted == []
        path = f"/api/sessions/{session}/confirmations/{asked['id']}"
        with here.http.stream("POST", path, json={"approved": True}) as answer:
            after = [event for _, event in events(answer)]
        again = here.post(path, {"approved": True})
        left = here.http.get(f"/api/sessions/{session}").json()["confirmations"]
        metrics = here.http.get("/metrics").text
    assert (asked["tool"], asked["arguments"]) == ("delete_page", {"slug": "old"})
    assert [(one["id"], one["tool"], one["arguments"]) for one in waiting] == [
        (asked["id"], "delete_page", {"slug": "old"})
    ]
    assert shop.deleted == ["old"]
    assert kinds(after) == ["run_started", "tool_started", "tool_finished", "text", "answered", "usage"]
    assert after[0]["confirmation"] == asked["id"]
    assert (again.status_code, again.json()["hint"]) == (
        409,
        "It was answered, or it is too old. Let the agent ask again.",
    )
    assert left == []
    assert 'toolcrib_confirmations_total{event="approved"} 1.0' in metrics
    assert 'toolcrib_confirmations_total{event="asked"} 1.0' in metrics


def test_a_no_is_a_no() -> None:
    shop = Shop()
    with scene(DELETE, "Shall I?", "As you wish.", shop=shop) as here:
        session = here.session()
        asked = next(event for event in here.say(session, "delete it") if event["type"] == "confirmation_required")
        answer = here.post(f"/api/sessions/{session}/confirmations/{asked['id']}", {"approved": False})
        assert answer.status_code == 200
        assert here.http.get(f"/api/sessions/{session}").json()["confirmations"] == []
    assert shop.deleted == []


def test_an_answer_to_nothing_is_refused() -> None:
    with scene() as here:
        session = here.session()
        unknown = here.post(f"/api/sessions/{session}/confirmations/nope", {"approved": True})
        unclear = here.post(f"/api/sessions/{session}/confirmations/nope", {"approved": "perhaps"})
    assert unknown.status_code == 409
    assert unclear.status_code == 422
