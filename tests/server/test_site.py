"""The site beside the talk, and what is served at the door."""

from dataclasses import dataclass
from functools import partial

import pytest

from tests.support.agent import Shop
from tests.support.server import scene
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.policy.policy import Policy, Rule

pytestmark = pytest.mark.process


@dataclass(frozen=True)
class Visit:
    status: int
    content_type: str
    body: bytes


def visit(path: str) -> Visit:
    return Visit(404 if "missing" in path else 200, "text/html; charset=utf-8", f"<p>{path}</p>".encode())


def test_a_site_is_shown_without_scripts_and_may_be_framed_by_our_page_only() -> None:
    said = {"suggestions": ("Say hello",), "remarks": {"Say hello": "no tool at all"}}
    with scene(served={"site": visit, **said}) as here:
        page = here.http.get("/site/plants?preview=1")
        home = here.http.get("/site")
        missing = here.http.get("/site/missing")
        app = here.http.get("/api/app").json()
    assert (page.status_code, page.text) == (200, "<p>/site/plants?preview=1</p>")
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "script-src" not in policy
    assert home.text == "<p>/site</p>"
    assert missing.status_code == 404
    assert {**app, "version": ""} == {
        "name": "Shop",
        "mode": "discovery",
        "surface": "search",
        "model": "function:scripted",
        "suggestions": ["Say hello"],
        "remarks": {"Say hello": "no tool at all"},
        "site": "/site/",
        "undo": False,
        "version": "",
    }


def test_where_nobody_says_what_to_try_harmless_tools_say_it_themselves() -> None:
    shop = Shop()

    @shop.catalog.tool(category="weather", phrases=["will it rain", "forecast"])
    def get_forecast(city: str = "Paris") -> str:
        """Get the weather forecast."""
        return city

    @shop.catalog.tool(category="tides", phrases=["when is high tide"])
    def get_tides(harbour: str) -> str:
        """Get the tides of a harbour."""
        return harbour

    @shop.catalog.tool(category="weather archive", phrases=["forget the rain"], risk="destructive")
    def delete_forecast(city: str) -> str:
        """Delete a forecast."""
        return city

    hidden = Policy(rules=(Rule("hide", name="get_forecast"),))
    with scene(shop=shop) as here:
        app = here.http.get("/api/app").json()
    with scene(shop=shop, policy=hidden) as here:
        unseen = here.http.get("/api/app").json()
    assert app["remarks"]["will it rain"] == "get_forecast"
    assert app["suggestions"] == list(app["remarks"])
    assert "forget the rain" not in app["suggestions"]
    assert "when is high tide" not in app["suggestions"]  # of which harbour?
    assert "will it rain" not in unseen["suggestions"]


def test_without_a_site_there_is_none() -> None:
    with scene(surface=partial(search_surface, name="find_tools")) as here:
        assert here.http.get("/site/").json() == {"error": "There is no site here.", "hint": None}
        assert here.http.get("/api/app").json()["site"] is None
        assert here.http.get("/api/app").json()["surface"] == "search"


def test_the_page_and_its_files_are_served() -> None:
    with scene() as here:
        page = here.http.get("/")
        script = here.http.get("/static/vendor/preact.js")
        icon = here.http.get("/favicon.ico")
        outside = here.http.get("/static/../app.py")
        hidden = here.http.get("/static/%2e%2e/app.py")
    assert page.headers["content-type"].startswith("text/html")
    assert script.headers["content-type"].startswith("text/javascript")
    assert icon.status_code == 307
    assert (outside.status_code, hidden.status_code) == (404, 404)


def test_a_mistake_of_ours_is_told_without_details(caplog: pytest.LogCaptureFixture) -> None:
    def broken(path: str) -> Visit:
        raise RuntimeError("the password is swordfish")

    with scene(served={"site": broken}) as here:
        answer = here.http.get("/site/")
    assert (answer.status_code, answer.json()) == (
        500,
        {"error": "Internal server error.", "hint": "The log has the details."},
    )
    assert "swordfish" in caplog.text
