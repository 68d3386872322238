"""The models that a message can choose over HTTP."""

import pytest

from benchmarks.wire.script import Turn
from benchmarks.wire.server import WireServer
from tests.support.server import Scene, events, scene

pytestmark = pytest.mark.process

CHOOSES = {"choose_model": True}


def said(shop: Scene, text: str, model: str) -> list[dict[str, object]]:
    path = f"/api/sessions/{shop.session()}/messages"
    with shop.http.stream("POST", path, json={"text": text, "model": model}) as answer:
        assert answer.status_code == 200, answer.read()
        return [event for _, event in events(answer)]


def test_a_message_chooses_a_model_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer([Turn("Hello from here.")], models=["qwen3"], owner="library") as local:
        monkeypatch.setenv("TOOLCRIB_LOCAL_PORTS", str(local.port))
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        monkeypatch.delenv("TOOLCRIB_MODEL", raising=False)
        with scene("The app's own.", served=CHOOSES) as shop:
            offline = {"name": "offline", "by": "rules", "note": "no language model"}
            listed = shop.http.get("/api/models").json()
            assert listed["models"] == [offline], "this machine is asked only on request"
            assert shop.http.get("/api/models?local=true").json()["models"] == [
                {"name": "local:qwen3", "by": "local", "note": f"Ollama at {local.url}"},
                offline,
            ]
            told = said(shop, "hello", "local:qwen3")
            assert told[0]["model"] == "local:qwen3"
            assert "Hello from here." in [event.get("text") for event in told]
            assert said(shop, "hello", "offline")[0]["model"] == "offline"
            assert "The app's own." in [event.get("text") for event in said(shop, "hello", listed["current"])]


def test_a_model_that_is_not_offered_is_refused() -> None:
    with scene(served=CHOOSES) as shop:
        refused = shop.post(f"/api/sessions/{shop.session()}/messages", {"text": "hi", "model": "openai:gpt-x"})
        assert refused.status_code >= 400
        assert "is not available" in refused.json()["error"]


def test_where_models_cannot_be_chosen_none_is_offered() -> None:
    with scene() as shop:
        assert shop.http.get("/api/models?local=true").json()["models"] == []
        refused = shop.post(f"/api/sessions/{shop.session()}/messages", {"text": "hi", "model": "offline"})
        assert refused.status_code >= 400
        assert refused.json()["error"] == "The model cannot be chosen here."
