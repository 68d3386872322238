"""Servers that people use, behind one gateway. They are no dependency of ours: those not installed are passed over."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gateway_scene import call, in_memory, made_gateway, text

from toolcrib.sources.mcp_limits import McpLimits

HERE = Path(sys.executable).parent
OLD = ("mcp-server-sqlite",)  # its last release ends at once where mcp 2 is installed beside it


def program(name: str) -> str | None:
    """Where a server's program is: beside our Python, or on the path."""
    return shutil.which(name, path=str(HERE)) or shutil.which(name)


def installed(folder: Path) -> Mapping[str, tuple[dict[str, Any], str, dict[str, Any]]]:
    """Each server that is here: its entry, a tool that does no harm, and arguments for it."""
    known: dict[str, tuple[list[str], str, dict[str, Any]]] = {
        "mcp-server-time": ([], "get_current_time", {"timezone": "UTC"}),
        "mcp-server-git": (["--repository", str(folder)], "git_status", {"repo_path": str(folder)}),
        "mcp-server-sqlite": (["--db-path", str(folder / "data.db")], "list_tables", {}),
        "mcp-server-fetch": ([], "", {}),  # only listed: it would go out to the web
        "mcp-server-filesystem": ([str(folder)], "list_directory", {"path": str(folder)}),
        "mcp-server-memory": ([], "read_graph", {}),
        "mcp-server-everything": ([], "echo", {"message": "hello"}),
        "mcp-server-sequential-thinking": ([], "", {}),
    }
    return {
        name: ({"command": path, "args": arguments}, tool, asked)
        for name, (arguments, tool, asked) in known.items()
        if (path := program(name))
    }


@pytest.mark.anyio
async def test_real_servers_work_behind_one_gateway(tmp_path: Path) -> None:
    servers = installed(tmp_path)
    if not servers:
        pytest.skip(
            "no real MCP server is installed; try: pip install mcp-server-time mcp-server-git mcp-server-sqlite"
        )
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)  # noqa: ASYNC221  # some milliseconds
    gateway = made_gateway(
        {name: entry for name, (entry, _, _) in servers.items()}, limits=McpLimits(connect_seconds=60, list_seconds=60)
    )
    async with asyncio.timeout(120), in_memory(gateway) as client:
        await gateway.sources.settled()
        problems = {source.name.removeprefix("mcp:"): source.problem for source in gateway.sources.sources}
        assert {name: why for name, why in problems.items() if why and name not in OLD} == {}
        for name, (_, tool, arguments) in servers.items():
            if tool and not problems[name]:
                told = await call(client, f"{name}__{tool}", arguments)
                assert not told.is_error, text(told)
