"""What somebody sees who has never been here: the figure, what to try, what colours mean; and the documentation."""

import functools
import http.server
import re
import runpy
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.support.browser.chat import say

ROOT = Path(__file__).parents[2]


def test_before_anything_is_said_the_figure_is_that_of_the_tools_alone(page: Page) -> None:
    figures = page.locator(".figure strong")
    expect(figures.nth(1)).to_have_text(re.compile(r"^[\d,]{4,}$"))
    at_start, loaded = (int(one.replace(",", "")) for one in figures.all_inner_texts()[:2])
    assert at_start < loaded / 10
    expect(page.locator(".figure").first).to_contain_text("tools, at the start")
    expect(page.locator(".token-chart .column")).to_have_count(1)
    say(page, "Show me all pages")
    expect(page.locator(".figure").first).to_contain_text("this conversation")


def test_each_suggestion_says_what_it_shows(page: Page) -> None:
    suggestions = page.get_by_role("list", name="Try").get_by_role("button")
    expect(suggestions).to_have_count(4)
    expect(suggestions.nth(1)).to_contain_text("Polish: find a picture of a fern")
    expect(suggestions.nth(3)).to_contain_text("asks first")


def test_the_home_of_the_site_is_a_link_like_its_other_pages(page: Page) -> None:
    say(page, "Show me all pages")
    page.get_by_role("log").get_by_role("link", name="/site/care").click()
    expect(page.locator(".site-path")).to_have_text("/site/care")
    page.get_by_role("log").get_by_role("link", name="/site", exact=True).click()
    expect(page.locator(".site-path")).to_have_text(re.compile("^/site/?$"))


def test_the_dots_of_the_catalog_are_explained(page: Page) -> None:
    page.get_by_role("link", name="Catalog").click()
    expect(page.get_by_label("What the dots mean")).to_have_text("safemoderatedestructive")


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The built site behind the plainest of web servers."""
    build = runpy.run_path(str(ROOT / "docs" / "build_site.py"))["build"]
    folder = build(tmp_path_factory.mktemp("docs") / "built")
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


def test_the_documentation_is_read_without_asking_anybody_else(context: BrowserContext, documentation: str) -> None:
    page = context.new_page()
    page.goto(documentation)
    page.get_by_role("link", name="Runbook").first.click()
    page.get_by_role("link", name="Why was my tool not found?").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Why was my tool not found?")
    expect(page.locator("pre").first).to_contain_text('toolcrib search "I need my taxi fare back"')


def test_a_model_on_this_machine_is_found_when_asked_for_and_answers(page: Page) -> None:
    picker = page.get_by_role("combobox", name="Model")
    expect(picker).to_have_value("offline")
    expect(picker.get_by_role("option", name="local:tiny:1b")).to_have_count(0)
    picker.select_option("Look on this machine…")
    expect(picker.get_by_role("option", name="local:tiny:1b")).to_have_count(1)
    picker.select_option("local:tiny:1b")
    expect(say(page, "hello")).to_contain_text("Hello from this machine.")
    picker.select_option("offline")
    expect(say(page, "hello")).to_contain_text("I am the offline brain")
