"""The CMS by clicking: what is found, what is asked first, and what the site shows after."""

from playwright.sync_api import Page, expect

from tests.support.browser.chat import finished, say


def test_the_hero_image_is_found_and_shown(page: Page) -> None:
    turn = say(page, "Find the hero image of the home page")
    expect(turn.locator(".discovery summary").first).to_contain_text("searched Find the hero image of the home page")
    expect(turn.locator(".discovery .facts").first).to_contain_text("sure 0.")
    expect(turn.locator(".call summary").first).to_contain_text("cms_searchImages")
    expect(turn.get_by_alt_text("hero-greenhouse.jpg")).to_be_visible()
    expect(turn.locator(".prose")).to_contain_text("hero-greenhouse.jpg")


def test_a_tool_card_opens_to_arguments_and_result(page: Page) -> None:
    turn = say(page, "Show me all pages")
    card = turn.locator(".call").first
    expect(card.locator("pre").first).not_to_be_visible()
    card.locator("summary").click()
    expect(card.get_by_label("result", exact=True)).to_contain_text('"page_home"')


def test_deleting_a_page_is_declined_and_then_confirmed(page: Page) -> None:
    asked = say(page, "Delete the Old pricing page")
    approval = asked.get_by_role("region", name="Approval of cms_deletePage")
    expect(approval).to_contain_text("destructive")
    expect(approval.get_by_role("heading")).to_have_text("Delete “Old pricing”?")
    expect(approval.get_by_label("What will be different").get_by_role("listitem").first).to_have_text(
        "Old pricing page will be deleted"
    )
    expect(page.locator(".site-path")).to_contain_text("/site/old-pricing")  # the thing itself, beside the chat
    expect(page.locator(".site-fresh")).to_have_text("")
    assert asked.inner_text().count("cms_deletePage") == 2  # what was found, and the question; nothing says it again
    approval.locator("summary").click()
    expect(approval.locator(".arguments")).to_have_text(
        "pageIdpage_old-pricing"
    )  # exactly what it would be called with
    approval.get_by_role("button", name="Decline").click()
    finished(page, 1)
    expect(approval).to_contain_text("You declined this")
    assert _page_is_there(page, "/site/old-pricing?preview=1")

    again = say(page, "Delete the Old pricing page")
    again.get_by_role("button", name="Allow once").click()
    answer = finished(page, 3)
    expect(answer.locator(".call summary")).to_contain_text("cms_deletePage")
    expect(answer.locator(".prose")).to_contain_text("Deleted")
    expect(again.locator(".approval")).to_contain_text("You allowed this")
    assert not _page_is_there(page, "/site/old-pricing?preview=1")
    changed = answer.locator(".changed")
    expect(changed).to_contain_text("Old pricing deleted")
    changed.get_by_role("button", name="Undo").click()
    expect(changed).to_contain_text("and undone")
    expect(changed.get_by_role("button")).to_have_count(0)
    assert _page_is_there(page, "/site/old-pricing?preview=1")
    page.reload()
    expect(page.locator(".changed")).to_contain_text("and undone")


def test_the_arguments_are_changed_before_the_yes_which_is_to_what_is_shown(page: Page) -> None:
    asked = say(page, "Delete the Plants page")
    approval = asked.locator(".approval")
    approval.get_by_role("button", name="Edit first").click()
    approval.get_by_label("pageId").fill("")
    approval.get_by_role("button", name="Allow with these").click()
    expect(approval.locator(".field-problem")).to_have_text("This one is needed.")
    approval.get_by_label("pageId").fill("page_contact")
    approval.get_by_role("button", name="Allow with these").click()
    changed = finished(page, 1).locator(".changed")
    expect(changed).to_contain_text("Contact deleted")
    assert _page_is_there(page, "/site/plants")
    assert not _page_is_there(page, "/site/contact")
    changed.get_by_role("button", name="Undo").click()
    expect(changed).to_contain_text("and undone")
    assert _page_is_there(page, "/site/contact")


def test_publishing_a_post_brings_it_up_beside_the_chat(page: Page) -> None:
    turn = say(page, "Publish the monstera post")
    turn.get_by_role("button", name="Allow once").click()
    finished(page, 1)
    site = page.frame_locator("iframe")
    expect(site.get_by_role("heading", name="The monstera that took over our office").first).to_be_visible()
    assert _page_is_there(page, "/site/posts/monstera-care")


def test_a_link_to_the_site_opens_beside_the_chat(page: Page) -> None:
    turn = say(page, "Show me all pages")
    link = turn.locator('.prose a[href="/site/care"]')
    link.click()
    expect(page.locator(".site-path")).to_have_text("/site/care")


def _page_is_there(page: Page, path: str) -> bool:
    """Whether a visitor gets it. Asked outside of the page: a 404 there would be an error in its console."""
    return page.request.get(page.url.split("#")[0].rstrip("/") + path).ok


def test_a_question_offers_its_choices_as_buttons(page: Page) -> None:
    say(page, "Archive a post")
    offered = page.get_by_role("list", name="Choices").get_by_role("button")
    expect(offered).to_have_count(4)
    offered.nth(1).click()
    turn = finished(page, 1)
    expect(turn.locator(".user")).to_have_text("Winter light, and how to borrow more of it")
    expect(turn).to_contain_text("cms_archivePost")
    expect(page.get_by_role("list", name="Choices")).to_have_count(0)
