"""The tools for menus."""

import pytest

from tests.support.calls import Call
from toolcrib_cms.cms import Cms


async def labels(call: Call, menu: str = "header") -> list[str]:
    return [item["label"] for item in (await call("cms_getNavigation", menu=menu))["items"]]


async def test_menus_are_shown_in_order(call: Call, refusal: Call) -> None:
    items = (await call("cms_getNavigation"))["items"]
    assert [(item["menu"], item["label"], item["type"], item["target"]) for item in items] == [
        ("header", "Home", "page", "home"),
        ("header", "Plants", "page", "plants"),
        ("header", "Care", "page", "care"),
        ("header", "Contact", "page", "contact"),
        ("footer", "Contact", "page", "contact"),
        ("footer", "Prices", "page", "old-pricing"),
        ("footer", "Instagram", "url", "https://www.instagram.com/"),
    ]
    assert "menu" in await refusal("cms_getNavigation", menu="sidebar")


async def test_a_link_to_a_page_is_found_by_its_label(cms: Cms, call: Call) -> None:
    made = await call("cms_addNavigationItem", label="Blog")
    assert (made["type"], made["target"], made["menu"]) == ("page", "blog", "header")
    assert '<a href="/site/blog">Blog</a>' in cms.render_site("/site").html


async def test_a_link_stands_where_it_was_wanted(call: Call) -> None:
    await call("cms_addNavigationItem", menu="header", label="News", page="blog", position=1)
    await call("cms_addNavigationItem", menu="header", label="Mail", url="mailto:hello@verdant.example", position=0)
    assert await labels(call) == ["Mail", "Home", "News", "Plants", "Care", "Contact"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"label": "Jobs"}, "Where should 'Jobs' lead?"),
        ({"label": "Blog", "page": "blog", "url": "/site/blog"}, "one target"),
        ({"label": "Blog", "page": "nowhere"}, "There is no page"),
        ({"label": "Evil", "url": "javascript:alert(1)"}, "is no address for a menu"),
        ({"label": "Contact", "page": "contact"}, "leads there already"),
        ({"label": "Blog", "page": "blog", "menu": "side"}, "menu"),
        ({"label": "", "page": "blog"}, "label"),
    ],
)
async def test_a_link_that_cannot_be_is_refused(refusal: Call, arguments: dict[str, str], said: str) -> None:
    assert said in await refusal("cms_addNavigationItem", **arguments)


async def test_a_link_changes_label_target_and_place(call: Call) -> None:
    told = await call("cms_updateNavigationItem", item="nav_contact", label="Hello", position=0)
    assert (told["label"], told["version"]) == ("Hello", 2)
    assert await labels(call) == ["Hello", "Home", "Plants", "Care"]
    assert (await call("cms_updateNavigationItem", item="nav_contact", url="https://example.com"))["type"] == "url"
    assert (await call("cms_updateNavigationItem", item="nav_contact", page="blog"))["target"] == "blog"
    await call("cms_updateNavigationItem", item="nav_contact", position=99)
    assert await labels(call) == ["Home", "Plants", "Care", "Hello"]


async def test_a_change_of_a_link_that_cannot_be_is_refused(refusal: Call) -> None:
    assert "There is no menu item" in await refusal("cms_updateNavigationItem", item="nav_x", label="X")
    assert "2 menu items are called 'Contact'" in await refusal("cms_updateNavigationItem", item="Contact", label="X")
    assert "Nothing to change" in await refusal("cms_updateNavigationItem", item="nav_home")
    assert "one target" in await refusal("cms_updateNavigationItem", item="nav_home", page="blog", url="/x")
    assert "There is no page" in await refusal("cms_updateNavigationItem", item="nav_home", page="x")


async def test_a_removed_link_leaves_its_page(cms: Cms, call: Call, refusal: Call) -> None:
    assert (await call("cms_removeNavigationItem", item="Care"))["deleted"] is True
    assert await labels(call) == ["Home", "Plants", "Contact"]
    assert cms.render_site("/site/care").status == 200
    assert "There is no menu item" in await refusal("cms_removeNavigationItem", item="Care")


async def test_a_link_is_hidden_and_shown_again(cms: Cms, call: Call, refusal: Call) -> None:
    assert (await call("cms_toggleNavigationItem", item="Plants"))["visible"] is False
    assert ">Plants</a>" not in cms.render_site("/site/care").html
    assert (await call("cms_toggleNavigationItem", item="Plants", visible=False))["visible"] is False
    assert (await call("cms_toggleNavigationItem", item="Plants"))["visible"] is True
    assert "There is no menu item" in await refusal("cms_toggleNavigationItem", item="x")
