"""`toolcrib sources`: real servers from a configuration, what they cost, and what is wrong with the others."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_servers import SCRIPTED
from toolcrib.cli.main import main

PETS = Path(__file__).parents[1] / "sources" / "petstore.yaml"


def server(**told: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", SCRIPTED, json.dumps(told)]}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / ".mcp.json"
    servers = {
        "shop": server(),
        "broken": server(start="die"),
        "off": {**server(), "disabled": True},
        "locked": {"url": "https://a.example/mcp", "headers": {"X": "${TOOLCRIB_TEST_NOT_SET}"}},
    }
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


@pytest.mark.process
def test_the_table_shows_each_server_its_state_and_its_cost(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sources", str(config), "--log"]) == 4
    out, err = capsys.readouterr()
    table, total = out.split("\n\n")
    assert [line.split()[0] for line in table.splitlines()] == ["source", "shop", "broken", "off", "locked"]
    assert "not reachable" in table
    assert "locked needs TOOLCRIB_TEST_NOT_SET, which is not set." in table
    assert total.startswith("2 tools would take ")
    assert "broken wrote:\n  no licence found\n" in err


@pytest.mark.process
def test_programs_get_the_same_as_json(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["sources", str(config), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert {line["name"]: line["state"] for line in told["sources"]} == {
        "shop": "ready",
        "broken": "not reachable",
        "off": "switched off",
        "locked": "needs a login",
    }
    shop = told["sources"][0]
    assert (shop["tools"], shop["kind"], shop["origin"]) == (2, "stdio", str(config))
    assert shop["tokens"] > 50


@pytest.mark.process
def test_without_a_name_the_file_of_the_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sources"]) == 1
    assert "error: .mcp.json: it cannot be read: No such file or directory." in capsys.readouterr().err
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": server()}}))
    assert main(["sources"]) == 0


def test_an_openapi_document_is_a_source_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sources", str(PETS)]) == 3
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split()[:6] == ["petstore", "openapi", "needs", "a", "login", "8"]
    assert "TOOLCRIB_KEY_PETSTORE" in out
    assert "left out: POST /photos is no tool" in err
