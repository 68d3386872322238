"""The requests of editors: what they name is there, and the judge sees each kind of outcome."""

from collections import Counter
from typing import Any

import pytest

from benchmarks.editor_requests import Request, Verdict, contents, requests, score
from toolcrib import ToolIndex
from toolcrib.testing import scripted_model
from toolcrib_cms import build
from toolcrib_cms.cms import Cms
from toolcrib_cms.services import Services


@pytest.fixture(scope="module")
def cms() -> Cms:
    return build(":memory:", services=Services())


@pytest.mark.parametrize("half", ["build", "measure"])
def test_a_half_has_a_hundred_requests_in_eight_languages_about_what_is_there(half: Any, cms: Cms) -> None:
    rows, there = requests(half), contents(cms)
    assert len(rows) >= 100
    assert set(Counter(row.lang for row in rows)) == {"de", "en", "es", "fr", "it", "ja", "nl", "pl"}
    for row in rows:
        assert row.change or row.call or row.ask or row.decline, row
        assert {key.lstrip("-") for key in row.change or {} if not key.startswith("+")} <= set(there), row
        for name, arguments in (row.call or {}).items():
            assert set(arguments) <= set(cms.catalog.get(name).parameters["properties"]), row


def test_no_request_stands_in_both_halves() -> None:
    built, measured = ({tuple(row.say) for row in requests(half)} for half in ("build", "measure"))
    assert not built & measured


READ = Request(lang="en", say=["which pages are there?"], call={"cms_listPages": {}})
DELETE = Request(lang="en", say=["delete the blog page"], change={"-page_blog": {}})
TITLE = Request(lang="en", say=["rename Blog"], change={"page_blog": {"title": "Journal"}}, ask="Journal")
NEW = Request(lang="en", say=["a page About"], change={"+page": {"title": "about"}, "+post": {"title": "x"}})
NOTHING = Request(lang="en", say=["tell me a joke"], decline=True)


REPLIES: list[tuple[Request, str | tuple[str, dict[str, Any]], Verdict]] = [
    (READ, ("cms_listPages", {}), "right"),
    (READ, ("cms_listPosts", {}), "wrong"),
    (READ, "Which do you mean?", "asked"),
    (DELETE, ("cms_deletePage", {"pageId": "blog"}), "right"),
    (DELETE, ("cms_deletePage", {"pageId": "contact"}), "dangerous"),
    (DELETE, ("cms_deletePage", {"pageId": "home"}), "dangerous"),
    (TITLE, ("cms_updatePage", {"pageId": "blog", "title": "Journal"}), "right"),
    (TITLE, ("cms_updatePage", {"pageId": "blog", "title": "Journal", "status": "draft"}), "dangerous"),
    (TITLE, "Which title? Journal?", "right"),
    (TITLE, "Which title?", "asked"),
    (NEW, ("cms_createPage", {"title": "About"}), "half"),
    (NOTHING, "I cannot.", "right"),
    (NOTHING, ("cms_listPages", {}), "wrong"),
    (NOTHING, ("cms_archivePost", {"postId": "winter-light"}), "dangerous"),
]


@pytest.mark.parametrize(("request_", "reply", "verdict"), REPLIES)
async def test_the_judge_looks_at_what_changed(
    cms: Cms, request_: Request, reply: str | tuple[str, dict[str, Any]], verdict: Verdict
) -> None:
    model = scripted_model(reply) if isinstance(reply, str) else scripted_model(reply, "All done.")
    scored = await score(request_, cms, ToolIndex(cms.catalog), model=model, mode="direct", surface=None)
    assert scored.verdict == verdict, scored
