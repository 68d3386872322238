"""The research document on a single discovery tool, row by row: its figures, its searches and its conversations.

Each test names its row in the table of what the document says. Where we differ on purpose, the test says how.
"""

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from benchmarks.agent_talks import Talk as Script, call, search
from benchmarks.agent_tokens import hold
from benchmarks.wire import Turn
from tests.support.agent import scripted
from tests.support.embeddings_server import serve_model
from tests.support.offline import Talk
from tests.support.search import make
from tests.support.site import Site
from toolcrib.agent.crib import Limits
from toolcrib.agent.prompt import Prompt
from toolcrib.agent.runner import run
from toolcrib.apps.build import load_app
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.main import main
from toolcrib.discovery.costs import direct_overhead, discovery_overheads
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.protocols import Delivery, Guidance
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import count_tokens, definitions_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import AppError
from toolcrib.search.embedders.openai import OpenAIEmbedder
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions, strategy_for
from toolcrib.stores.session import Session
from toolcrib.tools.tool import Protocol
from toolcrib_cms.cms import GUIDANCE

CREATE_POST: dict[str, Any] = {"title": "Ferns", "content": "They like shade."}


# The discovery tool


async def test_row_0_1_the_agent_starts_with_one_tool(site: Site, session: Session) -> None:
    script, model = scripted("Hello.")
    await run(session, "Hi", crib=site.crib(model))
    assert script.tools == [["tool_search"]]


def test_row_0_2_it_takes_a_query_and_a_limit(site: Site) -> None:
    (tool,) = site.toolbox().surface
    assert tool.parameters == snapshot(
        {
            "additionalProperties": False,
            "properties": {
                "query": {"description": "What should be done: action and thing", "type": "string"},
                "limit": {"default": 8, "type": "integer"},
            },
            "required": ["query"],
            "type": "object",
        }
    )


async def test_row_0_3_what_is_found_can_be_called_at_the_next_step_and_another_search_adds_to_it(
    site: Site, session: Session
) -> None:
    script, model = scripted(
        [("tool_search", {"query": "create a blog post"})],
        [("cms_createPost", CREATE_POST)],
        [("tool_search", {"query": "find image"})],
        [("cms_searchImages", {"query": "fern"})],
        "Done.",
    )
    done = await run(session, "Write about ferns, with an image", crib=site.crib(model))
    assert done.answer == "Done."
    assert script.tools[1] == ["tool_search", "cms_createPost"]
    assert script.tools[3] == ["tool_search", "cms_createPost", "cms_searchImages", "cms_findImage"]


async def test_row_0_4_a_search_answers_with_a_line_a_tool_and_the_notes_stand_in_the_prompt(
    site: Site, session: Session
) -> None:
    """The document returns hints and guidance with each search; here they are told once, where they are replaced."""
    text = (await site.search("find image")).text
    ready, *tools, named, foot = text.splitlines()
    assert (ready, tools, foot) == (
        "Ready to call (sure):",
        [
            "- cms_searchImages(query, limit?): Search the media library for images by what they…",
            "- cms_findImage(idOrName): Look up one image in the media library by its id…",
        ],
        "None fits? Search again in other words.",
    )
    assert named.startswith("Callable, too; for its arguments search for its name: cms_findResource, ")
    assert count_tokens(text) < 100
    script, model = scripted([("tool_search", {"query": "find image"})], "Found.")
    await run(session, "Find an image", crib=site.crib(model))
    assert "## cms_searchImages\nBEFORE: " in script.instructions[1]


async def test_row_0_5_find_hero_image_hands_over_both_image_tools(site: Site) -> None:
    assert (await site.found("find hero image")).tools == ("cms_searchImages", "cms_findImage")


async def test_row_0_6_create_page_with_sections_hands_over_both_within_five(site: Site) -> None:
    value = await site.found("create page with sections", limit=5)
    assert {"cms_createPage", "cms_addSectionToPage"} <= set(value.tools[:5])


async def test_row_0_7_a_polish_request_finds_the_image_search(site: Site) -> None:
    assert (await site.found("Znajdź zdjęcie")).tools[0] == "cms_searchImages"


async def test_row_0_8_find_image_hands_over_exactly_two_tools(site: Site) -> None:
    assert (await site.found("find image")).tools == ("cms_searchImages", "cms_findImage")


async def test_row_0_9_create_page_with_sections_and_images_brings_six_tools_or_more(site: Site) -> None:
    value = await site.found("create page with sections and images")
    assert {"cms_createPage", "cms_addSectionToPage"} <= set(value.tools)
    assert "cms_searchImages" in {*value.tools, *value.named}
    assert len({*value.tools, *value.named}) >= 6


async def test_row_0_10_keywords_of_two_errands_hand_over_both_tools(site: Site) -> None:
    assert {"cms_createPage", "cms_addSectionToPage"} <= set((await site.found("create page add section")).tools)
    assert (await site.found("update navigation menu")).tools[0] == "cms_updateNavigationItem"


# The search behind it


@pytest.mark.process
def test_row_0_11_words_decide_first_and_the_embedder_is_asked_only_below_their_confidence(site: Site) -> None:
    usual = strategy_for(45)
    assert (usual.lexical_above, usual.blended_above) == (0.8, 0.3)
    paths = {query: site.index.search(query).path for query in ("find hero image", "Znajdź zdjęcie")}
    assert paths == {"find hero image": "lexical", "Znajdź zdjęcie": "dense"}
    assert "blended" in {site.index.search(phrase).path for tool in site.cms.catalog for phrase in tool.phrases}
    with serve_model() as server, OpenAIEmbedder(base_url=server.url, cache=None) as embedder:
        index = ToolIndex(site.cms.catalog, embedder)
        for query in ("create blog post", "Znajdź zdjęcie"):
            index.search(query)
        asked = [text for request in server.requests for text in request["input"]]
    assert ("create blog post" in asked, "Znajdź zdjęcie" in asked) == (False, True)


def test_row_0_12_a_search_by_words_takes_less_than_a_millisecond(site: Site) -> None:
    words = SearchOptions(arms="lexical")
    assert min(site.index.search("find hero image", options=words).took_ms for _ in range(50)) < 1


def test_row_0_13_names_weigh_more_inflections_match_and_rare_words_decide(site: Site) -> None:
    words = SearchOptions(arms="lexical", abstain=False)
    one, other = make("send_invoice", "Do it today."), make("send_today", "Do an invoice.")
    assert ToolIndex(Catalog([other, one])).search("invoice", options=words).names[0] == "send_invoice"
    assert site.index.search("searching images", options=words).names[0] == "cms_searchImages"
    assert site.index.search("pexels stock").names[0] == "pexels_searchPhotos"


def test_row_0_14_upload_photo_finds_tools_of_images(site: Site) -> None:
    found = site.index.search("upload photo").names[:3]
    assert {site.cms.catalog.get(name).category for name in found} <= {"images", "pexels"}


@pytest.mark.process
def test_row_0_15_an_endpoint_is_asked_for_text_embedding_3_small(site: Site) -> None:
    with serve_model() as server, OpenAIEmbedder(base_url=server.url, cache=None) as embedder:
        ToolIndex(site.cms.catalog, embedder).search("Znajdź zdjęcie")
        assert {request["model"] for request in server.requests} == {"text-embedding-3-small"}


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("Znajdź zdjęcie bohatera", "cms_searchImages"),
        ("Erstelle eine About-Seite", "cms_createPage"),
        ("Usuń stronę", "cms_deletePage"),
    ],
)
async def test_row_0_16_any_language_finds_its_tool_without_a_list_of_words(site: Site, query: str, tool: str) -> None:
    assert (await site.found(query)).tools[0] == tool


def test_row_0_17_metadata_is_read_in_the_spelling_of_the_document(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(
        "cms_addSectionToPage:\n"
        "  category: sections\n"
        "  hypotheticalQueries: [add hero section, put section on page]\n"
        "  usageHint: Needs pageId and sectionDefId.\n"
        "  relatedTools: [cms_getSectionFields]\n"
    )
    catalog = Catalog([make("cms_addSectionToPage", "Add a section."), make("cms_getSectionFields", "Get the fields.")])
    catalog.load_metadata(tmp_path / "tools.yaml")
    tool = catalog.get("cms_addSectionToPage")
    assert (tool.category, tool.phrases) == ("sections", ("add hero section", "put section on page"))
    assert tool.related == ("cms_getSectionFields",)
    assert tool.protocol == Protocol(notes="Needs pageId and sectionDefId.")
    assert ToolIndex(catalog).search("put a section on the page").names[0] == "cms_addSectionToPage"


def test_row_0_18_the_eight_categories_are_there(site: Site) -> None:
    eight = {"pages", "sections", "images", "posts", "navigation", "research", "pexels", "entries"}
    assert eight <= site.cms.catalog.categories().keys()


async def test_row_0_19_guidance_of_a_category_comes_with_its_tools(site: Site, session: Session) -> None:
    script, model = scripted([("tool_search", {"query": "find image"})], "Found.")
    await run(session, "Find an image", crib=site.crib(model, guidance=Guidance(GUIDANCE)))
    assert "## category images" not in script.instructions[0]
    assert script.instructions[1].count("## category images\n") == 1


# The agent


def test_row_0_20_the_prompt_takes_about_300_tokens() -> None:
    assert count_tokens(Prompt().render(today=date(2026, 1, 1), finders=["tool_search"])) < 320


async def test_row_0_21_working_memory_and_the_date_stand_in_the_prompt(site: Site, session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "find image"})], [("cms_searchImages", {"query": "fern"})], "Found.", "Yes."
    )
    for text in ("Find a fern", "Is it nice?"):
        await run(session, text, crib=site.crib(model))
    assert "</working-memory>" not in script.instructions[0]
    block = script.instructions[3].partition("<working-memory>\n")[2].partition("</working-memory>")[0]
    assert "- image img_fern " in block
    assert "Tools used: cms_searchImages (1x)" in block
    assert "<date>20" in script.instructions[3]


async def test_row_0_22_plain_text_ends_a_turn(site: Site, session: Session) -> None:
    """The document's model writes FINAL_ANSWER; an answer without a call says the same, in no tokens."""
    script, model = scripted("A section is a block of a page.")
    done = await run(session, "What is a CMS section?", crib=site.crib(model))
    assert done.answer == "A section is a block of a page."
    assert "final" not in script.instructions[0].casefold()


def test_row_0_23_a_run_has_15_steps_and_4096_tokens_an_answer(site: Site) -> None:
    assert (Limits().steps, Limits().output_tokens) == (15, 4_096)
    assert site.crib("offline").settings().get("max_tokens") == 4_096


async def test_row_0_24_a_question_that_needs_no_tool_is_answered_without_a_search(offline: Talk) -> None:
    answer = await offline.say("What is a CMS section?")
    assert offline.searches == []
    assert "section" in answer


TYPE_A = Script("A", "What is a CMS section?", [Turn("A block of a page, such as its hero.")])
TYPE_B = Script(
    "B", "Find the hero image", [search("find image"), call("cms_searchImages", query="hero"), Turn("This one.")]
)
TYPE_C = Script(
    "C",
    "Create about page with hero section and mountain image",
    [
        search("create page"),
        call("cms_createPage", title="About us"),
        search("add section image"),
        call("cms_addSectionToPage", pageId="about-us", sectionDefId="hero"),
        call("cms_updateSectionImage", pageSectionId="about-us/hero", imageId="img_mountain"),
        Turn("It is there."),
    ],
)


async def dearest(site: Site, talk: Script) -> int:
    """The overhead of the dearest request of a talk, as it goes out."""
    return (await hold(site.cms, [talk], "openai-chat", Mode.DISCOVERY, Delivery.AUTO)).most


@pytest.mark.process
async def test_row_0_25_a_request_of_type_a_takes_less_than_500_tokens(site: Site) -> None:
    assert await dearest(site, TYPE_A) < 500


@pytest.mark.process
async def test_row_0_26_a_request_of_type_b_takes_less_than_900_tokens(site: Site) -> None:
    assert await dearest(site, TYPE_B) < 900


@pytest.mark.process
async def test_row_0_27_a_request_of_type_c_takes_less_than_1800_tokens(site: Site) -> None:
    assert await dearest(site, TYPE_C) < 1_800


async def test_row_0_28_about_page_with_hero_section_and_mountain_image_is_done(site: Site, offline: Talk) -> None:
    await offline.say("Create about page with hero section and mountain image")
    assert "mountain.jpg" in site.cms.render_site("/site/about?preview=1").html


@pytest.mark.parametrize("text", ["Find the hero image", "Znajdź zdjęcie bohatera"])
async def test_row_0_29_the_hero_image_is_found(offline: Talk, text: str) -> None:
    assert "hero-greenhouse.jpg" in await offline.say(text)
    assert [name for name, _ in offline.calls] == ["cms_searchImages"]


async def test_row_0_30_the_hero_heading_is_told(offline: Talk) -> None:
    assert "Bring the outside in" in await offline.say("what's the hero heading")


# Scale and cost


def test_row_0_31_the_strategy_follows_the_size_and_requests_are_taken_apart(site: Site) -> None:
    assert [strategy_for(tools).up_to for tools in (45, 100, 101, 500, 501)] == [100, 100, 500, 500, float("inf")]
    assert strategy_for(10_000).lexical_above > strategy_for(45).lexical_above
    found = site.index.search("create a page and publish the post", limit=5).names
    assert {"cms_createPage", "cms_publishPost"} <= set(found)


@cache
def many(tools: int) -> Catalog:
    return Catalog([make(f"act_{number}", f"Do thing number {number}.") for number in range(tools)])


@pytest.mark.parametrize("tools", [45, 100, 200, 500])
def test_rows_0_32_and_0_38_the_agent_sees_the_same_at_any_number_of_tools(tools: int) -> None:
    def surface(catalog: Catalog) -> Toolbox:
        return Toolbox(catalog, surface=search_surface)

    few, lots = surface(many(1)).surface, surface(many(tools)).surface
    assert [(one.name, one.description, one.parameters) for one in lots] == [
        (one.name, one.description, one.parameters) for one in few
    ]
    assert definitions_tokens(surface(many(tools)).visible()) < 200


async def test_row_0_33_discovery_saves_most_of_the_tokens(site: Site) -> None:
    """The document counts 200 tokens a tool, and saves 91 to 97 %. Ours take 115, so there is less to save."""
    tools = list(site.cms.catalog)
    steps, _ = await discovery_overheads(site.cms.catalog, ["find image", "create page"], index=site.index)
    direct = direct_overhead(tools).tokens
    saved = [1 - step.tokens / direct for step in steps]
    assert direct / len(tools) < 130
    assert [share > least for share, least in zip(saved, (0.97, 0.88, 0.79), strict=True)] == [True] * 3


@pytest.mark.parametrize(("mix", "saved"), [("60,30,10", 93), ("30,50,20", 90), ("10,40,50", 87)])
def test_row_0_34_the_cost_of_a_day_is_told_for_a_mix_of_types(
    capsys: pytest.CaptureFixture[str], mix: str, saved: int
) -> None:
    words = ["tokens", "--model", "gpt-4o-mini", "--mix", mix, "--per-day", "10000"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    direct, discovery = told["daily"]
    shares, steps = [int(share) for share in mix.split(",")], [row["tokens"] for row in told["rows"][2:]]
    assert discovery["tokens"] == sum(share * tokens for share, tokens in zip(shares, steps, strict=True)) / 100
    assert discovery["dollars_per_month"] == pytest.approx(30 * discovery["dollars_per_day"])
    assert 100 * (1 - discovery["dollars_per_month"] / direct["dollars_per_month"]) > saved
    assert main(words) == 0
    assert "10,000 requests a day\n" in capsys.readouterr().out


@pytest.mark.parametrize("mix", ["30,50", "30,50,x", "0,0,0", "50,-10,60"])
def test_row_0_34_a_mix_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], mix: str) -> None:
    assert main(["tokens", "--mix", mix]) == 1
    assert "such as 30,50,20." in capsys.readouterr().err


def test_row_0_35_tools_that_were_used_rank_higher_if_an_app_wishes(site: Site, tmp_path: Path) -> None:
    index = ToolIndex(site.cms.catalog)
    request = "pictures for the spring campaign"
    assert index.search(request).names[0] == "cms_searchImages"
    for word in ("summer", "autumn", "winter", "garden", "spring sale", "Easter", "May", "fern", "balcony"):
        index.learn(f"pictures for the {word} campaign", "cms_listAllImages")
    assert index.search(request).names[0] == "cms_listAllImages"
    app = tmp_path / "app.yaml"
    app.write_text("app: {app_id: desk}\nruntime: {learn: true}\nagents: [{id: main}]\n")
    assert load_app(app, environment={}).crib.learn
    app.write_text("app: {app_id: desk}\nagents: [{id: main}]\n")
    settings = [{}, {"TOOLCRIB_LEARN": "1"}]
    assert [load_app(app, environment=environment).crib.learn for environment in settings] == [False, True]


async def test_row_0_36_the_model_reads_how_sure_the_search_is(site: Site) -> None:
    assert (await site.search("find hero image")).text.startswith("Ready to call (sure):\n")


def test_row_0_37_a_switch_outside_the_file_turns_discovery_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = tmp_path / "app.yaml"
    app.write_text(
        "app: {app_id: desk}\n"
        "runtime: {tool_injection: '${DISCOVERY:-discovery}', surface: search}\n"
        "agents: [{id: main}]\n"
        "tools: {modules: [filesystem, memory]}\n"
    )
    assert load_app(app, environment={}).decision().mode is Mode.DISCOVERY
    assert load_app(app, environment={"DISCOVERY": "direct"}).decision().mode is Mode.DIRECT
    assert load_app(app, environment={"TOOLCRIB_MODE": "direct"}).decision().mode is Mode.DIRECT
    assert load_app(app, environment={"TOOLCRIB_MODE": "direct"}, mode="discovery").decision().mode is Mode.DISCOVERY
    with pytest.raises(AppError, match=r"app.yaml:2:11: runtime.tool_injection: There is no mode 'on'"):
        load_app(app, environment={"DISCOVERY": "on"})
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(app), "--check", "--mode", "compact"]) == 0
    assert "compact is forced" in capsys.readouterr().out
    monkeypatch.setenv("TOOLCRIB_MODE", "dircet")
    for words in (["run", str(app), "--check"], ["serve", "--model", "offline"]):
        assert main(words) == 1
        shown = capsys.readouterr().err
        assert "TOOLCRIB_MODE: There is no mode 'dircet'." in shown
        assert "Did you mean 'direct'?" in shown
