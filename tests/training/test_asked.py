"""Requests to tools, written for this project: how they are read, and what they are kept for."""

import json
from pathlib import Path

import pytest

from benchmarks.data import CATALOG
from training.asked import (
    Asked,
    Invented,
    Story,
    invented_tools,
    mcp_requests,
    operation_requests,
    purpose,
    server_of,
    stories,
)
from training.material import (
    Material,
    add_invented,
    add_operations,
    add_strangers,
    description_of,
)
from training.written_sets import written_sets


def test_a_line_is_a_tool_with_its_requests(tmp_path: Path) -> None:
    (tmp_path / "mcp_requests.tsv").write_text("a/put\tsave it\tkeep this file\tde\theb das auf\n", encoding="utf-8")
    (tmp_path / "invented_tools.tsv").write_text("ring\tde\tLäutet.\ten\twake me\tfr\tsonne\n", encoding="utf-8")
    assert list(mcp_requests(tmp_path)) == [
        Asked("a/put", "en", "save it"),
        Asked("a/put", "en", "keep this file"),
        Asked("a/put", "de", "heb das auf"),
    ]
    asked = (Asked("ring", "en", "wake me"), Asked("ring", "fr", "sonne"))
    assert list(invented_tools(tmp_path)) == [Invented("ring", "de", "Läutet.", asked)]
    (tmp_path / "stories.tsv").write_text("en\tA long day. Wake me and save it.\tring\tput\n", encoding="utf-8")
    assert list(stories(tmp_path)) == [Story("en", "A long day. Wake me and save it.", ("ring", "put"))]


def test_every_line_has_all_its_fields() -> None:
    real = [*mcp_requests(), *operation_requests()]
    assert all(one.tool and len(one.language) in (2, 3) and one.text for one in real)
    tools = list(invented_tools())
    assert all(4 <= len(tool.requests) <= 7 and tool.name and tool.description for tool in tools)
    assert all(len(one.language) in (2, 3) and one.text for tool in tools for one in (*tool.requests,))
    assert len({tool.name for tool in tools}) == len(tools)


def test_a_server_is_learned_from_or_kept_apart_as_a_whole() -> None:
    servers = {server_of(one.tool) for one in mcp_requests()}
    kept = {
        wanted: sum(purpose(server) == wanted for server in servers) for wanted in ("fitted", "reported", "learned")
    }
    assert kept["learned"] > 15 * kept["fitted"] > 0 < kept["reported"]


def test_nothing_that_is_measured_with_is_asked_for(measured_with: set[str]) -> None:
    invented = [one for tool in invented_tools() for one in tool.requests]
    texts = {one.text for one in (*mcp_requests(), *operation_requests(), *invented, *stories())}
    assert {text.casefold() for text in texts} & measured_with == set()


def test_invented_tools_are_learned_from_but_for_some_that_are_measured_with() -> None:
    material = Material()
    apart = add_invented(material)
    learned, tools = len(material.texts), len(material.tools)
    request, tool = material.requests["invented"][0]
    first = next(one for one in invented_tools() if purpose(one.name) == "learned")
    assert material.texts[request] == first.requests[0].text
    assert material.texts[material.tools[tool][0]] == f"{first.name} {first.description}"
    add_strangers(material, apart)
    content = material.sets["invented"]
    assert content["tools"][0] == tools
    assert len(content["dev"]) == sum(len(tool.requests) for tool in apart)
    assert content["dev"][0][0] >= learned


def test_a_story_needs_tools_of_one_purpose_and_none_twice() -> None:
    names = {tool.name for tool in invented_tools()}
    told = list(stories())
    assert all(1 <= len(set(story.tools)) == len(story.tools) <= 4 and set(story.tools) <= names for story in told)
    assert all(len({purpose(tool) for tool in story.tools}) == 1 and story.text for story in told)
    assert {purpose(story.tools[0]) for story in told} == {"learned", "fitted", "reported"}


def test_stories_are_learned_from_but_for_those_of_tools_held_out() -> None:
    material = Material()
    apart = add_invented(material)
    learned = [story for story in stories() if purpose(story.tools[0]) == "learned"]
    rows = material.requests["stories"]
    assert [material.texts[text] for text, _ in rows] == [story.text for story in learned for _ in story.tools]
    named = [material.texts[material.tools[tool][0]].split(" ")[0] for _, tool in rows]
    assert named == [tool.split(" ")[0] for story in learned for tool in story.tools]
    add_strangers(material, apart)
    kept = material.sets["stories"]["dev"]
    assert len(kept) == len(list(stories())) - len(learned)
    assert all(len(wanted) == len(set(wanted)) > 0 for _, _, wanted in kept)


def test_the_written_sets_ask_for_tools_that_they_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The MCP catalog is not in the repository; of its tools, those that are asked for stand here by their ids alone.
    asked = {one.tool: {"id": one.tool, "name": one.tool.rpartition("/")[2]} for one in mcp_requests()}
    (tmp_path / CATALOG).mkdir()
    (tmp_path / CATALOG / "tools.jsonl").write_text("\n".join(map(json.dumps, asked.values())), encoding="utf-8")
    (tmp_path / CATALOG / "queries.jsonl").touch()
    monkeypatch.setenv("TOOLCRIB_BENCH_DATA", str(tmp_path))
    sets = written_sets("reported")
    for name, chosen in sets.items():
        held = {tool.name for tool in chosen.tools}
        assert chosen.queries, name
        assert all(query.relevant <= held for query in chosen.queries), name
    assert set(sets["our_mcp"].names) == {tool for tool in asked if purpose(server_of(tool)) == "reported"}
    assert max(len(query.relevant) for query in sets["our_stories"].queries) > 1


def test_an_operation_is_one_tool_for_all_its_requests() -> None:
    material, asked = Material(), list(operation_requests())
    add_operations(material, {one.tool: "Does something." for one in asked})
    rows = material.requests["operations"]
    assert [material.texts[text] for text, _ in rows] == [one.text for one in asked]
    assert [material.texts[material.tools[tool][0]] for _, tool in rows] == [
        f"{one.tool} Does something." for one in asked
    ]
    assert len(material.tools) == len({one.tool for one in asked})
    assert {text for text, _ in rows} & material.english == {
        text for (text, _), one in zip(rows, asked, strict=True) if one.language == "en"
    }


@pytest.mark.parametrize(
    ("passages", "does"),
    [
        (["get_node Reads one node.", "alfresco get_node"], "Reads one node."),
        (["get_node Reads one node.", "get_node"], "Reads one node."),
        (["get_node"], ""),
    ],
)
def test_what_a_tool_does_is_read_off_its_passages(passages: list[str], does: str) -> None:
    assert description_of(passages) == does
