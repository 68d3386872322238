"""What a call would change is shown before, and what it changed is undone after, by the call's id."""

from typing import Any

import pytest

from toolcrib.tools.context import CurrentCall, within_call
from toolcrib_cms.cms import Cms
from toolcrib_cms.errors import RefusalError


def within(id: str) -> Any:
    return within_call(CurrentCall(id=id, session="s", tenant="", fence=1))


async def do(cms: Cms, call: str, name: str, **arguments: Any) -> Any:
    with within(call):
        return (await cms.catalog.get(name).call(arguments, None)).value


async def preview(cms: Cms, name: str, **arguments: Any) -> dict[str, Any]:
    shown = await cms.preview(name, arguments)
    assert shown is not None
    return shown


async def test_a_preview_says_what_would_be_different_and_changes_nothing(cms: Cms) -> None:
    shown = await preview(cms, "cms_updatePage", pageId="page_care", title="Caring for plants", status="draft")
    [change] = shown["changes"]
    assert (change["kind"], change["title"], change["action"]) == ("page", "Caring for plants", "update")
    assert change["fields"] == (
        {"name": "title", "before": "Plant care", "after": "Caring for plants"},
        {"name": "status", "before": "published", "after": "draft"},
    )
    assert cms.history("page_care")[0]["action"] == "create"
    assert (await do(cms, "", "cms_getPage", pageId="page_care"))["title"] == "Plant care"


async def test_a_preview_of_a_deletion_names_the_thing_first_with_picture_and_address(cms: Cms) -> None:
    shown = await preview(cms, "cms_deletePage", pageId="page_care")
    first, *others = shown["changes"]
    assert (first["kind"], first["title"], first["action"]) == ("page", "Plant care", "delete")
    assert first["path"] == "/site/care"
    assert {one["kind"] for one in others} <= {"section", "navigation item"}
    assert any(one["kind"] == "navigation item" for one in others)
    image = await preview(cms, "cms_deleteImage", imageId="hero-greenhouse.jpg", force=True)
    assert image["changes"][-1]["kind"] == "section" or image["changes"][0]["picture"].endswith("hero-greenhouse.jpg")


async def test_a_preview_says_why_a_call_would_be_refused(cms: Cms) -> None:
    shown = await preview(cms, "cms_deletePage", pageId="page_home")
    assert (shown["changes"], "cannot be deleted" in shown["refusal"]) == ([], True)


async def test_what_reaches_beyond_the_site_has_no_preview(cms: Cms) -> None:
    assert await cms.preview("http_post", {"url": "https://a.example"}) is None
    assert await cms.preview("cms_listPages", {}) is None


async def test_a_deletion_is_undone_whole(cms: Cms) -> None:
    before = cms.render_site("/site/care").html
    await do(cms, "s:1:a", "cms_deletePage", pageId="page_care")
    assert cms.render_site("/site/care").status == 404
    made = cms.changes(["s:1:a", "s:1:other"])
    assert list(made) == ["s:1:a"]
    assert made["s:1:a"]["undone"] is False
    cms.undo("s:1:a")
    assert cms.render_site("/site/care").html == before
    assert cms.changes(["s:1:a"])["s:1:a"]["undone"] is True
    with pytest.raises(RefusalError, match="undone already"):
        cms.undo("s:1:a")


async def test_a_creation_and_an_update_are_undone(cms: Cms) -> None:
    made = await do(cms, "s:1:a", "cms_createPage", title="A new one")
    await do(cms, "s:3:b", "cms_updatePage", pageId="page_care", title="Caring")
    cms.undo("s:3:b")
    assert (await do(cms, "", "cms_getPage", pageId="page_care"))["title"] == "Plant care"
    cms.undo("s:1:a")
    assert cms.render_site(made["url"]).status == 404


async def test_what_was_changed_again_since_is_not_undone(cms: Cms) -> None:
    await do(cms, "s:1:a", "cms_updatePage", pageId="page_care", title="One")
    await do(cms, "s:3:b", "cms_updatePage", pageId="page_care", title="Two")
    with pytest.raises(RefusalError, match="changed again since"):
        cms.undo("s:1:a")
    made = await do(cms, "s:5:c", "cms_createPage", title="A new one")
    await do(cms, "s:7:d", "cms_addSectionToPage", pageId=made["id"], sectionDefId="text")
    with pytest.raises(RefusalError, match="changed again since"):
        cms.undo("s:5:c")
    await do(cms, "s:9:e", "cms_createPage", title="Linked")
    await do(cms, "s:11:f", "cms_addNavigationItem", label="Linked", pageId="linked")
    with pytest.raises(RefusalError, match="uses it now"):
        cms.undo("s:9:e")
    with pytest.raises(RefusalError, match="changed nothing"):
        cms.undo("s:99:z")
