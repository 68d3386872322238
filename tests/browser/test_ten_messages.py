"""A visitor's first ten messages: what they see after each, on a desk and on a phone, in two languages."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import serve_demo
from tests.support.browser.chat import finished, say


@pytest.fixture(scope="module")
def fresh(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A demo that nobody has been to."""
    folder: Path = tmp_path_factory.mktemp("visitor")
    with serve_demo(folder) as address:
        yield address


def test_a_visitor_trusts_it_after_ten_messages(context: BrowserContext, fresh: str) -> None:
    page = context.new_page()
    page.goto(fresh)
    page.get_by_role("heading", name="Ask for anything").wait_for()
    expect(page.get_by_role("list", name="Try").get_by_role("button")).to_have_count(4)
    expect(page.get_by_text("no language model")).to_be_visible()

    # 1: a first look, by a click
    page.get_by_role("list", name="Try").get_by_role("button", name="Show me all pages").click()
    pages = finished(page, 0)
    for title in ("Home", "Plant care", "Contact", "Old pricing"):
        expect(pages.locator(".prose")).to_contain_text(title)
    expect(page.locator(".panel-note").first).to_contain_text("requests")
    expect(page.locator(".site-fresh")).to_have_text("")  # nothing was written

    # 2: in Polish, answered in Polish, with pictures
    fern = say(page, "znajdź zdjęcie paproci")
    expect(fern.locator(".thumbnails img").first).to_be_visible()
    expect(fern.locator(".prose")).not_to_contain_text("found")

    # 3: a delete that is refused
    asked = say(page, "Delete the Old pricing page")
    question = asked.locator(".approval")
    expect(question.get_by_role("heading")).to_have_text("Delete “Old pricing”?")
    expect(page.locator(".site-path")).to_contain_text("/site/old-pricing")
    question.get_by_role("button", name="Decline").click()  # 4: the answer
    finished(page, 3)
    expect(question).to_contain_text("You declined this. Nothing was changed.")
    assert is_there(page, "/site/old-pricing")

    # 5: Retry asks again, about the same
    page.get_by_label("Your message").fill("Delete the Old pricing page")
    page.keyboard.press("Enter")
    again = finished(page, 4)
    again.get_by_role("button", name="Retry").click()
    retried = finished(page, 5)
    expect(retried.locator(".approval").get_by_role("heading")).to_have_text("Delete “Old pricing”?")

    # 6: yes; and then it is undone
    retried.get_by_role("button", name="Allow once").click()
    done = finished(page, 6)
    expect(done.locator(".changed")).to_contain_text("Old pricing deleted")
    assert not is_there(page, "/site/old-pricing")
    done.get_by_role("button", name="Undo").click()
    expect(done.locator(".changed")).to_contain_text("and undone")
    assert is_there(page, "/site/old-pricing")
    expect(page.locator(".site-path")).to_contain_text("/site/old-pricing")

    # 7: something vague changes nothing, and offers choices to press
    vague = say(page, "Archive a post")
    choices = vague.get_by_role("list", name="Choices").get_by_role("button")
    expect(choices).to_have_count(4)
    choice = choices.first.inner_text()
    choices.first.click()  # 8
    chosen = finished(page, 8)
    expect(chosen.locator(".user")).to_have_text(choice)

    expect(chosen.locator(".changed")).to_contain_text("changed")

    # 9: a question is answered, and writes nothing
    before = page.locator(".changed").count()
    say(page, "Was steht auf der Seite Contact?")
    assert page.locator(".changed").count() == before

    # 10: after a reload everything stands as it was
    shown = page.locator(".turn").count()
    figures = page.locator(".figures").inner_text()
    page.reload()
    finished(page, shown - 1)
    expect(page.locator(".figures")).to_have_text(figures, use_inner_text=True)
    expect(page.locator(".changed").first).to_contain_text("and undone")
    say(page, "Show me all pages")
    expect(page.locator(".session")).to_have_count(1)


def test_the_same_visitor_on_a_phone(phone: BrowserContext, fresh: str) -> None:
    page = phone.new_page()
    page.goto(fresh)
    page.get_by_role("heading", name="Ask for anything").wait_for()
    turn = say(page, "Lösche die Seite Old pricing")
    allow = turn.get_by_role("button", name="Allow once")
    expect(allow).to_be_in_viewport()
    allow.click()
    done = finished(page, 1)
    expect(done.locator(".changed")).to_contain_text("Old pricing deleted")
    done.get_by_role("button", name="Undo").click()
    expect(done.locator(".changed")).to_contain_text("and undone")
    page.get_by_role("button", name="Site", exact=True).click()
    expect(page.frame_locator("iframe").get_by_role("heading").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def is_there(page: Page, path: str) -> bool:
    """Whether a visitor of the site gets it."""
    return page.request.get(page.url.split("#")[0].rstrip("/") + f"{path}?preview=1").ok
