"""The page at 390 pixels."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.support.browser.chat import say


@pytest.fixture
def small(phone: BrowserContext, demo: str) -> Page:
    """The demo's page on a phone."""
    page = phone.new_page()
    page.goto(demo)
    page.get_by_role("heading", name="Ask for anything").wait_for()
    return page


def test_every_place_is_within_reach_and_nothing_overflows(small: Page) -> None:
    turn = say(small, "Delete the Plant care page")
    expect(turn.get_by_role("button", name="Allow once")).to_be_in_viewport()
    _fits(small)
    for place, landmark in (("Site", ".site iframe"), ("Inspector", ".token-chart"), ("Chat", ".composer")):
        small.get_by_role("button", name=place, exact=True).click()
        expect(small.locator(landmark)).to_be_visible()
        _fits(small)
    small.get_by_role("button", name="Search", exact=True).click()
    small.get_by_label("What to search for").fill("usuń starą stronę")
    expect(small.locator(".hit").first).to_contain_text("cms_deletePage")
    _fits(small)
    small.get_by_role("button", name="Tools", exact=True).click()
    small.get_by_role("link", name="cms_searchImages").click()
    expect(small.get_by_role("heading", name="cms_searchImages")).to_be_visible()
    _fits(small)


def test_conversations_open_as_a_drawer(small: Page) -> None:
    say(small, "Show me all pages")
    small.get_by_role("button", name="Conversations").click()
    expect(small.get_by_role("link", name="New conversation")).to_be_in_viewport()
    small.get_by_role("link", name="New conversation").click()
    expect(small.get_by_role("heading", name="Ask for anything")).to_be_visible()
    expect(small.get_by_role("link", name="New conversation")).not_to_be_visible()


def _fits(page: Page) -> None:
    """Nothing is wider than the screen."""
    assert page.evaluate("document.documentElement.scrollWidth") == 390
