"""Adds the gateway to the configuration files of MCP clients: where each file is, and what the entry looks like."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from toolcrib.catalog.approvals import write_json
from toolcrib.errors import GatewayError, did_you_mean
from toolcrib.sources.mcp.config import McpServer
from toolcrib.tools.schema import mapping

NAME = "toolcrib"


@dataclass(frozen=True, slots=True)
class Client:
    """One MCP client: where its configuration file is, and the format of an entry."""

    title: str
    file: Callable[[Path, Path], Path]  # from the home folder and the project folder
    key: str = "mcpServers"
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])  # fields of an entry besides command and args
    then: str = "Restart it."


def _desktop(home: Path, project: Path) -> Path:
    folders = {
        "darwin": home / "Library" / "Application Support" / "Claude",
        "win32": home / "AppData" / "Roaming" / "Claude",
    }
    return folders.get(sys.platform, home / ".config" / "Claude") / "claude_desktop_config.json"


CLIENTS = {
    "claude-code": Client(
        "Claude Code",
        lambda home, project: project / ".mcp.json",
        more={"type": "stdio"},
        then="Start it in this folder, and agree to the server when it asks.",
    ),
    "claude-desktop": Client("Claude Desktop", _desktop),
    "cursor": Client("Cursor", lambda home, project: home / ".cursor" / "mcp.json", then="See Settings, MCP."),
    "vscode": Client(
        "VS Code",
        lambda home, project: project / ".vscode" / "mcp.json",
        key="servers",
        more={"type": "stdio"},
        then="Run `MCP: List Servers` and start it there.",
    ),
    "gemini": Client("Gemini CLI", lambda home, project: home / ".gemini" / "settings.json"),
    "windsurf": Client("Windsurf", lambda home, project: home / ".codeium" / "windsurf" / "mcp_config.json"),
}


def client_named(name: str) -> Client:
    """The client with this name; the error for an unknown name lists the known ones."""
    if name in CLIENTS:
        return CLIENTS[name]
    hint = did_you_mean(name, CLIENTS) or f"Known clients: {', '.join(CLIENTS)}"
    raise GatewayError(f"There is no client named {name!r}.", hint=hint)


def entry(client: Client, arguments: Sequence[str]) -> dict[str, Any]:
    """The entry that makes a client start the gateway."""
    return {**client.more, "command": _program(), "args": ["gateway", *arguments]}


def _program() -> str:
    """The absolute path of this program: a client that a desktop starts knows no PATH of ours."""
    beside = Path(sys.executable).with_name("toolcrib.exe" if sys.platform == "win32" else "toolcrib")
    found = shutil.which("toolcrib") or (str(beside) if beside.exists() else "")
    return str(Path(found).absolute()) if found else "toolcrib"


def document(client: Client, entry: Mapping[str, Any], current: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The content of the client's file with the entry in it; everything else is unchanged."""
    before = current or {}
    return {**before, client.key: {**mapping(before.get(client.key)), NAME: dict(entry)}}


def others(client: Client, current: Mapping[str, Any]) -> list[str]:
    """The other servers in the client's file."""
    return [name for name in mapping(current.get(client.key)) if name != NAME]


def read(file: Path) -> dict[str, Any]:
    """The content of a client's file; empty if the file does not exist."""
    if not file.exists():
        return {}
    try:
        content: object = json.loads(file.read_text("utf-8-sig") or "{}")
    except (OSError, ValueError):
        content = None
    if not isinstance(content, Mapping):
        raise GatewayError(
            f"{file} cannot be changed automatically, because it is not plain JSON.",
            hint="Run the command without --write, and add the entry by hand.",
        )
    return dict(mapping(cast("object", content)))


def write(file: Path, content: Mapping[str, Any]) -> Path | None:
    """Write a client's file; gives the path of the backup, if there was a file before."""
    backup: Path | None = None
    if file.exists():
        number = 1
        while (backup := file.with_name(f"{file.name}.backup-{number}")).exists():
            number += 1
        shutil.copy2(file, backup)
    write_json(file, content, indent=2)
    return backup


def is_a_gateway(server: McpServer) -> bool:
    """Whether an entry starts a gateway. A gateway that started itself would do so without end."""
    words = [Path(server.command).stem, *server.arguments]
    return "gateway" in words and any("toolcrib" in word for word in words)
