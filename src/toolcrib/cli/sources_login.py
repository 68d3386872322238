"""`toolcrib sources login` and `logout`: servers elsewhere that want to know who we are."""

import asyncio
import webbrowser
from pathlib import Path

from toolcrib.cli.named_servers import named_servers
from toolcrib.cli.output import note, say
from toolcrib.errors import SourceConfigError, did_you_mean
from toolcrib.settings import Settings
from toolcrib.sources.mcp_server import McpServer

DEFAULT = ".mcp.json"
SECONDS = 300.0
_NEGATIVE = 2


def login(name: str, *config: Path, timeout: float = SECONDS, no_browser: bool = False) -> int:
    """Log in to an MCP server elsewhere. Its page opens in your browser; the login is kept.

    The server says where its users log in (OAuth). Tokens are kept in your data folder, readable by you alone, and
    renewed when they are over. The gateway and apps use them; what is running takes a new login at its next try.

    Example: `toolcrib sources login github .mcp.json`

    Args:
        name: The server, as its configuration names it.
        config: Files that name servers, also apps; `.mcp.json` if none is given.
        timeout: How long to wait for you, in seconds.
        no_browser: Only show the address of the page.
    """
    from toolcrib.sources.mcp_login_flow import log_in

    server = _server(name, config)

    async def open_page(address: str) -> None:
        note(f"Log in here: {address}")
        if not no_browser:
            await asyncio.to_thread(webbrowser.open, address)

    tools = asyncio.run(log_in(server, Settings.from_environment().logins, open_page, timeout))
    say(f"{name} knows you now, and has {tools:,} tool{'s' * (tools != 1)}.")
    return 0


def logout(name: str, *config: Path) -> int:
    """Forget the login of an MCP server.

    Example: `toolcrib sources logout github`

    Args:
        name: The server, as its configuration names it.
        config: Files that name servers, also apps; `.mcp.json` if none is given.
    """
    from toolcrib.sources.mcp_login import LoginFile

    if LoginFile(_server(name, config), Settings.from_environment().logins).forget():
        say(f"The login of {name} is forgotten.")
        return 0
    note(f"There was no login of {name}.")
    return _NEGATIVE


def _server(name: str, config: tuple[Path, ...]) -> McpServer:
    servers = {server.name: server for server in named_servers(config or (Path(DEFAULT),))}
    if name not in servers:
        hint = did_you_mean(name, servers) or f"There are: {', '.join(servers) or 'none'}."
        raise SourceConfigError(f"There is no server named {name!r}.", hint=hint)
    return servers[name]
