"""Content: what fits a template, what a patch does, and what a visitor's browser may see."""

from typing import Any

import pytest

from toolcrib_cms.content.links import is_safe_address, page_address
from toolcrib_cms.content.markdown import excerpt_of, html_of
from toolcrib_cms.content.merge_patch import changed_places, merged
from toolcrib_cms.content.schema import (
    checked,
    image_fields,
    normalised,
    problems,
    refuse_unknown_keywords,
    texts,
)
from toolcrib_cms.content.slugs import checked_slug, free_slug, slug_of
from toolcrib_cms.errors import CmsError, RefusalError

IMAGE = {"type": "object", "format": "image", "properties": {"id": {"type": "string"}}, "required": ["id"]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["heading"],
    "properties": {
        "heading": {"type": "string", "minLength": 2, "maxLength": 10},
        "columns": {"type": "integer", "minimum": 1, "maximum": 4},
        "align": {"type": "string", "enum": ["left", "right"]},
        "wide": {"type": "boolean"},
        "image": IMAGE,
        "button": {"type": "object", "format": "link", "properties": {"href": {"type": "string"}}},
        "images": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "object", "properties": {"image": IMAGE}},
        },
    },
}


MISTAKES: list[tuple[dict[str, Any], list[str]]] = [
    ({"heading": "Hello"}, []),
    ({}, ["`heading` is required"]),
    ({"heading": ""}, ["`heading` is required", "`heading` should have at least 2 characters, not 0"]),
    ({"heading": 3}, ["`heading` should be a string, not 3"]),
    ({"heading": "A long heading"}, ["`heading` should have at most 10 characters, not 14"]),
    ({"heading": "Hi", "columns": 9}, ["`columns` should be at most 4"]),
    ({"heading": "Hi", "columns": 0}, ["`columns` should be at least 1"]),
    ({"heading": "Hi", "columns": True}, ["`columns` should be an integer, not True"]),
    ({"heading": "Hi", "wide": 1}, ["`wide` should be a boolean, not 1"]),
    ({"heading": "Hi", "align": "up"}, ["`align` should be one of left, right, not 'up'"]),
    ({"heading": "Hi", "images": []}, ["`images` should have at least 1 items, not 0"]),
    ({"heading": "Hi", "images": [{"image": {}}]}, ["`images[0].image.id` is required"]),
    (
        {"heading": "Hi", "titel": 1},
        ["there is no field `titel` (there are: heading, columns, align, wide, image, button, images)"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("content", "complaints"), MISTAKES)
def test_every_mistake_is_named_with_its_place(content: dict[str, Any], complaints: list[str]) -> None:
    assert list(problems(SCHEMA, content)) == complaints


def test_a_script_is_no_link() -> None:
    (complaint,) = problems(SCHEMA, {"heading": "Hi", "button": {"href": "javascript:alert(1)"}})
    assert "`button.href` should be an http(s)" in complaint
    assert list(problems(SCHEMA, {"heading": "Hi", "button": {"href": "about", "type": "page"}})) == []


def test_content_that_does_not_fit_is_refused_with_all_mistakes() -> None:
    with pytest.raises(RefusalError, match=r"heading.*columns.*Nothing was changed"):
        checked(SCHEMA, {"columns": 9}, what="'hero'", fields_tool="cms_getSectionFields")


def test_a_bare_image_id_is_welcome() -> None:
    assert normalised(SCHEMA, {"image": "img_1", "images": [{"image": "img_2"}], "columns": 2}) == {
        "image": {"id": "img_1"},
        "images": [{"image": {"id": "img_2"}}],
        "columns": 2,
    }


def test_images_and_texts_are_found_wherever_they_stand() -> None:
    content = {"heading": "Hi", "image": {"id": "img_1", "alt": "A hill"}, "images": [{"image": {"id": "img_2"}}]}
    assert [place for place, _ in image_fields(SCHEMA, content)] == ["image", "images[0].image"]
    assert list(texts(content)) == ["Hi", "A hill"]


def test_a_schema_with_a_keyword_we_do_not_check_is_an_error() -> None:
    refuse_unknown_keywords(SCHEMA, "hero")
    with pytest.raises(CmsError, match="uses 'pattern'"):
        refuse_unknown_keywords({"properties": {"a": {"type": "string", "pattern": "x"}}}, "hero")


@pytest.mark.parametrize(
    ("content", "patch", "result"),
    [  # the examples of RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"a": "foo"}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_merges_as_the_standard_says(content: Any, patch: Any, result: Any) -> None:
    assert merged(content, patch) == result


def test_changed_places_are_named() -> None:
    before = {"heading": "A", "image": {"id": "1", "alt": "x"}, "items": [1]}
    after = {"heading": "B", "image": {"id": "2", "alt": "x"}, "items": [1], "new": 1}
    assert list(changed_places(before, after)) == ["heading", "image.id", "new"]


def test_markdown_becomes_html_that_runs_nothing() -> None:
    html = html_of(
        "# Hi\n\n[x](javascript:alert(1)) <script>alert(1)</script>\n\n| a |\n|---|\n| **b** |\n\n![i](/site/images/x)"
    )
    assert "<h1>Hi</h1>" in html
    assert "<td><strong>b</strong></td>" in html
    assert "<script" not in html
    assert 'href="javascript' not in html


def test_an_excerpt_is_plain_and_short() -> None:
    assert excerpt_of("# Title\n\nSome **bold** [link](https://x.y) text") == "Title Some bold link text"
    assert excerpt_of("word " * 100).endswith("word…")
    assert len(excerpt_of("word " * 100)) <= 181


@pytest.mark.parametrize(
    ("title", "slug"), [("About us!", "about-us"), ("Über uns", "uber-uns"), ("О нас", "o-nas"), ("!!", "untitled")]
)
def test_a_title_becomes_an_address(title: str, slug: str) -> None:
    assert slug_of(title) == slug


def test_a_taken_or_reserved_address_gets_a_number() -> None:
    assert free_slug("About", {"about", "about-2"}.__contains__) == "about-3"
    assert free_slug("Images", set[str]().__contains__) == "images-2"


@pytest.mark.parametrize("slug", ["About", "a b", "-a", "a--b", "", "images", "a" * 81])
def test_a_bad_address_is_refused(slug: str) -> None:
    with pytest.raises(RefusalError, match="cannot be an address"):
        checked_slug(slug)


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://example.com", True), ("mailto:a@b.c", True), ("/site/plants", True), ("#top", True), ("tel:+1", True),
        ("javascript:alert(1)", False), ("JaVaScript:alert(1)", False), ("java\tscript:alert(1)", False),
        ("data:text/html,x", False), ("//evil.example", False), ("/\\evil.example", False), ("plants", False),
        ("http://[::1", False), (" https://example.com", False), ("", False),
    ],
)  # fmt: skip
def test_only_safe_addresses_are_linked(address: str, safe: bool) -> None:
    assert is_safe_address(address) is safe


def test_pages_have_addresses() -> None:
    assert page_address("") == "/site"
    assert page_address("care/monstera", preview=True) == "/site/care/monstera?preview=1"
