"""`toolcrib serve`: an agent over HTTP, with its web page."""

import json
import logging
import os
import sys
import threading
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from toolcrib.cli.options import (
    EmbedderName,
    Flag,
    From,
    IndexPlace,
    ModeName,
    Names,
    SharedCatalogPlace,
    StorePlace,
    check_index,
    load_catalog,
    own_index,
    shared_index,
    shown_tools,
    tenants,
)
from toolcrib.cli.output import note, say
from toolcrib.errors import LoadError, require
from toolcrib.settings import OFFLINE, Settings

if TYPE_CHECKING:
    from toolcrib.server.services import Served
    from toolcrib.serving import Options


HOST = "127.0.0.1"
PORT = 8765


def serve(
    app: Path | None = None,
    /,
    *,
    source: From = None,
    model: str | None = None,
    mode: ModeName = None,
    host: str = HOST,
    port: int = PORT,
    token: Names = (),
    allow_host: Names = (),
    allow_origin: Names = (),
    behind_proxy: Flag = False,
    store: StorePlace = None,
    catalog: SharedCatalogPlace = None,
    mcp: Annotated[tuple[Path, ...], Parameter(negative=(), show_default=False, consume_multiple=False)] = (),
    embedder: EmbedderName = None,
    index: IndexPlace = "memory",
) -> int:
    """Serve an agent over HTTP: a web page at /, the API under /api, AG-UI at /agui, /health and /metrics.

    Without a token the server listens on this machine only. It writes its address to stdout, and its logs as JSON
    lines to stderr. Ctrl-C or SIGTERM ends it: current runs get ten seconds, and their work is kept.

    Example: `toolcrib serve app.yaml --port 9000`

    Args:
        app: The YAML file of an app; by default, an agent with the tools of --from.
        model: As in `toolcrib chat`.
        host: The address to listen on; all but local addresses need a token.
        port: The port; 0 picks a free one.
        token: A token that clients must send. `name:token` opens sessions of that tenant only. May be given several
            times. TOOLCRIB_TOKEN is safer: others can see command lines.
        allow_host: Another host name under which clients reach the server.
        allow_origin: The origin of a web page that may use the server, such as `https://desk.example`.
        behind_proxy: The server is behind a proxy of yours: trust its `X-Forwarded-For` and `X-Forwarded-Proto`.
            Needs a token.
        catalog: Follow the catalog in this database, which `toolcrib catalog publish` fills. The code of its
            tools comes from --from and --mcp; a tool without code here is found, but a call of it fails and says why.
        mcp: A file that names MCP servers; each is started when one of its tools is first called.
    """
    if app is not None and (source is not None or catalog is not None):
        raise LoadError("An app names its own tools.", hint="Give the file, or --from and --catalog, not both.")
    if mcp and catalog is None:
        raise LoadError("--mcp gives the code of a catalog's tools.", hint="Give --catalog, too; or an app.")
    check_index(index, catalog)
    settings = Settings.from_environment()
    shows_the_cms = app is None and source is None and catalog is None
    require("demo" if shows_the_cms else "server", "The server")
    no_banner()
    from toolcrib.serving import Options

    options = Options(
        host=host,
        port=port,
        tokens=tenants((*token, *settings.tokens)),
        hosts=frozenset(name.casefold() for name in allow_host),
        origins=frozenset(origin.rstrip("/") for origin in allow_origin),
        behind_proxy=behind_proxy,
    )
    if app is not None:
        served = _app(app, model, store, settings, embedder, mode)
    elif catalog is not None:
        served = _shared(catalog, source, mcp, model, store, settings, embedder, index, mode)
    else:
        served = _tools(source, model, store, settings, embedder, mode)
        served = replace(served, choose_model=not options.tokens)  # who talks is on this machine
    from toolcrib.serving import bind_socket

    run_server(served, options, bind_socket(options))
    return 0


def no_banner() -> None:
    """Turn off Pydantic AI's banner, which would stand in the log."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")


def run_server(
    served: "Served", options: "Options", taken: socket, *, talk: Iterable[str] = (), log_level: int = logging.INFO
) -> None:
    """Print the server's address, and serve until a signal comes. `talk` is printed to stderr."""
    from toolcrib.server.app import create_app, listen
    from toolcrib.server.metrics import log_as_json
    from toolcrib.serving import address

    with closing(taken):
        _ = served.model  # fail early if the model cannot be used
        served = _with_spans(served)
        log_as_json(level=log_level, hide_secrets=served.crib.hide_secrets)
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

    provider = provider_for(settings.traces, served.version, served.crib.hide_secrets)
    return traced(served, provider, content=settings.trace_content)


def _tools(
    source: str | None,
    model: str | None,
    place: str | None,
    settings: Settings,
    embedder: str | None,
    mode: ModeName,
) -> "Served":
    from toolcrib.agent.crib import Crib
    from toolcrib.server.services import Served
    from toolcrib.stores.store import open_store

    catalog = load_catalog(source, calls=True)
    index = own_index(catalog, embedder, settings)
    crib = Crib(catalog, model=model or settings.model, index=index, **shown_tools(catalog, mode, settings))
    return Served(crib=crib, store=open_store(place or settings.sessions))


def _shared(
    place: str,
    source: str | None,
    mcp: Iterable[Path],
    model: str | None,
    store: str | None,
    settings: Settings,
    embedder: str | None,
    index_place: IndexPlace,
    mode: ModeName,
) -> "Served":
    from toolcrib.agent.crib import Crib
    from toolcrib.catalog.catalog import Catalog
    from toolcrib.cli.options import follow_catalog, postgres_place, runners_here
    from toolcrib.server.services import Served
    from toolcrib.stores.store import open_store

    catalog, url = Catalog(), postgres_place(place)
    runners = runners_here(load_catalog(source) if source is not None else Catalog(), mcp)
    index = shared_index(catalog, index_place, url, embedder, settings)
    return Served(
        crib=Crib(catalog, model=model or settings.model, index=index, **shown_tools(catalog, mode, settings)),
        store=open_store(store or settings.sessions),
        opens=(follow_catalog(url, catalog, runners, index),),
    )


def _app(
    path: Path,
    model: str | None,
    place: str | None,
    settings: Settings,
    embedder: str | None,
    mode: ModeName,
) -> "Served":
    from toolcrib.apps.build import load_app
    from toolcrib.server.services import Served
    from toolcrib.stores.store import open_store

    app = load_app(path, model=model, embedder=embedder, mode=mode)
    _ = app.models  # a key that everybody needs is said before anything else
    for missing in app.missing_keys():  # of this machine's user alone: others may have theirs
        note(f"warning: {missing}")
    return Served(
        crib=app.crib,
        store=open_store(place or settings.sessions),
        name=app.name,
        surface_name=app.spec.runtime.surface,
        opens=(app,),
    )


# `toolcrib demo`: the reference CMS with its site and an agent, in the browser. No key is needed.

NAME = "Verdant CMS"
SUGGESTIONS = (
    "Show me all pages",
    "znajdź zdjęcie paproci",
    "Create an About page with a hero and a mountain image",
    "Delete the Old pricing page",
)
REMARKS = {
    SUGGESTIONS[0]: "one search, one call",
    SUGGESTIONS[1]: "Polish: find a picture of a fern",
    SUGGESTIONS[2]: "several tools",
    SUGGESTIONS[3]: "asks first",
}
SESSIONS = "sessions.db"


def demo(
    *,
    model: str | None = None,
    port: int = PORT,
    reset: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
) -> int:
    """Show an agent at work in your browser: a chat beside the site of a small CMS with 45 tools.

    Its data is in one folder (TOOLCRIB_CMS_DATA, else in the user's data folder) and stays for the next time. Without
    an API key or TOOLCRIB_MODEL, the offline brain takes the place of a language model.

    Example: `toolcrib demo --model local`

    Args:
        model: As in `toolcrib chat`. The page can choose another one.
        port: The port; 0 picks a free one.
        reset: Delete all changes and conversations of earlier runs first.
        browser: Open the page.
    """
    require("demo", "The demo")
    no_banner()
    from toolcrib.serving import Options, address, bind_socket

    options = Options(host=HOST, port=port)
    running = f"http://{HOST}:{port}/"
    if not reset and _is_demo(running):
        say(running)
        note("It is running there already.")
        show(running, browser=browser)
        return 0
    taken = bind_socket(options)  # before anything is changed: another program may have the port
    settings = Settings.from_environment()
    served = _demo(replace(settings, model=model or settings.model), reset)
    brain = "offline: rules, no language model" if served.model == OFFLINE else served.model
    talk = (
        f'1. Ask "{SUGGESTIONS[0]}", or in any language: "{SUGGESTIONS[1]}". ({brain})',
        f'2. Let it change something: "{SUGGESTIONS[3]}". It asks first; the site beside it follows.',
        "3. Look at Inspector, Playground and Catalog: what was found, why, and what it saves. Ctrl-C ends.",
    )
    show(address(options, taken), browser=browser)
    # A line for each request would push what to try out of sight.
    run_server(served, options, taken, talk=talk, log_level=logging.WARNING)
    return 0


def _demo(settings: Settings, reset: bool) -> "Served":
    from toolcrib.agent.crib import Crib
    from toolcrib.agent.prompt import Prompt
    from toolcrib.policy.policy import Decision, Policy, Rule
    from toolcrib.server.services import Served
    from toolcrib.stores.store import open_store
    from toolcrib_cms import build
    from toolcrib_cms.settings import CmsSettings

    folder = CmsSettings.from_environment().data_folder
    cms = build(folder)
    if reset:
        cms.reset()
        _forget(folder)
    cms.render_site("/site/")  # written now, so that the first click does not wait
    crib = Crib(
        cms.catalog,
        model=settings.model,
        policy=Policy(rules=(Rule(decision=Decision.ASK, category="http"),)),
        prompt=Prompt(more=cms.prompt),
    )
    return Served(
        crib=crib,
        store=open_store(folder / SESSIONS),
        name=NAME,
        suggestions=SUGGESTIONS,
        remarks=REMARKS,
        site=cms.render_site,
        content=cms,
        choose_model=True,
    )


def _forget(folder: Path) -> None:
    for name in (SESSIONS, f"{SESSIONS}-wal", f"{SESSIONS}-shm"):
        (folder / name).unlink(missing_ok=True)


def _is_demo(place: str) -> bool:
    """Whether a demo of Toolcrib answers there."""
    try:
        with urllib.request.urlopen(f"{place}api/app", timeout=2) as answer:
            return json.load(answer).get("name") == NAME
    except (OSError, ValueError, urllib.error.URLError):
        return False


def show(place: str, *, browser: bool) -> None:
    """Open the page in a browser, if stderr is a terminal."""
    if browser and sys.stderr.isatty():
        # Off this thread: some systems wait until the browser is closed.
        threading.Thread(target=webbrowser.open, args=(place,), daemon=True).start()
