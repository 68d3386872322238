"""The gateway in the files of clients."""

import json
from pathlib import Path

import pytest

from toolcrib.cli.main import main
from toolcrib.gateway.install import CLIENTS, document, entry, is_a_gateway
from toolcrib.sources.mcp_config import read_mcp_servers
from toolcrib.sources.mcp_server import read_mcp_server

ROOT = Path(__file__).parents[2]
SHOWN = ROOT / "docs_src" / "gateway" / "clients"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setattr("shutil.which", "/bin/{}".format)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("client", "file", "key"),
    [
        ("claude-code", ".mcp.json", "mcpServers"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"),
    ],
)
def test_each_client_gets_the_entry_where_it_looks_for_it(
    client: str, file: str, key: str, at_home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert main(["gateway", "install", client, "servers.json", "--lock", "tools.lock"]) == 0
    out, err = capsys.readouterr()
    assert err == f"This belongs into {at_home / file}. With --write it is put there.\n"
    assert not (at_home / file).exists()
    assert main(["gateway", "install", client, "servers.json", "--lock", "tools.lock", "--write"]) == 0
    written = json.loads((at_home / file).read_text())
    assert written == json.loads(out)
    entry = written[key]["toolcrib"]
    assert entry.pop("type", "stdio") == "stdio"
    arguments = ["gateway", str(at_home / "servers.json"), "--lock", str(at_home / "tools.lock")]
    assert entry == {"command": "/bin/toolcrib", "args": arguments}
    assert len(CLIENTS) == 6


def test_what_else_stands_in_the_file_stays_and_the_old_file_is_kept(at_home: Path, capsys: Captured) -> None:
    file = at_home / "cursor.json"
    old = '{"theme": "dark", "mcpServers": {"github": {"command": "gh-mcp"}}}'
    file.write_text(old)
    command = [
        "gateway",
        "install",
        "cursor",
        "--file",
        str(file),
        "--surface",
        "browse",
        "--policy",
        "p.yaml",
        "--write",
    ]
    assert main(command) == 0
    assert main(command) == 0
    written = json.loads(file.read_text())
    assert written["theme"] == "dark"
    assert list(written["mcpServers"]) == ["github", "toolcrib"]
    assert written["mcpServers"]["toolcrib"]["args"][4:] == ["--policy", str(at_home / "p.yaml"), "--surface", "browse"]
    assert (at_home / "cursor.json.backup-1").read_text() == old
    assert json.loads((at_home / "cursor.json.backup-2").read_text()) == written
    talk = capsys.readouterr().err
    assert "Cursor still starts these by itself: github." in talk
    assert "The old one is cursor.json.backup-1." in talk


def test_a_file_with_comments_is_left_alone(at_home: Path, capsys: Captured) -> None:
    file = at_home / "mcp.json"
    file.write_text('{"servers": {} // mine\n}')
    assert main(["gateway", "install", "vscode", "--file", str(file), "--write"]) == 1
    assert "not plain JSON" in capsys.readouterr().err
    assert "// mine" in file.read_text()


def test_an_unknown_client_is_told_the_known_ones(capsys: Captured) -> None:
    assert main(["gateway", "install", "cursr"]) == 1
    assert "Did you mean 'cursor'?" in capsys.readouterr().err


def test_a_gateway_never_starts_itself(at_home: Path, capsys: Captured) -> None:
    assert main(["gateway", "install", "claude-code", "--write"]) == 0  # reads .mcp.json, and stands in it
    (server,) = read_mcp_servers([at_home / ".mcp.json"])
    assert is_a_gateway(server)
    capsys.readouterr()
    assert main(["gateway", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sources"] == []
    assert is_a_gateway(
        read_mcp_server("g", {"command": "uvx", "args": ["--from", "toolcrib[gateway]", "toolcrib", "gateway"]})
    )
    assert not is_a_gateway(read_mcp_server("g", {"command": "api-gateway", "args": ["gateway"]}))


@pytest.mark.parametrize("name", CLIENTS)
def test_the_page_of_each_client_shows_what_is_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", "/usr/local/bin/{}".format)
    made = document(CLIENTS[name], entry(CLIENTS[name], ["/home/ann/servers.json", "--lock", "/home/ann/tools.lock"]))
    assert json.loads((SHOWN / f"{name}.json").read_text("utf-8")) == made
    assert (ROOT / "docs" / "guides" / "clients" / f"{name}.md").exists()


@pytest.mark.parametrize("file", sorted(SHOWN.glob("*-http.json")), ids=lambda file: file.stem)
def test_the_pages_name_the_gateway_over_http_as_clients_do(file: Path) -> None:
    (server,) = read_mcp_servers([file], environment={"TOOLCRIB_TOKEN": "secret", "toolcrib-token": "secret"})
    assert (server.transport, server.url) == ("http", "http://127.0.0.1:8931/mcp")
    assert server.headers["Authorization"].startswith("Bearer ")
