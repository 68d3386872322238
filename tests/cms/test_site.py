"""The rendered site: what visitors see, and what they do not."""

import re
from threading import Thread
from urllib.request import urlopen

import pytest

from tests.support import PATIENCE
from tests.support.calls import Call
from toolcrib_cms.cms import Cms
from toolcrib_cms.site.server import site_server
from toolcrib_cms.storage.models import Section

PATHS = [
    "/site",
    "/site/",
    "/site/home",
    "/site/plants",
    "/site/care",
    "/site/blog",
    "/site/contact",
    "/site/old-pricing",
]


@pytest.mark.parametrize("path", PATHS)
def test_every_page_of_the_demo_is_there(cms: Cms, path: str) -> None:
    page = cms.render_site(path)
    assert (page.status, page.content_type) == (200, "text/html; charset=utf-8")
    assert "Verdant</title>" in page.html
    assert "undefined" not in page.html


def test_no_link_and_no_image_of_the_demo_leads_nowhere(cms: Cms) -> None:
    seen, open_paths = set[str](), ["/site", "/site/blog"]
    while open_paths:
        path = open_paths.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = cms.render_site(path)
        assert answer.status == 200, path
        if answer.content_type.startswith("text/html"):
            open_paths += re.findall(r'(?:href|src)="(/site[^"]*)"', answer.html)
    assert {"/site/posts/winter-light", "/site/images/fern.jpg", "/site/assets/site.css"} <= seen


def test_every_kind_of_section_is_shown(cms: Cms) -> None:
    every = " ".join(cms.render_site(path).html for path in PATHS)
    kinds = set(re.findall(r'class="section ([\w-]+)"', every))
    assert kinds == {
        "hero",
        "text",
        "image-text",
        "gallery",
        "features",
        "testimonials",
        "faq",
        "cta",
        "contact",
        "listing",
    }


@pytest.mark.parametrize("root", ["", "/site"])
def test_posts_and_images_also_answer_at_the_addresses_that_editors_know(cms: Cms, root: str) -> None:
    assert cms.render_site(f"{root}/blog/winter-light") == cms.render_site("/site/posts/winter-light")
    assert cms.render_site(f"{root}/uploads/images/fern.jpg") == cms.render_site("/site/images/fern.jpg")
    assert cms.render_site(f"{root}/blog/monstera-care").status == 404  # a draft
    assert cms.render_site(f"{root}/blog/monstera-care?preview=1").status == 200


def test_a_post_is_shown_with_author_date_and_tags(cms: Cms) -> None:
    html = cms.render_site("/site/posts/winter-light").html
    assert "By Mira Okafor · 28 October 2026" in html
    assert "<span>winter</span>" in html
    assert "<h2>Clean the window</h2>" in html


@pytest.mark.parametrize(
    "path",
    [
        "/site/nothing", "/site/posts/nothing", "/site/posts/monstera-care", "/site/images/none.jpg",
        "/site/images/../../cms.db", "/site/care/plants", "/site/images", "/elsewhere/x",
    ],
)  # fmt: skip
def test_what_is_not_there_or_not_public_is_not_found(cms: Cms, path: str) -> None:
    answer = cms.render_site(path)
    assert answer.status == 404
    assert "Nothing grows here" in answer.html


def test_assets_are_known_by_name_only(cms: Cms) -> None:
    assert cms.render_site("/site/assets/site.css").content_type == "text/css"
    assert cms.render_site("/site/assets/%2e%2e%2frender.py").status == 404


def test_images_have_thumbnails(cms: Cms) -> None:
    full, small = cms.render_site("/site/images/mountain.jpg"), cms.render_site("/site/images/mountain.jpg?thumbnail=1")
    assert (full.content_type, small.content_type) == ("image/jpeg", "image/webp")
    assert len(small.body) < len(full.body)


async def test_words_are_never_markup(cms: Cms, call: Call) -> None:
    evil = '<script>alert("x")</script>'
    await call("cms_updateSectionContent", section="home/hero", content={"heading": evil})
    await call("cms_updateSectionContent", section="care/faq", content={"items": [{"question": evil, "answer": evil}]})
    await call("cms_updateNavigationItem", item="nav_home", label=evil)
    await call("cms_updatePost", post="winter-light", title=evil, body=evil, tags=[evil[:30]])
    await call("cms_updateSectionContent", section="contact/contact", content={"email": '"><script>'})
    for path in ("/site", "/site/care", "/site/posts/winter-light", "/site/contact"):
        assert "<script" not in cms.render_site(path).html
    assert "<h1>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;</h1>" in cms.render_site("/site").html


def test_content_that_went_around_the_tools_is_still_safe(cms: Cms) -> None:
    with cms.store.transaction() as session:
        hero = session.get_one(Section, "sec_home_hero")
        hero.content = {
            "heading": "Hi",
            "button": {"label": "x", "href": "javascript:alert(1)"},
            "backgroundImage": {"id": "gone"},
        }
        listing = session.get_one(Section, "sec_home_plants")
        listing.content = {"source": "nothing"}
    html = cms.render_site("/site").html
    assert "javascript:" not in html
    assert "Nothing here yet." in html


@pytest.mark.process
def test_a_browser_can_look_at_it(cms: Cms) -> None:
    server = site_server(cms)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        with urlopen(f"http://127.0.0.1:{server.server_address[1]}/", timeout=PATIENCE) as answer:
            assert answer.url.endswith("/site")
            assert b"Bring the outside in" in answer.read()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
