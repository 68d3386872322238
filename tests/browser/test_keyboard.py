"""Everything by keys alone."""

from playwright.sync_api import BrowserContext, Page, expect

from tests.support.browser.chat import finished


def test_a_request_is_made_and_allowed_by_keys(page: Page) -> None:
    page.keyboard.type("Delete the Plants page")  # the field has the focus from the start
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("please")
    page.keyboard.press("Enter")
    finished(page, 0)
    expect(page.locator(".approval")).to_be_focused()  # the question has the focus, but none of its buttons
    _go_on_to(page, "Decline")
    page.keyboard.press("Enter")
    expect(finished(page, 1)).to_contain_text("No, do not call cms_deletePage.")


def test_escape_stops_a_run(context: BrowserContext, scripted: str) -> None:
    page = context.new_page()
    page.goto(scripted)
    page.get_by_role("heading", name="Ask for anything").wait_for()
    page.keyboard.type("never end")
    page.keyboard.press("Enter")
    expect(page.locator(".prose")).to_have_text("This answer has no end,")
    page.keyboard.press("Escape")
    expect(finished(page, 0)).to_contain_text("Stopped.")


def test_the_palette_goes_anywhere(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("searchImages")
    expect(page.get_by_role("dialog").get_by_role("option")).to_have_text("cms_searchImagesTool")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="cms_searchImages")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("new conv")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ask for anything")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.press("ArrowDown")
    expect(page.locator("[role=option][aria-selected=true]")).to_contain_text("Playground")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_every_control_has_a_name(page: Page) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, textarea, select, iframe, summary")]
            .filter((one) => one.checkVisibility())
            .filter((one) => !(one.ariaLabel || one.title || one.textContent.trim() || one.labels?.length))
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []


def _go_on_to(page: Page, label: str) -> None:
    """Go on from the question until something of that name has the focus; it stands just behind."""
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == label:
            return
    raise AssertionError(f"{label!r} is not near")
