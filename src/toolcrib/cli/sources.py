"""`toolcrib sources`: the state of the configured servers, and what their tools cost."""

import asyncio
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App, Parameter

from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.options import DEFAULT, SECONDS, Flag, Json, named_servers, open_sources, show_log
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.credentials import LOCAL, CredentialStore
from toolcrib.discovery.tokens import TokenCount, definitions_tokens, is_exact
from toolcrib.errors import SourceConfigError, SourceLoginError, did_you_mean, require_mcp
from toolcrib.settings import Settings, variable
from toolcrib.sources.mcp.config import McpServer
from toolcrib.sources.source import SourceState
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.sources.mcp.login import RegisteredClient
    from toolcrib.sources.mcp.source import McpSource
    from toolcrib.sources.openapi.source import OpenApiSource


# `toolcrib sources login` and `logout`: servers elsewhere that want to know who we are.

LOGIN_SECONDS = 300.0
_NEGATIVE = 2


def login(
    name: str,
    *config: Path,
    client_id: str | None = None,
    client_secret_env: str | None = None,
    client_metadata: str | None = None,
    callback_port: int = 0,
    user: str | None = None,
    timeout: float = LOGIN_SECONDS,
    no_browser: Flag = False,
) -> int:
    """Log in to a remote MCP server. Its page opens in your browser; the login is kept.

    The server says where its users log in (OAuth). Tokens are kept in your data folder, readable by you alone, and
    renewed when they expire. The gateway and apps use them; those that run use a new login at their next try.

    Some servers do not let programs register themselves. Register one on their page for developers, with the address
    http://127.0.0.1/callback, and give its --client-id; it is kept for the next login.

    Example: `toolcrib sources login github .mcp.json`

    Example: `toolcrib sources login github --client-id Iv1.0123 --client-secret-env GITHUB_SECRET`

    Args:
        name: The server, as its configuration names it.
        config: Files that name servers, also apps; by default `.mcp.json`.
        client_id: The registered program, if the server does not let us register.
        client_secret_env: The environment variable with that program's secret, if it has one.
        client_metadata: The address of a document that describes the program, for servers that take such documents
            (client ID metadata documents); with others, the program registers itself.
        user: Whose login it is, by the tenant of their sessions or as the gateway knows them; by default, yours. It is
            for servers that each user calls as themselves (`"auth": "user"`), and kept with their credentials.
        callback_port: The port in the program's address, if the server compares it; 0 is any free port.
        timeout: How long to wait for you, in seconds.
        no_browser: Only print the address of the page.
    """
    require_mcp("A login")
    from toolcrib.sources.mcp.login import log_in, stored_login

    server = _server(name, config)

    async def open_page(address: str) -> None:
        note(f"Log in here: {address}")
        if not no_browser:
            await asyncio.to_thread(webbrowser.open, address)

    client = _client(client_id, client_secret_env, callback_port)
    logins = Settings.from_environment().logins
    tools = asyncio.run(
        log_in(
            server,
            logins,
            open_page,
            timeout,
            client=client,
            client_metadata_url=client_metadata,
            login=stored_login(server, logins, CredentialStore.open(), user or LOCAL),
        )
    )
    say(f"{name} knows you now, and has {tools:,} tool{'s' * (tools != 1)}.")
    return 0


def logout(name: str, *config: Path, user: str | None = None) -> int:
    """Delete the login of an MCP server.

    Example: `toolcrib sources logout github`

    Args:
        name: The server, as its configuration names it.
        config: Files that name servers, also apps; by default `.mcp.json`.
        user: Whose login it is; by default, yours.
    """
    require_mcp("A login")
    from toolcrib.sources.mcp.login import stored_login

    logins = Settings.from_environment().logins
    if stored_login(_server(name, config), logins, CredentialStore.open(), user or LOCAL).forget():
        say(f"The login of {name} is forgotten.")
        return 0
    note(f"There was no login of {name}.")
    return _NEGATIVE


def _client(id: str | None, secret_variable: str | None, port: int) -> "RegisteredClient | None":
    from toolcrib.sources.mcp.login import RegisteredClient  # late: loads the MCP libraries

    if id is None:
        if secret_variable is not None or port:
            raise SourceConfigError("A secret or a port belongs to a client.", hint="Give its --client-id, too.")
        return None
    secret = None if secret_variable is None else variable(secret_variable)
    if secret_variable is not None and secret is None:
        hint = "Give the name of an environment variable, not the secret itself."
        raise SourceLoginError("The variable of --client-secret-env is not set.", hint=hint)
    return RegisteredClient(id=id, secret=secret, port=port)


def _server(name: str, config: tuple[Path, ...]) -> McpServer:
    servers = {server.name: server for server in named_servers(config or (Path(DEFAULT),))}
    if name not in servers:
        hint = did_you_mean(name, servers) or f"There are: {', '.join(servers) or 'none'}."
        raise SourceConfigError(f"There is no server named {name!r}.", hint=hint)
    return servers[name]


_NEEDS_LOGIN, _UNREACHABLE = 3, 4

app = App(name="sources", default_parameter=Parameter(negative=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """The line of one source."""

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
    """Start the configured MCP servers, and show their state and what their tools cost.

    It reads the files of Claude, Cursor, VS Code, Gemini and Windsurf, apps, and OpenAPI documents. Every server
    that is not disabled is started, asked for its tools, and stopped.

    Example: `toolcrib sources .mcp.json ~/.cursor/mcp.json`

    Args:
        config: Files that name servers; by default `.mcp.json`.
        timeout: How long a server may take to start, in seconds.
        log: Show the last lines that servers on this machine wrote to stderr.
    """
    found = asyncio.run(inspect_sources(config or (Path(DEFAULT),), timeout))
    if json:
        write_json({"exact": is_exact(), "sources": [asdict(line) for line in found]})
    else:
        show(found, log=log)
    states = {line.state for line in found}
    if SourceState.DOWN in states:
        return _UNREACHABLE
    return _NEEDS_LOGIN if SourceState.NEEDS_LOGIN in states else 0


async def inspect_sources(paths: Sequence[Path], seconds: float) -> list[SourceLine]:
    """Start every source of these files once, and inspect it."""
    from toolcrib.sources.source import SourceGroup

    made = open_sources(paths, Catalog(), seconds, read=named_servers)
    async with SourceGroup(made) as group:
        await group.wait_until_settled()
        return [_line(source) for source in made]


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
        if log or line.state == SourceState.DOWN:
            show_log(line.name, line.log)


def _line(source: "McpSource | OpenApiSource") -> SourceLine:
    from toolcrib.sources.mcp.source import McpSource

    server = source.server if isinstance(source, McpSource) else None
    tools: Sequence[Tool] = source.tools
    retrying = source.state is SourceState.STARTING and source.problem  # it has failed, and is just tried again
    return SourceLine(
        name=source.name.partition(":")[2],
        kind=server.transport if server else "openapi",
        state=SourceState.DOWN if retrying else source.state,
        tools=len(tools),
        tokens=definitions_tokens(tools),
        problem=source.problem,
        refused=source.problems,
        origin=server.origin if server else "",
        log=source.log if isinstance(source, McpSource) else "",
    )


app.command(login)
app.command(logout)
