"""The parts of MCP sources: result texts, tool lists, breakers, groups, and a server that notifies of changes."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import mcp_types
import pytest

from tests.support.manual_time import ManualTime
from tests.support.mcp_servers import LISTENING
from tests.support.mcp_source import called, offering, running, scripted, until
from toolcrib import Catalog, Tool, ToolResult
from toolcrib.errors import MissingExtraError
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.results import result_of
from toolcrib.sources.mcp.source import McpSource
from toolcrib.sources.source import Breaker, SourceGroup, SourceState, SourceTools


@pytest.mark.process
async def test_a_server_of_the_newer_protocol_is_listened_to() -> None:
    catalog = Catalog()
    server = McpServer(name="telling", transport="stdio", command=sys.executable, arguments=(LISTENING,))
    time = ManualTime()  # so that nothing is found out by looking from time to time
    async with running(server, catalog, clock=time.clock, sleep=time.sleep) as source:
        assert source.state is SourceState.READY, source.problem + source.log
        await called(catalog, "telling__grow")
        await until(lambda: "telling__grown" in catalog)
        assert (await called(catalog, "telling__grown")).text == "new"


@pytest.mark.process
async def test_what_a_server_prints_between_its_answers_is_passed_over() -> None:
    catalog = Catalog()
    async with running(scripted(tools=offering("mumble", "echo")), catalog):
        assert (await called(catalog, "shop__mumble", text="well")).text == "well"


@pytest.mark.process
async def test_a_call_in_a_long_pause_fails_at_once_and_says_when_to_come_back() -> None:
    time = ManualTime()
    catalog = Catalog()
    limits = McpLimits(first_retry_seconds=30)
    source = McpSource(scripted(start="die"), catalog, limits=limits, clock=time.clock, sleep=time.sleep)
    source.preload(offering("echo"))
    assert (await called(catalog, "shop__echo")).text == "shop ended while it was starting."
    assert (await called(catalog, "shop__echo")).text == (
        "shop ended while it was starting. It is tried again in 30 seconds."
    )
    await source.stop()


@pytest.mark.process
async def test_a_server_that_was_well_for_long_is_started_again_soon() -> None:
    time = ManualTime()
    catalog = Catalog()
    limits = McpLimits(first_retry_seconds=4, longest_retry_seconds=60, longest_wait_seconds=10)
    async with running(
        scripted(tools=offering("die")), catalog, limits=limits, clock=time.clock, sleep=time.sleep
    ) as source:
        for well_for, pause in ((0, 4), (1, 8), (100, 4)):
            await until(lambda: source.state is SourceState.READY)
            time.advance(well_for)
            assert (await called(catalog, "shop__die")).failed
            await until(lambda pause=pause: time.sleeps_for(pause))
            time.advance(pause)


RESOURCE = {"uri": "file:///a.txt", "mimeType": "text/plain"}


@pytest.mark.parametrize(
    ("content", "more", "text"),
    [
        ([], {"structuredContent": {"a": 1}}, '{"a":1}'),
        ([], {"isError": True}, "tool failed and did not say why."),
        ([], {}, ""),
        ([{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}], {}, "[audio, audio/wav, 3 bytes]"),
        ([{"type": "resource_link", "uri": "file:///a", "name": "a"}], {}, "[resource file:///a: a]"),
        ([{"type": "resource", "resource": {**RESOURCE, "text": "hi"}}], {}, "[resource file:///a.txt]\nhi"),
        ([{"type": "resource", "resource": {**RESOURCE, "blob": "AA=="}}], {}, "[resource file:///a.txt, text/plain]"),
    ],
)
def test_every_kind_of_content_has_words(content: list[Any], more: Mapping[str, Any], text: str) -> None:
    answer = mcp_types.CallToolResult.model_validate({"content": content, **more})
    result = result_of("tool", answer)
    assert (result.text, result.value, result.failed) == (text, answer, more.get("isError", False))


async def nothing(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult(text="")


def test_a_source_changes_only_the_tools_it_added() -> None:
    catalog = Catalog([Tool(name="ours", description="", call=nothing)])
    source_tools = SourceTools(catalog)
    one, two = (Tool(name=name, description="", call=nothing) for name in ("one", "two"))
    assert source_tools.sync([one, two]) == []
    catalog.remove("one")  # somebody else
    assert source_tools.sync([two.with_metadata(description="new")]) == []
    assert [tool.name for tool in catalog] == ["ours", "two"]
    assert source_tools.sync([Tool(name="ours", description="", call=nothing)])[0].startswith("There are two tools")
    source_tools.clear()
    assert [tool.name for tool in catalog] == ["ours"]


def test_a_breaker_lets_one_try_when_a_pause_is_over() -> None:
    time = ManualTime()
    breaker = Breaker(failures_allowed=2, first_pause=10, longest_pause=15, clock=time.clock)
    breaker.failed()
    assert breaker.allows()
    breaker.failed()
    assert (breaker.allows(), breaker.pause()) == (False, 10)
    time.advance(10)
    assert [breaker.allows(), breaker.allows()] == [True, False]
    breaker.failed()
    assert breaker.pause() == 15
    time.advance(15)
    assert breaker.allows()
    breaker.succeeded()
    assert [breaker.allows(), breaker.allows()] == [True, True]


@pytest.mark.process
async def test_a_group_stops_all_also_when_one_fails_to() -> None:
    class Stuck(McpSource):
        async def stop(self) -> None:
            await super().stop()
            raise RuntimeError("stuck")

    catalog = Catalog()
    group = SourceGroup([Stuck(scripted("one"), catalog), McpSource(scripted("two"), catalog)])
    await group.refresh()
    assert len(catalog) == 4
    with pytest.raises(RuntimeError, match="stuck"):
        await group.stop()
    assert len(catalog) == 0


def test_without_the_mcp_packages_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "toolcrib.sources.mcp.source")
    with pytest.raises(MissingExtraError) as raised:
        import_module("toolcrib.sources.mcp.source")
    assert (str(raised.value), raised.value.hint) == (
        "A tool of an MCP server needs packages that are not installed.",
        "pip install 'toolcrib[gateway]'",
    )
