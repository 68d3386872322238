"""What the research document asks of one search, on the CMS's 45 tools; each test names its row."""

from functools import cache

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib_cms import build


@cache
def cms() -> tuple[Catalog, ToolIndex]:
    catalog = build(":memory:", seeded=False).catalog
    return catalog, ToolIndex(catalog)


async def found(query: str, limit: int = 8) -> Discovered:
    catalog, index = cms()
    toolbox = Toolbox(catalog, index, surface=search_surface)
    return (await toolbox.call("tool_search", {"query": query, "limit": limit})).value


async def test_row_0_5_find_hero_image_hands_over_both_image_tools() -> None:
    assert (await found("find hero image")).tools == ("cms_searchImages", "cms_findImage")


async def test_row_0_6_create_page_with_sections_hands_over_both_within_five() -> None:
    assert {"cms_createPage", "cms_addSectionToPage"} <= set((await found("create page with sections", 5)).tools[:5])


async def test_row_0_7_a_polish_request_finds_the_image_search() -> None:
    assert (await found("Znajdź zdjęcie")).tools[0] == "cms_searchImages"


async def test_row_0_8_find_image_hands_over_exactly_two_tools() -> None:
    assert (await found("find image")).tools == ("cms_searchImages", "cms_findImage")


async def test_row_0_9_create_page_with_sections_and_images_brings_six_tools_or_more() -> None:
    value = await found("create page with sections and images")
    assert {"cms_createPage", "cms_addSectionToPage"} <= set(value.tools)
    assert "cms_searchImages" in {*value.tools, *value.named}
    assert len({*value.tools, *value.named}) >= 6


async def test_row_0_10_keywords_of_two_errands_hand_over_both_tools() -> None:
    assert {"cms_createPage", "cms_addSectionToPage"} <= set((await found("create page add section")).tools)
    assert (await found("update navigation menu")).tools[0] == "cms_updateNavigationItem"


async def test_row_0_36_the_model_reads_how_sure_the_search_is() -> None:
    catalog, index = cms()
    toolbox = Toolbox(catalog, index, surface=search_surface)
    result = await toolbox.call("tool_search", {"query": "find hero image"})
    assert result.text.startswith("Ready to call (sure):\n")


async def test_row_2_9_create_blog_post_brings_the_tool_that_its_before_note_names() -> None:
    value = await found("create blog post")
    assert value.tools[0] == "cms_createPost"
    assert "cms_listPosts" in {*value.tools, *value.named}
