"""MCP servers of an app that want a login: somebody logs in once, and the app uses it."""

import asyncio
import json
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from tests.support.apps import WriteApp
from tests.support.mcp_servers.login import SOON, Desk, open_desk
from toolcrib.apps.build import load_app
from toolcrib.apps.mcp_servers import servers_of_app
from toolcrib.cli.main import main
from toolcrib.sources.source import SourceState


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Desk]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("DESK_HOST", "127.0.0.1")

    def agreeing(address: str) -> bool:
        return "You can close this page" in httpx2.get(address, follow_redirects=True).text

    monkeypatch.setattr("webbrowser.open", agreeing)
    with open_desk() as opened:
        yield opened


async def found(path: Path) -> tuple[list[SourceState], list[str]]:
    """How the sources of an app are, and which tools it has."""
    async with asyncio.timeout(SOON), load_app(path) as app:
        return [source.state for source in app.sources.sources], [tool.name for tool in app.catalog]


def test_an_app_uses_the_login_that_somebody_made(
    desk: Desk, write: WriteApp, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(f"""\
        app: {{app_id: bot}}
        agents: [{{id: main}}]
        tools:
          mcp_servers:
            desk: {{url: "{desk.url.replace("127.0.0.1", "{{env.DESK_HOST}}")}"}}
        """)
    assert asyncio.run(found(path)) == ([SourceState.NEEDS_LOGIN], [])
    assert main(["sources", str(path)]) == 3
    assert main(["sources", "login", "desk", str(path)]) == 0
    assert asyncio.run(found(path)) == ([SourceState.READY], ["desk__opening_hours"])
    assert main(["sources", str(path)]) == 0
    assert main(["sources", "logout", "desk", str(path)]) == 0
    assert asyncio.run(found(path)) == ([SourceState.NEEDS_LOGIN], [])
    assert "desk knows you now, and has 1 tool." in capsys.readouterr().out


def test_the_servers_of_an_app_are_those_of_its_agents_and_files_too(write: WriteApp) -> None:
    path = write(
        """\
        app: {app_id: bot}
        tools: {mcp_files: .mcp.json, mcp_servers: {b: {url: "https://b.example/mcp"}}}
        agents:
          - {id: main}
          - {id: other, tools: {mcp_servers: {c: {url: "https://c.example/mcp"}}}}
        """,
        **{".mcp__json": json.dumps({"mcpServers": {"a": {"url": "https://a.example/mcp"}}})},
    )
    assert [server.name for server in servers_of_app(path)] == ["a", "b", "c"]


def test_a_server_that_no_app_names_is_said(write: WriteApp, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("""\
        app: {app_id: bot}
        agents: [{id: main}]
        tools: {mcp_servers: {desk: {url: "https://desk.example/mcp"}}}
        """)
    assert main(["sources", "login", "dusk", str(path)]) == 1
    assert "Did you mean 'desk'?" in capsys.readouterr().err
    path.write_text("app: {app_id: bot}\nagents: [{id: main}]\n")
    assert main(["sources", str(path)]) == 1
    assert f"error: {path}: there are no MCP servers in it." in capsys.readouterr().err
    path.write_text("tools: [")
    assert main(["sources", "login", "desk", str(path)]) == 1
    assert f"error: {path}:" in capsys.readouterr().err
