"""`toolcrib gateway`: one MCP server in front of all those that a configuration names."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import App, Parameter

from toolcrib.catalog import Catalog
from toolcrib.cli.catalogue import shared_source
from toolcrib.cli.gateway_setup import LockPlace, approve, install
from toolcrib.cli.options import Flag, Json
from toolcrib.cli.output import note, say
from toolcrib.cli.serve import Names, tenants
from toolcrib.cli.sources import DEFAULT, SECONDS, made_sources
from toolcrib.errors import GatewayError, require
from toolcrib.settings import Settings

if TYPE_CHECKING:
    from toolcrib.gateway.server import Gateway, SurfaceName
    from toolcrib.server.options import Options

HOST = "127.0.0.1"
CALLER = "http"  # who has a token without a name

app = App(name="gateway", default_parameter=Parameter(negative=()))


@app.default
def gateway(
    *config: Path,
    http: int | None = None,
    host: str = HOST,
    surface: Literal["search", "browse"] = "search",
    activate: Flag = False,
    policy: Path | None = None,
    lock: LockPlace = None,
    catalogue: str | None = None,
    token: Names = (),
    allow_host: Names = (),
    allow_origin: Names = (),
    timeout: float = SECONDS,
    dry_run: Flag = False,
    json: Json = False,
) -> int:
    """Serve the tools of many MCP servers as one MCP server, behind three tools: search_tools, get_tool, call_tool.

    Read are the files of Claude, Cursor, VS Code, Gemini and Windsurf, and OpenAPI documents. Without --http it speaks
    MCP over stdin and stdout, as clients start it. Both protocols are spoken, 2025-11-25 and 2026-07-28.

    Example: `toolcrib gateway .mcp.json --lock tools.lock`

    Args:
        config: Files that name servers; `.mcp.json` if none is given.
        http: Serve over HTTP on this port, at /mcp; 0 picks a free one. Its address is on stdout.
        host: The address to listen on.
        surface: `search` has three tools; `browse` has five, to walk the catalogue by category.
        activate: Put tools that were found into the client's own list, for clients of the older protocol (2025-11-25),
            session by session. Without it, and in the newer protocol, the list never changes.
        policy: A YAML file that says which tools are allowed, asked about, hidden or denied.
        lock: A file of approved definitions. It is made at the first start, from what the servers list then; a tool
            that is new or changed later is held back until `toolcrib gateway approve`. Gateways on several machines
            share `postgresql://user@host/database#name`.
        catalogue: Serve the tools of the catalogue in this database, which `toolcrib catalogue publish` fills, instead
            of asking every server; the servers of `config` are started when a tool of theirs is first called.
        token: Who has it may use the gateway over HTTP; `role:token` gives the caller a role in the policy. May be
            given several times. In TOOLCRIB_TOKEN it is safer. Without any, one is made and shown.
        allow_host: A name by which the gateway may be called, besides `host`.
        allow_origin: A page elsewhere that may use it, such as `https://desk.example`.
        timeout: How long a server may take to start, in seconds.
        dry_run: Start every server once, tell what would be served and what is held back, and end.
    """
    require("gateway", "The gateway")
    settings = Settings.from_environment()
    if lock is not None and catalogue is not None:
        hint = "Review changes with `toolcrib catalogue publish --review`, and leave out --lock."
        raise GatewayError("A shared catalogue has approvals of its own.", hint=hint)
    made = _made(
        config or ((Path(DEFAULT),) if catalogue is None else ()),
        catalogue,
        surface,
        policy,
        lock,
        timeout,
        settings,
        remember=not dry_run,
        activate=activate,
    )
    if dry_run:
        from toolcrib.cli.gateway_dry_run import looked_through  # late: loads the search

        return asyncio.run(looked_through(made, json=json))
    if lock is None and catalogue is None:
        note("No --lock: tools are served as their servers describe them, also when that changes.")
    if http is None:
        _quiet()
        asyncio.run(_over_stdio(made))
        return 0
    options = _options(http, host, (*token, *settings.tokens), allow_host, allow_origin)
    from toolcrib.gateway.http import PATH, http_server
    from toolcrib.server.taken_socket import address, taken_socket

    taken = taken_socket(options, flag="--http")
    _quiet()
    say(address(options, taken, PATH))
    with suppress(KeyboardInterrupt):
        http_server(made, options).run(sockets=[taken])
    return 0


def _made(
    paths: Sequence[Path],
    catalogue: str | None,
    surface: "SurfaceName",
    policy: Path | None,
    lock: str | None,
    seconds: float,
    settings: Settings,
    *,
    remember: bool,
    activate: bool,
) -> "Gateway":
    from toolcrib.gateway.gate import Gate
    from toolcrib.gateway.install import is_a_gateway
    from toolcrib.gateway.lock import open_lock
    from toolcrib.gateway.policy_file import read_policy
    from toolcrib.gateway.remembered import Remembered
    from toolcrib.gateway.server import Gateway
    from toolcrib.sources.group import SourceGroup
    from toolcrib.sources.mcp import McpSource

    gate = Gate(Catalog())
    if catalogue is not None:
        sources = SourceGroup([shared_source(catalogue, gate, paths, seconds)])
    else:
        sources = SourceGroup(
            source
            for source in made_sources(paths, gate, seconds)
            if not (isinstance(source, McpSource) and is_a_gateway(source.server))
        )
    rules = read_policy(policy) if policy else None
    if lock is not None:
        gate.lock = open_lock(lock, [source.name for source in sources.sources], keep=remember)
    folder = settings.cache / "gateway"
    return Gateway(
        sources,
        gate,
        policy=rules,
        surface=surface,
        activate=activate,
        remembered=Remembered(folder) if remember else None,
    )


async def _over_stdio(made: "Gateway") -> None:
    from mcp.server.stdio import stdio_server

    loop = asyncio.get_running_loop()
    ending: list[asyncio.Task[None]] = []

    async def end(code: int) -> None:
        await made.sources.stop()  # programs that we started end with us
        os._exit(code)  # a thread waits for the next line of stdin, and nothing else can end it

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, RuntimeError):  # Windows; a thread that is not the first
            loop.add_signal_handler(number, lambda code=128 + number: ending.append(loop.create_task(end(code))))
    async with stdio_server() as (incoming, outgoing):
        await made.server.run(incoming, outgoing, made.server.create_initialization_options())


def _options(port: int, host: str, tokens: Sequence[str], hosts: Sequence[str], origins: Sequence[str]) -> "Options":
    from toolcrib.server.options import Options, is_loopback

    if not tokens and is_loopback(host):
        made = secrets.token_urlsafe(24)
        note(f"No token was given. This one is good until the gateway ends: {made}")
        tokens = (made,)
    return Options(
        host=host,
        port=port,
        tokens={secret: name or CALLER for secret, name in tenants(tokens).items()},
        hosts=frozenset(name.casefold() for name in hosts),
        origins=frozenset(origin.rstrip("/") for origin in origins),
        body_bytes=4 << 20,
        requests_per_second=100,
        burst=400,
    )


def _quiet() -> None:
    """Let the libraries say only what somebody should look into: stderr is where clients look for it."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)


app.command(install)
app.command(approve)
