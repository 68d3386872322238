"""A YAML file can say what the code does not, and its mistakes are told with file, line and column."""

from pathlib import Path
from typing import Any

import pytest

from toolcrib.catalog.catalog import Catalog, Change
from toolcrib.errors import MetadataError
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Extraction, Protocol, Risk, Tool

FULL = """\
search_images:
  category: images
  phrases: [find image, look for a photo]
  related:
    - delete_image
  risk: moderate
  confirm: true
  protocol:
    before: Ask which page.
    after: Show the image.
    next: Place it.
    gotcha: Scores closer to 0 are better.
  extraction: {path: data.images, type: image, name_field: title, id_field: key, is_array: true}
"""


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def make_tool(name: str, **fields: Any) -> Tool:
    return Tool(name=name, description="Do it.", call=call, **fields)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tools.yaml"


def full_tool() -> Tool:
    return make_tool(
        "search_images",
        category="images",
        phrases=("find image", "look for a photo"),
        related=("delete_image",),
        risk=Risk.MODERATE,
        confirm=True,
        protocol=Protocol(
            before="Ask which page.",
            after="Show the image.",
            next="Place it.",
            gotcha="Scores closer to 0 are better.",
        ),
        extraction=Extraction(path="data.images", type="image", name_field="title", id_field="key", is_array=True),
    )


@pytest.mark.parametrize("metadata_first", [True, False])
def test_a_file_completes_its_tools_whichever_comes_first(file: Path, metadata_first: bool) -> None:
    file.write_text(FULL)
    catalog = Catalog()
    if metadata_first:
        catalog.load_metadata(file)
    catalog.add(make_tool("search_images"))
    if not metadata_first:
        catalog.load_metadata(str(file))
    assert list(catalog) == [full_tool()]


def test_what_the_file_does_not_say_stays_as_the_code_has_it(file: Path) -> None:
    file.write_text("a: {category: letters}\n")
    catalog = Catalog([make_tool("a", category="other", phrases=("say a",)), make_tool("b", category="other")])
    catalog.load_metadata(file)
    assert list(catalog) == [
        make_tool("a", category="letters", phrases=("say a",)),
        make_tool("b", category="other"),
    ]


def test_loading_a_file_again_takes_it_anew_and_tells_only_what_changed(file: Path) -> None:
    catalog = Catalog([make_tool("a", category="code"), make_tool("b"), make_tool("c")])
    file.write_text("a: {category: file}\nb: {confirm: true}\n")
    catalog.load_metadata(file)
    heard: list[Change] = []
    catalog.subscribe(heard.append)

    file.write_text("# a says nothing now\n\nb: {confirm: true}\nc: {risk: moderate}\n")
    catalog.load_metadata(file)

    a, c = make_tool("a", category="code"), make_tool("c", risk=Risk.MODERATE)
    assert list(catalog) == [a, make_tool("b", confirm=True), c]
    assert heard == [Change(revision=3, added=(a, c), removed=("a", "c"))]


def test_several_files_can_share_the_work_but_not_a_tool(file: Path) -> None:
    other = file.with_name("more.yaml")
    file.write_text("a: {category: letters}\n")
    other.write_text("b: {category: letters}\n\na: {category: other}\n")
    catalog = Catalog([make_tool("a"), make_tool("b")])
    catalog.load_metadata(file)
    with pytest.raises(MetadataError) as caught:
        catalog.load_metadata(other)
    assert str(caught.value) == f"{other}:3: a: also described in {file}:1"
    assert list(catalog) == [make_tool("a", category="letters"), make_tool("b")]

    other.write_text("b: {category: letters}\n")
    catalog.load_metadata(other)
    assert catalog.categories() == {"letters": 2}


def test_all_mistakes_are_told_at_once_and_nothing_is_applied(file: Path) -> None:
    file.write_text("""\
good: {category: letters}
a:
  categroy: letters
  colour: red
  phrases: find image
  risk: deadly
b:
  protocol:
    befor: Ask.
    colour: x
  extraction:
    path: $root
    name_field: 5
b:
  related: [a, 7]
  confirm: true
  confirm: false
c:
5: {}
""")
    catalog = Catalog([make_tool("good")])
    with pytest.raises(MetadataError) as caught:
        catalog.load_metadata(file)
    assert str(caught.value).replace(str(file), "tools.yaml").splitlines() == [
        "tools.yaml:3:3: a.categroy: unknown key. Did you mean 'category'?",
        "tools.yaml:4:3: a.colour: unknown key. "
        "It can be category, phrases, related, risk, confirm, protocol, extraction.",
        "tools.yaml:5:3: a.phrases: should be a list, not 'find image'",
        "tools.yaml:6:3: a.risk: Input should be 'safe', 'moderate' or 'destructive', not 'deadly'",
        "tools.yaml:9:5: b.protocol.befor: unknown key. Did you mean 'before'?",
        "tools.yaml:10:5: b.protocol.colour: unknown key. It can be before, after, next, gotcha, notes.",
        "tools.yaml:11:3: b.extraction.type: is missing",
        "tools.yaml:13:5: b.extraction.name_field: Input should be a valid string, not 5",
        "tools.yaml:14:1: b: this key stands twice, first in line 7",
        "tools.yaml:17:3: b.confirm: this key stands twice, first in line 16",
        "tools.yaml:18:1: c: should be a mapping, not None",
        "tools.yaml:19:1: 5: Input should be a valid string, not 5",
    ]
    assert caught.value.hint == "Nothing of this file was used; correct it and load it again."
    assert list(catalog) == [make_tool("good")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "tools.yaml:1:1: the file is empty, not a mapping.", id="empty"),
        pytest.param(b"- a\n- b\n", "tools.yaml:1:1: this is a sequence, not a mapping.", id="a list"),
        pytest.param(b"just text", "tools.yaml:1:1: this is a scalar, not a mapping.", id="a text"),
        pytest.param(b"a: [x\n", "tools.yaml:2:1: expected ',' or ']', but got '<stream end>'", id="an open bracket"),
        pytest.param(b"a: b: c", "tools.yaml:1:5: mapping values are not allowed here", id="two colons"),
        pytest.param(b"a: {}\n---\nb: {}", "tools.yaml:2:1: but found another document", id="two documents"),
        pytest.param(
            b"a: !!python/object:os.system x",
            "tools.yaml:1:4: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object:os.system'",
            id="a Python object",
        ),
        pytest.param(b"a: *b", "tools.yaml:1:4: found undefined alias 'b'", id="an unknown alias"),
        pytest.param(b"? {a: b}\n: c", "tools.yaml:1:3: found unhashable key", id="a mapping as key"),
        pytest.param(
            b"a: \x00", "tools.yaml: unacceptable character #x0000: special characters are not allowed", id="binary"
        ),
        pytest.param(b"a: \xff", "tools.yaml: is not UTF-8 text.", id="not UTF-8"),
        pytest.param(b"a: " + b"[" * 1000, "tools.yaml:1:1: it is nested deeper than 100 levels.", id="deep"),
        pytest.param(None, "tools.yaml: cannot be read: No such file or directory.", id="missing"),
    ],
)
def test_what_is_no_yaml_mapping_is_refused(file: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(MetadataError) as caught:
        Catalog().load_metadata(file)
    assert str(caught.value).replace(str(file), "tools.yaml") == message
    assert caught.value.hint


def test_an_alias_that_contains_itself_does_no_harm(file: Path) -> None:
    file.write_text("a: &a\n  phrases: [*a]\n")
    with pytest.raises(MetadataError, match=r"tools.yaml:1:1: the file's aliases stand for too many values"):
        Catalog().load_metadata(file)


def test_anchors_may_share_what_tools_have_in_common(file: Path) -> None:
    file.write_text("a: &common {category: letters}\nb:\n  <<: *common\n  confirm: true\n")
    catalog = Catalog([make_tool("a"), make_tool("b")])
    catalog.load_metadata(file)
    assert list(catalog) == [make_tool("a", category="letters"), make_tool("b", category="letters", confirm=True)]


def test_keys_in_the_spelling_of_javascript_are_read_too(file: Path) -> None:
    file.write_text(
        """\
search_images:
  name: search_images
  category: images
  hypotheticalQueries: [find image, look for a photo]
  relatedTools: [delete_image]
  riskLevel: moderate
  requiresConfirmation: true
  usageHint: |
    BEFORE: Ask which page.
    AFTER: Show the image.
    NEXT: Place it.
    GOTCHA: Scores closer to 0 are better.
  extraction: {path: data.images, type: image, nameField: title, idField: key, isArray: true}
"""
    )
    catalog = Catalog([make_tool("search_images")])
    catalog.load_metadata(file)
    assert catalog.get("search_images") == full_tool()


def test_mistakes_are_told_in_the_spelling_of_the_file(file: Path) -> None:
    file.write_text("a:\n  riskLevel: awful\n  related: [b]\n  relatedTools: [c]\n  usageHint: 5\n")
    with pytest.raises(MetadataError) as caught:
        Catalog([make_tool("a")]).load_metadata(file)
    told = str(caught.value).replace(str(file), "tools.yaml").splitlines()
    assert told == [
        "tools.yaml:2:3: a.riskLevel: Input should be 'safe', 'moderate' or 'destructive', not 'awful'",
        "tools.yaml:4:3: a.relatedTools: this stands beside 'related', which means the same",
        "tools.yaml:5:3: a.usageHint: should be a mapping or a text, not 5",
    ]


def test_what_stands_with_the_tool_is_refused_and_instructions_are_a_protocol(file: Path) -> None:
    file.write_text("a:\n  name: b\n  description: Do it.\n  instructions: Be careful.\n")
    with pytest.raises(MetadataError) as caught:
        Catalog([make_tool("a")]).load_metadata(file)
    told = str(caught.value).replace(str(file), "tools.yaml").splitlines()
    assert told == [
        "tools.yaml:2:3: a.name: stands with the tool in the code, not here",
        "tools.yaml:3:3: a.description: stands with the tool in the code, not here",
    ]
    file.write_text("a:\n  instructions: Be careful.\n")
    catalog = Catalog([make_tool("a")])
    catalog.load_metadata(file)
    assert catalog.get("a").protocol == Protocol(notes="Be careful.")
