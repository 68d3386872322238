"""A risky call over HTTP: asked, approved or declined by the user, once."""

import pytest

from tests.support.agent import Shop
from tests.support.server import events, kinds, scene
from toolcrib_cms import build

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


def test_a_yes_to_changed_arguments_is_to_exactly_these() -> None:
    shop = Shop()
    with scene(DELETE, "Shall I?", "It is gone.", shop=shop) as here:
        session = here.session()
        asked = next(event for event in here.say(session, "delete it") if event["type"] == "confirmation_required")
        path = f"/api/sessions/{session}/confirmations/{asked['id']}"
        wrong = here.post(path, {"approved": True, "arguments": {"slugs": "older"}})
        assert (wrong.status_code, shop.deleted) == (409, [])
        with here.http.stream("POST", path, json={"approved": True, "arguments": {"slug": "older"}}) as answer:
            after = [event for _, event in events(answer)]
        again = here.post(path, {"approved": True})
        left = here.http.get(f"/api/sessions/{session}").json()["confirmations"]
    assert shop.deleted == ["older"]
    assert next(one for one in after if one["type"] == "tool_started")["arguments"] == {
        "slug": "older",
        "confirmed": True,
    }
    assert (again.status_code, left) == (409, [])


def test_a_question_is_shown_with_what_is_known_of_the_thing_and_what_the_tool_says_it_would_do() -> None:
    shop = Shop()
    asked_for: list[bool] = []

    @shop.catalog.tool(category="pages", phrases=["wipe a page"], risk="destructive")
    def wipe_page(slug: str, dry_run: bool = False) -> str:
        """Wipe a page."""
        asked_for.append(dry_run)
        return f"Would wipe {slug} and three more." if dry_run else "wiped"

    with scene([("wipe_page", {"slug": "img-7"})], "Shall I?", shop=shop) as here:
        session = here.session()
        asked = next(event for event in here.say(session, "wipe it") if event["type"] == "confirmation_required")
        shown = here.http.get(f"/api/sessions/{session}/confirmations/{asked['id']}").json()
        missing = here.http.get(f"/api/sessions/{session}/confirmations/nope")
    assert (shown["tool"], shown["arguments"], shown["changes"]) == ("wipe_page", {"slug": "img-7"}, [])
    assert shown["dry_run"] == "Would wipe img-7 and three more."
    assert shown["parameters"]["required"] == ["slug"]
    assert asked_for == [True]
    assert missing.status_code == 404


def test_what_a_call_changed_is_undone_and_the_model_is_told() -> None:
    cms = build(":memory:")
    shop = Shop()
    shop.catalog = cms.catalog
    delete = [("cms_deletePage", {"pageId": "page_care"})]
    with scene(delete, "Shall I?", "It is gone.", "I see.", shop=shop, served={"content": cms}) as here:
        session = here.session()
        asked = next(event for event in here.say(session, "delete it") if event["type"] == "confirmation_required")
        at = f"/api/sessions/{session}"
        shown = here.http.get(f"{at}/confirmations/{asked['id']}").json()
        before = here.http.get(f"{at}/changes").json()
        here.post(f"{at}/confirmations/{asked['id']}", {"approved": True})
        [changed] = here.http.get(f"{at}/changes").json()
        undone = here.post(f"{at}/undo", {"call": changed["call"]}).json()
        twice = here.post(f"{at}/undo", {"call": changed["call"]})
        unknown = here.post(f"{at}/undo", {"call": "another"})
        here.say(session, "what now?")
        read = here.script.messages[-1]
    assert (shown["subject"], shown["changes"][0]["action"]) == ("Plant care", "delete")
    assert (before, changed["tool"], changed["undone"], undone["undone"]) == ([], "cms_deletePage", False, True)
    assert (twice.status_code, twice.json()["error"]) == (409, "This was undone already.")
    assert unknown.status_code == 404
    assert cms.render_site("/site/care").status == 200
    assert "I have undone what cms_deletePage did." in str(read)


def test_an_answer_to_nothing_is_refused() -> None:
    with scene() as here:
        session = here.session()
        unknown = here.post(f"/api/sessions/{session}/confirmations/nope", {"approved": True})
        unclear = here.post(f"/api/sessions/{session}/confirmations/nope", {"approved": "perhaps"})
    assert unknown.status_code == 409
    assert unclear.status_code == 422
