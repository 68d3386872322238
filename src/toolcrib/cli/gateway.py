"""`toolcrib gateway`: one MCP server in front of all those that a configuration names."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from cyclopts import App, Parameter

from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.approvals import approve, confirm, review
from toolcrib.cli.gateway_status import status
from toolcrib.cli.options import (
    DEFAULT,
    SECONDS,
    EmbedderName,
    Flag,
    IndexPlace,
    Json,
    Names,
    SharedCatalogPlace,
    check_index,
    default_lock,
    open_sources,
    postgres_place,
    shared_index,
    shared_source,
    show_log,
    tenants,
)
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.errors import GatewayError, require
from toolcrib.settings import Settings, is_postgres

if TYPE_CHECKING:
    from toolcrib.gateway.oauth import OAuthSpec
    from toolcrib.gateway.profiles import SurfaceName
    from toolcrib.gateway.server import Gateway
    from toolcrib.gateway.setup import Setup
    from toolcrib.serving import Options


# `toolcrib gateway --dry-run`: what would be served, what is held back, and what clients would pay for it.


async def looked_through(made: "Gateway", *, json: bool) -> int:
    """Start every source once, show what clients would see and what it would save, and stop them again."""
    from toolcrib.discovery.surfaces.display import SOURCE as OWN
    from toolcrib.discovery.tokens import TokenCount, definitions_tokens, is_exact
    from toolcrib.policy.coverage import Fit
    from toolcrib.sources.source import SourceState

    async with made.running():
        await made.sources.wait_until_settled()
        surface = made.toolbox().surface
        held = [tool.name for tool in made.quarantine.quarantined]
        tools = [tool for tool in made.toolbox().tools if tool.source != OWN]
        rows = [
            {
                "source": source.name,
                "state": str(source.state),
                "tools": sum(tool.source == source.name for tool in tools),
                "held_back": sum(tool.source == source.name for tool in made.quarantine.quarantined),
                "problem": source.problem,
                "log": str(getattr(source, "log", "")) if source.state is SourceState.DOWN else "",
            }
            for source in made.sources.sources
        ]
        before, after = definitions_tokens(tools), definitions_tokens(surface)
        made.rules.require()
        pending = [str(one) for one in made.rules.judgements() if one.fit is Fit.PENDING]
        vanished = [f"{one} any more" for one in made.rules.vanished()]
    if json:
        names = [tool.name for tool in surface]
        costs = {"exact": is_exact(), "tokens": after, "tokens_of_all_tools": before}
        rules = {"pending": pending, "vanished": vanished}
        write_json({"surface": names, "sources": rows, "held_back": held, "rules": rules, **costs})
        return _UNREACHABLE if any(row["state"] == SourceState.DOWN for row in rows) else 0
    table = Columns(("source", "state", "tools", "held back", "problem"))
    for row in rows:
        table.add(*(str(value) for key, value in row.items() if key != "log"))
    table.show()
    for row in rows:
        show_log(str(row["source"]).partition(":")[2], str(row["log"]))
    shown = (
        f"{TokenCount(tokens=after, exact=is_exact())} tokens instead of {TokenCount(tokens=before, exact=is_exact())}"
    )
    say(f"\nClients would see {', '.join(tool.name for tool in surface)}: {shown}.")
    if tools and after >= before:
        note("With so few tools, clients pay less without the gateway.")
    for name in held:
        note(f"held back until approved: {name}")
    for rule in (*pending, *vanished):
        note(f"rule {rule}")
    return _UNREACHABLE if any(row["state"] == SourceState.DOWN for row in rows) else 0


# `toolcrib gateway install` and `approve`: the gateway in a client's file, and tools that wait for a person's yes.

NEGATIVE = 2
FileHere: TypeAlias = Annotated[Path | None, Parameter(show_default=False)]
LockPlace: TypeAlias = Annotated[str | None, Parameter(show_default=False)]


def install(
    client: str,
    *config: Path,
    lock: LockPlace = None,
    policy: Path | None = None,
    setup: Path | None = None,
    profile: str | None = None,
    surface: Literal["search", "browse", "code"] = "search",
    activate: Flag = False,
    file: FileHere = None,
    write: Flag = False,
) -> int:
    """Print the configuration entry for an MCP client; with --write, add it to the client's file.

    Clients are claude-code, claude-desktop, cursor, vscode, gemini and windsurf. Other entries of the file stay,
    and a copy of the old file is kept beside it.

    Example: `toolcrib gateway install cursor ~/servers.json --write`

    Args:
        client: The client.
        config: Files that name the servers behind the gateway; `.mcp.json` if none is given.
        lock: The file of approved definitions; by default, one in your data folder.
        policy: As in `toolcrib gateway`.
        setup: As in `toolcrib gateway`.
        profile: As in `toolcrib gateway`: what this client gets.
        surface: As in `toolcrib gateway`.
        activate: As in `toolcrib gateway`.
        file: The client's file, if it is not in its usual place.
        write: Write the entry to the file.
    """
    require("gateway", "The gateway")
    from toolcrib.gateway import install as clients

    known = clients.client_named(client)
    paths = [str(path.expanduser().absolute()) for path in config or (Path(DEFAULT),)]
    place = lock or str(default_lock(config or (Path(DEFAULT),)))
    options = ["--lock", place if is_postgres(place) or place == OFF else str(Path(place).expanduser().absolute())]
    options += ["--policy", str(policy.expanduser().absolute())] if policy else []
    options += ["--setup", str(setup.expanduser().absolute())] if setup else []
    options += ["--profile", profile] if profile else []
    options += ["--surface", surface] if surface != "search" else []
    options += ["--activate"] if activate else []
    entry = clients.entry(known, [*paths, *options])
    target = (file or known.file(Path.home(), Path.cwd())).expanduser()
    if not write:
        write_json(clients.document(known, entry))
        note(f"This belongs into {target}. With --write it is put there.")
        return 0
    held = clients.read(target)
    backup = clients.write(target, clients.document(known, entry, held))
    note(f"{target} was written.{f' The old one is {backup.name}.' if backup else ''} {known.title}: {known.then}")
    if others := clients.others(known, held):
        note(f"{known.title} still starts these by itself: {', '.join(others)}. Move them to {paths[0]}.")
    return 0


OFF = "off"
_UNREACHABLE = 4  # the exit code of --dry-run when a server is down
HOST = "127.0.0.1"

DryRun: TypeAlias = Annotated[bool, Parameter(name=("--dry-run", "--check"), negative=(), show_default=False)]

app = App(name="gateway", default_parameter=Parameter(negative=()))


@app.default
def gateway(
    *config: Path,
    http: int | None = None,
    host: str = HOST,
    surface: Literal["search", "browse", "code"] = "search",
    activate: Flag = False,
    policy: Path | None = None,
    setup: Path | None = None,
    profile: str | None = None,
    lock: LockPlace = None,
    require_review: Flag = False,
    catalog: SharedCatalogPlace = None,
    token: Names = (),
    allow_host: Names = (),
    allow_origin: Names = (),
    timeout: float = SECONDS,
    limit: Names = (),
    isolate: tuple[Literal["environment", "network", "read-only"], ...] = (),
    let_models_confirm: Flag = False,
    embedder: EmbedderName = None,
    index: IndexPlace = "memory",
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Serve the tools of many MCP servers as one MCP server, behind three tools: search_tools, get_tool, call_tool.

    It reads the files of Claude, Cursor, VS Code, Gemini and Windsurf, and OpenAPI documents. Without --http it speaks
    MCP over stdin and stdout, as clients start it. It supports the protocols 2025-11-25 and 2026-07-28.

    Example: `toolcrib gateway .mcp.json --lock tools.lock`

    Args:
        config: Files that name servers; by default `.mcp.json`.
        http: Serve over HTTP on this port, at /mcp; 0 picks a free one. The address is written to stdout.
        host: The address to listen on.
        surface: `search` has three tools; `browse` has five, to look through the catalog by category; `code` has a
            search and a tool that runs programs which call what it found.
        activate: Add found tools to the client's own list, session by session, for clients of the older protocol
            (2025-11-25). Without it, and in the newer protocol, the list never changes.
        policy: A YAML file with rules for which tools are allowed, need confirmation, are denied or hidden.
        setup: A YAML file with profiles: servers, tools, rules and surface of each. Over HTTP a client chooses one by
            its address, such as `/mcp/design`.
        profile: The profile that clients get which choose none: `default` of the file, otherwise everything.
        lock: A file of approved definitions. The first start writes it from what the servers list; a tool
            that is new or changed later is held back until `toolcrib gateway approve`. Gateways on several machines
            share `postgresql://user@host/database#name`.
        require_review: Trust nothing at first sight: without a lock that `toolcrib gateway review` made the gateway
            does not start, and servers that are not in it are held back.
        catalog: Serve the tools of the catalog in this database, which `toolcrib catalog publish` fills, instead
            of asking every server; the servers of `config` are started when one of their tools is first called.
        token: A token that HTTP clients must send; `role:token` gives the caller a role in the policy. May be
            given several times. TOOLCRIB_TOKEN is safer. By default, a token is made and shown.
        allow_host: Another host name under which clients reach the gateway.
        allow_origin: The origin of a web page that may use the gateway, such as `https://desk.example`.
        timeout: How long a server may take to start, in seconds.
        limit: A limit as NAME=VALUE, such as `call_seconds=120`; may be given several times. The guide lists them.
        isolate: What programs get no access to, unless their entry has an `isolation`: their `environment`, the
            `network`, or the file system (`read-only`). The last two need bubblewrap.
        let_models_confirm: In clients that cannot ask their user, answer a risky call with a code that the model can
            send by itself. Without it such a call waits for `toolcrib gateway confirm` in a terminal.
        dry_run: Start every server once, show what would be served and what is held back, and exit.
    """
    require("gateway", "The gateway")
    from toolcrib.gateway.setup import Setup, read_setup

    settings = Settings.from_environment()
    if lock is not None and catalog is not None:
        hint = "Review changes with `toolcrib catalog publish --review`, and leave out --lock."
        raise GatewayError("A shared catalog has approvals of its own.", hint=hint)
    check_index(index, catalog)
    if lock is None and catalog is None:
        lock = str(default_lock(config or (Path(DEFAULT),), settings))
    elif lock == OFF:
        lock = None
    if require_review and (lock is None or (not is_postgres(lock) and not Path(lock).exists())):
        hint = (
            f"Run: toolcrib gateway review {' '.join(map(str, config)) or DEFAULT}{f' --lock {lock}' if lock else ''}"
        )
        raise GatewayError("Nothing was reviewed yet, and --require-review trusts nothing else.", hint=hint)
    if lock is not None and not dry_run and not is_postgres(lock) and not Path(lock).exists():
        note("First start: what the servers list now is trusted. `toolcrib gateway review` shows it before.")
    chosen = read_setup(setup) if setup else Setup()
    made = make_gateway(
        config or ((Path(DEFAULT),) if catalog is None else ()),
        settings=settings,
        catalog=catalog,
        surface=surface,
        policy=policy,
        setup=chosen,
        profile=profile,
        lock=lock,
        seconds=timeout,
        remember=not dry_run,
        activate=activate,
        embedder=embedder,
        index=index,
        limits=limit,
        isolate=isolate,
        let_models_confirm=let_models_confirm,
        transport=None if dry_run else "stdio" if http is None else "http",
    )
    made.quarantine.trusts_first_lists = not require_review
    made.rules.require()  # before a client waits for an answer
    if dry_run:
        return asyncio.run(looked_through(made, json=json))
    if lock is None and catalog is None:
        note("--lock off: tools are served as their servers describe them, also when that changes.")
    if http is None:
        _quiet()
        asyncio.run(_over_stdio(made))
        return 0
    options = _options(http, host, (*token, *settings.tokens), allow_host, allow_origin, limit, chosen.oauth)
    from toolcrib.gateway.http import PATH, http_server
    from toolcrib.serving import address, bind_socket

    taken = bind_socket(options, flag="--http")
    _quiet()
    say(address(options, taken, PATH))
    with suppress(KeyboardInterrupt):
        http_server(made, options, chosen.oauth).run(sockets=[taken])
    return 0


def make_gateway(
    paths: Sequence[Path] = (),
    *,
    settings: Settings,
    catalog: str | None = None,
    surface: "SurfaceName" = "search",
    policy: Path | None = None,
    setup: "Setup | None" = None,
    profile: str | None = None,
    lock: str | None = None,
    seconds: float = SECONDS,
    remember: bool = False,
    activate: bool = False,
    embedder: str | None = None,
    index: IndexPlace = "memory",
    limits: Sequence[str] = (),
    isolate: Sequence[str] = (),
    let_models_confirm: bool = False,
    transport: str | None = None,
) -> "Gateway":
    """The gateway that the options describe. With `remember`, what servers list is kept for the next start.

    With a `transport`, `toolcrib gateway status` shows it while it runs.
    """
    from toolcrib.catalog.approvals import Quarantine, open_lock
    from toolcrib.gateway.install import is_a_gateway
    from toolcrib.gateway.limits import ChosenLimits
    from toolcrib.gateway.pending import WaitingCalls
    from toolcrib.gateway.server import Gateway, ToolCache
    from toolcrib.gateway.status import StatusFile
    from toolcrib.policy.reading import read_policy
    from toolcrib.sources.mcp.isolation import Isolation
    from toolcrib.sources.mcp.source import McpSource
    from toolcrib.sources.source import SourceGroup
    from toolcrib.stores.store import open_store

    surfaces = {surface, *((one.surface for one in setup.profiles.values()) if setup is not None else ())}
    runs_programs = "code" in surfaces
    if runs_programs:
        require("code", "The surface code")
    chosen = ChosenLimits.of(limits)
    asked = Isolation(
        environment="environment" in isolate, network="network" in isolate, read_only="read-only" in isolate
    )
    isolation = asked if isolate else None
    quarantine = Quarantine(Catalog())
    if catalog is not None:
        sources = SourceGroup([shared_source(catalog, quarantine, paths, seconds)])
    else:
        sources = SourceGroup(
            source
            for source in open_sources(
                paths, quarantine, seconds, limits=chosen.servers, isolation=isolation if isolate else None
            )
            if not (isinstance(source, McpSource) and is_a_gateway(source.server))
        )
    rules = read_policy(policy) if policy else None
    if lock is not None:
        quarantine.lock = open_lock(lock, [source.name for source in sources.sources], keep=remember)
    folder = settings.cache / "gateway"
    label = ", ".join(path.name for path in paths) or "shared catalog"
    return Gateway(
        sources,
        quarantine,
        policy=rules,
        surface=surface,
        activate=activate,
        index=shared_index(quarantine.catalog, index, postgres_place(catalog) if catalog else None, embedder, settings),
        tool_cache=ToolCache(folder) if remember else None,
        limits=chosen.gateway,
        waiting_calls=WaitingCalls(settings.confirmations, label=label, seconds=chosen.gateway.answer_seconds),
        let_models_confirm=let_models_confirm,
        status_file=StatusFile(settings.gateways, label=label, transport=transport) if transport else None,
        profiles=setup.profiles if setup else None,
        profile=profile,
        programs=open_store(settings.sessions) if transport and runs_programs else None,
        program_limits=chosen.programs,
    )


async def _over_stdio(made: "Gateway") -> None:
    from mcp.server.stdio import stdio_server

    loop = asyncio.get_running_loop()
    ending: list[asyncio.Task[None]] = []

    async def end(code: int) -> None:
        if made.status_file is not None:
            made.status_file.remove()
        await made.sources.stop()  # programs that we started end with us
        os._exit(code)  # a thread waits for the next line of stdin, and nothing else can end it

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, RuntimeError):  # Windows; a thread that is not the first
            loop.add_signal_handler(number, lambda code=128 + number: ending.append(loop.create_task(end(code))))
    async with stdio_server() as (incoming, outgoing):
        await made.server.run(incoming, outgoing, made.server.create_initialization_options())


def _options(
    port: int,
    host: str,
    tokens: Sequence[str],
    hosts: Sequence[str],
    origins: Sequence[str],
    limits: Sequence[str],
    oauth: "OAuthSpec | None" = None,
) -> "Options":
    from toolcrib.gateway.http import UNNAMED
    from toolcrib.gateway.limits import ChosenLimits
    from toolcrib.gateway.oauth import SUBJECT
    from toolcrib.serving import Options, is_loopback

    if oauth is not None:
        hosts = (*hosts, urlsplit(oauth.url).hostname or "")
    elif not tokens and is_loopback(host):
        made = secrets.token_urlsafe(24)
        note(f"No token was given. This one is good until the gateway ends: {made}")
        tokens = (made,)
    for name in tenants(tokens).values():
        if name == UNNAMED or name.startswith(SUBJECT):
            raise GatewayError(f"No token can be named {name!r}.", hint="Give it another name, or none.")
    options = Options(
        host=host,
        port=port,
        knows_callers=oauth is not None,
        tokens={secret: name or UNNAMED for secret, name in tenants(tokens).items()},
        hosts=frozenset(name.casefold() for name in hosts),
        origins=frozenset(origin.rstrip("/") for origin in origins),
        body_bytes=4 << 20,
        requests_per_second=100,
        burst=400,
    )
    return replace(options, **ChosenLimits.of(limits).http)


def _quiet() -> None:
    """Let the libraries say only what somebody should look into: stderr is where clients look for it."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)


app.command(install)
app.command(review)
app.command(approve)
app.command(confirm)
app.command(status)
