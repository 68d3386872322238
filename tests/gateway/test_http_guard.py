"""Who may come in over HTTP."""

import logging
from typing import Any

import httpx2
import pytest

from tests.support import PATIENCE
from tests.support.gateway import TOKEN, entry, made_gateway, serving
from toolcrib.errors import GatewayError
from toolcrib.gateway.http import http_app
from toolcrib.server.options import Options

MODERN = "2026-07-28"


def ask(url: str, headers: dict[str, str] | None = None, *, token: str | None = TOKEN) -> httpx2.Response:
    said: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    }
    known = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/list",
        **({"Authorization": f"Bearer {token}"} if token else {}),
    }
    return httpx2.post(url, json=said, headers=known | (headers or {}), timeout=PATIENCE)


@pytest.mark.process
def test_a_token_is_needed() -> None:
    with serving(made_gateway({})) as url:
        assert len(ask(url).json()["result"]["tools"]) == 3
        for refused in (ask(url, token=None), ask(url, token="wrong"), ask(url, {"Authorization": f"Basic {TOKEN}"})):
            assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
            assert refused.json() == {"error": "A token is needed: `Authorization: Bearer ...`."}
        assert httpx2.get(url.replace("/mcp", "/health")).json() == {"status": "ok"}


@pytest.mark.process
def test_other_pages_and_other_names_are_refused() -> None:
    with serving(
        made_gateway({}), origins=frozenset({"https://desk.example"}), hosts=frozenset({"gate.example"})
    ) as url:
        own = url.removesuffix("/mcp")
        for origin, status in ((own, 200), ("https://desk.example", 200), ("https://evil.example", 403), ("null", 403)):
            assert ask(url, {"Origin": origin}).status_code == status
        for host, status in (("gate.example:80", 200), ("localhost", 200), ("evil.example", 403), ("[", 403)):
            assert ask(url, {"Host": host}).status_code == status


@pytest.mark.process
def test_one_caller_may_ask_only_so_often() -> None:
    tokens = {TOKEN: "ann", "another-token": "bob"}
    with serving(made_gateway({}), tokens=tokens, requests_per_second=0.001, burst=2) as url:
        assert [ask(url).status_code for _ in range(3)] == [200, 200, 429]
        assert int(ask(url).headers["Retry-After"]) >= 1
        assert ask(url, token="another-token").status_code == 200


@pytest.mark.process
def test_a_large_request_is_refused() -> None:
    with serving(made_gateway({}), body_bytes=100) as url:
        assert ask(url).status_code == 413


@pytest.mark.process
def test_secrets_are_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    hidden = {**entry(), "env": {"KEY": "a-secret-key"}}
    elsewhere = {"url": "http://127.0.0.1:9/mcp?key=a-secret-key", "headers": {"Authorization": "Bearer a-secret-key"}}
    with serving(made_gateway({"s": hidden, "web": elsewhere})) as url:
        ask(url, token="a-wrong-secret")
        assert ask(url).status_code == 200
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "refused: 401" in said
    for secret in (TOKEN, "a-wrong-secret", "a-secret-key"):
        assert secret not in said


def test_it_does_not_start_open() -> None:
    with pytest.raises(GatewayError, match="needs a token"):
        http_app(made_gateway({}), Options(port=0))
    assert TOKEN not in repr(Options(port=0, tokens={TOKEN: "me"}))
