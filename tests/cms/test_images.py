"""The tools for images."""

import pytest

from tests.support.calls import Call
from toolcrib_cms.cms import Cms
from toolcrib_cms.storage.revisions import history, restore


async def test_an_image_tells_where_it_is_used(call: Call, refusal: Call) -> None:
    found = await call("cms_findImage", idOrName="monstera.jpg")
    assert (found["id"], found["width"], found["height"], found["mime"]) == ("img_monstera", 1200, 750, "image/jpeg")
    assert {(use["type"], use["id"], use["field"]) for use in found["usedBy"]} == {
        ("section", "sec_plants_gallery", "images[0].image"),
        ("post", "post_monstera-care", "featuredImage"),
        ("entry", "entry_monstera", "image"),
    }
    assert "Did you mean 'monstera.jpg'" in await refusal("cms_findImage", idOrName="monstra.jpg")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("mountains", "img_mountain"),
        ("hero image", "img_hero-greenhouse"),
        ("zdjęcie bohatera", "img_hero-greenhouse"),
        ("a truck that brings parcels", "img_delivery-van"),
        ("logo on dark background", "img_logo-dark"),
    ],
)
async def test_images_are_found_by_what_they_show(call: Call, query: str, best: str) -> None:
    images = (await call("cms_searchImages", query=query))["images"]
    assert images[0]["id"] == best
    assert [one["distance"] for one in images] == sorted(one["distance"] for one in images)
    assert 0 <= images[0]["distance"] <= 1


async def test_a_search_for_images_has_limits(call: Call, refusal: Call) -> None:
    assert len((await call("cms_searchImages", query="plant", limit=1))["images"]) == 1
    assert "limit" in await refusal("cms_searchImages", query="plant", limit=500)
    assert "query" in await refusal("cms_searchImages", query="")


async def test_images_are_listed_newest_first(call: Call, refusal: Call) -> None:
    first = await call("cms_listAllImages", limit=10)
    rest = await call("cms_listAllImages", limit=10, cursor=first["nextCursor"])
    assert first["images"][0]["id"] == "img_logo-dark"
    assert (len(first["images"]), len(rest["images"])) == (10, 5)
    unused = {image["id"] for image in (await call("cms_listAllImages", unusedOnly=True))["images"]}
    assert unused == {"img_mountain", "img_forest", "img_dunes", "img_logo-light", "img_logo-dark"}
    assert "is no cursor" in await refusal("cms_listAllImages", cursor="?")


async def test_an_image_is_put_where_none_is_or_into_a_gallery(cms: Cms, call: Call, refusal: Call) -> None:
    await call("cms_updateSectionContent", section="home/hero", content={"backgroundImage": None})
    told = await call("cms_addImageToSection", section="home/hero", image="mountain.jpg", alt="A mountain")
    assert told["content"]["backgroundImage"] == {"id": "img_mountain", "alt": "A mountain"}
    assert 'alt="A mountain"' in cms.render_site("/site").html
    assert "shows an image already" in await refusal("cms_addImageToSection", section="home/hero", image="img_fern")
    gallery = await call("cms_addImageToSection", section="plants/gallery", image="img_dunes")
    assert gallery["content"]["images"][-1] == {"image": {"id": "img_dunes"}}


@pytest.mark.parametrize("tool", ["cms_addImageToSection", "cms_updateSectionImage"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"section": "sec_x", "image": "img_fern"}, "There is no section"),
        ({"section": "home/hero", "image": "img_x"}, "There is no image"),
        ({"section": "home/hero", "image": "img_fern", "field": "icon"}, "Its image fields: backgroundImage."),
        ({"section": "care/faq", "image": "img_fern"}, "has no image fields"),
        ({"section": "home/hero", "image": "img_fern", "alt": "x" * 201}, "alt"),
    ],
)
async def test_an_image_that_cannot_be_shown_is_refused(
    refusal: Call, tool: str, arguments: dict[str, str], said: str
) -> None:
    assert said in await refusal(tool, **arguments)


async def test_a_section_shows_another_image(cms: Cms, call: Call) -> None:
    told = await call("cms_updateSectionImage", section="home/hero", image="img_mountain", field="backgroundImage")
    assert (told["image"], told["url"], told["version"]) == ("img_mountain", "/site", 2)
    assert "/site/images/mountain.jpg" in cms.render_site("/site").html
    assert (await call("cms_updateSectionImage", section="home/hero", image="img_forest"))["image"] == "img_forest"


async def test_an_image_is_replaced_everywhere(cms: Cms, call: Call, refusal: Call) -> None:
    told = await call("cms_replaceImage", image="img_monstera", replacement="forest.jpg")
    assert len(told["places"]) == 3
    assert (await call("cms_findImage", idOrName="img_monstera"))["usedBy"] == []
    assert len((await call("cms_findImage", idOrName="img_forest"))["usedBy"]) == 3
    assert (await call("cms_getPageSections", page="home"))["sections"][0]["version"] == 1
    assert "forest.jpg" in cms.render_site("/site/plants").html
    assert "is used nowhere" in await refusal("cms_replaceImage", image="img_monstera", replacement="img_fern")
    assert "two different images" in await refusal("cms_replaceImage", image="img_fern", replacement="fern.jpg")
    assert "There is no image" in await refusal("cms_replaceImage", image="img_fern", replacement="img_x")


async def test_an_image_in_use_is_deleted_only_by_force(cms: Cms, call: Call, refusal: Call) -> None:
    said = await refusal("cms_deleteImage", image="img_monstera")
    assert "Gallery on Plants (section sec_plants_gallery, images[0].image)" in said
    told = await call("cms_deleteImage", image="img_monstera", force=True)
    assert len(told["removedFrom"]) == 3
    assert len((await call("cms_getSectionContent", section="plants/gallery"))["content"]["images"]) == 3
    assert (await call("cms_getPost", post="monstera-care"))["featuredImage"] is None
    assert cms.render_site("/site/images/monstera.jpg").status == 404
    assert "There is no image" in await refusal("cms_deleteImage", image="img_monstera")


async def test_a_deleted_image_can_be_restored_with_its_file(cms: Cms, call: Call) -> None:
    await call("cms_deleteImage", image="img_mountain")
    with cms.store.transaction() as session:
        restore(session, history(session, "img_mountain")[0].id)
    assert cms.render_site("/site/images/mountain.jpg").content_type == "image/jpeg"
