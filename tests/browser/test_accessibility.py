"""axe-core finds nothing wrong, in any view, theme and size."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from tests.support.browser.chat import finished, say

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
Theme: TypeAlias = Literal["light", "dark"]
SIZES: dict[str, ViewportSize] = {
    "phone": {"width": 390, "height": 844},
    "tablet": {"width": 1024, "height": 768},
    "wide": {"width": 1920, "height": 1080},
}


def welcome(page: Page) -> None:
    page.get_by_role("heading", name="Ask for anything").wait_for()


def conversation(page: Page) -> None:
    say(page, "Show me all pages")
    page.locator(".call summary").first.click()
    expect(page.get_by_label("result", exact=True)).to_be_visible()


def question(page: Page) -> None:
    turn = say(page, "Delete the Plants page")
    expect(turn.get_by_label("What will be different")).to_be_visible()
    turn.locator(".exactly summary").click()


def editing(page: Page) -> None:
    say(page, "Delete the Plants page").get_by_role("button", name="Edit first").click()
    expect(page.get_by_label("pageId")).to_have_value("page_plants")


def done_and_undone(page: Page) -> None:
    say(page, "Delete the Plant care page").get_by_role("button", name="Allow once").click()
    finished(page, 1).get_by_role("button", name="Undo").click()
    expect(page.locator(".changed")).to_contain_text("and undone")


def playground(page: Page) -> None:
    page.goto(f"{page.url.split('#')[0]}#/playground?q=znajd%C5%BA%20zdj%C4%99cie")
    page.locator(".hit").first.wait_for()


def catalog(page: Page) -> None:
    page.goto(f"{page.url.split('#')[0]}#/catalog")
    expect(page.locator(".costs li")).to_have_count(5)
    expect(page.locator(".findings .lead")).to_be_visible()


def tool(page: Page) -> None:
    page.goto(f"{page.url.split('#')[0]}#/catalog/cms_searchImages")
    page.get_by_label("query").fill("cactus")
    page.get_by_role("button", name="Call").click()
    page.get_by_label("result", exact=True).wait_for()


def palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").wait_for()


def documentation(page: Page) -> None:
    page.goto(f"{page.url.split('#')[0]}docs")
    page.locator("summary").first.click()


VIEWS: tuple[Callable[[Page], None], ...] = (
    welcome,
    conversation,
    question,
    editing,
    done_and_undone,
    playground,
    catalog,
    tool,
    palette,
    documentation,
)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(context: BrowserContext, demo: str, size: str, theme: Theme) -> None:
    found: dict[str, Any] = {}
    for view in VIEWS:
        page = context.new_page()
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.goto(demo)
        welcome(page)
        view(page)
        if problems := violations(page):
            found[view.__name__] = problems
        page.close()
    assert found == {}


def test_the_login_is_accessible_too(context: BrowserContext, guarded: str, forgiven: list[str]) -> None:
    forgiven.append("Failed to load resource: the server responded with a status of 401")
    page = context.new_page()
    page.goto(guarded)
    page.get_by_label("Token").wait_for()
    assert violations(page) == []


def violations(page: Page) -> list[str]:
    """What axe-core has against the page, less the site in its frame, which is not ours."""
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))")
    page.evaluate(AXE)  # not as a script tag: the page's policy forbids scripts that are not its own
    run = "() => axe.run({ exclude: [['iframe']] }, { iframes: false, resultTypes: ['violations'] })"
    found: dict[str, Any] = page.evaluate(run)
    return [f"{one['id']}: {node['html'][:200]}" for one in found["violations"] for node in one["nodes"]]
