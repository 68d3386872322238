"""The catalog that many replicas share: sources register once, in PostgreSQL, and every change has a revision number.

A registration takes the tenant's row first and keeps it to the end. So revisions become visible in their order, and a
replica that has seen number 7 never has to look for a 6 that came late.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.errors import DuplicateToolError, UnknownToolError
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.migrations import Component, Migration, migrate
from toolcrib.tools.tool import Extraction, Extractor, Protocol, Tool, ToolCall

if TYPE_CHECKING:
    from psycopg import AsyncConnection


# What a registration changes in the shared catalog: pure rules, no database.


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a registration changed, by name; nothing if the catalog had it all."""

    revision: int
    changed: tuple[str, ...] = ()  # that came, or came anew
    removed: tuple[str, ...] = ()  # that can no longer be found
    waiting: tuple[str, ...] = ()  # that somebody has to approve first
    refused: tuple[str, ...] = ()  # a sentence for each that another source has


@dataclass(frozen=True, slots=True)
class Row:
    """The stored row of one tool name."""

    source: str
    definition: str | None = None
    approved: str | None = None
    waiting: str | None = None

    @property
    def is_free(self) -> bool:
        """Whether another source may have the name."""
        return self.definition is None and self.waiting is None


def changes(source: str, given: Mapping[str, str], held: Mapping[str, Row], *, review: bool) -> dict[str, Row]:
    """The rows that change when a source has these definitions, in their new state."""
    own = {name: row for name, row in held.items() if row.source == source}
    rows = {name: Row(source, None, row.approved) for name, row in own.items() if name not in given and not row.is_free}
    for name, text in given.items():
        before = held.get(name, Row(source))
        if before.source != source and not before.is_free:
            continue
        trusted = not review or not own or (before.source == source and before.approved == text)
        approved = before.approved if before.source == source else None
        after = Row(source, text, text) if trusted else Row(source, None, approved, text)
        if after != before:
            rows[name] = after
    return rows


def registration(
    revision: int, source: str, given: Mapping[str, str], held: Mapping[str, Row], rows: Mapping[str, Row]
) -> Registration:
    """The changes of a registration, by name."""
    others = {name: held[name].source for name in given if name in held and name not in rows}
    refused = [str(DuplicateToolError(name, other, source)) for name, other in others.items() if other != source]
    return Registration(
        revision=revision,
        changed=tuple(name for name, row in rows.items() if row.definition is not None),
        removed=tuple(
            name for name, row in rows.items() if row.definition is None and name in held and held[name].definition
        ),
        waiting=tuple(name for name, row in rows.items() if row.waiting is not None),
        refused=tuple(refused),
    )


# A tool as text, for another process: everything but its code and the line that defines it, exactly as it was.

CODE = "code"  # stands for an extractor that is a function: whoever has the tool's code has it, too


def dump_tool(tool: Tool) -> str:
    """The definition of a tool. The same tool is always the same text."""
    extraction = tool.extraction
    fields = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "category": tool.category,
        "phrases": tool.phrases,
        "related": tool.related,
        "risk": tool.risk.value,
        "confirm": tool.confirm,
        "protocol": asdict(tool.protocol) if tool.protocol else None,
        "extraction": asdict(extraction) if isinstance(extraction, Extraction) else extraction and CODE,
        "source": tool.source,  # not its origin: the same tool stands elsewhere on each machine
    }
    # ASCII: half of a surrogate pair and NUL are legal in a Python string, and no database takes them.
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))


def load_tool(text: str, call: ToolCall, extractor: Callable[[], Extractor | None]) -> Tool:
    """The tool that was written, which `call` runs; `extractor` is asked for one that was a function."""
    fields: dict[str, Any] = json.loads(text)
    protocol, extraction = fields.pop("protocol"), fields.pop("extraction")
    return Tool(
        **fields,
        call=call,
        protocol=Protocol(**protocol) if protocol else None,
        extraction=extractor() if extraction == CODE else Extraction(**extraction) if extraction else None,
    )


# The tables of the shared catalog: every tool with the revision that brought it, gone ones included.

CHANNEL = "toolcrib_catalog"

CATALOG = Component(
    "catalog",
    (
        Migration(
            1,
            (
                """
                CREATE TABLE toolcrib_catalog (
                    tenant text PRIMARY KEY,
                    revision bigint NOT NULL DEFAULT 0
                )
                """,
                """
                CREATE TABLE toolcrib_catalog_tool (
                    tenant text NOT NULL REFERENCES toolcrib_catalog ON DELETE CASCADE,
                    name text COLLATE "C" NOT NULL,
                    source text NOT NULL,
                    revision bigint NOT NULL,
                    definition text,
                    approved text,
                    waiting text,
                    PRIMARY KEY (tenant, name)
                )
                """,
                "CREATE INDEX toolcrib_catalog_tool_revision ON toolcrib_catalog_tool (tenant, revision)",
                "CREATE INDEX toolcrib_catalog_tool_source ON toolcrib_catalog_tool (tenant, source)",
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class SharedTool:
    """A tool as replicas read it; without a definition, the mark of a removed one."""

    name: str
    source: str
    revision: int
    definition: str | None


class SharedCatalog:
    """The catalog of one tenant. It needs no `close`: its connections are the database's.

    With `review`, a source's first tools can be found at once; what is new or changed later waits until `approve`.
    """

    def __init__(self, database: PostgresDatabase, *, tenant: str = "", review: bool = False) -> None:
        self.database = database
        self.tenant = tenant
        self._review = review
        self._ready = False
        self._preparing = asyncio.Lock()

    @property
    def notified_as(self) -> str:
        """The payload of the notification that this tenant's tools changed."""
        return self.tenant[:1_000]

    async def register(self, source: str, tools: Iterable[Tool]) -> Registration:
        """Replace the tools of a source. Several replicas may register the same: the first one changes it."""
        given = {tool.name: dump_tool(tool) for tool in tools}
        await self._prepare()

        async def work(connection: "AsyncConnection[Any]") -> Registration:
            revision = await self._revision(connection, lock=True)
            held = await self._held(connection, source, list(given))
            rows = changes(source, given, held, review=self._review)
            if rows:
                revision += 1
                await self._write(connection, source, rows, revision)
            return registration(revision, source, given, held, rows)

        return await self.database.write(work)

    async def publish(self, tools: Iterable[Tool]) -> dict[str, Registration]:
        """Register the tools of several sources; returns the registration of each."""
        by_source: dict[str, list[Tool]] = defaultdict(list)
        for tool in tools:
            by_source[tool.source].append(tool)
        return {source: await self.register(source, own) for source, own in by_source.items()}

    async def waiting(self) -> dict[str, str]:
        """The definitions that wait for approval, by name."""
        await self._prepare()
        query = (
            "SELECT name, waiting FROM toolcrib_catalog_tool WHERE tenant = %s AND waiting IS NOT NULL ORDER BY name"
        )
        async with self.database.connection() as connection:
            return dict(await (await connection.execute(query, (self.tenant,))).fetchall())

    async def approve(self, names: Sequence[str]) -> int:
        """Approve waiting tools, so that searches find them; returns the catalog's revision."""
        await self._prepare()

        async def work(connection: "AsyncConnection[Any]") -> int:
            revision = await self._revision(connection, lock=True) + 1
            query = (
                "UPDATE toolcrib_catalog_tool SET definition = waiting, approved = waiting, waiting = NULL,"
                " revision = %s WHERE tenant = %s AND name = ANY(%s) AND waiting IS NOT NULL RETURNING name"
            )
            rows = await (await connection.execute(query, (revision, self.tenant, list(names)))).fetchall()
            if unknown := sorted(set(names) - {name for (name,) in rows}):
                raise UnknownToolError(unknown[0], [name for (name,) in rows])
            await self._announce(connection, revision)
            return revision

        return await self.database.write(work)

    async def since(self, revision: int) -> tuple[int, list[SharedTool]]:
        """The catalog's revision, and what changed after another one, in the order of the changes."""
        await self._prepare()

        async def work(connection: "AsyncConnection[Any]") -> tuple[int, list[SharedTool]]:
            now = await self._revision(connection)
            query = (
                "SELECT name, source, revision, definition FROM toolcrib_catalog_tool"
                " WHERE tenant = %s AND revision > %s ORDER BY revision, name"
            )
            rows = await (await connection.execute(query, (self.tenant, revision))).fetchall()
            return now, [SharedTool(*row) for row in rows]

        return await self.database.read(work)

    async def _prepare(self) -> None:
        async with self._preparing:
            if not self._ready:
                async with self.database.connection() as connection:
                    await migrate(connection, CATALOG)
                    query = "INSERT INTO toolcrib_catalog (tenant) VALUES (%s) ON CONFLICT DO NOTHING"
                    await connection.execute(query, (self.tenant,))
                self._ready = True

    async def _revision(self, connection: "AsyncConnection[Any]", *, lock: bool = False) -> int:
        query = f"SELECT revision FROM toolcrib_catalog WHERE tenant = %s{' FOR UPDATE' if lock else ''}"
        row = await (await connection.execute(query.encode(), (self.tenant,))).fetchone()
        return row[0] if row else 0

    async def _held(self, connection: "AsyncConnection[Any]", source: str, names: Sequence[str]) -> "dict[str, Row]":
        query = (
            "SELECT name, source, definition, approved, waiting FROM toolcrib_catalog_tool"
            " WHERE tenant = %s AND (source = %s OR name = ANY(%s))"
        )
        rows = await (await connection.execute(query, (self.tenant, source, list(names)))).fetchall()
        return {row[0]: Row(*row[1:]) for row in rows}

    async def _write(
        self, connection: "AsyncConnection[Any]", source: str, rows: "Mapping[str, Row]", revision: int
    ) -> None:
        await connection.execute(
            "INSERT INTO toolcrib_catalog_tool (tenant, name, source, revision, definition, approved, waiting)"
            " SELECT %s, name, %s, %s, definition, approved, waiting"
            " FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])"
            " AS given (name, definition, approved, waiting)"
            " ON CONFLICT (tenant, name) DO UPDATE SET source = excluded.source, revision = excluded.revision,"
            " definition = excluded.definition, approved = excluded.approved, waiting = excluded.waiting",
            (
                *(self.tenant, source, revision, list(rows)),
                *([row.definition for row in rows.values()], [row.approved for row in rows.values()]),
                [row.waiting for row in rows.values()],
            ),
        )
        await self._announce(connection, revision)

    async def _announce(self, connection: "AsyncConnection[Any]", revision: int) -> None:
        query = "UPDATE toolcrib_catalog SET revision = %s WHERE tenant = %s"
        await connection.execute(query, (revision, self.tenant))
        # Heard when the transaction is kept, and never without it. A payload holds 8,000 bytes: tools are fetched.
        await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self.notified_as))
