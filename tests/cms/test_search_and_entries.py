"""The tools for searching, for entries and for plans."""

from collections.abc import Mapping

import pytest

from tests.support.calls import Call
from toolcrib_cms.cms import Cms
from toolcrib_cms.tools.planning import parts


def named(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(row["type"], row["id"]) for row in rows]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("refunds", "sec_care_faq"),
        ("opening hours at Christmas", "post_christmas-hours"),
        ("prices of last year", "page_old-pricing"),
    ],
)
async def test_content_is_found_by_meaning(call: Call, query: str, best: str) -> None:
    assert (await call("search_vector", query=query))["results"][0]["id"] == best


async def test_a_search_keeps_to_its_types_and_leaves_pictures_out(cms: Cms, call: Call, refusal: Call) -> None:
    mixed = await call("search_vector", query="monstera")
    assert "image" not in {row["type"] for row in mixed["results"]}
    images = await call("search_vector", query="monstera", types=["image"], limit=1)
    assert named(_extracted(cms, "search_vector", images)) == [("image", "img_monstera")]
    assert "types" in await refusal("search_vector", query="x", types=["song"])
    assert "query" in await refusal("search_vector", query="")


async def test_what_was_written_is_found_at_once_and_what_is_gone_is_not(call: Call) -> None:
    made = await call("cms_createPost", title="Carnivorous plants", body="Venus flytraps eat flies.")
    assert (await call("search_vector", query="venus flytrap"))["results"][0]["id"] == made["id"]
    await call("cms_updatePost", post=made["id"], title="Bonsai", body="Small trees.", excerpt="Small trees.")
    assert (await call("search_vector", query="bonsai"))["results"][0]["id"] == made["id"]
    await call("cms_deletePost", post=made["id"])
    assert made["id"] not in {row["id"] for row in (await call("search_vector", query="bonsai"))["results"]}


@pytest.mark.parametrize(
    ("name", "found", "sure"),
    [
        ("old pricing", ("page", "page_old-pricing"), True),
        ("monstera care", ("post", "post_monstera-care"), True),
        ("oldpricing", ("page", "page_old-pricing"), True),
        ("contct", ("page", "page_contact"), True),
        ("hero on home", ("section", "sec_home_hero"), True),
        ("Lea Martin", ("entry", "entry_lea-martin"), True),
        ("mountain.jpg", ("image", "img_mountain"), True),
        ("page_home", ("page", "page_home"), True),
        ("monstera", ("image", "img_monstera"), False),
    ],
)
async def test_things_are_found_by_about_their_name(
    cms: Cms, call: Call, name: str, found: tuple[str, str], sure: bool
) -> None:
    result = await call("cms_findResource", name=name)
    first = (result["matches"][0]["type"], result["matches"][0]["id"])
    if sure:
        assert first == found
        assert named(_extracted(cms, "cms_findResource", result))[0] == found
    else:
        assert result["sure"] is False
        assert found[1] in {match["id"] for match in result["matches"]}


async def test_a_name_nothing_has_is_refused(call: Call, refusal: Call) -> None:
    assert "search_vector" in await refusal("cms_findResource", name="zzzzqqqq")
    only = await call("cms_findResource", name="monstera", type="image")
    assert {match["type"] for match in only["matches"]} == {"image"}
    assert "type" in await refusal("cms_findResource", name="x", type="song")


async def test_entries_are_listed_filtered_and_sorted(call: Call, refusal: Call) -> None:
    every = await call("cms_getCollectionEntries", collection="Products")
    assert (every["total"], every["entries"][0]["title"]) == (6, "Monstera deliciosa")
    low = await call("cms_getCollectionEntries", collection="products", filter={"light": "LOW", "inStock": True})
    assert [entry["slug"] for entry in low["entries"]] == ["sword-fern", "watering-can"]
    dear = await call("cms_getCollectionEntries", collection="products", sort="-price", limit=2)
    assert [entry["fields"]["price"] for entry in dear["entries"]] == [42, 28]
    more = await call("cms_getCollectionEntries", collection="products", sort="-price", cursor=dear["nextCursor"])
    assert len(more["entries"]) == 4
    people = await call("cms_getCollectionEntries", collection="team", sort="title")
    assert [entry["title"] for entry in people["entries"]] == ["Jonas Berg", "Léa Martin", "Mira Okafor"]
    assert "is no cursor" in await refusal("cms_getCollectionEntries", collection="team", cursor="9" * 30)
    assert "There are: products, team." in await refusal("cms_getCollectionEntries", collection="events")
    assert "Its fields: title, price" in await refusal("cms_getCollectionEntries", collection="products", sort="colour")
    assert "has no field 'colour'" in await refusal(
        "cms_getCollectionEntries", collection="products", filter={"colour": 1}
    )


async def test_one_entry_is_read_in_full(call: Call, refusal: Call) -> None:
    read = await call("cms_getEntryContent", collection="team", entry="Mira Okafor")
    assert (read["id"], read["fields"]["email"]) == ("entry_mira-okafor", "mira@verdant.example")
    assert "Did you mean 'sword-fern'" in await refusal("cms_getEntryContent", collection="products", entry="swordfern")
    assert "There is no collection" in await refusal("cms_getEntryContent", collection="x", entry="y")


async def test_a_plan_names_steps_tools_and_what_will_ask(call: Call, refusal: Call) -> None:
    plan = await call(
        "plan_analyzeTask",
        task="Create an About page with a hero, then add it to the header menu, and delete the old pricing page.",
        constraints=["nothing goes public"],
    )
    assert [step["tools"][0] for step in plan["steps"]] == [
        "cms_createPageWithContent",
        "cms_addNavigationItem",
        "cms_deletePage",
    ]
    assert (plan["asksTheUser"], plan["constraints"]) == (["cms_deletePage"], ["nothing goes public"])
    assert "task" in await refusal("plan_analyzeTask", task="")


async def test_a_step_no_tool_fits_is_called_unclear(call: Call) -> None:
    (step,) = (await call("plan_analyzeTask", task="asdfgh qwertz uiop"))["steps"]
    assert (step["unclear"], step["tools"]) == (True, [])


@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("Publish the post", ["Publish the post"]),
        ("- list pages\n- find an image\n3) swap it here", ["list pages", "find an image", "swap it here"]),
        ("make a page with a hero and testimonials", ["make a page with a hero, testimonials"]),
        ("Lösche die Seite und veröffentliche den Beitrag", ["Lösche die Seite", "veröffentliche den Beitrag"]),
    ],
)
def test_a_task_falls_into_its_steps(task: str, steps: list[str]) -> None:
    assert parts(task) == steps


def _extracted(cms: Cms, name: str, result: object) -> list[dict[str, str]]:
    extraction = cms.catalog.get(name).extraction
    assert extraction is not None
    return [{"type": row["type"], "id": row["id"]} for row in extraction(result) if isinstance(row, Mapping)]
