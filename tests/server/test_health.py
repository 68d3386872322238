"""Is it up, can it work, can it read what its tools give; and the numbers for Prometheus."""

import re
from pathlib import Path
from typing import Annotated, Any

import httpx2
import pytest
from pydantic import Field

from tests.support.agent import Calls, Shop
from tests.support.server import scene
from toolcrib.agent.crib import Crib
from toolcrib.catalog.catalog import Catalog
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.server.app import create_app
from toolcrib.server.services import Served
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.tool import Entity, Extraction


@pytest.mark.process
def test_a_server_that_can_work_is_ready() -> None:
    with scene() as here:
        assert here.http.get("/health").json() == {"status": "ok"}
        ready = here.when_warm()
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "reasons": [], "tools": 5, "runs": 0, "model": "function:scripted"},
    )


@pytest.mark.process
def test_what_is_in_the_way_is_told_without_secrets(tmp_path: Path) -> None:
    place = tmp_path / "no_database"
    place.write_text("this is no database, and it is long enough to be looked at as one. " * 20)
    shop = Shop()
    shop.catalog = Catalog()
    with scene(shop=shop, store=SqliteStore(place)) as here:
        ready = here.when_warm()
        sessions = here.http.get("/api/sessions")
    assert ready.status_code == 503
    assert ready.json()["reasons"] == ["There are no tools.", "The session store cannot be used."]
    assert str(tmp_path) not in ready.text
    assert (sessions.status_code, sessions.headers["retry-after"]) == (503, "5")
    assert sessions.json()["error"] == "The session store is damaged. Nothing is written to it."


async def test_a_server_that_is_about_to_end_is_not_ready() -> None:
    app = create_app(Served(crib=Crib(Shop().catalog), store=SqliteStore(None)))
    app.state.services.warming.done = app.state.services.runs.closing = True
    here = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1")
    async with here as client:
        ready = await client.get("/health/ready")
    assert (ready.status_code, ready.json()["reasons"]) == (503, ["The server is about to end."])


@pytest.mark.process
def test_extractions_are_run_on_real_results_where_that_does_no_harm() -> None:
    shop = Shop()
    calls: list[str] = []
    pages = Extraction(path="data.pages", type="page", name_field="title", is_array=True)

    @shop.catalog.tool(extraction=pages)
    async def list_pages() -> dict[str, Any]:
        """List pages."""
        calls.append("list")
        return {"data": {"pages": [{"id": "p1", "title": "Home"}]}}

    @shop.catalog.tool(risk="moderate", extraction=Extraction(path="$root", type="page", name_field="seo.title"))
    async def make_page() -> dict[str, Any]:
        """Make a page."""
        calls.append("make")
        return {}

    @shop.catalog.tool
    async def look_up(text: str) -> list[str]:
        """Look something up."""
        return [text]

    @shop.catalog.extractor("look_up")
    def read(value: list[str]) -> list[Entity]:
        return [Entity(type="x", id=one, name=one) for one in value]

    @shop.catalog.tool
    async def find(text: Annotated[str, Field(examples=["home"])]) -> list[dict[str, str]]:
        """Find something."""
        calls.append(text)
        return [{"id": "p1", "name": text}]

    @shop.catalog.extractor("find")
    def rows(value: list[dict[str, str]]) -> list[dict[str, str]]:
        return value

    with scene(shop=shop) as here:
        found = here.http.get("/health/extraction")
    assert found.status_code == 200
    told = found.json()
    assert {**told, "took_ms": 0} == {
        "status": "ok",
        "tools_with_extraction": 3,
        "custom_extractors": 2,
        "checked": 4,
        "called": ["list_pages", "find"],
        "unproven": ["look_up"],
        "at_fault": [],
        "took_ms": 0,
    }
    assert calls == ["list", "home"]


@pytest.mark.process
def test_tools_whose_results_cannot_be_read_degrade_the_server() -> None:
    shop = Shop()
    pages = Extraction(path="pages", type="page", name_field="title", is_array=True)

    @shop.catalog.tool(extraction=pages)
    async def other_shape() -> dict[str, Any]:
        """List pages."""
        return {"items": [{"id": "p1"}]}

    @shop.catalog.tool(extraction=pages)
    async def broken() -> dict[str, Any]:
        """List pages."""
        raise RuntimeError("no disk")

    @shop.catalog.tool
    async def raising() -> list[str]:
        """List things."""
        return ["x"]

    @shop.catalog.tool(extraction=Extraction(path="a", type="x", name_field="n", id_field="id.id"))
    async def asked_first() -> dict[str, Any]:
        """List things."""
        raise AssertionError("never called")

    def no_entities(value: object) -> Any:
        raise ValueError("what is this?")

    shop.catalog.extractor("raising")(no_entities)
    asks = Policy(rules=(Rule(decision=Decision.ASK, name="asked_first"),))
    with scene(shop=shop, policy=asks) as here:
        found = here.http.get("/health/extraction")
    assert found.status_code == 503
    assert found.json()["status"] == "degraded"
    assert [(one["tool"], one["how"], one["reading"]) for one in found.json()["at_fault"]] == [
        ("other_shape", "called", "missed"),
        ("broken", "called", "no result"),
        ("raising", "called", "failed"),
    ]


@pytest.mark.process
def test_metrics_tell_of_discovery_tools_tokens_and_requests() -> None:
    search, images = [("tool_search", {"query": "find an image"})], [("search_images", {"query": "fern"})]
    nothing = [("tool_search", {"query": "how deep is the ocean"})]
    invented: Calls = [("no_such_tool", {})]
    with scene(search, images, nothing, invented, "Here.") as here:
        here.say(here.session(), "a fern")
        here.http.get("/api/sessions/nope")
        text = here.http.get("/metrics").text
    for line in (
        'toolcrib_discoveries_total{outcome="hit"} 1.0',
        'toolcrib_discoveries_total{outcome="none"} 1.0',
        "toolcrib_tools_enabled_total 1.0",
        'toolcrib_tool_calls_total{outcome="ok",tool="search_images"} 1.0',
        'toolcrib_tool_calls_total{outcome="failed",tool="other"} 1.0',
        'toolcrib_runs_total{outcome="answered"} 1.0',
        "toolcrib_runs_active 0.0",
        "toolcrib_sessions_total 1.0",
        "toolcrib_tools 5.0",
        'toolcrib_http_requests_total{method="GET",route="/api/sessions/{session}",status="404"} 1.0',
    ):
        assert line in text, line
    for pattern in (
        r'toolcrib_discovery_seconds_count\{arm="(lexical|blended|dense|exact)"\} 1\.0',
        r'toolcrib_tokens_total\{part="definitions",request_type="C"\} \d+',
        r'toolcrib_tokens_all_tools_total\{request_type="C"\} \d+',
        r'toolcrib_model_tokens_total\{direction="output"\} \d+',
    ):
        assert re.search(pattern, text), pattern
