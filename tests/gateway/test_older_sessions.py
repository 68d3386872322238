"""Found tools in the client's own list: in sessions of the older protocol, where the gateway is told to."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from mcp import MCPError
from mcp_types import ElicitResult

from tests.support.gateway import (
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
from toolcrib.gateway.server import Gateway
from toolcrib.policy.policy import Policy, Rule

pytestmark = [pytest.mark.anyio, pytest.mark.process]
SURFACE = ["search_tools", "get_tool", "call_tool"]
FIND = {"query": "say the text again"}


class News(MessageHandler):
    """Hears when the list changed."""

    def __init__(self) -> None:
        self.heard = 0
        self._more = asyncio.Event()

    async def on_tool_list_changed(self, message: mcp_types.ToolListChangedNotification) -> None:
        self.heard += 1
        self._more.set()

    async def next(self) -> None:
        await self._more.wait()
        self._more.clear()


async def names(client: Any) -> list[str]:
    listed = await client.list_tools()
    return [tool.name for tool in getattr(listed, "tools", listed)]


async def walk(make: Callable[..., Client[Any]]) -> None:
    """Find a tool, hear of it, see it, call it by its own name."""
    news = News()
    async with asyncio.timeout(SOON), make(message_handler=news) as client:
        assert client.server_capabilities is not None
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed is True
        assert await names(client) == SURFACE
        await client.call_tool_mcp("search_tools", FIND)
        await news.next()
        assert await names(client) == [*SURFACE, "s__echo"]
        told = await client.call_tool_mcp("s__echo", {"text": "by its own name"})
        assert text(told) == "by its own name"
        assert text(await call(client, "s__echo", {"text": "as ever"})) == "as ever"
        await client.call_tool_mcp("search_tools", FIND)
        assert await names(client) == [*SURFACE, "s__echo"]
        assert news.heard == 1


async def test_found_tools_are_listed_over_stdio(tmp_path: Path) -> None:
    config = str(write_config(tmp_path, s=entry()))
    await walk(partial(over_stdio, config, "--activate", mode="legacy"))


async def test_found_tools_are_listed_over_http() -> None:
    with serving(made_gateway({"s": entry()}, activate=True)) as url:
        await walk(partial(over_http, url, "legacy"))


async def test_each_session_has_its_own_list() -> None:
    with serving(made_gateway({"s": entry()}, activate=True)) as url:
        news = News()
        async with (
            asyncio.timeout(SOON),
            over_http(url, "legacy") as one,
            over_http(url, "legacy", message_handler=news) as other,
        ):
            await one.call_tool_mcp("search_tools", FIND)
            assert await names(one) == [*SURFACE, "s__echo"]
            assert await names(other) == SURFACE
            with pytest.raises(MCPError, match="There is no tool named 's__echo'"):
                await other.call_tool_mcp("s__echo", {"text": "hello"})
            assert news.heard == 0


@pytest.mark.parametrize(("era", "activate"), [("auto", True), ("legacy", False)])
async def test_elsewhere_the_list_never_changes(era: str, activate: bool) -> None:
    with serving(made_gateway({"s": entry()}, activate=activate)) as url:
        news = News()
        async with asyncio.timeout(SOON), over_http(url, era, message_handler=news) as client:
            capabilities = client.server_capabilities
            assert capabilities is not None
            assert capabilities.tools is not None
            assert not capabilities.tools.list_changed
            await client.call_tool_mcp("search_tools", FIND)
            assert await names(client) == SURFACE
            with pytest.raises(MCPError, match="There is no tool named 's__echo'"):
                await client.call_tool_mcp("s__echo", {"text": "hello"})
            assert news.heard == 0


def many(number: int) -> Gateway:
    """Tools that are told apart by their colour."""
    tools = [
        {"name": f"paint_{colour}", "description": f"Paint a wall {colour}.", "inputSchema": {"type": "object"}}
        for colour in ("red", "green", "blue", "yellow", "white")[:number]
    ]
    return made_gateway({"s": entry(tools=tools)}, activate=True)


async def test_the_order_is_that_of_finding() -> None:
    async with asyncio.timeout(SOON), in_memory(many(5), "legacy") as client:
        for colour in ("white", "red", "blue", "red"):
            await client.call_tool("get_tool", {"name": f"s__paint_{colour}"})
        await call(client, "s__paint_green")
        found = [f"s__paint_{colour}" for colour in ("white", "red", "blue", "green")]
        assert await names(client) == [*SURFACE, *found]


async def test_browsing_through_a_category_is_not_finding() -> None:
    gateway = made_gateway({"s": entry()}, activate=True, surface="browse")
    async with asyncio.timeout(SOON), in_memory(gateway, "legacy") as client:
        await gateway.sources.wait_until_settled()
        await client.call_tool("browse_category", {"category": "s"})
        assert len(await names(client)) == 5
        await client.call_tool("search_tools", FIND)
        assert (await names(client))[5:] == ["s__echo"]


async def test_a_tool_that_its_server_changes_or_drops_is_news() -> None:
    news = News()
    gateway = made_gateway(
        {"s": entry(call={"delete_all": "change"})}, activate=True, policy=Policy(rules=(Rule("allow"),))
    )
    with serving(gateway) as url:
        async with asyncio.timeout(SOON), over_http(url, "legacy", message_handler=news) as client:
            await client.call_tool_mcp("get_tool", {"name": "s__echo"})
            await news.next()
            await call(client, "s__delete_all")
            descriptions: list[str | None] = []
            while "Say the text again, louder." not in descriptions:
                await news.next()
                descriptions = [tool.description for tool in await client.list_tools()]
            while await names(client) != [*SURFACE, "s__echo"]:
                await news.next()


async def test_the_list_shows_how_risky_a_tool_is_and_the_user_is_asked() -> None:
    asked: list[str] = []

    async def user(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    gateway = made_gateway({"s": entry()}, activate=True)
    async with asyncio.timeout(SOON), in_memory(gateway, "legacy", elicitation_callback=user) as client:
        await client.call_tool("get_tool", {"name": "s__delete_all"})
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [*SURFACE, "s__delete_all"]
        hints = listed[3].annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint) == (False, True)
        assert text(await client.call_tool("s__delete_all", {"text": "gone"})) == "gone"
    assert len(asked) == 1


async def test_where_nobody_can_be_asked_a_risky_tool_stays_behind_call_tool() -> None:
    gateway = made_gateway({"s": entry()}, activate=True)
    async with asyncio.timeout(SOON), in_memory(gateway, "legacy") as client:
        await client.call_tool("get_tool", {"name": "s__delete_all"})
        assert await names(client) == SURFACE
        assert "requires_confirmation" in text(await call(client, "s__delete_all", {"text": "x"}))


async def test_a_list_that_is_too_long_loses_what_was_not_used_for_longest() -> None:
    words = " ".join(f"word{number}" for number in range(200))  # each once: who repeats themselves is cut short
    tools = [{"name": f"tool{number}", "description": words, "inputSchema": {"type": "object"}} for number in range(60)]
    gateway = made_gateway({"s": entry(tools=tools)}, activate=True)
    async with asyncio.timeout(SOON), in_memory(gateway, "legacy") as client:
        for number in range(60):
            await client.call_tool("get_tool", {"name": f"s__tool{number}"})
        listed = (await names(client))[3:]
    assert listed[-1] == "s__tool59"
    assert listed == [f"s__tool{number}" for number in range(60 - len(listed), 60)]
    assert 1 < len(listed) < 60
