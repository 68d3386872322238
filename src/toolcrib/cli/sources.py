"""`toolcrib sources`: which servers a configuration names, how they are, and what their tools would cost."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cyclopts import App, Parameter

from toolcrib.catalog import Catalog
from toolcrib.cli.named_servers import named_servers
from toolcrib.cli.options import Flag, Json
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.cli.sources_login import login, logout
from toolcrib.discovery.tokens import TokenCount, definitions_tokens, is_exact
from toolcrib.errors import SourceConfigError, require_mcp
from toolcrib.settings import Settings
from toolcrib.sources.mcp_config import read_mcp_servers
from toolcrib.sources.mcp_server import McpServer
from toolcrib.sources.source import SourceState, ToolHolder
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.sources.mcp import McpSource
    from toolcrib.sources.openapi import OpenApiSource

ReadServers: TypeAlias = Callable[[Iterable[Path]], tuple[McpServer, ...]]

DEFAULT = ".mcp.json"
SECONDS = 30.0
_NEEDS_LOGIN, _UNREACHABLE = 3, 4
_MOST_LOG_LINES = 10

app = App(name="sources", default_parameter=Parameter(negative=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """What is known of one source."""

    name: str
    kind: str  # stdio, http, sse or openapi
    state: str
    tools: int
    tokens: int  # of all its definitions, as they would stand in each request
    problem: str
    refused: tuple[str, ...]  # tools that it has and we cannot hold
    origin: str
    log: str


@app.default
def sources(*config: Path, timeout: float = SECONDS, log: Flag = False, json: Json = False) -> int:
    """Start the MCP servers of configurations, and tell how they are and what their tools cost.

    Read are the files of Claude, Cursor, VS Code, Gemini and Windsurf, apps, and OpenAPI documents. Every server
    that is not switched off is started, asked for its tools, and stopped again.

    Example: `toolcrib sources .mcp.json ~/.cursor/mcp.json`

    Args:
        config: Files that name servers; `.mcp.json` if none is given.
        timeout: How long a server may take to start, in seconds.
        log: Show the last lines that servers on this machine wrote to stderr.
    """
    found = asyncio.run(looked_at(config or (Path(DEFAULT),), timeout))
    if json:
        write_json({"exact": is_exact(), "sources": [asdict(line) for line in found]})
    else:
        show(found, log=log)
    states = {line.state for line in found}
    if SourceState.DOWN in states:
        return _UNREACHABLE
    return _NEEDS_LOGIN if SourceState.NEEDS_LOGIN in states else 0


async def looked_at(paths: Sequence[Path], seconds: float) -> list[SourceLine]:
    """Every source of these files, started once and looked at."""
    from toolcrib.sources.group import SourceGroup

    made = made_sources(paths, Catalog(), seconds, read=named_servers)
    async with SourceGroup(made) as group:
        await group.settled()
        return [_line(source) for source in made]


def made_sources(
    paths: Sequence[Path], catalog: ToolHolder, seconds: float, *, read: ReadServers = read_mcp_servers
) -> "list[McpSource | OpenApiSource]":
    """A source for each server of the files. Of an app only `read=named_servers` takes the servers: it is more."""
    require_mcp("An MCP server")
    from toolcrib.sources.mcp import McpSource  # late, as below: they load the MCP and HTTP libraries
    from toolcrib.sources.mcp_limits import McpLimits
    from toolcrib.sources.mcp_login import saved_login
    from toolcrib.sources.openapi import OpenApiSource

    documents = [path for path in paths if _is_openapi(path)]
    servers = read(path for path in paths if path not in documents)
    limits = McpLimits(connect_seconds=seconds, list_seconds=seconds)
    logins = Settings.from_environment().logins
    return [
        *(McpSource(server, catalog, limits=limits, auth=saved_login(server, logins)) for server in servers),
        *(OpenApiSource(path.stem, path, catalog) for path in documents),
    ]


def show(lines: Sequence[SourceLine], *, log: bool = False) -> None:
    """The table, for people."""
    table = Columns(("source", "kind", "state", "tools", "tokens", "problem"))
    for line in lines:
        count = TokenCount(tokens=line.tokens, exact=is_exact())
        table.add(line.name, line.kind, line.state, f"{line.tools:,}", str(count), line.problem)
    table.show()
    total = TokenCount(tokens=sum(line.tokens for line in lines), exact=is_exact())
    say(f"\n{sum(line.tools for line in lines):,} tools would take {total} tokens of every request.")
    for line in lines:
        for refused in line.refused:
            note(f"{line.name}: left out: {refused}")
        if log and line.log.strip():
            note(f"{line.name} wrote:")
            for written in line.log.splitlines()[-_MOST_LOG_LINES:]:
                note(f"  {written}")


def _line(source: "McpSource | OpenApiSource") -> SourceLine:
    from toolcrib.sources.mcp import McpSource

    server = source.server if isinstance(source, McpSource) else None
    tools: Sequence[Tool] = source.tools
    return SourceLine(
        name=source.name.partition(":")[2],
        kind=server.transport if server else "openapi",
        state=source.state,
        tools=len(tools),
        tokens=definitions_tokens(tools),
        problem=source.problem,
        refused=source.problems,
        origin=server.origin if server else "",
        log=source.log if isinstance(source, McpSource) else "",
    )


def _is_openapi(path: Path) -> bool:
    try:
        beginning = path.expanduser().read_text(encoding="utf-8", errors="replace")[:5_000]
    except OSError as error:
        hint = "Give the file of an MCP client, such as ~/.cursor/mcp.json."
        raise SourceConfigError(f"{path}: it cannot be read: {error.strerror}.", hint=hint) from None
    return '"openapi"' in beginning or any(line.startswith("openapi:") for line in beginning.splitlines())


app.command(login)
app.command(logout)
