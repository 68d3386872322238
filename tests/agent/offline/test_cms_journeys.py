"""The journeys of the demo: what a visitor tries first must work, in the languages they try it in."""

import pytest

from tests.support.offline import Talk
from toolcrib_cms.cms import Cms


async def test_the_hero_heading_is_read_from_the_home_page(cms: Talk) -> None:
    assert await cms.say("what's the hero heading?") == "**heading**: Bring the outside in"
    assert cms.calls == [("cms_getSectionContent", {"pageSectionId": "home/hero"})]


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
    assert "which section do you mean?\n1. hero: Bring the outside in\n" in await cms.say("use it on the home page")
    await cms.say("hero")
    assert cms.calls == [
        ("cms_updateSectionImage", {"pageSectionId": "sec_home_hero", "imageId": "img_hero-greenhouse"})
    ]


async def test_who_wants_to_find_an_image_changes_none(cms: Talk) -> None:
    assert "hero-greenhouse.jpg" in await cms.say("Find the hero image of the home page")
    assert [name for name, _ in cms.calls] == ["cms_searchImages"]


async def test_a_post_is_published_after_the_users_yes(cms: Talk) -> None:
    assert "The monstera that took over our office" in await cms.say("publish the monstera post")
    assert [one.tool for one in cms.session.confirmations] == ["cms_publishPost"]
    assert "is public now" in await cms.say("yes")


async def test_a_page_is_deleted_only_after_a_yes(cms: Talk) -> None:
    await cms.say("delete the old pricing page")
    assert await cms.say("no") == "All right, nothing was done."
    await cms.say("delete the old pricing page")
    assert cms.calls[-1] == ("cms_deletePage", {"pageId": "page_old-pricing"})
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
    assert cms.calls[-1] == ("cms_deletePage", {"pageId": page})
    assert [one.arguments for one in cms.session.confirmations] == [{"pageId": page}]


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
    assert cms.calls[-1] == ("cms_updatePage", {"pageId": "page_contact", "title": "Get in touch"})


async def test_a_field_of_a_section_is_changed(cms: Talk) -> None:
    await cms.say("change the hero heading to 'Welcome home'")
    assert cms.calls == [
        ("cms_updateSectionContent", {"pageSectionId": "home/hero", "content": {"heading": "Welcome home"}})
    ]


async def test_what_is_missing_is_asked_for_and_the_answer_goes_on(cms: Talk) -> None:
    asked = await cms.say("what does the fern cost?")
    assert asked == "For **cms_getEntryContent**: which collection do you mean?\n1. products\n2. team"
    assert "19" in await cms.say("products")
    assert cms.calls[-1] == ("cms_getEntryContent", {"collection": "products", "entry": "entry_sword-fern"})


async def test_a_question_changes_nothing(cms: Talk) -> None:
    await cms.say("jakie mamy strony w serwisie?")
    assert "cms_createPage" not in [name for name, _ in cms.calls]


async def test_a_tool_that_a_search_only_named_is_fetched_by_its_name(cms: Talk) -> None:
    await cms.say("hide the Plants link in the menu")
    assert cms.calls == [("cms_getNavigation", {}), ("cms_toggleNavigationItem", {"item": "nav_plants"})]


async def test_who_wants_a_heading_changed_does_not_want_to_read_it(cms: Talk) -> None:
    await cms.say('change the hero heading on the home page to "Welcome"')
    assert cms.calls == [
        ("cms_updateSectionContent", {"pageSectionId": "home/hero", "content": {"heading": "Welcome"}})
    ]


async def test_who_wants_to_see_a_page_is_not_asked_which_to_delete(cms: Talk) -> None:
    assert "cms_deletePage" not in await cms.say("zeig mir die Seite über Pflanzenpflege")


async def test_a_link_gets_its_new_label(cms: Talk) -> None:
    await cms.say("rename the menu link Care to Plant care")
    assert cms.calls[-1] == ("cms_updateNavigationItem", {"item": "nav_care", "label": "Plant care"})


async def test_who_renames_a_link_does_not_change_its_address(cms: Talk) -> None:
    await cms.say("umbenennen: den Link Care in Pflege")
    assert cms.calls[-1] == ("cms_updateNavigationItem", {"item": "nav_care", "label": "Pflege"})
    await cms.say("change the url of the menu link Contact to https://example.org/reach-us")
    assert "label" not in cms.calls[-1][1]


async def test_what_is_of_another_kind_is_no_page(cms: Talk) -> None:
    assert "img_" not in await cms.say("remove todas as seções da página de teste")


async def test_which_section_is_asked_by_those_of_the_page(cms: Talk) -> None:
    asked = await cms.say('Bitte ändere die Überschrift auf der Startseite in "Willkommen"')
    assert "hero: Bring the outside in" in asked


async def test_a_field_is_known_by_what_another_language_calls_it(cms: Talk) -> None:
    await cms.say('change the hero heading on the home page to "Welcome"')
    await cms.say('Bitte ändere die Überschrift auf der Startseite in "Willkommen"')
    assert cms.calls[-1][1]["content"] == {"heading": "Willkommen"}


async def test_a_section_spoken_of_before_is_not_taken_where_another_may_be_meant(cms: Talk) -> None:
    await cms.say('change the hero heading on the home page to "Welcome"')
    asked = await cms.say('Ändere die Überschrift der Kundenstimmen auf der Startseite in "Lob"')
    assert "Was ist gemeint (section)?" in asked
    assert "cms_updateSectionContent" not in [name for name, _ in cms.calls]


async def test_a_picture_is_never_replaced_by_itself(cms: Talk) -> None:
    assert await cms.say("replace the old logo with the new one") == (
        "For **cms_replaceImage**: which image do you mean?\n1. logo-dark.png\n2. logo-light.png"
    )
    assert cms.calls == [("cms_listAllImages", {})]


async def test_a_number_is_not_made_of_words(cms: Talk) -> None:
    assert "which photo do you mean?" in await cms.say("download a stock photo of the sea")


async def test_what_is_none_of_the_few_there_are_is_asked_for(cms: Talk) -> None:
    assert (await cms.say("who works here?")).endswith("1. products\n2. team")
    assert "Mira Okafor" in await cms.say("team")


async def test_all_sections_of_a_page_are_no_list_of_sections(cms: Talk) -> None:
    await cms.say("delete all sections of the plants page")
    assert cms.calls[-1] == ("cms_deletePageSections", {"pageId": "page_plants", "all": True})


@pytest.mark.parametrize("text", ["dodaj stronę Blog do menu", "Füge die Seite Blog zum Menü hinzu"])
async def test_a_label_is_the_name_alone(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert cms.calls == [("cms_addNavigationItem", {"label": "Blog"})]


@pytest.mark.parametrize(
    ("text", "declined"),
    [
        ("Lösche die Seite Old pricing", "In Ordnung, es wurde nichts getan."),
        ("删除旧价格页面", "好的，什么都没有做。"),
        ("古い価格のページを削除して", "わかりました。何もしていません。"),
    ],
)
async def test_a_button_is_answered_in_the_language_of_the_talk(cms: Talk, text: str, declined: str) -> None:
    await cms.say(text)
    assert await cms.press(False) == declined


async def test_a_sentence_without_spaces_is_a_query_as_a_whole(cms: Talk) -> None:
    await cms.say("シダの画像を探して")
    assert cms.calls == [("cms_searchImages", {"query": "シダの画像を探して"})]


async def test_nothing_found_is_told_in_the_language_of_the_request(cms: Talk) -> None:
    assert "Werkzeuge gibt es für:" in await cms.say("Erzähl mir bitte einen Witz")


async def test_a_section_goes_by_its_own_name(cms: Talk) -> None:
    await cms.say("remove the testimonials section from the home page")
    assert cms.calls == [("cms_deletePageSection", {"pageSectionId": "home/testimonials"})]


@pytest.mark.parametrize("text", ["What's new on the blog?", "where do we write about watering?"])
async def test_a_question_makes_nothing_whatever_verb_it_has(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert [name for name, _ in cms.calls] in (["cms_listPosts"], ["search_vector"])


async def test_what_names_the_page_does_not_name_the_section_too(cms: Talk) -> None:
    await cms.say("añade una sección de preguntas a la página Contact")
    assert ("cms_addSectionToPage", {"pageId": "page_contact", "sectionDefId": "contact"}) not in cms.calls


async def test_a_vague_verb_acts_only_by_the_nearest_tool(cms: Talk) -> None:
    assert (await cms.say('put "Open on Sundays" as the heading of the contact page')).startswith("I am not sure")
    assert not {"cms_addSectionToPage", "cms_updateSectionContent"} & {name for name, _ in cms.calls}
    await cms.say("put the Blog page in the menu")
    assert cms.calls == [("cms_addNavigationItem", {"label": "Blog"})]


@pytest.mark.parametrize("text", ["put a gallery on the contact page", "put a gallery section on the contact page"])
async def test_a_vague_verb_puts_what_the_tool_puts(cms: Talk, text: str) -> None:
    await cms.say(text)
    assert cms.calls[-1] == ("cms_addSectionToPage", {"pageId": "page_contact", "sectionDefId": "gallery"})
