"""The gateway's entry in the files of MCP clients: where each client has its file, and what stands in it."""

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
    """One MCP client: its file below the home folder, or below the project's, and the form of an entry."""

    title: str
    file: Callable[[Path, Path], Path]  # from home and project
    key: str = "mcpServers"
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])  # what an entry has besides command and args
    then: str = "Start it anew."


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
    """The client of a name; an error names those that are known."""
    if name in CLIENTS:
        return CLIENTS[name]
    hint = did_you_mean(name, CLIENTS) or f"There are: {', '.join(CLIENTS)}"
    raise GatewayError(f"{name!r} is no client that is known here.", hint=hint)


def entry(client: Client, arguments: Sequence[str]) -> dict[str, Any]:
    """What makes a client start the gateway."""
    return {**client.more, "command": shutil.which("toolcrib") or "toolcrib", "args": ["gateway", *arguments]}


def document(client: Client, made: Mapping[str, Any], held: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The client's file with the entry in it; everything else as it was."""
    before = held or {}
    return {**before, client.key: {**mapping(before.get(client.key)), NAME: dict(made)}}


def others(client: Client, held: Mapping[str, Any]) -> list[str]:
    """The servers that the client starts by itself, besides the gateway."""
    return [name for name in mapping(held.get(client.key)) if name != NAME]


def read(file: Path) -> dict[str, Any]:
    """What stands in a client's file; nothing if there is none."""
    if not file.exists():
        return {}
    try:
        held: object = json.loads(file.read_text("utf-8-sig") or "{}")
    except (OSError, ValueError):
        held = None
    if not isinstance(held, Mapping):
        raise GatewayError(
            f"{file}: it cannot be changed here, for it is not plain JSON.",
            hint="Leave out --write, and put the entry in by hand.",
        )
    return dict(mapping(cast("object", held)))


def write(file: Path, changed: Mapping[str, Any]) -> Path | None:
    """Write a client's file; gives where the old one is kept, if there was one."""
    backup: Path | None = None
    if file.exists():
        number = 1
        while (backup := file.with_name(f"{file.name}.backup-{number}")).exists():
            number += 1
        shutil.copy2(file, backup)
    write_json(file, changed, indent=2)
    return backup


def is_a_gateway(server: McpServer) -> bool:
    """Whether an entry starts a gateway: one that reads its own entry would start itself, and that one again."""
    words = [Path(server.command).stem, *server.arguments]
    return "gateway" in words and any("toolcrib" in word for word in words)
