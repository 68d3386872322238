"""`toolcrib catalog`: the catalog that servers share in PostgreSQL, to publish into, look at and approve."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import App, Parameter

from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.options import SECONDS, Flag, From, Json, load_catalog, open_sources, postgres_place
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.sources.source import SourceState
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.postgres.catalog import Registration, SharedCatalog

_UNREACHABLE = 4

app = App(name="catalog", help="Manage a catalog that servers share: publish tools, show its content, approve changes.")

Place: TypeAlias = Annotated[
    str | None,
    Parameter(name="--store", help="The database, such as postgresql://user@host/database; else TOOLCRIB_STORE."),
]
Tenant: TypeAlias = Annotated[str, Parameter(help="The tenant, if several share the database.", show_default=False)]


@app.command
def publish(
    *config: Path,
    source: From = None,
    store: Place = None,
    tenant: Tenant = "",
    review: Flag = False,
    timeout: float = SECONDS,
    json: Json = False,
) -> int:
    """Publish tools to the shared catalog; every server that follows it has them within a second.

    Each source is replaced: tools that it no longer has are removed. If a server does not answer, its tools in the
    catalog stay. Publishing the same again changes nothing.

    Example: `toolcrib catalog publish .mcp.json --store postgresql://db/toolcrib`

    Args:
        config: Files that name MCP servers, and OpenAPI documents; each server is started once, asked, and stopped.
        review: New and changed tools of a known source wait for `toolcrib catalog approve`.
        timeout: How long a server may take to start, in seconds.
    """
    local = list(load_catalog(source)) if source is not None or not config else []
    url = postgres_place(store)
    done, down = asyncio.run(_publish(url, tenant, review, local, config, timeout))
    if json:
        write_json({"sources": {name: _as_dict(one) for name, one in done.items()}, "unreachable": down})
    else:
        table = Columns(("source", "changed", "removed", "waiting", "refused"))
        for name, one in done.items():
            table.add(name, *(f"{len(some)}" for some in (one.changed, one.removed, one.waiting, one.refused)))
        table.show()
        for refused in (sentence for one in done.values() for sentence in one.refused):
            note(f"left out: {refused}")
        for name, problem in down.items():
            note(f"{name}: {problem} The catalog keeps what it has of it.")
    return _UNREACHABLE if down else 0


@app.command
def status(*, store: Place = None, tenant: Tenant = "", json: Json = False) -> int:
    """Show the shared catalog: tools by source, the revision, and what waits for approval.

    Example: `toolcrib catalog status --json`
    """
    revision, counts, waiting = asyncio.run(_status(postgres_place(store), tenant))
    if json:
        write_json({"revision": revision, "sources": counts, "waiting": waiting})
        return 0
    table = Columns(("source", "tools"))
    for name, count in counts.items():
        table.add(name, f"{count:,}")
    table.show()
    note(f"{sum(counts.values()):,} tools at revision {revision}")
    for name in waiting:
        note(f"waits for approval: {name}")
    return 0


@app.command
def approve(*names: str, store: Place = None, tenant: Tenant = "") -> int:
    """Approve waiting tools, so that searches find them.

    Example: `toolcrib catalog approve github__merge_pull_request`

    Args:
        names: Their names; by default, all that wait.
    """
    approved = asyncio.run(_approve(postgres_place(store), tenant, names))
    for name in approved:
        say(name)
    note(f"{len(approved)} approved" if approved else "Nothing waits.")
    return 0


async def _publish(
    url: str, tenant: str, review: bool, local: Sequence[Tool], config: Sequence[Path], seconds: float
) -> tuple[dict[str, "Registration"], dict[str, str]]:
    from toolcrib.catalog.approvals import with_hints
    from toolcrib.sources.source import SourceGroup
    from toolcrib.tools.text import without_repetition

    async with _shared(url, tenant, review=review) as shared:
        done = await shared.publish(local)
        catalog = Catalog()
        made = open_sources(config, catalog, seconds) if config else []
        async with SourceGroup(made) as group:
            await group.wait_until_settled()
            for one in made:
                if one.state is SourceState.READY:
                    # What servers say of their tools was written by strangers, as everywhere at a gateway; whoever
                    # publishes it approves it.
                    tools = map(with_hints, map(without_repetition, one.tools))
                    done[one.name] = await shared.register(one.name, tools)
            down = {one.name: one.problem for one in made if one.state not in (SourceState.READY, SourceState.DISABLED)}
        return done, down


async def _status(url: str, tenant: str) -> tuple[int, dict[str, int], list[str]]:
    async with _shared(url, tenant) as shared:
        revision, rows = await shared.since(0)
        held = [row.source for row in rows if row.definition is not None]
        return revision, {name: held.count(name) for name in dict.fromkeys(held)}, list(await shared.waiting())


async def _approve(url: str, tenant: str, names: Sequence[str]) -> list[str]:
    async with _shared(url, tenant) as shared:
        chosen = list(names) or list(await shared.waiting())
        if chosen:
            await shared.approve(chosen)
        return chosen


@asynccontextmanager
async def _shared(url: str, tenant: str, *, review: bool = False) -> AsyncGenerator["SharedCatalog"]:
    from toolcrib.postgres.catalog import SharedCatalog  # late: `--help` needs no database
    from toolcrib.postgres.database import PostgresDatabase

    async with PostgresDatabase(url) as database:
        yield SharedCatalog(database, tenant=tenant, review=review)


def _as_dict(one: "Registration") -> dict[str, object]:
    return {
        "revision": one.revision,
        "changed": one.changed,
        "removed": one.removed,
        "waiting": one.waiting,
        "refused": one.refused,
    }
