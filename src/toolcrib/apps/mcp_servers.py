"""The MCP servers that an app's file names, without the app: for whoever logs in to them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolcrib.apps.reading import read_spec
from toolcrib.apps.variables import Variables
from toolcrib.sources.mcp_config import read_mcp_servers
from toolcrib.sources.mcp_server import McpServer, read_mcp_server


def servers_of_app(path: str | Path, environment: Mapping[str, str] = os.environ) -> tuple[McpServer, ...]:
    """All servers of an app's file, those of single agents too; raises `AppError` as `load_app` does."""
    spec, document = read_spec(path)
    variables = Variables(environment, spec.credentials, document.secrets)
    found: list[McpServer] = []
    for tools in (spec.tools, *(agent.tools for agent in spec.agents if agent.tools is not None)):
        for file in tools.mcp_files:
            found += servers_of_file(file, variables, document.folder)
        for name, entry in tools.mcp_servers.items():
            found.append(named_server(name, entry, variables, document.folder))
    return tuple(found)


def servers_of_file(file: str, variables: Variables, folder: Path) -> tuple[McpServer, ...]:
    """The servers of a file that an app names; paths count from the app's folder."""
    return read_mcp_servers([folder / file], variables.environment, folder)


def named_server(name: str, entry: Mapping[str, Any], variables: Variables, folder: Path) -> McpServer:
    """A server whose entry stands in the app's file itself."""
    given = variables.expanded(dict(entry), plain=False)  # `${...}` means what it means in such files
    return read_mcp_server(name, given, variables.environment, folder)
