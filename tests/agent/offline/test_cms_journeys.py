"""The journeys of the demo: what a visitor tries first must work, in the languages they try it in."""

import pytest
from small_app import Talk

from toolcrib_cms.cms import Cms


async def test_the_hero_heading_is_read_from_the_home_page(cms: Talk) -> None:
    assert await cms.say("what's the hero heading?") == "**heading**: Bring the outside in"
    assert cms.calls == [("cms_getSectionContent", {"section": "home/hero"})]


async def test_a_page_with_a_hero_and_an_image_takes_four_tools(cms: Talk, one_cms: Cms) -> None:
    await cms.say("create an About page with a hero and a mountain image")
    assert [name for name, _ in cms.calls] == [
        "cms_createPage",
        "cms_addSectionToPage",
        "cms_searchImages",
        "cms_addImageToSection",
    ]
    assert "mountain.jpg" in one_cms.render_site("/site/about?preview=1").html


async def test_the_image_that_was_found_is_used_in_the_next_turn(cms: Talk) -> None:
    assert "hero-greenhouse.jpg" in await cms.say("Znajdź zdjęcie bohatera")
    await cms.say("use it on the home page")
    assert cms.calls == [("cms_updateSectionImage", {"section": "home/hero", "image": "img_hero-greenhouse"})]


async def test_a_post_is_published_after_the_users_yes(cms: Talk) -> None:
    assert "The monstera that took over our office" in await cms.say("publish the monstera post")
    assert [one.tool for one in cms.session.confirmations] == ["cms_publishPost"]
    assert "is public now" in await cms.say("yes")


async def test_a_page_is_deleted_only_after_a_yes(cms: Talk) -> None:
    await cms.say("delete the old pricing page")
    assert await cms.say("no") == "All right, nothing was done."
    await cms.say("delete the old pricing page")
    assert cms.calls[-1] == ("cms_deletePage", {"page": "page_old-pricing"})
    assert await cms.say("yes, go ahead") == "Deleted the page 'Old pricing'."


async def test_a_button_answers_as_well_as_words(cms: Talk) -> None:
    await cms.say("delete the old pricing page")
    assert await cms.press(False) == "All right, nothing was done."
    await cms.say("delete the old pricing page")
    assert await cms.press(True) == "Deleted the page 'Old pricing'."


async def test_a_page_is_added_to_the_menu(cms: Talk) -> None:
    assert await cms.say("add Blog to the header menu") == "Added 'Blog' to the header menu."


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("lösche die alte Preisseite", "page_old-pricing"),
        ("usuń stronę kontaktową", "page_contact"),
        ("borra la página de contacto", "page_contact"),
        ("supprime la page de contact", "page_contact"),
    ],
)
async def test_a_page_is_found_by_what_another_language_calls_it(cms: Talk, text: str, page: str) -> None:
    await cms.say(text)
    assert cms.calls[-1] == ("cms_deletePage", {"page": page})
    assert [one.arguments for one in cms.session.confirmations] == [{"page": page}]


async def test_what_was_made_is_it_in_the_next_turn(cms: Talk) -> None:
    await cms.say("create an About page")
    assert await cms.say("add it to the header menu") == "Added 'About' to the header menu."


async def test_a_choice_is_taken_from_the_words(cms: Talk) -> None:
    await cms.say("create an About page")
    assert "About" in await cms.say("which pages are drafts?")
    assert cms.calls == [("cms_listPages", {"status": "draft"})]
    await cms.say("zeig mir das Menü im Footer")
    assert cms.calls == [("cms_getNavigation", {"menu": "footer"})]


async def test_a_page_is_renamed(cms: Talk) -> None:
    await cms.say("rename the Contact page to Get in touch")
    assert cms.calls[-1] == ("cms_updatePage", {"page": "page_contact", "title": "Get in touch"})


async def test_a_field_of_a_section_is_changed(cms: Talk) -> None:
    await cms.say("change the hero heading to 'Welcome home'")
    assert cms.calls == [("cms_updateSectionContent", {"section": "home/hero", "content": {"heading": "Welcome home"}})]


async def test_what_is_missing_is_asked_for_and_the_answer_goes_on(cms: Talk) -> None:
    assert await cms.say("what does the fern cost?") == "Which collection do you mean?\n- products\n- team"
    assert "19" in await cms.say("products")
    assert cms.calls[-1] == ("cms_getEntryContent", {"collection": "products", "entry": "entry_sword-fern"})


async def test_a_question_changes_nothing(cms: Talk) -> None:
    await cms.say("jakie mamy strony w serwisie?")
    assert "cms_createPage" not in [name for name, _ in cms.calls]
