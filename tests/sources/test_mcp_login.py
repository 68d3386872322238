"""A login by OAuth, against a real server of FastMCP's that knows its users by it."""

import asyncio
import json
import socket
import stat
import threading
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
import uvicorn
from fastmcp import FastMCP

from tests.support.mcp_servers.login import SOON, Desk, agree, open_desk
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.main import main
from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp.config import McpLimits, read_mcp_server
from toolcrib.sources.mcp.login import LoginFile, SavedLogin, log_in, saved_login
from toolcrib.sources.mcp.source import McpSource
from toolcrib.sources.source import SourceState

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def desk() -> Generator[Desk]:
    with open_desk() as opened:
        yield opened


def source_of(desk: Desk, folder: Path, catalog: Catalog) -> McpSource:
    return McpSource(
        desk.server, catalog, auth=saved_login(desk.server, folder), limits=McpLimits(connect_seconds=SOON)
    )


@pytest.mark.anyio
async def test_a_source_uses_the_login_that_somebody_made(desk: Desk, tmp_path: Path) -> None:
    catalog = Catalog()
    source = source_of(desk, tmp_path, catalog)
    async with asyncio.timeout(SOON):
        await source.refresh()
        assert source.state is SourceState.NEEDS_LOGIN
        assert desk.users.clients == {}  # it does not make itself known unasked
        assert await log_in(desk.server, tmp_path, agree) == 1
        source = source_of(desk, tmp_path, catalog)
        await source.refresh()
        assert (source.state, [tool.name for tool in catalog]) == (SourceState.READY, ["desk__opening_hours"])
        assert (await catalog.get("desk__opening_hours").call({})).text == "open"
        await source.stop()


@pytest.mark.anyio
async def test_a_login_made_meanwhile_counts_at_the_next_try(desk: Desk, tmp_path: Path) -> None:
    now = 0.0
    source = McpSource(
        desk.server, Catalog(), auth=saved_login(desk.server, tmp_path), clock=lambda: now, limits=McpLimits()
    )
    async with asyncio.timeout(SOON):
        await source.refresh()
        assert source.state is SourceState.NEEDS_LOGIN
        await log_in(desk.server, tmp_path, agree)
        now = 1_000.0
        await source.refresh()
        assert source.state is SourceState.READY
        await source.stop()


@pytest.mark.anyio
async def test_a_token_that_is_over_is_renewed_and_kept(desk: Desk, tmp_path: Path) -> None:
    async with asyncio.timeout(SOON):
        await log_in(desk.server, tmp_path, agree)
        file = LoginFile(desk.server, tmp_path)
        held = json.loads(file.path.read_text())
        desk.end_tokens()
        file.path.write_text(json.dumps({**held, "expires_at": 1.0}))
        source = source_of(desk, tmp_path, Catalog())
        await source.refresh()
        assert source.state is SourceState.READY
        await source.stop()
    renewed = json.loads(file.path.read_text())
    assert renewed["tokens"]["access_token"] != held["tokens"]["access_token"]
    assert renewed["expires_at"] > 1_000_000.0


@pytest.mark.anyio
async def test_a_token_that_no_longer_counts_is_renewed_or_needs_a_new_login(desk: Desk, tmp_path: Path) -> None:
    async with asyncio.timeout(SOON):
        await log_in(desk.server, tmp_path, agree)
        source = source_of(desk, tmp_path, catalog := Catalog())
        await source.refresh()
        desk.end_tokens()
        assert (await catalog.get("desk__opening_hours").call({})).text == "open"  # renewed before its time was over
        desk.end_tokens()
        desk.users.refresh_tokens.clear()
        said = (await catalog.get("desk__opening_hours").call({})).text
        assert said.startswith("desk wants a login. Ask the user to run `toolcrib sources login desk`")
        assert source.state is SourceState.NEEDS_LOGIN
        assert len(desk.users.clients) == 1
        await source.stop()


@pytest.mark.anyio
async def test_a_login_is_for_its_owners_eyes(desk: Desk, tmp_path: Path) -> None:
    async with asyncio.timeout(SOON):
        await log_in(desk.server, tmp_path / "logins", agree)
    (file,) = (tmp_path / "logins").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "logins").stat().st_mode) == 0o700
    assert "127.0.0.1" not in file.name
    file.write_text("damaged")
    assert LoginFile(desk.server, tmp_path / "logins").expires_at is None
    file.write_text(json.dumps({"tokens": {"access_token": 1}}))
    assert await LoginFile(desk.server, tmp_path / "logins").get_tokens() is None


@pytest.mark.anyio
async def test_no_login_comes_of_a_user_who_refuses(desk: Desk, tmp_path: Path) -> None:
    async def refuse(address: str) -> None:
        asked = httpx2.URL(address).params
        async with httpx2.AsyncClient() as browser:
            assert (await browser.get(asked["redirect_uri"].replace("callback", "favicon.ico"))).status_code == 404
            await browser.get(asked["redirect_uri"], params={"error": "access_denied", "state": asked["state"]})

    with pytest.raises(SourceLoginError, match=r"desk: the login failed: access_denied\."):
        await asyncio.wait_for(log_in(desk.server, tmp_path, refuse), SOON)
    assert not LoginFile(desk.server, tmp_path).path.exists() or not await LoginFile(desk.server, tmp_path).get_tokens()


@pytest.mark.anyio
async def test_who_needs_no_login_says_so(tmp_path: Path) -> None:
    program = read_mcp_server("here", {"command": "x"})
    with pytest.raises(SourceError, match="here is a program on this machine"):
        await log_in(program, tmp_path, agree)
    keyed = read_mcp_server("keyed", {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer x"}})
    assert saved_login(program, tmp_path) is None
    assert saved_login(keyed, tmp_path) is None
    assert isinstance(saved_login(read_mcp_server("open", {"url": "http://127.0.0.1:1/mcp"}), tmp_path), SavedLogin)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_verbs_log_in_and_out(desk: Desk, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"desk": {"url": desk.url}}}))

    def browser(address: str) -> bool:
        assert "You can close this page" in httpx2.get(address, follow_redirects=True).text
        return True

    def refusing(address: str) -> bool:
        asked = httpx2.URL(address).params
        httpx2.get(asked["redirect_uri"], params={"error": "access_denied", "state": asked["state"]})
        return True

    monkeypatch.setattr("webbrowser.open", browser)
    assert main(["sources"]) == 3
    assert "needs a login" in capsys.readouterr().out
    assert main(["sources", "login", "desk"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "desk knows you now, and has 1 tool.\n"
    assert "Log in here: http://127.0.0.1:" in shown.err
    assert main(["sources"]) == 0
    assert "ready" in capsys.readouterr().out
    assert main(["sources", "logout", "desk"]) == 0
    assert main(["sources", "logout", "desk"]) == 2
    assert main(["sources"]) == 3
    monkeypatch.setattr("webbrowser.open", refusing)
    assert main(["sources", "login", "desk"]) == 3
    assert "error: desk: the login failed: access_denied." in capsys.readouterr().err
    assert main(["sources", "login", "dusk"]) == 1
    assert "Did you mean 'desk'?" in capsys.readouterr().err
    (held,) = (home / "data" / "toolcrib" / "logins").iterdir()
    assert "tokens" not in json.loads(held.read_text())  # nothing but our name there


@pytest.mark.process
def test_a_server_that_asks_for_no_login_is_left_as_it_is(home: Path, capsys: Captured) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    app = FastMCP("open").http_app()
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"open": {"url": url}}}))
    try:
        assert main(["sources", "login", "open", "--no-browser"]) == 1
        assert "open requires no login" in capsys.readouterr().err
    finally:
        server.should_exit = True
        thread.join(timeout=SOON)
        listening.close()
