"""The implementation plan, row by row: 45 tools and their metadata, search, guidance, the agent, memory, operation.

Each test names its row in the table of what the plan says. Where we differ on purpose, the test says how.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent_talks import TALKS
from benchmarks.agent_tokens import MOST, hold
from benchmarks.wire import Turn, WireServer
from tests.support import ROOT
from tests.support.agent import Shop, content, scripted
from tests.support.embeddings_server import serve_model
from tests.support.offline import Talk
from tests.support.search import make, office
from tests.support.server import listening, scene
from tests.support.site import Site
from toolcrib import Catalog, Crib, Entity, Extraction, Risk
from toolcrib.agent.events import Warning
from toolcrib.agent.models import model_for
from toolcrib.agent.prompt import Prompt, section_names
from toolcrib.agent.runner import run
from toolcrib.cli.main import main
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.protocols import Delivery, Guidance, protocols_block
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import count_tokens, definitions_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.memory.entities import Reading, find_entities
from toolcrib.memory.working import Outcome, WorkingMemory
from toolcrib.search.embedders.openai import OpenAIEmbedder
from toolcrib.search.index import ToolIndex
from toolcrib.server.services import Served
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.result import ToolResult
from toolcrib_cms import build, cms as cms_module
from toolcrib_cms.cms import GUIDANCE
from toolcrib_cms.errors import CmsError

NAMES = {
    "pages": "getPage createPage createPageWithContent updatePage deletePage listPages",
    "sections": "listSectionTemplates getSectionFields addSectionToPage updateSectionContent deletePageSection "
    "deletePageSections getPageSections getSectionContent",
    "images": "findImage searchImages listAllImages addImageToSection updateSectionImage replaceImage deleteImage",
    "posts": "createPost updatePost publishPost archivePost deletePost listPosts getPost",
    "navigation": "getNavigation addNavigationItem updateNavigationItem removeNavigationItem toggleNavigationItem",
    "entries": "getCollectionEntries getEntryContent",
}
OTHERS = {
    "search": {"search_vector", "cms_findResource"},
    "http": {"http_get", "http_post"},
    "research": {"web_quickSearch", "web_deepResearch", "web_fetchContent"},
    "pexels": {"pexels_searchPhotos", "pexels_downloadPhoto"},
    "planning": {"plan_analyzeTask"},
}
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


# Tools and metadata


def test_row_1_1_the_45_tools_of_the_plan_are_there(site: Site) -> None:
    wanted = {f"cms_{name}" for names in NAMES.values() for name in names.split()}.union(*OTHERS.values())
    assert len(wanted) == 45
    assert {tool.name for tool in site.cms.catalog} == wanted


def test_row_1_2_each_category_has_the_tools_of_the_plan(site: Site) -> None:
    wanted = {category: {f"cms_{name}" for name in names.split()} for category, names in NAMES.items()} | OTHERS
    assert {name: {tool.name for tool in site.cms.catalog if tool.category == name} for name in wanted} == wanted


def test_row_1_3_every_tool_has_phrases(site: Site) -> None:
    assert {6 <= len(tool.phrases) <= 12 for tool in site.cms.catalog} == {True}


def test_row_1_4_every_tool_has_one_of_three_risks(site: Site) -> None:
    assert [risk.value for risk in Risk] == ["safe", "moderate", "destructive"]
    assert {tool.risk for tool in site.cms.catalog} == set(Risk)


def test_row_1_5_what_is_hard_to_undo_asks_first(site: Site) -> None:
    asking = {tool.name for tool in site.cms.catalog if tool.confirm}
    assert {tool.name for tool in site.cms.catalog if tool.risk is Risk.DESTRUCTIVE} <= asking
    assert {"cms_publishPost", "cms_deletePage", "http_post"} <= asking
    assert len(asking) == 9


def test_row_1_6_an_extraction_is_read_in_the_spelling_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(
        "list_images:\n  extraction: {path: images, type: image, nameField: filename, idField: key, isArray: true}\n"
    )
    catalog = Catalog([make("list_images", "List images.")])
    catalog.load_metadata(tmp_path / "tools.yaml")
    wanted = Extraction(path="images", type="image", name_field="filename", id_field="key", is_array=True)
    assert catalog.get("list_images").extraction == wanted


def test_row_1_7_metadata_is_read_in_the_spelling_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(
        "drop_page:\n  relatedTools: [list_pages]\n  riskLevel: destructive\n  requiresConfirmation: true\n"
    )
    catalog = Catalog([make("drop_page", "Delete a page."), make("list_pages", "List pages.")])
    catalog.load_metadata(tmp_path / "tools.yaml")
    tool = catalog.get("drop_page")
    assert (tool.related, tool.risk, tool.confirm) == (("list_pages",), Risk.DESTRUCTIVE, True)


@pytest.mark.parametrize(("tool", "key"), [("cms_findResource", "matches"), ("search_vector", "results")])
def test_row_1_8_custom_extractors_keep_the_good_rows_and_type_the_untyped(site: Site, tool: str, key: str) -> None:
    rows = [{"id": 1, "name": "Home", "type": "Page"}, {"name": "no id"}, "no row", {"id": 2, "name": "Odd"}]
    found = find_entities(site.cms.catalog.get(tool), ToolResult.of({key: rows}), at=NOON)
    assert [(one.type, one.id, one.name) for one in found.entities] == [("page", "1", "Home"), ("resource", "2", "Odd")]


def test_row_1_9_code_and_metadata_are_compared_both_ways(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("b: {related: [c]}\nd: {}\n")
    extraction = Extraction(path="$root", type="page", name_field="title")
    catalog = Catalog([make("a", "Add it."), make("b", "Begin it.", extraction=extraction)])
    catalog.load_metadata(tmp_path / "tools.yaml")

    @catalog.extractor("b")
    def read(value: object) -> list[Entity]:
        return []

    assert callable(read)
    catalog.extractor("e")(read)
    rules = {(problem.tool, problem.rule) for problem in catalog.check()}
    assert {
        ("a", "missing-metadata"),
        ("d", "orphan-metadata"),
        ("e", "orphan-extractor"),
        ("b", "two-extractions"),
        ("b", "unknown-related"),
    } <= rules


def test_row_1_10_a_catalog_that_does_not_fit_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan raises at every start. Here whoever builds a catalog decides: the CMS does, `toolcrib check` tells."""
    monkeypatch.setattr(cms_module, "METADATA", tmp_path)
    (tmp_path / "pages.yaml").write_text("cms_getPge: {category: pages}\n")
    with pytest.raises(CmsError, match="Did you mean 'cms_getPage'"):
        build(":memory:")
    (tmp_path / "desk.py").write_text(
        'from toolcrib import tool\n\n@tool(related=["gone"])\ndef book() -> None:\n    """Book a room."""\n'
    )
    assert main(["check", "--from", str(tmp_path / "desk.py"), "--no-search"]) == 2
    assert "'gone', which does not exist" in capsys.readouterr().out


# Search


def test_row_1_11_words_of_names_descriptions_phrases_and_categories_are_searched() -> None:
    tool = make("alpha", "Bravo things.", "charlie wishes", category="delta")
    index = ToolIndex(Catalog([tool, *office()]))
    assert {index.search(word).names[0] for word in ("alpha", "bravo", "charlie", "delta")} == {"alpha"}
    assert 0.8 < index.search("charlie wishes").confidence <= 1


async def test_row_1_12_an_empty_and_a_very_long_query_are_answered(site: Site) -> None:
    empty = await site.search("   ")
    assert (empty.failed, empty.text.startswith("The query is empty.")) == (True, True)
    assert not (await site.search("flurble " * 1_250)).failed


@pytest.mark.process
def test_row_1_13_vectors_are_kept_over_restarts(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_CACHE", str(tmp_path))
    with serve_model() as server:
        for query in ("Znajdź zdjęcie", "Usuń stronę"):
            with OpenAIEmbedder(base_url=server.url) as embedder:
                ToolIndex(site.cms.catalog, embedder).search(query)
        asked = [request["input"] for request in server.requests]
    assert asked[-2:] == [["Znajdź zdjęcie"], ["Usuń stronę"]]  # nothing but the query the second time


def test_row_1_14_without_the_embedder_words_decide_with_a_warning(site: Site) -> None:
    with OpenAIEmbedder(base_url="http://127.0.0.1:9/v1", cache=None, retries=0, sleep=lambda _: None) as embedder:
        found = ToolIndex(site.cms.catalog, embedder).search("which pictures show a mountain")
    assert found.names
    assert found.warnings[0].startswith("Searched by words alone: ")


def test_row_1_15_both_rankings_are_merged_without_doubles_up_to_the_limit(site: Site) -> None:
    phrases = [phrase for tool in site.cms.catalog for phrase in tool.phrases]
    blended = [found for phrase in phrases if (found := site.index.search(phrase, limit=4)).path == "blended"]
    assert blended
    assert all(len(found.names) == len({*found.names}) <= 4 for found in blended)


async def test_row_1_16_related_tools_fill_a_search_up_to_its_limit(site: Site) -> None:
    """The plan hands all of them over; here the budget decides who comes with its definition, the others are named."""
    for tool in site.cms.catalog:
        value = await site.found(tool.phrases[0])
        best = site.cms.catalog.get(value.tools[0])
        shown = [*value.tools, *value.named]
        assert {*best.related} <= {*shown} or len(shown) == 8, tool.phrases[0]
        assert len(shown) == len({*shown}) <= 8
    few = await site.found("create page", limit=3)
    assert len([*few.tools, *few.named]) == 3


# Guidance


def test_row_1_17_every_category_has_a_file_of_guidance(site: Site) -> None:
    assert {file.stem for file in GUIDANCE.glob("*.md")} == site.cms.catalog.categories().keys()


def test_row_1_18_a_changed_file_counts_at_the_next_step(site: Site, tmp_path: Path) -> None:
    image, guidance = site.cms.catalog.get("cms_findImage"), Guidance(tmp_path)
    for text in ("Search first.", "Search twice, then ask."):
        (tmp_path / "images.md").write_text(text)
        assert f"## category images\n{text}\n" in protocols_block([image], guidance)


async def test_row_1_19_guidance_stands_once_in_the_prompt(site: Site, session: Session) -> None:
    """The plan returns it with each search, where it stays in the conversation and is repeated by the next one."""
    search = [("tool_search", {"query": "find image"})]
    script, model = scripted(search, [("tool_search", {"query": "list all images"})], "Found.")
    crib = site.crib(model, guidance=Guidance(GUIDANCE), delivery=Delivery.REPLACE)
    await run(session, "Find an image", crib=crib)
    assert script.instructions[2].count("## category images\n") == 1
    assert not any("category images" in content(message) for message in script.messages[2])


async def test_row_1_20_an_image_is_added_to_a_section(site: Site, session: Session) -> None:
    value = await site.found("add image to section")
    assert {"cms_searchImages", "cms_updateSectionImage"} <= {*value.tools, *value.named}
    update: dict[str, Any] = {"pageSectionId": "home/hero", "imageId": "img_mountain"}
    _, model = scripted(
        [("tool_search", {"query": "add image to section"})],
        [("cms_searchImages", {"query": "mountain"})],
        [("cms_updateSectionImage", update)],
        "Done.",
    )
    assert (await run(session, "add mountain image to hero", crib=site.crib(model))).answer == "Done."
    assert "mountain.jpg" in site.cms.render_site("/site/").html


async def test_row_1_20_an_image_is_added_to_a_section_offline(site: Site, offline: Talk) -> None:
    await offline.say("add mountain image to hero")
    assert "mountain.jpg" in site.cms.render_site("/site/").html


async def test_row_1_21_a_search_that_finds_nothing_says_what_there_is(site: Site) -> None:
    result = await site.search("flurble")
    assert result.text.startswith('No tool fits "flurble". There are tools for: ')
    assert result.value.tools == ()


# The agent


def test_row_1_22_the_prompt_has_the_sections_of_the_plan() -> None:
    wanted = {"identity", "pattern", "discovery", "references", "confirmation", "content", "date"}
    assert wanted <= {*section_names()}


def test_row_1_23_the_prompt_has_a_short_worked_example_and_stays_small() -> None:
    text = Prompt().render(today=date(2026, 1, 1), finders=["tool_search"])
    example = text.partition("<core-example>\n")[2].partition("\n</core-example>")[0]
    assert "tool_search" in example
    assert count_tokens(example) < 40
    surface = definitions_tokens(Toolbox(Catalog(), surface=search_surface).surface)
    assert count_tokens(text) + surface < 500


@pytest.mark.process
async def test_row_1_24_the_model_chooses_whether_to_call_a_tool(site: Site, session: Session) -> None:
    with WireServer([Turn("Hello.")]) as server:
        model = model_for("openai-chat:gpt-5.4", base_url=server.url, api_key="key")
        async with model:
            await run(session, "Hello", crib=site.crib(model))
        (body,) = server.bodies
    assert body["tool_choice"] == "auto"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["tool_search"]


async def test_row_1_25_a_conversation_of_more_than_20_messages_is_cut_to_the_last_ten(session: Session) -> None:
    script, model = scripted(*[f"Answer {turn}." for turn in range(14)])
    crib = Shop().crib(model, summarize=False)
    for turn in range(14):
        await run(session, f"Question {turn}", crib=crib)
    lengths = [len(messages) for messages in script.messages]
    assert lengths == [*range(1, 22, 2), 11, 13, 15]
    assert all(text.startswith("<identity>") for text in script.instructions)


async def test_row_1_26_tools_that_were_found_stay_over_turns(site: Site, session: Session) -> None:
    script, model = scripted([("tool_search", {"query": "find image"})], "Which one?", "This one.")
    crib = site.crib(model)
    await run(session, "Find hero image", crib=crib)
    done = await run(session, "Update the hero", crib=crib)
    assert "cms_searchImages" in session.memory.discovered
    assert "cms_searchImages" in script.tools[2]
    assert done.usage.report["request_type"] == "A"


async def test_row_1_27_uses_are_counted_with_the_time_and_the_outcome(site: Site, session: Session) -> None:
    calls = [[("cms_searchImages", {"query": "fern"})]] * 2
    _, model = scripted([("tool_search", {"query": "find image"})], *calls, "Found.")
    crib = site.crib(model, clock=lambda: NOON)
    await run(session, "Find a fern", crib=crib)
    (use,) = session.memory.used
    assert (use.name, use.count, use.last_used, use.last_outcome) == ("cms_searchImages", 2, NOON, Outcome.OK)


# Memory


async def test_row_1_28_a_session_starts_empty_and_its_deletion_takes_its_memory_along(
    site: Site, store: SqliteStore
) -> None:
    _, model = scripted([("tool_search", {"query": "find image"})], "Found.")
    async with store.open("one") as session:
        assert session.memory == WorkingMemory()
        await run(session, "Find an image", crib=site.crib(model))
        assert session.memory.discovered
    await store.delete("one")
    async with store.open("one") as session:
        assert session.memory == WorkingMemory()


def test_row_1_29_five_entities_a_result_ten_in_all_the_newest_of_each(site: Site) -> None:
    images = {"images": [{"id": f"i{number}", "fileName": f"{number}.jpg"} for number in range(20)]}
    tool = site.cms.catalog.get("cms_searchImages")
    memory = WorkingMemory().with_result(tool, ToolResult.of(images), at=NOON).memory
    assert [one.id for one in memory.entities] == ["i0", "i1", "i2", "i3", "i4"]
    older = Entity(type="image", id="i0", name="old", seen_at=NOON - timedelta(hours=1))
    newer = [Entity(type="page", id=str(n), name="p", seen_at=NOON + timedelta(hours=n + 1)) for n in range(8)]
    memory = memory.with_entities([older, *newer])
    assert len(memory.entities) == 10
    assert (memory.entities[0].id, "old" in {one.name for one in memory.entities}) == ("7", False)


def test_row_1_30_no_extraction_reads_nothing_and_rows_without_an_id_are_passed_over(site: Site) -> None:
    catalog = site.cms.catalog
    side_effect = find_entities(catalog.get("cms_deletePage"), ToolResult.of({"id": "p", "title": "Gone"}), at=NOON)
    assert (side_effect.reading, side_effect.entities) == (Reading.SKIPPED, ())
    rows = {"images": [{"fileName": "no id"}, {"id": "i", "fileName": "fern.jpg"}]}
    read = find_entities(catalog.get("cms_searchImages"), ToolResult.of(rows), at=NOON)
    assert [(one.type, one.id) for one in read.entities] == [("image", "i")]


async def test_row_1_31_results_of_which_none_could_be_read_are_a_warning(session: Session) -> None:
    catalog = Catalog()

    @catalog.tool(extraction=Extraction(path="pages", type="page", name_field="title", is_array=True))
    async def list_pages() -> dict[str, Any]:
        """List the pages."""
        return {"items": [{"id": 1}]}

    assert callable(list_pages)
    _, model = scripted([("list_pages", {})], "One.")
    done = await run(session, "Which pages?", crib=Crib(catalog, model=model, pinned=["list_pages"]))
    (warning,) = [event.text for event in done.events if isinstance(event, Warning)]
    assert warning.startswith("Results came from list_pages, but no entity could be read")


async def test_row_1_32_an_extractor_that_fails_is_logged_and_the_run_goes_on(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Catalog([make("find_it", "Find it.")])

    @catalog.extractor("find_it")
    def broken(value: object) -> list[Entity]:
        raise KeyError("matches")

    assert callable(broken)
    _, model = scripted([("find_it", {})], "There.")
    with caplog.at_level(logging.WARNING, "toolcrib"):
        done = await run(session, "Find it", crib=Crib(catalog, model=model, pinned=["find_it"]))
    assert done.answer == "There."
    assert "The extraction of find_it failed; its result was not read." in caplog.messages


# Operation


@pytest.mark.process
def test_row_1_33_the_health_of_extraction_is_told_with_both_counts(site: Site) -> None:
    """The plan tries one made-up page; here every extraction is run, where that does no harm on real results."""
    with listening(Served(crib=site.crib("offline"), store=SqliteStore(None))) as http:
        answer = http.get("/health/extraction")
    told = answer.json()
    assert (answer.status_code, told["status"]) == (200, "ok")
    assert (told["tools_with_extraction"], told["custom_extractors"]) == (30, 2)
    assert (told["unproven"], told["at_fault"]) == ([], [])
    assert {"cms_findResource", "search_vector"} <= {*told["called"]}


IMAGES = [("tool_search", {"query": "find an image"})], [("search_images", {"query": "fern"})], "Here."


@pytest.mark.process
def test_row_1_34_discovery_is_told_in_three_events() -> None:
    with scene(*IMAGES) as here:
        told = here.say(here.session(), "a fern")
    types = [event["type"] for event in told]
    assert [kind for kind in types if kind.startswith("tool_discovery") or kind == "tools_enabled"] == [
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
    ]


@pytest.mark.process
def test_row_1_35_latency_by_arm_hits_and_tokens_by_type_are_metrics() -> None:
    with scene(*IMAGES) as here:
        here.say(here.session(), "a fern")
        text = here.http.get("/metrics").text
    assert 'toolcrib_discovery_seconds_count{arm="' in text
    assert 'toolcrib_discoveries_total{outcome="hit"} 1.0' in text
    assert 'toolcrib_tokens_total{part="definitions",request_type="B"}' in text


@pytest.mark.process
@pytest.mark.parametrize("number", [0, 2, 12], ids=["A", "B", "C"])
async def test_row_1_36_tokens_are_counted_for_each_type_beside_all_tools(site: Site, number: int) -> None:
    talk = TALKS[number]
    ours, direct = [
        await hold(site.cms, [talk], "openai-chat", mode, Delivery.AUTO) for mode in (Mode.DISCOVERY, Mode.DIRECT)
    ]
    assert ours.most < MOST[talk.kind]
    assert 1 - ours.most / direct.most > {"A": 0.9, "B": 0.8, "C": 0.7}[talk.kind]


async def test_row_1_37_confirmed_counts_only_after_the_users_yes(site: Site, session: Session) -> None:
    delete: Mapping[str, Any] = {"pageId": "old-pricing"}
    script, model = scripted(
        [("cms_deletePage", {**delete, "confirmed": True})],  # before anybody was asked
        "Shall I delete it?",
        [("cms_deletePage", {**delete, "confirmed": True})],
        "It is gone.",
    )
    crib = site.crib(model, pinned=["cms_deletePage"])
    await run(session, "Delete the old pricing page", crib=crib)
    assert "requires_confirmation" in str(script.messages[1][-1])
    assert site.cms.render_site("/site/old-pricing?preview=1").status == 200
    assert (await run(session, "yes", crib=crib)).answer == "It is gone."
    assert site.cms.render_site("/site/old-pricing?preview=1").status == 404


@pytest.mark.parametrize("page", ["add-a-tool", "guidance", "tool-not-found"])
def test_row_1_38_the_runbook_tells_how_to_add_tools_write_guidance_and_find_causes(page: str) -> None:
    index = (ROOT / "docs" / "runbook" / "index.md").read_text(encoding="utf-8")
    assert f"({page}.md)" in index
    assert f"runbook/{page}.md" in (ROOT / "zensical.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("cms_getPage", {"pageId", "includeContent"}),
        ("cms_addSectionToPage", {"pageId", "sectionDefId"}),
        ("cms_getSectionFields", {"sectionDefId"}),
        ("cms_updateSectionImage", {"imageId", "pageSectionId", "imageField"}),
        ("cms_updateSectionContent", {"pageSectionId", "content"}),
    ],
)
def test_row_1_39_arguments_are_called_as_in_the_plan(site: Site, tool: str, arguments: set[str]) -> None:
    assert arguments <= site.cms.catalog.get(tool).parameters["properties"].keys()


async def test_row_1_40_images_answer_below_uploads(site: Site) -> None:
    """Images live at `/site/images`; the plan's address leads there."""
    picture = site.cms.render_site("/uploads/images/fern.jpg")
    assert (picture.status, picture.content_type) == (200, "image/jpeg")
    assert picture == site.cms.render_site("/site/images/fern.jpg")
