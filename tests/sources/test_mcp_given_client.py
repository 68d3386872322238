"""A login to a server that registers no programs by itself: with a client that somebody registered there by hand."""

import asyncio
import json
import logging
import random
import socket
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from mcp.shared.auth import OAuthMetadata

from tests.support.mcp_servers.login import SOON, Desk, agree, open_desk
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.main import main
from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp.login import LoginFile, RegisteredClient, log_in, saved_login
from toolcrib.sources.mcp.source import McpSource
from toolcrib.sources.source import SourceState

SECRET = "a-secret-of-ours/with+signs"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def desk() -> Generator[Desk]:
    with open_desk(registers=False) as opened:
        yield opened


@pytest.mark.anyio
async def test_without_a_client_the_way_out_is_said(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(SourceLoginError, match="desk: the login failed: Registration failed: 404") as raised:
        await asyncio.wait_for(log_in(desk.server, tmp_path, agree), SOON)
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("The server has no dynamic client registration. Register a client")


@pytest.mark.anyio
@pytest.mark.parametrize(("secret", "way"), [(SECRET, "client_secret_post"), (None, "none")])
async def test_a_login_is_made_and_renewed_as_the_client_given(
    desk: Desk, tmp_path: Path, secret: str | None, way: str
) -> None:
    desk.know("ours", secret, way)
    async with asyncio.timeout(SOON):
        assert await log_in(desk.server, tmp_path, agree, client=RegisteredClient(id="ours", secret=secret)) == 1
        file = LoginFile(desk.server, tmp_path)
        held = json.loads(file.path.read_text())
        desk.end_tokens()
        file.path.write_text(json.dumps({**held, "expires_at": 1.0}))
        source = McpSource(desk.server, Catalog(), auth=saved_login(desk.server, tmp_path))
        await source.refresh()
        assert source.state is SourceState.READY
        await source.stop()
        assert await log_in(desk.server, tmp_path, agree) == 1  # the client is kept for the next login
    assert set(desk.users.clients) == {"ours"}


@pytest.mark.anyio
async def test_the_address_has_the_port_that_was_registered(desk: Desk, tmp_path: Path) -> None:
    # Below those that the system gives away by itself, so that nobody takes it in between.
    with socket.socket() as one:
        port = next(port for port in random.sample(range(20_000, 30_000), 1_000) if one.connect_ex(("127.0.0.1", port)))
    desk.know("ours", SECRET, "client_secret_post", port=port)
    client = RegisteredClient(id="ours", secret=SECRET, port=port)
    async with asyncio.timeout(SOON):
        assert await log_in(desk.server, tmp_path, agree, client=client) == 1
        assert await LoginFile(desk.server, tmp_path).registered_client() == client
        assert await log_in(desk.server, tmp_path, agree) == 1
        with socket.create_server(("127.0.0.1", 0)) as taken:
            other = RegisteredClient(id="ours", port=taken.getsockname()[1])
            with pytest.raises(SourceError, match="cannot receive the login"):
                await log_in(desk.server, tmp_path, agree, client=other)
    assert SECRET not in repr(client)


def test_the_secret_goes_the_way_that_the_server_understands() -> None:
    def way(client: RegisteredClient, *ways: str) -> str | None:
        metadata = OAuthMetadata.model_validate(
            {
                "issuer": "https://desk.example",
                "authorization_endpoint": "https://desk.example/authorize",
                "token_endpoint": "https://desk.example/token",
                "token_endpoint_auth_methods_supported": list(ways) or None,
            }
        )
        return client.to_client_information(metadata).token_endpoint_auth_method

    known = RegisteredClient(id="ours", secret=SECRET)
    assert way(known, "client_secret_basic", "client_secret_post") == "client_secret_post"
    assert way(known, "client_secret_basic") == "client_secret_basic"
    assert way(known) == "client_secret_basic"
    assert way(RegisteredClient(id="ours"), "client_secret_post") == "none"


def test_the_verb_takes_the_secret_from_a_variable_and_never_shows_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"desk": {"url": desk.url}}}))
    desk.know("ours", SECRET, "client_secret_post")

    def browse(address: str) -> bool:
        return httpx2.get(address, follow_redirects=True).is_success

    monkeypatch.setattr("webbrowser.open", browse)
    known = ["sources", "login", "desk", "--client-id", "ours"]
    assert main([*known, "--client-secret-env", "DESK_SECRET"]) == 3
    assert "The variable of --client-secret-env is not set" in capsys.readouterr().err
    assert main(["sources", "login", "desk", "--client-secret-env", "DESK_SECRET"]) == 1
    assert "Give its --client-id, too." in capsys.readouterr().err
    monkeypatch.setenv("DESK_SECRET", "another-secret")
    assert main([*known, "--client-secret-env", "DESK_SECRET"]) == 3
    assert "the login failed: Token exchange failed (401)" in capsys.readouterr().err
    monkeypatch.setenv("DESK_SECRET", SECRET)
    assert main([*known, "--client-secret-env", "DESK_SECRET"]) == 0
    assert main(["sources", "login", "desk"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "desk knows you now, and has 1 tool.\n" * 2
    for secret in (SECRET, "another-secret"):
        assert secret not in shown.err + caplog.text
    assert main(["sources"]) == 0
