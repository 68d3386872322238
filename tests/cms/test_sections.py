"""The tools for sections."""

from typing import Any

import pytest

from tests.support.calls import Call
from toolcrib_cms.cms import Cms


async def test_templates_are_listed_and_filtered(call: Call, refusal: Call) -> None:
    every = (await call("cms_listSectionTemplates"))["templates"]
    assert [one["id"] for one in every] == [
        "hero", "text", "image-text", "gallery", "features", "testimonials", "faq", "cta", "contact", "listing",
    ]  # fmt: skip
    assert [one["id"] for one in (await call("cms_listSectionTemplates", category="media"))["templates"]] == [
        "image-text",
        "gallery",
    ]
    assert "There are: header, text" in await refusal("cms_listSectionTemplates", category="sound")


async def test_fields_tell_what_is_required_and_which_are_images(call: Call, refusal: Call) -> None:
    fields = await call("cms_getSectionFields", template="Hero")
    assert (fields["required"], fields["imageFields"]) == (["heading"], ["backgroundImage"])
    assert fields["fields"]["heading"]["maxLength"] == 120
    assert "Did you mean 'hero'" in await refusal("cms_getSectionFields", template="heros")


async def test_a_section_is_added_where_it_was_wanted(cms: Cms, call: Call) -> None:
    made = await call("cms_addSectionToPage", page="care", template="cta", content={"heading": "Ask us"}, position=0)
    assert (made["position"], made["content"]["button"]["label"]) == (0, "Contact")
    again = await call("cms_addSectionToPage", page="care", template="text", content={"body": "In between"}, position=1)
    last = await call("cms_addSectionToPage", page="care", template="text")
    rows = (await call("cms_getPageSections", page="care"))["sections"]
    assert [row["id"] for row in rows] == [made["id"], again["id"], "sec_care_intro", "sec_care_faq", last["id"]]
    assert all(row["version"] == 1 for row in rows)
    assert "Ask us" in cms.render_site("/site/care").html


async def test_there_is_always_room_between_two_sections(call: Call) -> None:
    ids = [(await call("cms_addSectionToPage", page="care", template="text", position=1))["id"] for _ in range(30)]
    rows = [row["id"] for row in (await call("cms_getPageSections", page="care"))["sections"]]
    assert rows == ["sec_care_intro", *reversed(ids), "sec_care_faq"]


async def test_a_section_that_cannot_be_is_refused(refusal: Call) -> None:
    assert "There is no page" in await refusal("cms_addSectionToPage", page="x", template="text")
    assert "There is no section template" in await refusal("cms_addSectionToPage", page="care", template="x")
    said = await refusal("cms_addSectionToPage", page="care", template="text", content={"body": 3, "titel": "x"})
    assert "`body` should be a string, not 3; there is no field `titel`" in said
    button = {"heading": "Go", "button": {"label": "Go", "href": "nowhere", "type": "page"}}
    assert "There is no page 'nowhere'" in await refusal(
        "cms_addSectionToPage", page="care", template="cta", content=button
    )


async def test_only_what_is_given_changes(cms: Cms, call: Call) -> None:
    told = await call(
        "cms_updateSectionContent",
        section="home/hero",
        content={"heading": "Spring is here", "button": {"label": "Look"}},
        if_version=1,
    )
    assert told["changed"] == ["heading", "button.label"]
    assert told["content"]["button"] == {"label": "Look", "href": "plants", "type": "page"}
    assert told["version"] == 2
    html = cms.render_site("/site").html
    assert "<h1>Spring is here</h1>" in html
    assert "Healthy plants, honest advice" in html


async def test_null_clears_a_field_and_the_same_again_is_no_change(call: Call) -> None:
    told = await call("cms_updateSectionContent", section="sec_home_hero", content={"subheading": None})
    assert "subheading" not in told["content"]
    again = await call("cms_updateSectionContent", section="sec_home_hero", content={"subheading": None})
    assert (again["changed"], again["version"]) == ([], told["version"])


@pytest.mark.parametrize(
    ("section", "content", "said"),
    [
        ("sec_home_heroo", {"heading": "x"}, "Did you mean 'sec_home_hero'"),
        ("home/faq", {"heading": "x"}, "Home has no sections of the kind 'faq'"),
        ("nowhere/hero", {"heading": "x"}, "There is no page 'nowhere'"),
        ("home/hero", {"heading": None}, "`heading` is required"),
        ("home/hero", {"heading": "x" * 121}, "at most 120 characters"),
        ("home/hero", {"headline": "x"}, "there is no field `headline`"),
        ("home/hero", {"backgroundImage": "img_no"}, "There is no image 'img_no'"),
        ("home/hero", {"backgroundImage": {"alt": "x", "id": 5}}, "`backgroundImage.id` should be a string"),
        ("home/hero", {"button": {"href": "javascript:alert(1)", "type": "url"}}, "`button.href` should be"),
    ],
)
async def test_a_change_that_does_not_fit_is_refused(
    refusal: Call, section: str, content: dict[str, Any], said: str
) -> None:
    assert said in await refusal("cms_updateSectionContent", section=section, content=content)


async def test_a_stale_change_of_a_section_is_refused(call: Call, refusal: Call) -> None:
    await call("cms_updateSectionContent", section="home/hero", content={"heading": "One"})
    said = await refusal("cms_updateSectionContent", section="home/hero", content={"heading": "Two"}, if_version=1)
    assert "at version 2, not 1" in said


async def test_one_section_goes_and_the_page_stays(cms: Cms, call: Call, refusal: Call) -> None:
    told = await call("cms_deletePageSection", section="home/testimonials")
    assert (told["id"], told["deleted"]) == ("sec_home_voices", True)
    assert "What people say" not in cms.render_site("/site").html
    assert "There is no section" in await refusal("cms_deletePageSection", section="sec_home_voices")


async def test_several_sections_go_at_once_or_none(call: Call, refusal: Call) -> None:
    said = await refusal("cms_deletePageSections", page="home", sections=["sec_home_hero", "sec_care_faq"])
    assert "'Home' has no section 'sec_care_faq'" in said
    assert "either" in await refusal("cms_deletePageSections", page="home")
    assert "either" in await refusal("cms_deletePageSections", page="home", sections=["sec_home_hero"], all=True)
    assert "There is no page" in await refusal("cms_deletePageSections", page="x", all=True)
    told = await call("cms_deletePageSections", page="home", sections=["sec_home_hero", "sec_home_voices"])
    assert [one["id"] for one in told["deleted"]] == ["sec_home_hero", "sec_home_voices"]
    assert len((await call("cms_deletePageSections", page="home", all=True))["deleted"]) == 3
    assert (await call("cms_getPageSections", page="home"))["sections"] == []


async def test_sections_are_read(call: Call, refusal: Call) -> None:
    rows = (await call("cms_getPageSections", page="home"))["sections"]
    assert rows[0] == {
        "position": 0,
        "id": "sec_home_hero",
        "template": "hero",
        "name": "hero: Bring the outside in",
        "version": 1,
    }
    read = await call("cms_getSectionContent", section="sec_home_hero")
    assert (read["page"], read["content"]["heading"]) == ("home", "Bring the outside in")
    assert "See cms_getPageSections" in await refusal("cms_getSectionContent", section="hero")
    assert "There is no page" in await refusal("cms_getPageSections", page="x")


async def test_another_image_does_not_keep_the_words_for_the_old_one(call: Call) -> None:
    await call("cms_updateSectionContent", section="home/hero", content={"backgroundImage": {"alt": "A greenhouse"}})
    told = await call("cms_updateSectionContent", section="home/hero", content={"backgroundImage": "img_mountain"})
    assert told["content"]["backgroundImage"] == {"id": "img_mountain"}
