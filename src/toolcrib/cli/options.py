"""Shared by the commands: common options, and how to open the catalogs, indexes, sources and databases they name."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.loading import load_catalog as load_from
from toolcrib.cli.output import note
from toolcrib.errors import LoadError, SourceConfigError, StoreError, require_mcp
from toolcrib.settings import MODE_VARIABLE, Settings, is_postgres

if TYPE_CHECKING:
    from toolcrib.discovery.toolbox import Surface
    from toolcrib.postgres.replica import Runner, SharedSource
    from toolcrib.search.index import ToolIndex
    from toolcrib.search.interface import SearchIndex
    from toolcrib.sources.mcp.config import McpServer
    from toolcrib.sources.mcp.isolation import Isolation
    from toolcrib.sources.mcp.source import McpSource
    from toolcrib.sources.openapi.source import OpenApiSource
    from toolcrib.sources.source import ToolSink


# --from: where to load tools from; by default, the tools of the reference CMS.

FORMS = "Write `--from package.module:catalog`, `--from tools.py`, `--from folder` or `--from tools.json`."


def load_catalog(place: str | None, *, calls: bool = False) -> Catalog:
    """Load the catalog at a place; several catalogs, or single tools, are merged into a new one.

    The default is the reference CMS: only its definitions, which need no extra, or with `calls` its working tools.
    """
    if place is None:
        place = "toolcrib_cms:catalog" if calls else "toolcrib_cms:definitions"
    return load_from(place, forms=FORMS)


# Options that several commands share

From: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--from",
        help="Where the tools are: `package.module:catalog`, a Python file, a folder of Python files "
        "with their metadata in `tools.yaml`, or a JSON file of definitions. By default, those of the reference CMS.",
    ),
]
Flag: TypeAlias = Annotated[bool, Parameter(negative=(), show_default=False)]
Json: TypeAlias = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help="Write JSON.")]


ModeName: TypeAlias = Annotated[
    Literal["direct", "compact", "discovery", "auto"] | None,
    Parameter(
        name="--mode",
        help="What the model sees of the tools at first: all schemas, one line per tool, only a search tool, or the "
        "first of these that fits. Replaces an app's `tool_injection`; by default TOOLCRIB_MODE.",
    ),
]


def shown_tools(
    catalog: Catalog, mode: ModeName, settings: Settings, surface: "Surface | None" = None
) -> dict[str, Any]:
    """The options of a `Crib` that say what its model sees of these tools, and whether the index learns."""
    from toolcrib.discovery.costs import WINDOW
    from toolcrib.discovery.modes import Mode, choose_mode, forced_mode
    from toolcrib.discovery.surfaces.browse import compact_surface
    from toolcrib.discovery.surfaces.search import search_surface

    named = mode or settings.mode or Mode.DISCOVERY
    # A catalog that is followed is still empty: how many tools there will be is not known.
    chosen = forced_mode(named, variable="" if mode else MODE_VARIABLE) or (
        choose_mode(catalog, WINDOW).mode if len(catalog) else Mode.DISCOVERY
    )
    finders = compact_surface if chosen is Mode.COMPACT else surface or search_surface
    return {"mode": chosen, "learn": settings.learn, "surface": finders}


EmbedderName: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--embedder",
        help="The embedding model: `builtin`, `openai`, `fastembed` or `sentence-transformers`, the last "
        "three with `:model` to choose another model. `openai` is any compatible endpoint: "
        "TOOLCRIB_EMBEDDER_URL, TOOLCRIB_EMBEDDER_KEY. By default, `builtin`.",
    ),
]


IndexPlace: TypeAlias = Annotated[
    Literal["memory", "postgres"],
    Parameter(
        name="--index",
        help="Where the search index is: in the `memory` of this process, or with --catalog in its database, "
        "`postgres`, which needs pgvector: all replicas share it, and none has to build it.",
    ),
]


def check_index(place: IndexPlace, catalog: str | None) -> None:
    """Raise an error if an index is wanted in PostgreSQL and there is no catalog in PostgreSQL."""
    if place == "postgres" and catalog is None:
        raise LoadError(
            "--index postgres needs the database of a shared catalog.",
            hint="Give --catalog postgresql://user@host/database, too; an app has `runtime: {index: postgres}`.",
        )


def shared_index(
    catalog: Catalog, place: IndexPlace, url: str | None, embedder: str | None, settings: Settings
) -> "SearchIndex":
    """The index that a server or a gateway should use."""
    check_index(place, url)
    if place == "memory":
        return own_index(catalog, embedder, settings)
    from toolcrib.search.embedders import open_embedder
    from toolcrib.search.index import open_index  # late, as below

    return open_index(catalog, open_embedder(embedder), url=url)


def own_index(catalog: Catalog, embedder: str | None, settings: Settings) -> "SearchIndex":
    """An index in the memory of this process, made when it is first searched unless an embedder is named."""
    from toolcrib.search.interface import LazyIndex

    return make_index(catalog, embedder, settings) if embedder else LazyIndex(catalog, folder=settings.indexes)


def make_index(
    catalog: Catalog, embedder: str | None, settings: Settings | None = None, *, probe: bool = False
) -> "ToolIndex":
    """Open the index of a catalog with the named embedder; a large one is stored for the next process.

    If the embedder fails, the index falls back to lexical search. With `probe` the failure is an error: a measurement
    needs both arms.
    """
    from toolcrib.search.embedders import open_embedder
    from toolcrib.search.index import ToolIndex  # late: numpy, which most verbs do not need

    settings = settings or Settings.from_environment()
    opened = open_embedder(embedder, settings)
    if probe and opened.remote:
        opened.embed_queries(["probe"])
    return ToolIndex(catalog, opened, folder=settings.indexes)


# MCP servers: from the files of MCP clients, from apps, and from OpenAPI documents

_APP = (".yaml", ".yml")


def named_servers(paths: Iterable[Path]) -> "tuple[McpServer, ...]":
    """Read the servers that these files configure, in order."""
    from toolcrib.sources.mcp.config import distinct_servers  # late, as all of `sources`: it loads asyncio

    return distinct_servers(server for path in paths for server in _servers(path))


def _servers(path: Path) -> "tuple[McpServer, ...]":
    from toolcrib.sources.mcp.config import read_mcp_servers

    if path.suffix not in _APP:
        return read_mcp_servers([path])
    from toolcrib.apps.load import servers_of_app  # late: reads YAML

    found = servers_of_app(path.expanduser())
    if not found:
        raise SourceConfigError(f"{path}: there are no MCP servers in it.", hint="Name them under tools.mcp_servers.")
    return found


ReadServers: TypeAlias = "Callable[[Iterable[Path]], tuple[McpServer, ...]]"
DEFAULT = ".mcp.json"
SECONDS = 30.0


_MOST_LOG_LINES = 10


def show_log(server: str, log: str) -> None:
    """Show the last lines that a server wrote to stderr."""
    if log.strip():
        note(f"{server} wrote:")
        for line in log.splitlines()[-_MOST_LOG_LINES:]:
            note(f"  {line}")


def default_lock(config: Sequence[Path], settings: Settings | None = None) -> Path:
    """Where the approved definitions of the servers in these files are, if nobody says another place."""
    paths = [str(path.expanduser().absolute()) for path in config]
    folder = (settings or Settings.from_environment()).locks
    return folder / f"{sha256(repr(paths).encode()).hexdigest()[:12]}.lock"


def open_sources(
    paths: Sequence[Path],
    catalog: "ToolSink",
    seconds: float,
    *,
    read: "ReadServers | None" = None,
    limits: Mapping[str, Any] | None = None,
    isolation: "Isolation | None" = None,
) -> "list[McpSource | OpenApiSource]":
    """Create a source for each server in the files. `read=named_servers` also reads the servers of app files.

    `limits` are fields of `McpLimits` that somebody set; `isolation` is for programs whose entry says nothing of it.
    """
    require_mcp("An MCP server")
    from toolcrib.sources.mcp.config import McpLimits, read_mcp_servers
    from toolcrib.sources.mcp.login import saved_login
    from toolcrib.sources.mcp.source import McpSource  # late, as below: they load the MCP and HTTP libraries
    from toolcrib.sources.openapi.source import OpenApiSource

    documents = [path for path in paths if _is_openapi(path)]
    servers = (read or read_mcp_servers)(path for path in paths if path not in documents)
    if isolation is not None:
        local = (server.transport == "stdio" and server.isolation is None for server in servers)
        servers = tuple(
            replace(server, isolation=isolation) if is_local else server
            for server, is_local in zip(servers, local, strict=True)
        )
    chosen = replace(McpLimits(connect_seconds=seconds, list_seconds=seconds), **(limits or {}))
    logins = Settings.from_environment().logins
    return [
        *(McpSource(server, catalog, limits=chosen, auth=saved_login(server, logins)) for server in servers),
        *(OpenApiSource(path.stem, path, catalog) for path in documents),
    ]


def _is_openapi(path: Path) -> bool:
    try:
        beginning = path.expanduser().read_text(encoding="utf-8", errors="replace")[:5_000]
    except OSError as error:
        hint = "Give the file of an MCP client, such as ~/.cursor/mcp.json."
        raise SourceConfigError(f"{path}: it cannot be read: {error.strerror}.", hint=hint) from None
    return '"openapi"' in beginning or any(line.startswith("openapi:") for line in beginning.splitlines())


def postgres_place(given: str | None) -> str:
    """Return the URL of the database that holds the shared catalog."""
    place = given or Settings.from_environment().store or ""
    if not is_postgres(place):
        raise StoreError(
            "A shared catalog needs a PostgreSQL database.",
            hint="Give --store postgresql://user@host/database, or set TOOLCRIB_STORE.",
        )
    return place


def shared_source(place: str, holder: "ToolSink", mcp: Iterable[Path], seconds: float) -> "SharedSource":
    """Return the shared catalog as a source that closes its database when it stops."""
    from toolcrib.postgres.catalog import SharedCatalog  # late, as below: only a shared catalog needs a database
    from toolcrib.postgres.database import PostgresDatabase
    from toolcrib.postgres.replica import SharedSource

    shared = SharedCatalog(PostgresDatabase(postgres_place(place)))
    runners = runners_here(Catalog(), mcp, seconds)
    return SharedSource(shared, holder, runners=runners, closes_database=True)


def runners_here(local: Catalog, mcp: Iterable[Path], seconds: float = SECONDS) -> "dict[str, Runner]":
    """Map each source to what runs its tools in this process: local code, or an MCP server started on demand."""
    from toolcrib.postgres.replica import CatalogRunner, SourceRunner

    runners: dict[str, Runner] = {tool.source: CatalogRunner(local) for tool in local}
    if paths := tuple(mcp):
        require_mcp("An MCP server")
        from toolcrib.sources.mcp.config import McpLimits, read_mcp_servers
        from toolcrib.sources.mcp.login import saved_login
        from toolcrib.sources.mcp.source import McpSource  # late: loads the MCP libraries

        limits = McpLimits(connect_seconds=seconds, list_seconds=seconds)
        logins = Settings.from_environment().logins
        for server in read_mcp_servers(paths):
            runners[f"mcp:{server.name}"] = SourceRunner(
                lambda catalog, server=server: McpSource(
                    server, catalog, limits=limits, auth=saved_login(server, logins)
                )
            )
    return runners


@asynccontextmanager
async def follow_catalog(
    url: str, catalog: Catalog, runners: "Mapping[str, Runner]", index: "SearchIndex | None" = None
) -> "AsyncGenerator[SharedSource]":
    """Keep a catalog in sync with the shared one while the context is open; then close its index, if one is given."""
    from toolcrib.postgres.catalog import SharedCatalog
    from toolcrib.postgres.database import PostgresDatabase
    from toolcrib.postgres.replica import SharedSource

    async with (
        PostgresDatabase(url) as database,
        SharedSource(SharedCatalog(database), catalog, runners=runners) as source,
    ):
        try:
            yield source
        finally:
            if index is not None:
                index.close()


# Databases: the shared catalog and the session store

SharedCatalogPlace: TypeAlias = Annotated[str | None, Parameter(name="--catalog", alias="--catalogue")]
StorePlace: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--store",
        help="Where sessions are kept: a file, or postgresql://user@host/database; else TOOLCRIB_STORE, else the "
        "user's data folder.",
    ),
]


OK, WAITS, NO_ANSWER, STOPPED = 0, 2, 4, 130


Names: TypeAlias = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False, consume_multiple=False)]


def tenants(tokens: Iterable[str]) -> dict[str, str]:
    """Map each token to its tenant: `name:token` belongs to tenant `name`, a plain token to the default tenant."""
    pairs = (token.rpartition(":") for token in tokens)
    return {secret: tenant for tenant, _, secret in pairs}
