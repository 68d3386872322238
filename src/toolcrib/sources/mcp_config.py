"""The MCP servers that people have already: the files of Claude, Cursor, VS Code, Gemini, Windsurf, read as one kind.

Read are `mcpServers` (most), `servers` (VS Code, where comments are allowed), and in `~/.claude.json` also the servers
of the project one stands in. A server that is described wrongly is an error that names file and server.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from toolcrib.errors import SourceConfigError
from toolcrib.sources.mcp_server import McpServer, as_object, server_of
from toolcrib.sources.mcp_variables import Variables
from toolcrib.sources.names import distinct

# Strings are matched first, so that what looks like a comment inside one stays.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def read_mcp_servers(
    paths: Iterable[str | Path], environment: Mapping[str, str] = os.environ, folder: Path | None = None
) -> tuple[McpServer, ...]:
    """The servers of several files, in their order. A server that stands in two files alike is one.

    `folder` is what `${workspaceFolder}` means; the present folder if not given.
    """
    here = folder or Path.cwd()
    return told_apart(server for path in map(Path, paths) for server in _servers_of(path, environment, here))


def told_apart(servers: Iterable[McpServer]) -> tuple[McpServer, ...]:
    """Each server once, and each with a name of its own."""
    found: list[McpServer] = []
    for server in servers:
        if not any(_same(server, other) for other in found):
            found.append(server)
    names = distinct(server.name for server in found)
    return tuple(replace(server, name=name) for server, name in zip(found, names, strict=True))


def _same(one: McpServer, other: McpServer) -> bool:
    return replace(one, origin="") == replace(other, origin="")


def _servers_of(path: Path, environment: Mapping[str, str], folder: Path) -> list[McpServer]:
    document = _document(path)
    entries: dict[str, Any] = {}
    for place in _places(document, folder):
        entries |= place
    if not entries and not any(key in document for key in ("mcpServers", "servers", "mcp", "projects")):
        raise SourceConfigError(
            f"{path}: there are no MCP servers in it.", hint='Write {"mcpServers": {"name": {"command": "..."}}}.'
        )
    return [server_of(name, entry, Variables(environment, folder), str(path)) for name, entry in entries.items()]


def _document(path: Path) -> Mapping[str, Any]:
    try:
        text = path.expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SourceConfigError(f"{path}: it cannot be read: {reason}.", hint="Check the path.") from None
    try:
        document = json.loads(_without_comments(text))
    except (json.JSONDecodeError, RecursionError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise SourceConfigError(f"{path}: it is not JSON: {where}.", hint="Correct the file.") from None
    return as_object(document, f"{path}: the file")


def _without_comments(text: str) -> str:
    """VS Code allows comments, and a comma after the last item. Lines stay where they were, for error messages."""
    text = _COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    return _LAST_COMMA.sub(lambda found: found[1] or "", text)


def _places(document: Mapping[str, Any], folder: Path) -> Sequence[Mapping[str, Any]]:
    """Where servers stand, the most special place last: what it says of a name counts."""
    local = _plain(_plain(document.get("projects")).get(str(folder)))
    named = [
        document.get("mcpServers"),
        document.get("servers"),
        _plain(document.get("mcp")).get("servers"),
        local.get("mcpServers"),
    ]
    places = [_plain(place) for place in named if place]
    # A file may also hold nothing but the servers themselves.
    bare = all(_looks_like_a_server(_plain(entry)) for entry in document.values())
    return places or ([document] if document and bare else [])


def _looks_like_a_server(entry: Mapping[str, Any]) -> bool:
    return any(key in entry for key in ("command", "url", "httpUrl", "serverUrl"))


def _plain(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
