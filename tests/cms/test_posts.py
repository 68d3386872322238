"""The tools for posts."""

from tests.support.calls import Call
from toolcrib_cms.cms import Cms


async def test_a_new_post_is_a_draft(cms: Cms, call: Call) -> None:
    made = await call(
        "cms_createPost",
        title="Orchids",
        body="# Orchids\n\nThey **like** mist.",
        tags=["care", "care", " "],
        featuredImage="fern.jpg",
    )
    assert (made["slug"], made["status"], made["tags"]) == ("orchids", "draft", ["care"])
    read = await call("cms_getPost", post="orchids")
    assert (read["featuredImage"], read["excerpt"]) == ("img_fern", "Orchids They like mist.")
    assert cms.render_site("/site/posts/orchids").status == 404
    preview = cms.render_site(made["url"]).html
    assert "Preview: this is not public yet" in preview
    assert "<strong>like</strong>" in preview


async def test_a_post_that_cannot_be_is_refused(refusal: Call) -> None:
    assert "There is no image" in await refusal("cms_createPost", title="X", body="x", featuredImage="no.jpg")
    assert "body" in await refusal("cms_createPost", title="X", body="")
    assert "excerpt" in await refusal("cms_createPost", title="X", body="x", excerpt="x" * 301)


async def test_a_post_changes_and_keeps_its_address(cms: Cms, call: Call) -> None:
    told = await call(
        "cms_updatePost",
        post="winter-light",
        title="Winter sun",
        body="Short.",
        excerpt="s",
        tags=["sun"],
        featuredImage="",
        if_version=1,
    )
    assert (told["title"], told["slug"], told["tags"], told["version"]) == ("Winter sun", "winter-light", ["sun"], 2)
    html = cms.render_site("/site/posts/winter-light").html
    assert "<p>Short.</p>" in html
    assert "window-sill.jpg" not in html


async def test_a_change_of_a_post_that_cannot_be_is_refused(call: Call, refusal: Call) -> None:
    assert "There is no post 'nothing'" in await refusal("cms_updatePost", post="nothing", title="X")
    assert "Nothing to change" in await refusal("cms_updatePost", post="winter-light")
    assert "There is no image" in await refusal("cms_updatePost", post="winter-light", featuredImage="img_x")
    await call("cms_updatePost", post="winter-light", title="Winter sun")
    assert "at version 2, not 1" in await refusal("cms_updatePost", post="winter-light", title="X", if_version=1)


async def test_a_draft_is_published_once(cms: Cms, call: Call, refusal: Call) -> None:
    told = await call("cms_publishPost", post="monstera-care")
    assert (told["status"], told["url"]) == ("published", "/site/posts/monstera-care")
    assert "The monstera that took over our office" in cms.render_site("/site/blog").html
    assert "is public already" in await refusal("cms_publishPost", post="monstera-care")
    dated = await call("cms_publishPost", post="monstera-care", publishedAt="2026-01-02T03:04:05")
    assert dated["publishedAt"] == "2026-01-02T03:04:05+00:00"
    assert "There is no post" in await refusal("cms_publishPost", post="x")
    assert "publishedAt" in await refusal("cms_publishPost", post="monstera-care", publishedAt="soon")


async def test_an_archived_post_is_hidden_and_comes_back(cms: Cms, call: Call, refusal: Call) -> None:
    assert (await call("cms_archivePost", post="winter-light"))["status"] == "archived"
    assert cms.render_site("/site/posts/winter-light").status == 404
    assert "Winter light" not in cms.render_site("/site/blog").html
    assert "archived already" in await refusal("cms_archivePost", post="winter-light")
    assert (await call("cms_publishPost", post="winter-light"))["status"] == "published"
    assert "There is no post" in await refusal("cms_archivePost", post="x")


async def test_a_deleted_post_is_gone(call: Call, refusal: Call) -> None:
    assert (await call("cms_deletePost", post="The monstera that took over our office"))["slug"] == "monstera-care"
    assert "There is no post" in await refusal("cms_getPost", post="monstera-care")
    assert "There is no post" in await refusal("cms_deletePost", post="monstera-care")


async def test_posts_are_listed_by_status_and_tag(call: Call, refusal: Call) -> None:
    every = (await call("cms_listPosts"))["posts"]
    assert [post["slug"] for post in every] == [
        "monstera-care",
        "winter-light",
        "cactus-in-the-rain",
        "christmas-hours",
    ]
    assert [post["slug"] for post in (await call("cms_listPosts", status="draft"))["posts"]] == ["monstera-care"]
    assert [post["slug"] for post in (await call("cms_listPosts", tag="Winter"))["posts"]] == ["winter-light"]
    first = await call("cms_listPosts", limit=3)
    assert len((await call("cms_listPosts", cursor=first["nextCursor"]))["posts"]) == 1
    assert "status" in await refusal("cms_listPosts", status="lost")
    assert "is no cursor" in await refusal("cms_listPosts", cursor="-1")
