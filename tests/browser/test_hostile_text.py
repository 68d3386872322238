"""What models and tools write stays text: nothing of it runs, leaves, or covers the page."""

from playwright.sync_api import BrowserContext, expect

from tests.support.browser.chat import say

FORBIDDEN = "script, style, iframe, form, object, svg:not(.icon):not(.token-chart), [style], [onerror], [onload]"


def test_markup_in_results_and_markdown_does_nothing(context: BrowserContext, scripted: str) -> None:
    page = context.new_page()
    page.goto(scripted)
    turn = say(page, "attack")
    prose = turn.locator(".prose")
    expect(prose.locator("strong")).to_have_text("still Markdown")  # Markdown still works
    assert prose.locator(FORBIDDEN).count() == 0
    assert prose.locator("img").count() == 0
    assert prose.locator("a[href^='javascript']").count() == 0
    turn.locator(".call summary").click()
    expect(turn.get_by_label("result", exact=True)).to_contain_text('<img src=x onerror="window.hacked=1">')
    expect(turn.get_by_label("arguments", exact=True)).to_contain_text('"name": "<b>bold</b>"')
    assert turn.locator(".call").locator(FORBIDDEN).count() == 0
    assert page.evaluate("window.hacked") is None


def test_titles_and_kept_turns_are_text_too(context: BrowserContext, scripted: str) -> None:
    page = context.new_page()
    page.goto(scripted)
    said = '<img src=x onerror="window.hacked=1">'
    expect(say(page, said).locator(".user")).to_have_text(said)
    page.reload()
    expect(page.locator(".session-title").first).to_have_text(said)
    expect(page.locator(".user")).to_have_text(said)
    assert page.evaluate("window.hacked") is None
