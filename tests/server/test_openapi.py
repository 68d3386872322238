"""The OpenAPI document: every operation explained, with examples, and nothing a stranger sends breaks the server."""

from dataclasses import replace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from tests.support import PATIENCE
from tests.support.agent import Shop
from tests.support.server import QUIET
from toolcrib.agent.crib import Crib
from toolcrib.server.app import create_app
from toolcrib.server.routes.docs import page_of
from toolcrib.server.services import Served
from toolcrib.stores.sqlite.store import SqliteStore


def app() -> Any:
    served = Served(crib=Crib(Shop().catalog), store=SqliteStore(None), name="Shop")
    return create_app(served, replace(QUIET, burst=1_000_000))


schema = schemathesis.openapi.from_asgi("/openapi.json", app(), headers={"Host": "127.0.0.1"})


@schema.parametrize()  # pyright: ignore[reportUnknownMemberType, reportUntypedFunctionDecorator] - schemathesis says no types
@settings(
    max_examples=15,
    derandomize=True,  # the same requests each time
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
)
def test_no_request_breaks_the_server(case: Any) -> None:
    answer = case.call(headers={"Host": "127.0.0.1"}, timeout=PATIENCE)
    # 503 is an answer of ours: too much is going on, or a health check that says no.
    assert answer.status_code < 500 or answer.status_code == 503, answer.text


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return app().openapi()


def test_every_operation_is_explained(document: dict[str, Any]) -> None:
    operations = {
        f"{method.upper()} {path}": said
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    }
    assert [name for name, said in operations.items() if not said.get("description") or not said.get("tags")] == []
    assert set(operations) == {
        "GET /api/app",
        "POST /api/login",
        "GET /api/models",
        "POST /api/sessions",
        "GET /api/sessions",
        "GET /api/sessions/{session}",
        "PATCH /api/sessions/{session}",
        "POST /api/sessions/{session}/feedback",
        "DELETE /api/sessions/{session}",
        "POST /api/sessions/{session}/messages",
        "GET /api/sessions/{session}/messages",
        "POST /api/sessions/{session}/confirmations/{confirmation}",
        "GET /api/sessions/{session}/confirmations/{confirmation}",
        "GET /api/sessions/{session}/changes",
        "POST /api/sessions/{session}/undo",
        "POST /api/sessions/{session}/stop",
        "GET /api/tools",
        "GET /api/tools/{name}",
        "POST /api/tools/{name}/try",
        "GET /api/categories",
        "GET /api/check",
        "GET /api/tokens",
        "POST /api/search",
        "GET /health",
        "GET /health/ready",
        "GET /health/extraction",
        "GET /metrics",
        "POST /agui",
    }


def test_the_document_says_how_callers_show_who_they_are(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["security"] == [{"token": []}, {}]  # this one needs none
    assert document["paths"]["/health"]["get"]["security"] == []
    with_token = create_app(
        Served(crib=Crib(Shop().catalog), store=SqliteStore(None)), replace(QUIET, tokens={"alices-secret": ""})
    )
    assert with_token.openapi()["security"] == [{"token": []}]


def test_people_read_the_same_as_a_page(document: dict[str, Any]) -> None:
    page = page_of(document)
    assert "Here no token is needed." in page
    assert all(f"<code>{path}</code>" in page for path in document["paths"])
    assert "Add a page about our opening hours" in page
    assert "<script>" not in page


def test_what_people_send_has_examples(document: dict[str, Any]) -> None:
    shapes = document["components"]["schemas"]
    for name in ("NewMessage", "Answer", "Trial", "Query", "Login", "Undo", "Feedback"):
        assert all(part.get("examples") for part in shapes[name]["properties"].values()), name
    assert (
        document["paths"]["/agui"]["post"]["requestBody"]["content"]["application/json"]["example"]["threadId"] == "t1"
    )
    assert "text/event-stream" in str(document["paths"]["/api/sessions/{session}/messages"]["post"]["responses"]["200"])
