"""`toolcrib catalog`: publish, status, approve; and servers that follow it, with the code that they have."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastapi import FastAPI

from tests.support.calls import always
from tests.support.mcp_servers import SCRIPTED
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli import gateway as gateway_verb
from toolcrib.cli.main import main
from toolcrib.cli.options import follow_catalog, runners_here
from toolcrib.embedders import BuiltinEmbedder
from toolcrib.postgres import PostgresIndex
from toolcrib.server import app as listening
from toolcrib.serving import Options
from toolcrib.settings import Settings

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")


def config(path: Path, **servers: dict[str, Any]) -> str:
    told = {
        name: {"command": sys.executable, "args": ["-S", SCRIPTED, json.dumps(how)]} for name, how in servers.items()
    }
    path.write_text(json.dumps({"mcpServers": told}), encoding="utf-8")
    return str(path)


@pytest.fixture
def url(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TOOLCRIB_STORE", postgres_url)
    return postgres_url


def test_tools_of_code_and_of_servers_are_published_and_shown(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = config(tmp_path / ".mcp.json", shop={}, broken={"start": "die"})
    assert main(["catalog", "publish", servers, "--from", OFFICE, "--json"]) == 4
    told = json.loads(capsys.readouterr().out)
    assert sorted(told["sources"]["mcp:shop"]["changed"]) == ["shop__delete_all", "shop__echo"]
    assert list(told["unreachable"]) == ["mcp:broken"]
    assert main(["catalog", "publish", "--from", OFFICE]) == 0  # the same again
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["source", "changed", "removed", "waiting", "refused"],
        ["python", "0", "0", "0", "0"],
    ]
    assert main(["catalog", "status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["revision"], told["sources"]["mcp:shop"], told["waiting"]) == (2, 2, [])
    assert main(["catalog", "status", "--tenant", "somebody else"]) == 0
    assert capsys.readouterr().err == "0 tools at revision 0\n"


def test_what_changes_later_waits_where_it_is_reviewed(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["catalog", "publish", config(tmp_path / "one.json", shop={}), "--review"])
    changed = {"tools": [{"name": "echo", "description": "Tell me all.", "inputSchema": {"type": "object"}}]}
    assert main(["catalog", "publish", config(tmp_path / "two.json", shop=changed), "--review"]) == 0
    capsys.readouterr()
    assert main(["catalog", "status"]) == 0
    assert capsys.readouterr().err == "0 tools at revision 2\nwaits for approval: shop__echo\n"
    assert main(["catalog", "approve"]) == 0
    assert capsys.readouterr().out == "shop__echo\n"
    assert main(["catalog", "approve"]) == 0
    assert capsys.readouterr().err == "Nothing waits.\n"
    assert main(["catalog", "approve", "unheard_of"]) == 1


def test_names_that_another_source_has_are_left_out(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from toolcrib import tool\n@tool\ndef shop__echo() -> str:\n    'Mine.'\n    return 'mine'\n")
    main(["catalog", "publish", config(tmp_path / "one.json", shop={})])
    main(["catalog", "publish", "--from", str(file)])
    assert "left out: " in capsys.readouterr().err


def test_a_shared_catalog_needs_postgresql(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("TOOLCRIB_STORE", raising=False)
    assert main(["catalog", "status"]) == 4
    assert "hint: Give --store postgresql://user@host/database" in capsys.readouterr().err


async def test_each_server_opens_its_own_way_to_the_tools(url: str, tmp_path: Path) -> None:
    servers = config(tmp_path / ".mcp.json", shop={})
    local = Catalog()

    @local.tool
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Hello {name}"

    from toolcrib.postgres.catalog import SharedCatalog
    from toolcrib.postgres.database import PostgresDatabase

    catalog = Catalog()
    assert await anyio.to_thread.run_sync(main, ["catalog", "publish", servers]) == 0
    async with PostgresDatabase(url) as database:
        await SharedCatalog(database).publish(local)
    async with follow_catalog(url, catalog, runners_here(local, [Path(servers)])):
        assert (await catalog.get("greet").call({"name": "Ann"})).text == "Hello Ann"
        assert "again" in (await catalog.get("shop__echo").call({"text": "again"})).text


def test_a_server_follows_the_catalog(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))
    monkeypatch.setattr("toolcrib.server.metrics.log_as_json", always(None))
    tools: list[str] = []
    found: list[Any] = []

    def listen(app: FastAPI, options: Options, taken: socket.socket) -> None:
        taken.close()
        anyio.run(ask, app)

    async def ask(app: FastAPI) -> None:
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                tools.extend(tool["name"] for tool in (await client.get("/api/tools")).json())
                found.append((await client.post("/api/search", json={"query": "I forgot my pasword"})).json())

    monkeypatch.setattr(listening, "listen", listen)
    main(["catalog", "publish", "--from", OFFICE, "--store", url])
    servers = config(tmp_path / ".mcp.json", shop={})
    assert main(["serve", "--catalog", url, "--from", OFFICE, "--mcp", servers, "--port", "0"]) == 0
    assert len(tools) > 3
    # The index in the database gives what the one in memory gives, explanations included.
    with_index = ["--index", "postgres", "--port", "0"]
    assert main(["serve", "--catalog", url, "--from", OFFICE, *with_index]) == 0
    in_memory, in_database = ([(hit["name"], hit["matched"]) for hit in one["hits"]] for one in found)
    assert in_database == in_memory != []
    assert main(["serve", "--from", OFFICE, *with_index]) == 1
    assert "hint: Give --catalog postgresql://user@host/database, too; an app has" in capsys.readouterr().err
    assert main(["serve", "app.yaml", "--catalog", url]) == 1
    assert main(["serve", "--mcp", servers]) == 1
    assert "hint: Give --catalog, too; or an app." in capsys.readouterr().err


def test_a_gateway_serves_the_catalog_without_asking_its_servers(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = config(tmp_path / ".mcp.json", shop={})
    main(["catalog", "publish", servers])
    capsys.readouterr()
    down = config(tmp_path / "down.json", shop={"start": "die"})  # nobody notices, before a tool is called
    assert main(["gateway", down, "--catalog", url, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(source["source"], source["state"]) for source in told["sources"]] == [("shared", "ready")]
    assert told["tokens_of_all_tools"] > 50
    assert main(["gateway", servers, "--catalog", url, "--lock", str(tmp_path / "tools.lock")]) == 1
    assert "A shared catalog has approvals of its own." in capsys.readouterr().err


@pytest.mark.anyio
async def test_a_gateway_searches_the_index_in_the_database(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await anyio.to_thread.run_sync(main, ["catalog", "publish", "--from", OFFICE]) == 0
    assert await anyio.to_thread.run_sync(main, ["gateway", "--index", "postgres"]) == 1
    assert "--index postgres needs the database of a shared catalog." in capsys.readouterr().err
    made = gateway_verb.make_gateway(catalog=url, index="postgres", settings=Settings(cache=tmp_path))
    async with made.running():
        await made.sources.wait_until_settled()
        found = await made.toolbox().call("search_tools", {"query": "I forgot my password"})
    assert "reset_password" in found.text
    with PostgresIndex(url, tenant=f"catalog:{BuiltinEmbedder().id}") as index:
        assert len(index) >= 20
