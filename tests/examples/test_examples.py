"""The examples to copy are whole programs that work. What their commands print is tested with the pages."""

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from tests.support import PATIENCE, ROOT

EXAMPLES = ROOT / "examples"


async def test_the_shop_cancels_only_after_a_yes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODEL", raising=False)
    talk = runpy.run_path(str(EXAMPLES / "shop" / "agent.py"))["talk"]
    await talk(["Cancel order 8", "no", "Which orders are there?"])
    assert "- 8: paid" in capsys.readouterr().out
    await talk(["Cancel order 8", "yes", "Which orders are there?"])
    assert "- 8: cancelled" in capsys.readouterr().out


@pytest.mark.process
async def test_the_gateway_finds_calls_and_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    files = [str(EXAMPLES / "gateway" / "servers.json"), "--policy", str(EXAMPLES / "gateway" / "policy.yaml")]
    here = Path(sys.executable).parent  # of `toolcrib`, and of the Python that starts the servers
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    command = ["gateway", *files, "--lock", "off"]
    transport = StdioTransport(str(here / "toolcrib"), command, env=environment, cwd=str(EXAMPLES / "gateway"))

    async def call(client: Client[Any], name: str) -> str:
        arguments = {"name": name, "arguments": {"name": "May"}}
        answer = await client.call_tool("call_tool", arguments, raise_on_error=False)
        return str(getattr(answer.content[0], "text", ""))

    async with Client(transport, timeout=PATIENCE) as client:
        assert [tool.name for tool in await client.list_tools()] == ["search_tools", "get_tool", "call_tool"]
        assert await call(client, "files__rename_folder") == "rename folder May: done"
        assert "contracts are kept for ten years" in await call(client, "sales__delete_contract")
