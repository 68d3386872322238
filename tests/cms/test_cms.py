"""The CMS as a whole: built, seeded once, reset, and fit for use."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

import toolcrib_cms
from toolcrib import Entity, Extraction, Risk
from toolcrib.tools.text import MOST_TOKENS, estimated_tokens, sentences
from toolcrib_cms import build, cms as cms_module
from toolcrib_cms.cms import Cms
from toolcrib_cms.errors import CmsError
from toolcrib_cms.settings import CmsSettings
from toolcrib_cms.storage.models import Page, Section
from toolcrib_cms.tool_definitions import FILE, write_definitions

CONFIRMED = {
    "cms_deletePage", "cms_deletePageSection", "cms_deletePageSections", "cms_replaceImage", "cms_deleteImage",
    "cms_publishPost", "cms_deletePost", "cms_removeNavigationItem", "http_post",
}  # fmt: skip
WITHOUT_ENTITIES = {
    "cms_deletePage", "cms_deletePageSection", "cms_deletePageSections", "cms_replaceImage", "cms_deleteImage",
    "cms_deletePost", "cms_removeNavigationItem", "http_get", "http_post", "web_quickSearch", "web_deepResearch",
    "web_fetchContent", "plan_analyzeTask",
}  # fmt: skip


def test_there_are_45_tools_in_11_categories(cms: Cms) -> None:
    assert cms.catalog.categories() == {
        "pages": 6, "sections": 8, "images": 7, "posts": 7, "navigation": 5, "entries": 2, "search": 2, "http": 2,
        "research": 3, "pexels": 2, "planning": 1,
    }  # fmt: skip
    assert len(cms.catalog) == 45


def test_every_tool_is_described_findable_and_has_a_protocol_worth_reading(cms: Cms) -> None:
    for tool in cms.catalog:
        assert 1 <= len(sentences(tool.description)) <= 2, tool.name
        assert estimated_tokens(tool.description) <= MOST_TOKENS
        assert len(tool.phrases) >= 6, tool.name
        assert tool.related, tool.name
        assert tool.protocol is not None
        assert tool.protocol.gotcha, tool.name
        assert tool.protocol.next, tool.name
        assert all(
            "description" in schema or "enum" in str(schema) or schema
            for schema in tool.parameters["properties"].values()
        )


def test_risk_confirmation_and_entities_are_said(cms: Cms) -> None:
    assert {tool.name for tool in cms.catalog if tool.confirm} == CONFIRMED
    assert {tool.name for tool in cms.catalog if tool.risk is Risk.DESTRUCTIVE} <= CONFIRMED
    assert {tool.name for tool in cms.catalog if tool.extraction is None} == WITHOUT_ENTITIES
    custom = {tool.name for tool in cms.catalog if tool.extraction and not isinstance(tool.extraction, Extraction)}
    assert custom == {"search_vector", "cms_findResource"}


def test_protocols_speak_of_tools_that_exist(cms: Cms) -> None:
    names = {tool.name for tool in cms.catalog} | {"tool_search"}
    for tool in cms.catalog:
        assert tool.protocol is not None
        spoken = set(re.findall(r"\b(?:cms|http|web|pexels|plan|search|tool)_\w+", tool.protocol.render()))
        assert spoken <= names, tool.name


def test_every_category_has_guidance_and_the_agent_a_prompt(cms: Cms) -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in cms_module.GUIDANCE.glob("*.md")}
    assert texts.keys() == cms.catalog.categories().keys()
    for text in (*texts.values(), cms.prompt):
        spoken = set(re.findall(r"`((?:cms|http|web|pexels|plan|search)_\w+)`", text))
        assert spoken <= {tool.name for tool in cms.catalog}
        assert estimated_tokens(text) < 250
    app = cms_module.APP.read_text(encoding="utf-8")
    assert "tool_injection: discovery" in app
    assert "toolcrib_cms:catalog" in app


def test_metadata_that_does_not_fit_the_code_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pages.yaml").write_text("cms_getPge:\n  category: pages\n", encoding="utf-8")
    monkeypatch.setattr(cms_module, "METADATA", tmp_path)
    with pytest.raises(CmsError, match=r"cms_getPage: No metadata(?s:.)*cms_getPge: .*Did you mean 'cms_getPage'"):
        build(":memory:")


async def test_entities_come_out_of_results(cms: Cms) -> None:
    for name, arguments, found in (
        ("cms_getPage", {"page": "home"}, ("page", "page_home", "Home")),
        ("cms_searchImages", {"query": "mountain"}, ("image", "img_mountain", "mountain.jpg")),
        ("cms_getPageSections", {"page": "home"}, ("section", "sec_home_hero", "hero: Bring the outside in")),
        (
            "cms_listPosts",
            {"status": "draft"},
            ("post", "post_monstera-care", "The monstera that took over our office"),
        ),
        ("cms_getNavigation", {}, ("navigation item", "nav_home", "Home")),
    ):
        tool = cms.catalog.get(name)
        assert tool.extraction is not None
        first = tool.extraction((await tool.call(arguments)).value)[0]
        assert isinstance(first, Entity)
        assert (first.type, first.id, first.name) == found


def test_a_folder_keeps_what_was_changed_and_a_reset_brings_the_demo_back(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("not of the CMS", encoding="utf-8")
    first = build(tmp_path)
    assert not (tmp_path / "cms.db").exists()  # nothing is written before somebody asks
    with first.store.transaction() as session:
        session.get_one(Page, "page_care").title = "Caring"
        sections = len(session.scalars(select(Section)).all())
    first.close()
    second = build(tmp_path)
    assert "<title>Caring" in second.render_site("/site/care").html
    second.reset()
    assert "<title>Plant care" in second.render_site("/site/care").html
    with second.store.transaction() as session:
        assert len(session.scalars(select(Section)).all()) == sections
    second.close()
    assert {path.name for path in tmp_path.iterdir()} >= {"cms.db", "media", "mine.txt"}


def test_a_site_can_start_empty() -> None:
    empty = build(":memory:", seeded=False)
    assert empty.render_site("/site").status == 404


def test_settings_come_from_the_environment() -> None:
    said = CmsSettings.from_environment({"TOOLCRIB_CMS_DATA": "~/x", "TAVILY_API_KEY": " k ", "BRAVE_API_KEY": " "})
    assert (said.data_folder, said.tavily_key, said.brave_key) == (Path.home() / "x", "k", None)
    assert "k" not in repr(said).replace("CmsSettings", "").partition("data_folder")[0]
    assert CmsSettings.from_environment({}).data_folder.parts[-2:] == ("toolcrib", "cms")


def test_the_catalog_is_made_when_first_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_CMS_DATA", str(tmp_path / "data"))
    monkeypatch.delitem(vars(toolcrib_cms), "catalog", raising=False)
    assert len(toolcrib_cms.catalog) == 45
    monkeypatch.delitem(vars(toolcrib_cms), "catalog", raising=False)
    assert not (tmp_path / "data").exists()
    with pytest.raises(AttributeError, match="nothing"):
        _ = toolcrib_cms.nothing


@pytest.mark.process
def test_importing_the_cms_loads_nothing_heavy() -> None:
    probe = "import sys, toolcrib_cms; print(sorted({'sqlalchemy', 'PIL', 'httpx2', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


async def test_what_was_done_can_be_undone(cms: Cms) -> None:
    page = cms.render_site("/site/old-pricing").html
    assert not (await cms.catalog.get("cms_deletePage").call({"page": "old-pricing"})).failed
    deletion, creation = cms.history("page_old-pricing")
    assert (deletion["action"], creation["action"]) == ("delete", "create")
    assert cms.restore(deletion["revision"]) == [
        "page_old-pricing", "sec_old_pricing_text", "sec_old_pricing_cta", "nav_footer_prices"
    ]  # fmt: skip
    assert cms.render_site("/site/old-pricing").html == page


def test_the_definitions_are_those_of_the_real_tools(cms: Cms) -> None:
    assert FILE.read_text("utf-8") == write_definitions(cms.catalog), "run `make docs`"
    assert write_definitions(toolcrib_cms.definitions) == write_definitions(cms.catalog)


async def test_a_definition_says_that_it_cannot_run() -> None:
    (tool, *_) = toolcrib_cms.definitions
    result = await tool.call({})
    assert result.failed
    assert "toolcrib_cms:catalog" in result.text
