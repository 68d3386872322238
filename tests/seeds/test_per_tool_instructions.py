"""The document on per-tool instructions, row by row: short descriptions to find a tool by, notes while it is active.

Each test names its row in the table of what the document says. Where we differ on purpose, the test says how.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.wire import Call, Turn, WireServer
from tests.support.agent import scripted
from tests.support.offline import Talk
from tests.support.search import make
from tests.support.site import Site
from tests.support.web_server import Answer, serve_web
from toolcrib import Catalog, Protocol, Risk, tool
from toolcrib.agent.events import ToolFinished
from toolcrib.agent.models import model_for
from toolcrib.agent.prompt import template
from toolcrib.agent.runner import confirm, run
from toolcrib.discovery.protocols import Delivery, Guidance, protocols_block
from toolcrib.discovery.tokens import count_tokens
from toolcrib.sources.web import WebGuard
from toolcrib.stores.session import Session
from toolcrib.tools.text import sentences
from toolcrib_cms import build
from toolcrib_cms.cms import APP, GUIDANCE, METADATA
from toolcrib_cms.services import Services

INSTRUCTIONS = """BEFORE: Look for the same title with cms_listPosts.
AFTER: Offer a picture.
NEXT: cms_publishPost
GOTCHA: A draft, always."""
POST: dict[str, Any] = {"title": "Monstera", "content": "# Monstera\n\nIt likes light."}


# Descriptions and notes


def test_row_2_1_descriptions_are_one_or_two_short_sentences(site: Site) -> None:
    assert {len(sentences(one.description)) for one in site.cms.catalog} <= {1, 2}
    assert max(len(one.description) for one in site.cms.catalog) <= 150


def test_row_2_2_a_description_stands_only_with_the_tool() -> None:
    entries = [entry for file in METADATA.glob("*.yaml") for entry in yaml.safe_load(file.read_text()).values()]
    assert len(entries) == 45
    assert not any("description" in entry for entry in entries)


def test_row_2_2_an_entry_of_the_index_is_read_as_the_document_writes_it(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(
        """\
cms_createPost: {
  name: "cms_createPost",
  category: "posts",
  phrases: ["create post", "new post", "write post", "blog post"],
  relatedTools: ["cms_publishPost", "cms_listPosts"],
  riskLevel: "moderate",
  requiresConfirmation: false,
}
"""
    )
    catalog = Catalog([make("cms_createPost", "Create a post.")])
    catalog.load_metadata(tmp_path / "tools.yaml")
    post = catalog.get("cms_createPost")
    assert (post.category, post.phrases[-1], post.related) == (
        "posts",
        "blog post",
        ("cms_publishPost", "cms_listPosts"),
    )
    assert (post.risk, post.confirm) == (Risk.MODERATE, False)


def test_row_2_3_every_tool_has_notes_of_its_own(site: Site) -> None:
    notes = [one.protocol for one in site.cms.catalog if one.protocol is not None]
    assert len(notes) == 45
    assert all(note.next and note.gotcha for note in notes)
    assert {label for note in notes for label in ("before", "after", "next", "gotcha") if getattr(note, label)} == {
        "before",
        "after",
        "next",
        "gotcha",
    }


def test_row_2_4_active_notes_stand_in_one_block_below_their_tools_names(site: Site) -> None:
    block = protocols_block([site.cms.catalog.get("cms_createPost"), site.cms.catalog.get("cms_listPosts")])
    lines = block.splitlines()
    assert (lines[0], lines[-1]) == ("<active-protocols>", "</active-protocols>")
    assert [line for line in lines if line.startswith("## ")] == ["## cms_createPost", "## cms_listPosts"]
    assert "\nBEFORE: See cms_listPosts for a post with the same subject.\n" in block


async def test_row_2_5_the_block_is_replaced_at_each_step(site: Site, session: Session) -> None:
    script, model = scripted(
        [("tool_search", {"query": "create blog post"})],
        [("cms_createPost", POST)],
        [("tool_search", {"query": "publish post"})],
        "Shall I publish it?",
    )
    await run(session, "Write about monsteras", crib=site.crib(model, delivery=Delivery.REPLACE))
    assert [text.count("</active-protocols>") for text in script.instructions] == [0, 1, 1, 1]
    assert script.instructions[3].count("## cms_createPost\n") == 1
    assert "## cms_publishPost\n" in script.instructions[3]


async def test_row_2_6_only_active_tools_have_their_notes_in_it(site: Site) -> None:
    box = site.toolbox()
    box.activate(["cms_createPost", "cms_listPosts"])
    assert protocols_block(box.visible()).count("## ") == 2


async def test_row_2_7_a_search_tells_a_line_a_tool_and_says_that_they_are_active(site: Site) -> None:
    """The document returns names and a sentence; a signature beside each name costs little, and is chosen by."""
    result = await site.search("create blog post")
    assert result.text.startswith("Ready to call (sure):\n- cms_createPost(title, content, ")
    assert result.value.tools == result.value.activated == ("cms_createPost",)


def test_row_2_8_the_limit_is_eight_unless_said_otherwise(site: Site) -> None:
    (search,) = site.toolbox().surface
    assert search.parameters["properties"]["limit"]["default"] == 8


async def test_row_2_9_create_blog_post_brings_the_tool_that_its_before_note_names(site: Site) -> None:
    value = await site.found("create blog post")
    assert value.tools[0] == "cms_createPost"
    assert "cms_listPosts" in {*value.tools, *value.named}


async def test_row_2_10_a_tool_that_notes_name_can_be_called_and_is_active_then(site: Site) -> None:
    box = site.toolbox()
    assert not (await box.call("cms_listPosts", {})).failed
    assert [one.name for one in box.visible()] == ["tool_search", "cms_listPosts"]


async def test_row_2_11_an_answer_needs_no_tool(site: Site, session: Session) -> None:
    """The document has a tool `final_answer`; a turn ends with plain text, which costs no definition and no call."""
    script, model = scripted("Hello.")
    done = await run(session, "Hi", crib=site.crib(model))
    assert (done.answer, script.tools) == ("Hello.", [["tool_search"]])


async def test_row_2_12_a_call_that_needs_a_yes_waits_for_it(site: Site, session: Session) -> None:
    publish: dict[str, Any] = {"postId": "monstera-care"}
    script, model = scripted(
        [("tool_search", {"query": "publish post"})],
        [("cms_publishPost", publish)],
        "Shall I publish it?",
        [("cms_publishPost", {**publish, "confirmed": True})],
        "It is public.",
    )
    crib = site.crib(model)
    await run(session, "Publish the monstera post", crib=crib)
    assert "requires_confirmation: " in str(script.messages[2][-1])
    assert (await site.call("cms_getPost", postId="monstera-care"))["status"] == "draft"
    done = await run(session, "yes", crib=crib)
    assert done.answer == "It is public."
    assert (await site.call("cms_getPost", postId="monstera-care"))["status"] == "published"


def test_row_2_13_instructions_are_plain_text_too(tmp_path: Path) -> None:
    wanted = Protocol(
        before="Look for the same title with cms_listPosts.",
        after="Offer a picture.",
        next="cms_publishPost",
        gotcha="A draft, always.",
    )
    text = "\n".join(f"    {line}" for line in INSTRUCTIONS.splitlines())
    (tmp_path / "tools.yaml").write_text(f"cms_createPost:\n  protocol: |\n{text}\n")
    catalog = Catalog([make("cms_createPost", "Create a post.")])
    catalog.load_metadata(tmp_path / "tools.yaml")

    @tool(protocol=INSTRUCTIONS)
    def create_post(title: str) -> str:
        """Create a post."""
        return title

    assert catalog.get("cms_createPost").protocol == create_post.protocol == wanted
    assert wanted.render() == INSTRUCTIONS


# The tools that it names


async def test_row_2_14_a_post_takes_content_and_featured_image(site: Site) -> None:
    """The document's arguments; those that the CMS had before are still understood."""
    post = await site.call("cms_createPost", **POST, featuredImage="img_fern", tags=["plants"])
    read = await site.call("cms_getPost", postId=post["id"])
    assert (read["title"], read["status"], read["tags"]) == ("Monstera", "draft", ["plants"])
    assert "It likes light." in str(read)
    assert "img_fern" in str(read)
    assert not (await site.cms.catalog.get("cms_createPost").call({"title": "Old", "body": "Text."})).failed
    wrong = await site.toolbox().call("cms_createPost", {"title": "New", "contents": "Text."})
    assert (wrong.failed, "content" in wrong.text) == (True, True)


async def test_row_2_15_posts_are_filtered_by_status(site: Site) -> None:
    everything = (await site.call("cms_listPosts"))["posts"]
    drafts = (await site.call("cms_listPosts", status="draft"))["posts"]
    assert {one["status"] for one in drafts} == {"draft"}
    assert len(drafts) < len(everything)


async def test_row_2_16_a_page_comes_light_unless_its_content_is_asked_for(site: Site) -> None:
    light, whole = [await site.call("cms_getPage", pageId="home", includeContent=full) for full in (False, True)]
    assert not any("content" in section for section in light["sections"])
    assert whole["sections"][0]["content"]["heading"] == "Bring the outside in"


async def test_row_2_17_updating_a_section_merges(site: Site) -> None:
    before = (await site.call("cms_getSectionContent", pageSectionId="home/hero"))["content"]
    await site.call("cms_updateSectionContent", pageSectionId="home/hero", content={"heading": "Grow"})
    after = (await site.call("cms_getSectionContent", pageSectionId="home/hero"))["content"]
    assert after == {**before, "heading": "Grow"}


@pytest.mark.process
async def test_row_2_18_stock_photos_are_searched_and_downloaded_with_a_key(site: Site) -> None:
    without = await site.toolbox().call("pexels_searchPhotos", {"query": "lake"})
    assert (without.failed, "PEXELS_API_KEY" in without.text) == (True, True)
    picture = site.cms.render_site("/site/images/mountain.jpg").body
    with serve_web() as web:
        photo = {"id": 7, "alt": "A lake", "photographer": "Ada", "src": {"large2x": f"{web.origin}/7.jpg"}}
        web.answers["/v1/search"] = Answer(body={"photos": [photo], "total_results": 1})
        web.answers["/v1/photos/7"] = Answer(body=photo)
        web.answers["/7.jpg"] = Answer(body=picture, headers={"Content-Type": "image/jpeg"})
        services = Services(pexels=web.origin, pexels_key="pk")
        cms = build(":memory:", web=WebGuard(open_origins={web.origin}), services=services)
        found = (await cms.catalog.get("pexels_searchPhotos").call({"query": "lake"})).value
        saved = await cms.catalog.get("pexels_downloadPhoto").call({"photoId": found["photos"][0]["photoId"]})
    assert not saved.failed, saved.text
    assert cms.render_site(f"/site/images/{saved.value['fileName']}").status == 200
    cms.close()


async def test_row_2_19_a_published_post_answers_below_blog(site: Site) -> None:
    """Posts live at `/site/posts`; the document's address leads there."""
    assert site.cms.render_site("/blog/winter-light") == site.cms.render_site("/site/posts/winter-light")
    assert site.cms.render_site("/blog/monstera-care").status == 404  # a draft


# What it saves


def test_row_2_20_the_notes_of_two_tools_are_a_third_of_a_whole_domain(site: Site) -> None:
    posts = [one for one in site.cms.catalog if one.category == "posts"]
    two = count_tokens(protocols_block([site.cms.catalog.get("cms_createPost"), site.cms.catalog.get("cms_listPosts")]))
    assert two < 170
    assert count_tokens(protocols_block(posts)) > 3 * two


def test_row_2_21_guidance_of_a_domain_is_off_unless_an_app_wants_it(site: Site) -> None:
    """The document deletes it. Here it is a choice: the shipped app leaves it out."""
    app = yaml.safe_load(APP.read_text())
    assert "guidance" not in app["tools"]
    post = site.cms.catalog.get("cms_createPost")
    assert "## category posts\n" in protocols_block([post], Guidance(GUIDANCE))


def test_row_2_22_the_prompt_has_its_sections() -> None:
    for section in ("identity", "pattern", "discovery", "confirmation"):
        assert f"<{section}>" in template()
    assert "BEFORE, AFTER, NEXT and GOTCHA" in template().replace("\n", " ")


WRITE = "write a blog post about monstera plants"


@pytest.mark.process
async def test_row_2_23_the_monstera_post_is_written_and_published_with_a_model(site: Site, session: Session) -> None:
    post: dict[str, Any] = {"title": "Monstera plants", "content": "They like light."}
    turns = [
        Turn(Call("tool_search", {"query": "create blog post"})),
        Turn(Call("cms_listPosts", {})),
        Turn(Call("cms_createPost", post)),
        Turn("It is a draft. Shall I publish it?"),
        Turn(Call("tool_search", {"query": "publish post"})),
        Turn(Call("cms_publishPost", {"postId": "monstera-plants"})),
        Turn("It would be public at once. Shall I?"),
        Turn("It is public."),
    ]
    with WireServer(turns) as server:
        model = model_for("openai-chat:gpt-5.4", base_url=server.url, api_key="key")
        crib = site.crib(model)
        async with model:
            await run(session, WRITE, crib=crib)
            await run(session, "publish it", crib=crib)
            (question,) = session.confirmations
            events = [event async for event in confirm(session, question.id, True, crib=crib)]
    finished = [event for event in events if isinstance(event, ToolFinished)]
    assert [(event.name, event.failed) for event in finished] == [("cms_publishPost", False)]
    assert site.cms.render_site("/blog/monstera-plants").status == 200


async def test_row_2_23_the_monstera_post_is_written_offline_once_its_text_is_said(site: Site, offline: Talk) -> None:
    """The brain without a language model writes no text of its own: it asks for it."""
    assert "what should **content** be?" in await offline.say(WRITE)
    await offline.say('"They like light."')
    assert [name for name, _ in offline.calls] == ["cms_createPost"]
    assert site.cms.render_site("/site/posts/monstera-plants?preview=1").status == 200
