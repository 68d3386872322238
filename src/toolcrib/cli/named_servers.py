"""The MCP servers of the files on a command line: those of MCP clients, and apps."""

from collections.abc import Iterable
from pathlib import Path

from toolcrib.errors import SourceConfigError
from toolcrib.sources.mcp_config import read_mcp_servers, told_apart
from toolcrib.sources.mcp_server import McpServer

_APP = (".yaml", ".yml")


def named_servers(paths: Iterable[Path]) -> tuple[McpServer, ...]:
    """The servers that these files name, in their order."""
    return told_apart(server for path in paths for server in _servers(path))


def _servers(path: Path) -> tuple[McpServer, ...]:
    if path.suffix not in _APP:
        return read_mcp_servers([path])
    from toolcrib.apps.mcp_servers import servers_of_app  # late: reads YAML

    found = servers_of_app(path.expanduser())
    if not found:
        raise SourceConfigError(f"{path}: there are no MCP servers in it.", hint="Name them under tools.mcp_servers.")
    return found
