"""The agent's token benchmark: what it counts, what it calls kept, and that the bounds hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import agent_tokens, handing_over
from benchmarks.agent_talks import LONG, TALKS
from benchmarks.handing_over import REQUESTS
from benchmarks.request_parts import PARTS, kept_prefix, overhead
from benchmarks.wire.server import Wire
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.native import WIRES
from toolcrib.discovery.protocols import Delivery
from toolcrib.discovery.tokens import count_tokens
from toolcrib_cms import build

NOTES = "<active-protocols>\n## get\nGOTCHA: careful\n</active-protocols>"
TOOL: dict[str, Any] = {"name": "find", "input_schema": {}}


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"tools": [TOOL], "messages": list(messages)}


def called(name: str, id: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": name, "arguments": "{}"}}]}


def test_every_text_of_a_chat_request_is_counted_as_what_it_is() -> None:
    body = chat(
        {"role": "system", "content": f"Be good, see <active-protocols>.\n{NOTES}"},
        {"role": "user", "content": "Hello"},
        called("find", "1"),
        {"role": "tool", "tool_call_id": "1", "content": "Ready to call: get"},
        {"role": "system", "content": "News"},
        {"role": "user", "content": "<system>More news</system>"},
        called("get", "2"),
        {"role": "tool", "tool_call_id": "2", "content": "a lot of data " * 50},
        {"role": "assistant", "content": "Many words " * 50},
    )
    parts = overhead("openai-chat", body, {"find"})
    assert tuple(parts) == PARTS
    assert parts["prompt"] == count_tokens("Be good, see <active-protocols>.\n") + 4
    assert parts["protocols"] == count_tokens(NOTES)
    assert parts["discovery"] == count_tokens("find {}") + count_tokens("Ready to call: get") + 8
    assert parts["calls"] == count_tokens("get {}") + 4
    assert parts["notices"] == count_tokens("News") + count_tokens("<system>More news</system>") + 8
    assert parts["memory"] == 0


def test_a_prefix_is_kept_up_to_the_first_change() -> None:
    one, two = {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}
    same, whole = kept_prefix("openai-chat", chat(one), chat(one, two))
    assert same == whole
    same, whole = kept_prefix("openai-chat", chat(one), {**chat(one, two), "tools": [{**TOOL, "name": "find_all"}]})
    assert same < whole / 2
    held_back = {**chat(one, two), "tools": [TOOL, {"name": "get", "defer_loading": True}]}
    assert kept_prefix("anthropic", chat(one), held_back)[0] == kept_prefix("anthropic", chat(one), chat(one, two))[0]


@pytest.mark.process
@pytest.mark.parametrize("wire", WIRES)
async def test_the_bounds_hold(wire: Wire) -> None:
    cms = build(":memory:")
    for talk in [TALKS[0], TALKS[2], TALKS[12]]:
        held = await agent_tokens.hold(cms, [talk], wire, Mode.DISCOVERY, Delivery.AUTO)
        assert held.most <= agent_tokens.MOST[talk.kind]
    if wire != "openai-chat":  # it has no place for new tools but the beginning
        long = await agent_tokens.hold(cms, LONG, wire, Mode.DISCOVERY, Delivery.APPEND)
        assert all(same == whole for same, whole in long.kept)
    cms.close()


@pytest.mark.process
def test_the_page_and_the_numbers_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(agent_tokens, "TALKS", [TALKS[0], TALKS[2], TALKS[12]])
    monkeypatch.setattr(agent_tokens, "LONG", LONG[:2])
    monkeypatch.setattr(agent_tokens, "WIRES", ("openai-responses",))
    some = tmp_path / "some.jsonl"
    some.write_text("".join(REQUESTS.read_text("utf-8").splitlines(keepends=True)[::20]), encoding="utf-8")
    monkeypatch.setattr(handing_over, "REQUESTS", some)
    monkeypatch.setenv("TOOLCRIB_BENCH_DATA", str(tmp_path))  # without the public sets
    monkeypatch.setattr("sys.argv", ["agent_tokens.py", "--out", str(tmp_path / "page")])
    assert agent_tokens.main() == 0
    assert (tmp_path / "page.md").read_text("utf-8").startswith("# What tools cost an agent\n")
    assert all(one["kept"] for one in json.loads((tmp_path / "page.json").read_text("utf-8"))["promises"])


async def test_requests_for_several_things_are_served_on_the_other_catalogs_that_the_checkout_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOOLCRIB_BENCH_DATA", str(tmp_path))
    asked = await handing_over.complete_elsewhere()
    assert {one.catalog for one in asked} == {"office", "modules"}
    assert sum(one.served for one in asked) >= 0.9 * len(asked)
    assert handing_over.served(asked, "catalog")[0] == ["office", "modules", "all"]


def test_a_public_set_gives_the_tools_that_the_requests_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLCRIB_BENCH_DATA", str(tmp_path))
    (tmp_path / "restbench").mkdir()
    rows = [{"name": name, "category": category} for name, category in (("PUT /pause", "spotify"), ("GET /tv", "tmdb"))]
    lines = [json.dumps({"id": f"{row['category']}:{row['name']}", "description": "Do it.", **row}) for row in rows]
    (tmp_path / "restbench/tools.jsonl").write_text("\n".join(lines))
    (tmp_path / "restbench/queries.jsonl").write_text("")
    found = handing_over.other_catalog("spotify", tmp_path)
    assert found is not None
    catalog, names = found
    assert [tool.name for tool in catalog] == [names["PUT /pause"]] == ["PUT_pause"]
