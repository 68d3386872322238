"""A search is answered from memory while the servers still start, and says so."""

import asyncio
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.support.gateway import SOON, call, entry, in_memory, made_gateway, text
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.gateway.server import ToolCache

pytestmark = [pytest.mark.anyio, pytest.mark.process]
SEARCH = {"query": "say the text again"}


async def seen_once(folder: Path, server: dict[str, object]) -> None:
    gateway = made_gateway({"s": server}, tool_cache=ToolCache(folder))
    async with asyncio.timeout(SOON), gateway.running():
        await gateway.sources.wait_until_settled()
        await asyncio.gather(*gateway.saving)


def hanging_at_start(marker: Path) -> dict[str, object]:
    """A server that starts the first time, and never again."""
    program = (
        "import pathlib, runpy, sys; marker = pathlib.Path(sys.argv.pop(1)); there = marker.exists(); marker.touch(); "
        "sys.argv.pop(0); (sys.stdin.read() if there else runpy.run_path(sys.argv[0], run_name='__main__'))"
    )
    usual = entry()
    flag, *rest = usual["args"]
    return {"command": usual["command"], "args": [flag, "-c", program, str(marker), *rest]}


async def test_a_search_is_answered_before_the_server_is_up(tmp_path: Path) -> None:
    server = hanging_at_start(tmp_path / "marker")
    await seen_once(tmp_path / "memory", server)
    gateway = made_gateway({"s": server}, tool_cache=ToolCache(tmp_path / "memory"))
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        found = text(await client.call_tool("search_tools", SEARCH))
    assert found == snapshot("""\
Found:
- s__echo(text?: str) [moderate]: Say the text again.
From the cache, because the server is not ready: mcp:s (still starting).
Next: call_tool(name, arguments), or get_tool(name) for all details.\
""")


async def test_what_is_remembered_is_held_to_the_lock(tmp_path: Path) -> None:
    server, lock = entry(), tmp_path / "lock"
    await seen_once(tmp_path / "memory", server)
    gateway = made_gateway({"s": server}, lock=lock, tool_cache=ToolCache(tmp_path / "memory"))
    assert gateway.quarantine.first_list_pending("mcp:s")
    async with asyncio.timeout(SOON), gateway.running():
        assert {tool.source for tool in gateway.quarantine.catalog} == {"toolcrib"}  # a memory is no first list
        await gateway.sources.wait_until_settled()
        assert len(gateway.quarantine.catalog) == 4
    again = made_gateway({"s": server}, lock=lock, tool_cache=ToolCache(tmp_path / "memory"))
    async with asyncio.timeout(SOON), again.running():
        assert len(again.quarantine.catalog) == 4


async def test_a_broken_memory_is_none(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    await seen_once(memory, entry())
    for file in memory.iterdir():
        file.write_text("{")
    gateway = made_gateway({"s": entry()}, tool_cache=ToolCache(memory))
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        assert text(await call(client, "s__echo", {"text": "x"})) == "x"
    (tmp_path / "file").touch()
    await seen_once(tmp_path / "file" / "memory", entry())  # cannot be written, and that is no matter


async def test_the_first_search_waits_a_moment_and_no_longer(tmp_path: Path) -> None:
    servers = {"s": entry(), "slow": entry(start="hang")}
    gateway = made_gateway(servers, limits=GatewayLimits(startup_wait_seconds=1))
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        await gateway.sources.sources[0].wait_until_settled()
        first = text(await client.call_tool("search_tools", {"query": "paint a picture of the moon"}))
        assert "Not searched: mcp:slow (still starting)." in first
        assert text(await client.call_tool("search_tools", SEARCH)).splitlines()[1].startswith("- s__echo(")
