"""The tools for pages."""

from typing import Any

import pytest

from tests.support.calls import Call
from toolcrib_cms.cms import Cms


async def test_a_page_is_light_unless_its_content_is_asked_for(call: Call) -> None:
    light = await call("cms_getPage", page="home")
    assert (light["id"], light["title"], light["url"], light["status"]) == ("page_home", "Home", "/site", "published")
    assert "content" not in light["sections"][0]
    full = await call("cms_getPage", page="page_home", includeContent=True)
    assert full["sections"][0]["content"]["heading"] == "Bring the outside in"


@pytest.mark.parametrize("reference", ["plants", "page_plants", "Plants", "/site/plants", "/plants"])
async def test_a_page_is_known_by_id_slug_address_or_title(call: Call, reference: str) -> None:
    assert (await call("cms_getPage", page=reference))["slug"] == "plants"


async def test_an_unknown_page_is_refused_with_a_guess(refusal: Call) -> None:
    said = await refusal("cms_getPage", page="plant")
    assert said == "There is no page 'plant'. Did you mean 'plants'? See cms_listPages."


async def test_a_new_page_is_an_empty_draft_with_a_preview(cms: Cms, call: Call) -> None:
    made = await call("cms_createPage", title="About us", metaDescription="Who we are")
    assert (made["slug"], made["status"], made["url"]) == ("about-us", "draft", "/site/about-us?preview=1")
    assert cms.render_site("/site/about-us").status == 404
    assert "no sections yet" in cms.render_site(made["url"]).html


async def test_a_page_below_another_has_both_in_its_address(cms: Cms, call: Call) -> None:
    made = await call("cms_createPage", title="Ferns", parent="care", status="published")
    assert made["url"] == "/site/care/ferns"
    assert cms.render_site("/site/care/ferns").status == 200
    assert cms.render_site("/site/ferns").status == 404
    assert [one["slug"] for one in (await call("cms_listPages", parent="care"))["pages"]] == ["ferns"]


async def test_a_taken_address_is_refused_and_a_made_one_gets_a_number(call: Call, refusal: Call) -> None:
    assert (await call("cms_createPage", title="Contact"))["slug"] == "contact-2"
    said = await refusal("cms_createPage", title="Write to us", slug="contact")
    assert said == "The address 'contact' is taken. Nothing was changed. 'contact-3' is free."


async def test_a_bad_address_or_parent_is_refused(refusal: Call) -> None:
    assert "cannot be an address" in await refusal("cms_createPage", title="X", slug="No Way!")
    assert "There is no page 'nowhere'" in await refusal("cms_createPage", title="X", parent="nowhere")
    assert "title" in await refusal("cms_createPage", title="")


async def test_a_page_comes_with_its_sections_in_one_step(cms: Cms, call: Call) -> None:
    made = await call(
        "cms_createPageWithContent",
        title="About",
        sections=[
            {"template": "hero", "content": {"heading": "About Verdant", "backgroundImage": "img_mountain"}},
            {"template": "text", "content": {"body": "We **grow** plants."}},
        ],
        status="published",
    )
    assert [section["template"] for section in made["sections"]] == ["hero", "text"]
    html = cms.render_site("/site/about").html
    assert "<h1>About Verdant</h1>" in html
    assert "/site/images/mountain.jpg" in html
    assert "<strong>grow</strong>" in html


async def test_one_bad_section_and_no_page_is_made(refusal: Call) -> None:
    good = {"template": "hero", "content": {"heading": "Hi"}}
    said = await refusal(
        "cms_createPageWithContent", title="About", sections=[good, {"template": "faq", "content": {"items": []}}]
    )
    assert said.startswith("No page was created. Section 1 (faq): The content does not fit")
    assert "`items` should have at least 1 items" in said
    wrong: list[dict[str, Any]] = [
        {"template": "carousel", "content": {}},
        {"template": "hero", "content": {"heading": "Hi", "backgroundImage": "img_none"}},
    ]
    for bad in wrong:
        assert "No page was created" in await refusal("cms_createPageWithContent", title="About", sections=[good, bad])
    assert "sections" in await refusal("cms_createPageWithContent", title="About", sections=[])


async def test_settings_of_a_page_change_and_its_sections_stay(cms: Cms, call: Call) -> None:
    changed = await call(
        "cms_updatePage",
        page="old-pricing",
        title="Plans",
        slug="plans",
        metaDescription="New",
        parent="plants",
        if_version=1,
    )
    assert (changed["title"], changed["url"], changed["version"]) == ("Plans", "/site/plants/plans", 2)
    assert (await call("cms_updatePage", page="plans", parent=""))["url"] == "/site/plans"
    assert "Prices of last year" in cms.render_site("/site/plans").html
    archived = await call("cms_updatePage", page="plans", status="archived")
    assert archived["url"] == "/site/plans?preview=1"
    assert (await call("cms_updatePage", page="plans", status="published"))["status"] == "published"


async def test_a_stale_change_of_a_page_is_refused(call: Call, refusal: Call) -> None:
    await call("cms_updatePage", page="care", title="Care")
    said = await refusal("cms_updatePage", page="care", title="Caring", if_version=1)
    assert "page_care is at version 2, not 1" in said
    assert "Read it again with cms_getPage" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"page": "nothing", "title": "X"}, "There is no page"),
        ({"page": "care"}, "Nothing to change"),
        ({"page": "care", "slug": "contact"}, "is taken"),
        ({"page": "care", "slug": "Not good"}, "cannot be an address"),
        ({"page": "care", "parent": "care"}, "itself or stands below it"),
        ({"page": "care", "status": "gone"}, "status"),
        ({"page": "home", "slug": "start"}, "keeps its address"),
        ({"page": "home", "status": "draft"}, "stays published"),
    ],
)
async def test_a_change_that_cannot_be_is_refused(refusal: Call, arguments: dict[str, str], said: str) -> None:
    assert said in await refusal("cms_updatePage", **arguments)


async def test_a_deletion_can_be_rehearsed(cms: Cms, call: Call) -> None:
    told = await call("cms_deletePage", page="old-pricing", dryRun=True)
    assert (told["deleted"], told["sections"]) == (False, 2)
    assert [link["name"] for link in told["menuLinks"]] == ["Prices"]
    assert cms.render_site("/site/old-pricing").status == 200


async def test_a_page_goes_with_its_sections_and_menu_links(cms: Cms, call: Call) -> None:
    told = await call("cms_deletePage", page="old-pricing")
    assert told["deleted"] is True
    assert cms.render_site("/site/old-pricing").status == 404
    labels = [item["label"] for item in (await call("cms_getNavigation", menu="footer"))["items"]]
    assert labels == ["Contact", "Instagram"]
    assert ">Prices<" not in cms.render_site("/site").html


async def test_buttons_to_a_deleted_page_are_reported_and_shown_no_more(cms: Cms, call: Call) -> None:
    told = await call("cms_deletePage", page="plants")
    assert {use["id"] for use in told["brokenButtons"]} == {"sec_home_hero", "sec_old_pricing_cta"}
    assert "See our plants" not in cms.render_site("/site").html


async def test_a_page_with_pages_below_or_the_home_page_stays(call: Call, refusal: Call) -> None:
    await call("cms_createPage", title="Ferns", parent="care")
    assert "has pages below it: Ferns" in await refusal("cms_deletePage", page="care")
    assert "cannot be deleted" in await refusal("cms_deletePage", page="home")
    assert "There is no page" in await refusal("cms_deletePage", page="nothing")


async def test_pages_are_listed_by_status_and_piece_by_piece(call: Call, refusal: Call) -> None:
    first = await call("cms_listPages", limit=4)
    rest = await call("cms_listPages", limit=4, cursor=first["nextCursor"])
    assert (len(first["pages"]), len(rest["pages"]), rest["nextCursor"]) == (4, 2, None)
    assert (await call("cms_listPages", status="draft"))["pages"] == []
    assert "is no cursor" in await refusal("cms_listPages", cursor="x")
    assert "There is no page" in await refusal("cms_listPages", parent="x")
    assert "limit" in await refusal("cms_listPages", limit=0)
