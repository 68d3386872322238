"""`toolcrib serve`: an agent over HTTP, with its web page."""

import logging
import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from toolcrib.cli.load import load_catalog
from toolcrib.cli.options import Flag, From
from toolcrib.cli.output import note, say
from toolcrib.cli.sessions import StorePlace
from toolcrib.errors import LoadError, require
from toolcrib.settings import Settings

if TYPE_CHECKING:
    from toolcrib.server.options import Options
    from toolcrib.server.served import Served

HOST = "127.0.0.1"
PORT = 8765

Names: TypeAlias = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False, consume_multiple=False)]


def serve(
    app: Path | None = None,
    /,
    *,
    source: From = None,
    model: str | None = None,
    host: str = HOST,
    port: int = PORT,
    token: Names = (),
    allow_host: Names = (),
    allow_origin: Names = (),
    behind_proxy: Flag = False,
    store: StorePlace = None,
    catalogue: str | None = None,
    mcp: Annotated[tuple[Path, ...], Parameter(negative=(), show_default=False, consume_multiple=False)] = (),
) -> int:
    """Serve an agent over HTTP: a web page at /, the API under /api, AG-UI at /agui, /health and /metrics.

    Without a token the server listens on this machine only. Its address is on stdout; its logs, a JSON object a line,
    are on stderr. Ctrl-C or SIGTERM ends it: runs that are under way get ten seconds, and what they did is kept.

    Example: `toolcrib serve app.yaml --port 9000`

    Args:
        app: An app as a YAML file; without one, the tools of --from.
        model: As in `toolcrib chat`.
        host: The address to listen on; any but this machine's own needs a token.
        port: The port; 0 picks a free one.
        token: Who has it may use the server. `name:token` opens sessions of that tenant only. May be given several
            times. In TOOLCRIB_TOKEN it is safer: a command line can be seen by others.
        allow_host: A name by which the server may be called, besides `host`.
        allow_origin: A page elsewhere that may use it, such as `https://desk.example`.
        behind_proxy: A proxy of yours stands before it: believe what it says of who calls, and whether by TLS
            (`X-Forwarded-For`, `X-Forwarded-Proto`). Needs a token.
        catalogue: Follow the catalogue in this database, which `toolcrib catalogue publish` fills. The code of its
            tools comes from --from and --mcp; those without code here are found, and a call says so.
        mcp: A file that names MCP servers; each is started when a tool of it is first called.
    """
    if app is not None and (source is not None or catalogue is not None):
        raise LoadError("An app names its own tools.", hint="Give the file, or --from and --catalogue, not both.")
    if mcp and catalogue is None:
        raise LoadError("--mcp gives the code of a catalogue's tools.", hint="Give --catalogue, too; or an app.")
    settings = Settings.from_environment()
    shows_the_cms = app is None and source is None and catalogue is None
    require("demo" if shows_the_cms else "server", "The server")
    no_banner()
    from toolcrib.server.options import Options

    options = Options(
        host=host,
        port=port,
        tokens=tenants((*token, *settings.tokens)),
        hosts=frozenset(name.casefold() for name in allow_host),
        origins=frozenset(origin.rstrip("/") for origin in allow_origin),
        behind_proxy=behind_proxy,
    )
    if app is not None:
        served = _app(app, model, store, settings)
    elif catalogue is not None:
        served = _shared(catalogue, source, mcp, model, store, settings)
    else:
        served = _tools(source, model, store, settings)
    from toolcrib.server.taken_socket import taken_socket

    run_server(served, options, taken_socket(options))
    return 0


def tenants(tokens: Iterable[str]) -> dict[str, str]:
    """Whose sessions each token opens: `name:token` those of `name`, a plain one those of nobody in particular."""
    pairs = (one.rpartition(":") for one in tokens)
    return {secret: tenant for tenant, _, secret in pairs}


def no_banner() -> None:
    """Pydantic AI would greet between the lines of the log."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")


def run_server(
    served: "Served", options: "Options", taken: socket, *, talk: Iterable[str] = (), log_level: int = logging.INFO
) -> None:
    """Say where the server is, and serve until a signal comes. `talk` is said to the person at the terminal."""
    from toolcrib.server.app import create_app
    from toolcrib.server.listening import listen
    from toolcrib.server.logs import log_as_json
    from toolcrib.server.taken_socket import address

    with closing(taken):
        _ = served.model  # a model that cannot be used is said before anything else
        served = _with_spans(served)
        log_as_json(level=log_level)
        app = create_app(served, options)
        say(address(options, taken))
        for line in talk:
            note(line)
        listen(app, options, taken)


def _with_spans(served: "Served") -> "Served":
    settings = Settings.from_environment()
    if settings.traces is None:
        return served
    from toolcrib.server.tracing import provider_for, traced

    return traced(served, provider_for(settings.traces, served.version), content=settings.trace_content)


def _tools(source: str | None, model: str | None, place: str | None, settings: Settings) -> "Served":
    from toolcrib.agent.crib import Crib
    from toolcrib.server.served import Served
    from toolcrib.stores.store import open_store

    crib = Crib(load_catalog(source, calls=True), model=model or settings.model)
    return Served(crib=crib, store=open_store(place or settings.sessions))


def _shared(
    place: str, source: str | None, mcp: Iterable[Path], model: str | None, store: str | None, settings: Settings
) -> "Served":
    from toolcrib.agent.crib import Crib
    from toolcrib.catalog import Catalog
    from toolcrib.cli.catalogue import following, postgres_place, runners_here
    from toolcrib.server.served import Served
    from toolcrib.stores.store import open_store

    catalog = Catalog()
    runners = runners_here(load_catalog(source) if source is not None else Catalog(), mcp)
    return Served(
        crib=Crib(catalog, model=model or settings.model),
        store=open_store(store or settings.sessions),
        opens=(following(postgres_place(place), catalog, runners),),
    )


def _app(path: Path, model: str | None, place: str | None, settings: Settings) -> "Served":
    from toolcrib.apps.build import load_app
    from toolcrib.server.served import Served
    from toolcrib.stores.store import open_store

    app = load_app(path, model=model)
    return Served(
        crib=app.crib,
        store=open_store(place or settings.sessions),
        name=app.name,
        surface_name=app.spec.runtime.surface,
        opens=(app,),
    )
