"""The files of MCP clients: every one is read, variables are filled in, and what is wrong is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import SourceConfigError
from toolcrib.sources.mcp.config import McpServer, read_mcp_server, read_mcp_servers

ENVIRONMENT = {"TOKEN": "s3cret", "HOST": "example.com"}


def written(folder: Path, document: object, name: str = ".mcp.json") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def read(folder: Path, document: object) -> tuple[McpServer, ...]:
    return read_mcp_servers([written(folder, document)], ENVIRONMENT, folder)


CLAUDE_DESKTOP = {"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time", 3], "env": {"TZ": "UTC"}}}}
CLAUDE_CODE = {
    "mcpServers": {
        "mail": {"type": "http", "url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "old": {"type": "sse", "url": "https://${ELSEWHERE:-old.example}/events"},
    }
}
CURSOR = {"mcpServers": {"docs": {"url": "https://docs.example/sse"}}}
VSCODE = """{
  // servers of this folder
  "inputs": [{"type": "promptString", "id": "TOKEN", "password": true},],
  "servers": {
    "files": {"type": "stdio", "command": "files", "args": ["${workspaceFolder}", "https://x//y"], /* two
    lines */ "env": {"KEY": "${input:TOKEN}", "HOST": "${env:HOST}"}, }, // the last
  },
}"""
GEMINI = {
    "theme": "dark",
    "mcpServers": {
        "sheets": {"httpUrl": "https://sheets.example/sse", "timeout": 5000, "excludeTools": ["erase"]},
        "few": {"command": "few", "includeTools": ["one"], "trust": True},
    },
}
WINDSURF = {
    "mcpServers": {"chat": {"serverUrl": "https://chat.example/mcp", "disabledTools": ["ban"], "disabled": True}}
}
A_TYPE = "the server 'a' has the type '{}', which does not fit."
NO_FILE = "the server 'a': its envFile 'none' cannot be read."
BARE = {"time": {"command": "uvx"}}


def test_the_files_of_every_client_are_read_alike(tmp_path: Path) -> None:
    [time] = read(tmp_path, CLAUDE_DESKTOP)
    assert (time.transport, time.command, time.arguments) == ("stdio", "uvx", ("mcp-server-time", "3"))
    assert time.environment == {"TZ": "UTC"}
    mail, old = read(tmp_path, CLAUDE_CODE)
    assert (mail.transport, mail.url, mail.headers) == (
        "http",
        "https://example.com/mcp",
        {"Authorization": "Bearer s3cret"},
    )
    assert (old.transport, old.url) == ("sse", "https://old.example/events")
    assert read(tmp_path, CURSOR)[0].transport == "sse"
    [files] = read(tmp_path, VSCODE)
    assert files.arguments == (str(tmp_path), "https://x//y")
    assert files.environment == {"KEY": "s3cret", "HOST": "example.com"}
    sheets, few = read(tmp_path, GEMINI)
    assert (sheets.transport, sheets.call_seconds, sheets.without) == ("http", 5.0, {"erase"})
    assert few.only == {"one"}
    [chat] = read(tmp_path, WINDSURF)
    assert (chat.transport, chat.disabled, chat.without) == ("http", True, {"ban"})
    assert read(tmp_path, BARE)[0].command == "uvx"
    assert read(tmp_path, {"mcp": {"servers": BARE}})[0].name == "time"


def test_claude_code_has_servers_for_one_project(tmp_path: Path) -> None:
    local = {"projects": {str(tmp_path): {"mcpServers": BARE}, "/elsewhere": {"mcpServers": {"no": {"command": "x"}}}}}
    assert [server.name for server in read(tmp_path, {**CURSOR, **local})] == ["docs", "time"]
    assert read(tmp_path, {"projects": {}}) == ()


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    entry = {"url": "https://a.example", "headers": {"Authorization": "Bearer ${NOBODY}", "X": "${NOBODY}${NEITHER}"}}
    [server] = read(tmp_path, {"mcpServers": {"a": entry}})
    assert server.missing == ("NOBODY", "NEITHER")
    [server] = read(tmp_path, {"mcpServers": {"a": {"command": "sh", "args": ["-c", "echo ${NOBODY}", "$TOKEN"]}}})
    assert (server.arguments, server.missing) == (("-c", "echo ${NOBODY}", "$TOKEN"), ())


def test_an_env_file_is_read_and_the_entry_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# keys\nexport A=1\nB='two words'\n\nnothing\n", encoding="utf-8")
    entry = {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"A": "mine"}, "cwd": "${userHome}"}
    [server] = read(tmp_path, {"servers": {"x": entry}})
    assert server.environment == {"A": "mine", "B": "two words"}
    assert server.folder == str(Path.home())


def test_a_server_in_two_files_is_one_and_a_different_one_of_its_name_another(tmp_path: Path) -> None:
    one = written(tmp_path, {"mcpServers": {"git": {"command": "git"}}}, "one.json")
    two = written(tmp_path, {"mcpServers": {"git": {"command": "git"}, "mail": {"command": "m"}}}, "two.json")
    three = written(tmp_path, {"mcpServers": {"git": {"command": "other"}}}, "three.json")
    servers = read_mcp_servers([one, two, three], {}, tmp_path)
    assert [(server.name, server.command) for server in servers] == [("git", "git"), ("mail", "m"), ("git-2", "other")]
    assert servers[2].origin == str(three)


def test_nothing_secret_shows(tmp_path: Path) -> None:
    entry = {"url": "https://user:s3cret@a.example/mcp?key=s3cret", "headers": {"X": "s3cret"}}
    server = read_mcp_server("a", entry)
    assert "s3cret" not in repr(server)
    assert server.address == "a.example"
    program = read_mcp_server("b", {"command": "/usr/bin/tool", "args": ["--key", "s3cret"], "env": {"K": "s3cret"}})
    assert "s3cret" not in repr(program)
    assert program.address == "tool"


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("{", "it is not JSON: line 1: Expecting property name enclosed in double quotes."),
        ('{\n/* a\nb */ "mcpServers": nothing}', "it is not JSON: line 3: Expecting value."),
        ("[" * 100_000, "it is not JSON: nested too deeply."),
        ([], "the file is list, not an object."),
        ({"theme": "dark"}, "there are no MCP servers in it."),
        ({"mcpServers": {"a": "x"}}, "the server 'a' is str, not an object."),
        ({"mcpServers": {"a": {}}}, "the server 'a' has neither a command nor a url."),
        ({"mcpServers": {"a": {"command": "x", "url": "y"}}}, "the server 'a' has both a command and a url."),
        ({"mcpServers": {"a": {"command": 3}}}, "the server 'a': its `command` is not text."),
        ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "the server 'a': its `args` is not a list of texts."),
        ({"mcpServers": {"a": {"command": "x", "env": []}}}, None),
        ({"mcpServers": {"a": {"command": "x", "env": [1]}}}, "the server 'a': its `env` is list, not an object."),
        ({"mcpServers": {"a": {"command": "x", "type": "http"}}}, A_TYPE.format("http")),
        ({"mcpServers": {"a": {"url": "https://x", "type": "ws"}}}, A_TYPE.format("ws")),
        ({"mcpServers": {"a": {"url": "ftp://x"}}}, "the server 'a' has the url 'ftp://x'."),
        ({"mcpServers": {"a": {"command": "x", "timeout": -1}}}, "the server 'a': its `timeout` is -1."),
        ({"mcpServers": {"a": {"command": "x", "envFile": "none"}}}, NO_FILE),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, document: Any, complaint: str | None) -> None:
    if complaint is None:
        assert len(read(tmp_path, document)) == 1
        return
    with pytest.raises(SourceConfigError) as caught:
        read(tmp_path, document)
    assert str(caught.value) == f"{tmp_path / '.mcp.json'}: {complaint}"
    assert caught.value.hint


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceConfigError, match="it cannot be read: No such file or directory"):
        read_mcp_servers([tmp_path / "none.json"])
    (tmp_path / "latin.json").write_bytes(b'{"mcpServers": {"\xe9": 1}}')
    with pytest.raises(SourceConfigError, match="it is not UTF-8"):
        read_mcp_servers([tmp_path / "latin.json"])
