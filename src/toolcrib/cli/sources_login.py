"""`toolcrib sources login` and `logout`: servers elsewhere that want to know who we are."""

import asyncio
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.cli.named_servers import named_servers
from toolcrib.cli.options import Flag
from toolcrib.cli.output import note, say
from toolcrib.errors import SourceConfigError, SourceLoginError, did_you_mean, require_mcp
from toolcrib.settings import Settings, variable
from toolcrib.sources.mcp_server import McpServer

if TYPE_CHECKING:
    from toolcrib.sources.mcp_given_client import GivenClient

DEFAULT = ".mcp.json"
SECONDS = 300.0
_NEGATIVE = 2


def login(
    name: str,
    *config: Path,
    client_id: str | None = None,
    client_secret_env: str | None = None,
    callback_port: int = 0,
    timeout: float = SECONDS,
    no_browser: Flag = False,
) -> int:
    """Log in to an MCP server elsewhere. Its page opens in your browser; the login is kept.

    The server says where its users log in (OAuth). Tokens are kept in your data folder, readable by you alone, and
    renewed when they are over. The gateway and apps use them; what is running takes a new login at its next try.

    Some servers register no programs by themselves. Register one on their page for developers, with the address
    http://127.0.0.1/callback, and give its --client-id; it is kept for the next login.

    Example: `toolcrib sources login github .mcp.json`

    Example: `toolcrib sources login github --client-id Iv1.0123 --client-secret-env GITHUB_SECRET`

    Args:
        name: The server, as its configuration names it.
        config: Files that name servers, also apps; `.mcp.json` if none is given.
        client_id: The program as which the server knows us, if it registers none by itself.
        client_secret_env: The environment variable that holds that program's secret, if it has one.
        callback_port: The port in the program's address, where the server wants it exactly; 0 is any that is free.
        timeout: How long to wait for you, in seconds.
        no_browser: Only show the address of the page.
    """
    require_mcp("A login")
    from toolcrib.sources.mcp_login_flow import log_in

    server = _server(name, config)

    async def open_page(address: str) -> None:
        note(f"Log in here: {address}")
        if not no_browser:
            await asyncio.to_thread(webbrowser.open, address)

    client = _client(client_id, client_secret_env, callback_port)
    tools = asyncio.run(log_in(server, Settings.from_environment().logins, open_page, timeout, client=client))
    say(f"{name} knows you now, and has {tools:,} tool{'s' * (tools != 1)}.")
    return 0


def logout(name: str, *config: Path) -> int:
    """Forget the login of an MCP server.

    Example: `toolcrib sources logout github`

    Args:
        name: The server, as its configuration names it.
        config: Files that name servers, also apps; `.mcp.json` if none is given.
    """
    require_mcp("A login")
    from toolcrib.sources.mcp_login import LoginFile

    if LoginFile(_server(name, config), Settings.from_environment().logins).forget():
        say(f"The login of {name} is forgotten.")
        return 0
    note(f"There was no login of {name}.")
    return _NEGATIVE


def _client(id: str | None, secret_variable: str | None, port: int) -> "GivenClient | None":
    from toolcrib.sources.mcp_given_client import GivenClient  # late: loads the MCP libraries

    if id is None:
        if secret_variable is not None or port:
            raise SourceConfigError("A secret or a port belongs to a client.", hint="Give its --client-id, too.")
        return None
    secret = None if secret_variable is None else variable(secret_variable)
    if secret_variable is not None and secret is None:
        hint = "Give the name of an environment variable, not the secret itself."
        raise SourceLoginError("The variable of --client-secret-env is not set.", hint=hint)
    return GivenClient(id=id, secret=secret, port=port)


def _server(name: str, config: tuple[Path, ...]) -> McpServer:
    servers = {server.name: server for server in named_servers(config or (Path(DEFAULT),))}
    if name not in servers:
        hint = did_you_mean(name, servers) or f"There are: {', '.join(servers) or 'none'}."
        raise SourceConfigError(f"There is no server named {name!r}.", hint=hint)
    return servers[name]
