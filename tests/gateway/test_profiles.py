"""Several faces of one gateway."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support import PATIENCE
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
from toolcrib.cli.main import main
from toolcrib.errors import GatewayError
from toolcrib.gateway.profiles import Profile
from toolcrib.gateway.setup import Setup, read_setup

pytestmark = pytest.mark.anyio
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
FILE = """
profiles:
  design:
    servers: [figma, files]
    without: ["files__write"]
    surface: browse
    rules:
      - {policy: deny, name: "figma__publish", reason: "only engineers publish"}
  code: {tools: ["files__*"], callers: [bob]}
"""


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"{name} it.", "inputSchema": OBJECT}


def servers() -> dict[str, dict[str, Any]]:
    return {
        "figma": entry(tools=[tool("draw"), tool("publish")]),
        "files": entry(tools=[tool("read"), tool("write")], resources=[{"uri": "file:///a", "name": "a"}]),
        "bank": entry(tools=[tool("balance")], resources=[{"uri": "file:///money", "name": "money"}]),
    }


def setup(folder: Path, content: str = FILE) -> Setup:
    path = folder / "gateway.yaml"
    path.write_text(content)
    return read_setup(path)


async def seen(client: Any) -> list[str]:
    """Which tools a client may call."""
    names = ("figma__draw", "figma__publish", "files__read", "files__write", "bank__balance")
    return [name for name in names if not (await client.call_tool_mcp("get_tool", {"name": name})).is_error]


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_each_address_has_the_servers_tools_and_surface_of_its_profile(era: str, tmp_path: Path) -> None:
    gateway = made_gateway(servers(), profiles=setup(tmp_path).profiles)
    with serving(gateway, tokens={"a-token-for-ann": "ann", "a-token-for-bob": "bob"}) as url:
        async with asyncio.timeout(SOON), over_http(url, era, "a-token-for-ann") as client:
            assert len(await seen(client)) == 5  # whoever chooses none has all
            assert len(await client.list_tools()) == 3
        async with asyncio.timeout(SOON), over_http(f"{url}/design", era, "a-token-for-ann") as client:
            assert await seen(client) == ["figma__draw", "files__read"]
            assert "execute_tool" in [one.name for one in await client.list_tools()]
            assert [str(one.uri) for one in await client.list_resources()] == ["file:///a"]
            run = await client.call_tool_mcp("execute_tool", {"name": "figma__publish", "args": {}})
            assert "only engineers publish" in text(run)
        async with asyncio.timeout(SOON), over_http(f"{url}/code", era, "a-token-for-bob") as client:
            assert await seen(client) == ["files__read", "files__write"]


@pytest.mark.process
async def test_a_profile_that_is_for_others_or_does_not_exist_is_refused(tmp_path: Path) -> None:
    gateway = made_gateway(servers(), profiles=setup(tmp_path).profiles)
    with serving(gateway, tokens={"a-token-for-ann": "ann"}) as url:
        async with httpx2.AsyncClient(timeout=PATIENCE, headers={"Authorization": "Bearer a-token-for-ann"}) as web:
            refused = await web.post(f"{url}/code", json={})
            assert (refused.status_code, refused.json()) == (
                403,
                {"error": "This token is for other profiles of the gateway."},
            )
            missing = await web.post(f"{url}/desing", json={})
            assert (missing.status_code, missing.json()) == (404, {"error": "There is no profile 'desing'."})
        assert httpx2.post(f"{url}/code", json={}).status_code == 401  # strangers learn of no profile
        assert httpx2.post(f"{url}/desing", json={}).status_code == 401


@pytest.mark.process
async def test_a_session_cannot_change_to_another_profile(tmp_path: Path) -> None:
    gateway = made_gateway(servers(), profiles=setup(tmp_path).profiles)
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    headers = {"Authorization": "Bearer a-token-for-ann", "Accept": "application/json, text/event-stream"}
    with serving(gateway, tokens={"a-token-for-ann": "ann"}) as url:
        async with httpx2.AsyncClient(timeout=PATIENCE, headers=headers) as web:
            session = (await web.post(f"{url}/design", json=begin)).headers["mcp-session-id"]
            asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            own = await web.post(f"{url}/design", json=asked, headers={"mcp-session-id": session})
            other = await web.post(url, json=asked, headers={"mcp-session-id": session})
    assert (own.status_code, other.status_code) == (200, 404)


@pytest.mark.process
async def test_a_program_serves_the_profile_that_it_is_started_with(tmp_path: Path) -> None:
    (tmp_path / "gateway.yaml").write_text(FILE)
    config = str(write_config(tmp_path, **servers()))
    options = [config, "--setup", str(tmp_path / "gateway.yaml"), "--profile", "code"]
    async with asyncio.timeout(SOON), over_stdio(*options) as client:
        assert "- files__read(" in text(await client.call_tool_mcp("search_tools", {"query": "read it"}))
        assert "no tool named" in text(await call(client, "bank__balance")).casefold()


@pytest.mark.process
async def test_default_is_for_those_who_choose_none() -> None:
    gateway = made_gateway(servers(), profiles={"default": Profile(servers=("bank",))})
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        assert not (await client.call_tool("get_tool", {"name": "bank__balance"})).is_error
        assert (await client.call_tool("get_tool", {"name": "files__read"})).is_error


def test_a_profile_that_names_no_server_is_a_mistake_with_its_place(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(GatewayError) as raised:
        made_gateway(servers(), profiles=setup(tmp_path, "profiles:\n  design: {servers: [fgma]}\n").profiles)
    assert str(raised.value).endswith(
        "gateway.yaml:2:22: profiles.design.servers.0: no server is named 'fgma'. Did you mean 'figma'?"
    )
    assert raised.value.hint == "There are: figma, files, bank."
    with pytest.raises(GatewayError, match="There is no profile named 'desing'") as raised:
        made_gateway(servers(), profiles=setup(tmp_path).profiles, profile="desing")
    assert raised.value.hint == "Did you mean 'design'?"
    (tmp_path / "gateway.yaml").write_text(
        "profiles: {'a/b': {}, c: {servers: []}, d: {surfac: browse}}\nprofile: {}\n"
    )
    config = str(write_config(tmp_path, **servers()))
    assert main(["gateway", config, "--setup", str(tmp_path / "gateway.yaml"), "--dry-run"]) == 1
    said = capfd.readouterr().err
    for mistake in ("profiles.a/b", "profiles.c.servers", "profiles.d.surfac", "profile:"):
        assert mistake in said


@pytest.mark.process
def test_a_pattern_that_fits_no_tool_is_a_mistake(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gateway.yaml").write_text("profiles:\n  design: {tools: ['figma__draww']}\n")
    config = str(write_config(tmp_path, **servers()))
    assert main(["gateway", config, "--setup", str(tmp_path / "gateway.yaml"), "--dry-run"]) == 1
    assert "profiles.design.tools.0: fits no tool. Did you mean 'figma__draw'?" in capfd.readouterr().err


def test_the_entry_of_a_client_names_its_profile(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = str(write_config(tmp_path, **servers()))
    asked = ["gateway", "install", "cursor", config, "--setup", str(tmp_path / "gateway.yaml"), "--profile", "design"]
    assert main(asked) == 0
    written = json.loads(capfd.readouterr().out)["mcpServers"]["toolcrib"]["args"]
    assert written[-4:] == ["--setup", str(tmp_path / "gateway.yaml"), "--profile", "design"]
