"""Conversations last: through stop, reload and a second tab."""

from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.support.browser.chat import finished, say


def test_a_run_is_stopped_in_mid_stream(context: BrowserContext, scripted: str) -> None:
    page = _opened(context, scripted)
    page.get_by_label("Your message").fill("never end")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".prose")).to_have_text("This answer has no end,")
    page.get_by_role("button", name="Stop").click()
    expect(finished(page, 0)).to_contain_text("Stopped. What was done so far stays done.")
    expect(say(page, "hello").locator(".prose")).to_have_text("You said: hello")


def test_a_stopped_run_goes_on_when_it_is_told_to(context: BrowserContext, scripted: str) -> None:
    page = _opened(context, scripted)
    page.get_by_label("Your message").fill("never end")
    page.keyboard.press("Enter")
    expect(page.locator(".prose")).to_have_text("This answer has no end,")
    page.keyboard.press("Escape")
    finished(page, 0).get_by_role("button", name="Go on").click()
    expect(finished(page, 1).locator(".prose")).to_have_text("I go on with: never end")
    expect(page.get_by_role("button", name="Go on")).to_have_count(0)


def test_what_is_not_sent_yet_stays_with_its_conversation(page: Page) -> None:
    say(page, "Show me all pages")
    field = page.get_by_label("Your message")
    field.fill("half a thought")
    page.get_by_role("link", name="New conversation").click()
    page.get_by_role("heading", name="Ask for anything").wait_for()
    expect(field).to_have_value("")
    field.fill("another one")
    page.locator(".session").first.get_by_role("link").click()
    expect(field).to_have_value("half a thought")
    page.reload()
    expect(field).to_have_value("half a thought")
    page.get_by_role("link", name="New conversation").click()
    expect(field).to_have_value("another one")


def test_a_text_that_is_too_long_is_told_in_words_and_kept(page: Page, forgiven: list[str]) -> None:
    forgiven.append("Failed to load resource: the server responded with a status of 422")
    field = page.get_by_label("Your message")
    field.fill("plants " * 3_000)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This text is too long (20,999 of 20,000 characters).")
    expect(field).to_have_value("plants " * 3_000)


def test_a_server_with_a_token_asks_for_it(context: BrowserContext, guarded: str, forgiven: list[str]) -> None:
    forgiven.append("Failed to load resource: the server responded with a status of 401")
    page = context.new_page()
    page.goto(guarded)
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type("open-barley")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This is not a token of this server.")
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type("open-sesame")
    page.keyboard.press("Enter")
    expect(say(page, "hello").locator(".prose")).to_have_text("You said: hello")
    page.reload()
    expect(page.locator(".prose")).to_have_text("You said: hello")


def test_a_reload_in_mid_stream_goes_on_listening(context: BrowserContext, scripted: str) -> None:
    page = _opened(context, scripted)
    page.get_by_label("Your message").fill("never end")
    page.keyboard.press("Enter")
    expect(page.locator(".prose")).to_have_text("This answer has no end,")
    page.reload()
    expect(page.locator(".prose")).to_have_text("This answer has no end,")
    page.get_by_role("button", name="Stop").click()
    expect(finished(page, 0)).to_contain_text("Stopped.")


def test_a_reload_in_mid_conversation_shows_the_same_turns(page: Page) -> None:
    say(page, "Show me all pages")
    say(page, "Delete the Contact page")
    expect(page.get_by_role("button", name="Decline")).to_be_visible()
    before = page.locator(".turn").all_inner_texts()
    tokens = page.locator(".figures").inner_text()
    page.reload()
    finished(page, 1)
    expect(page.locator(".figures")).to_have_text(tokens, use_inner_text=True)
    expect(page.get_by_role("button", name="Decline")).to_be_visible()
    assert page.locator(".turn").all_inner_texts() == before


def test_a_second_tab_follows_the_first(context: BrowserContext, page: Page) -> None:
    say(page, "Show me all pages")
    second = context.new_page()
    second.goto(page.url)
    finished(second, 0)
    turn = say(page, "Find a picture of a cactus")
    expect(finished(second, 1)).to_have_text(turn.inner_text(), use_inner_text=True)


def test_a_question_that_one_tab_answered_is_closed_in_the_other(context: BrowserContext, page: Page) -> None:
    say(page, "Delete the Contact page")
    second = context.new_page()
    second.goto(page.url)
    expect(second.get_by_role("button", name="Decline")).to_be_visible()
    page.get_by_role("button", name="Decline").click()
    finished(page, 1)
    expect(second.locator(".approval")).to_contain_text("You declined this")


def test_conversations_are_listed_opened_and_deleted(page: Page) -> None:
    say(page, "Which categories of posts are there?")
    page.get_by_role("link", name="New conversation").click()
    page.get_by_role("heading", name="Ask for anything").wait_for()
    kept = page.locator(".session", has_text="Which categories of posts are there?")
    kept.get_by_role("link").click()
    finished(page, 0)
    kept.hover()
    kept.get_by_role("button", name="Delete").click()
    kept.get_by_role("button", name="Delete?").click()
    expect(kept).to_have_count(0)
    page.get_by_role("heading", name="Ask for anything").wait_for()


def test_conversations_are_renamed_and_found_by_what_was_written(page: Page) -> None:
    say(page, "Find a picture of a cactus")
    expect(page.locator(".session-title").first).to_have_text("Find a picture of a cactus")
    entry = page.locator(".session").first
    entry.hover()
    entry.get_by_role("button", name="Rename").click()
    expect(page.locator(".session input")).to_be_focused()
    page.keyboard.type("Prickly things")
    page.keyboard.press("Enter")
    expect(page.locator(".session-title").first).to_have_text("Prickly things")
    page.get_by_role("link", name="New conversation").click()
    page.get_by_role("heading", name="Ask for anything").wait_for()
    page.get_by_label("Search conversations").fill("picture cactus")
    expect(page.locator(".session-title", has_text="Prickly things")).to_be_visible()
    page.get_by_label("Search conversations").fill("zzyzx")
    expect(page.get_by_text("No conversation contains that.")).to_be_visible()


def test_thumbs_teach_the_search(page: Page) -> None:
    turn = say(page, "Find a picture of a cactus")
    turn.get_by_role("button", name="Bad answer").click()
    turn.get_by_label("Note").fill("I wanted the list")
    turn.get_by_label("The tool that would have been right").select_option("cms_listAllImages")
    turn.get_by_role("button", name="Send").click()
    expect(turn).to_contain_text("these words lead to cms_listAllImages")
    page.reload()
    expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")


def test_a_conversation_that_is_gone_gives_way_to_a_new_one(page: Page, demo: str, forgiven: list[str]) -> None:
    forgiven.append("Failed to load resource: the server responded with a status of 404")
    page.goto(f"{demo}#/chat/0123456789abcdef")
    expect(page.get_by_role("alert")).to_contain_text("There is no session")
    say(page, "Show me all pages")


def test_a_conversation_is_exported_and_copied(context: BrowserContext, page: Page) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    turn = say(page, "Show me all pages")
    turn.get_by_role("button", name="Copy", exact=True).click()
    assert "Plant care" in page.evaluate("navigator.clipboard.readText()")
    with page.expect_download() as download:
        turn.get_by_role("button", name="Export").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("# Show me all pages\n\n## Show me all pages\n\n> searched “")
    assert "> called `cms_listPages`" in text


def test_a_suggestion_is_asked_by_a_click(page: Page) -> None:
    page.get_by_role("list", name="Try").get_by_role("button", name="Show me all pages").click()
    expect(finished(page, 0).locator(".user")).to_have_text("Show me all pages")


def test_words_come_back_when_the_server_cannot_be_reached(page: Page, forgiven: list[str]) -> None:
    forgiven.append("Failed to load resource: net::ERR_FAILED")
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_label("Your message").fill("Show me all pages")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    expect(page.get_by_label("Your message")).to_have_value("Show me all pages")
    expect(page.get_by_text("Looking for it again")).to_be_visible()
    page.unroute_all()
    expect(page.get_by_text("Looking for it again")).to_have_count(0)
    page.keyboard.press("Enter")
    finished(page, 0)


def _opened(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    page.get_by_role("heading", name="Ask for anything").wait_for()
    return page
