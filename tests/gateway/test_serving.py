"""The gateway through the door: official clients of both protocols, over stdio and HTTP, before real processes."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from mcp import MCPError
from mcp_types import CallToolResult, ImageContent, TextContent

from tests.support.gateway import (
    ERAS,
    SOON,
    call,
    entry,
    in_memory,
    made_gateway,
    over_http,
    over_stdio,
    serving,
    text,
    write_config,
)
from toolcrib.discovery.tokens import definitions_tokens
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

pytestmark = pytest.mark.anyio
SURFACE = ["search_tools", "get_tool", "call_tool"]


async def walk(client: Any) -> None:
    """What every client does: list, search, look, call."""
    async with asyncio.timeout(SOON), client:
        assert [tool.name for tool in await client.list_tools()] == SURFACE
        found = await client.call_tool_mcp("search_tools", {"query": "say the text again"})
        assert text(found).splitlines()[1].startswith("- scripted__echo(")
        assert "Say the text again." in text(await client.call_tool_mcp("get_tool", {"name": "scripted__echo"}))
        assert text(await call(client, "scripted__echo", {"text": "hello"})) == "hello"
        assert [tool.name for tool in await client.list_tools()] == SURFACE


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_finds_and_calls_a_tool_over_stdio(era: str, tmp_path: Path) -> None:
    await walk(over_stdio(str(write_config(tmp_path, scripted=entry())), mode=era))


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_finds_and_calls_a_tool_over_http(era: str) -> None:
    with serving(made_gateway({"scripted": entry()})) as url:
        await walk(over_http(url, era))


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_results_pass_through_untouched(era: str) -> None:
    told = {"call": {"picture": "picture", "fail": "fail"}, "tools": [tool(name) for name in ("picture", "fail")]}
    async with asyncio.timeout(SOON), in_memory(made_gateway({"s": entry(**told)}), era) as client:
        shown = await call(client, "s__picture")
        assert shown.content == [
            TextContent(type="text", text="a dot"),
            ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png"),
        ]
        assert (shown.structured_content, shown.is_error) == ({"width": 1}, False)
        failed = await call(client, "s__fail")
        assert (text(failed), failed.is_error) == ("the disk is full", True)


async def test_what_is_no_object_is_wrapped_for_the_older_protocol_only() -> None:
    answer = CallToolResult(content=[], structured_content=[1, 2])

    async def give(arguments: object, context: object = None, /) -> ToolResult:
        return ToolResult(text="", value=answer)

    for era, structured in (("legacy", {"result": [1, 2]}), ("auto", [1, 2])):
        gateway = made_gateway({})
        gateway.quarantine.catalog.add(Tool(name="give", description="Give a list.", call=give))
        async with asyncio.timeout(SOON), in_memory(gateway, era) as client:
            assert (await call(client, "give")).structured_content == structured


@pytest.mark.process
async def test_the_surface_browse_has_five_tools() -> None:
    gateway = made_gateway({"scripted": entry()}, surface="browse")
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["list_categories", "browse_category", "search_tools", "get_tool", "execute_tool"]
        told = await client.call_tool("execute_tool", {"name": "scripted__echo", "params": {"text": "hi"}})
        assert text(told) == "hi"


@pytest.mark.process
async def test_wrong_calls_are_told_apart() -> None:
    async with asyncio.timeout(SOON), in_memory(made_gateway({"scripted": entry()})) as client:
        unknown = await call(client, "scripted__ecco", {"text": "x"})
        assert unknown.is_error
        assert text(unknown) == "There is no tool named 'scripted__ecco'. Did you mean 'scripted__echo'?"
        misfit = await call(client, "scripted__echo", {"text": {"a": 1}})
        assert misfit.is_error
        assert "text" in text(misfit)
        assert (await call(client, "search_tools")).is_error
        assert (await call(client, "")).is_error
        assert (await client.call_tool("search_tools", {"query": " "})).is_error
        with pytest.raises(MCPError, match="There is no tool named 'scripted__echo'"):
            await client.call_tool("scripted__echo", {"text": "not by its own name"})


@pytest.mark.process
async def test_progress_of_the_upstream_reaches_the_client() -> None:
    told = {"call": {"echo": "progress"}}
    for era in ERAS:
        heard: list[tuple[float, float | None, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None, heard: list[Any] = heard) -> None:
            heard.append((progress, total, message))

        with serving(made_gateway({"scripted": entry(**told)})) as url:
            async with asyncio.timeout(SOON), over_http(url, era, progress_handler=hear) as client:
                assert text(await call(client, "scripted__echo")) == "done"
        assert heard == [(1, 2, "step 1"), (2, 2, "step 2")]


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_the_client_cancels_is_cancelled(era: str) -> None:
    began, ended = threading.Event(), threading.Event()

    async def hang(arguments: object, context: object = None, /) -> ToolResult:
        began.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    gateway = made_gateway({})
    gateway.quarantine.catalog.add(Tool(name="hang", description="Never come back.", call=hang))
    with serving(gateway) as url:
        async with asyncio.timeout(SOON), over_http(url, era) as client:
            calling = asyncio.create_task(call(client, "hang"))
            assert await asyncio.to_thread(began.wait, SOON)
            calling.cancel()
            assert await asyncio.to_thread(ended.wait, SOON)


@pytest.mark.process
async def test_the_surface_costs_the_same_whatever_is_behind_it() -> None:
    gateway = made_gateway({"scripted": entry()})
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        shown = await client.list_tools()
    said = "\n".join(f"{tool.name}: {tool.description}" for tool in shown.tools)
    assert (said, definitions_tokens(gateway.toolbox().surface)) == snapshot(
        (
            """\
search_tools: Find tools by what they do, in any language. Always search before you say that something cannot be done.
get_tool: Get all arguments and usage notes of a tool, where the line that search_tools shows does not say enough.
call_tool: Run a tool by name with its arguments, as search_tools or get_tool showed them.\
""",
            239,
        )
    )
    assert [tool.annotations.destructive_hint for tool in shown.tools if tool.annotations] == [False, False, True]


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"Do {name}.", "inputSchema": {"type": "object"}}
