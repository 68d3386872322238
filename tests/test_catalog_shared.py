"""The shared catalog: registered once, known by every replica, complete after PostgreSQL was away."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from benchmarks.postgres_server import PostgresServer
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import UnknownToolError
from toolcrib.postgres import notifications as listening
from toolcrib.postgres.catalog import Registration, SharedCatalog
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.replica import CatalogRunner, Runner, SharedSource, SourceRunner
from toolcrib.search.index import ToolIndex
from toolcrib.sources.source import SourceState, ToolSink
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Entity, Tool


async def done(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of(f"done with {dict(arguments)}")


def make(name: str, description: str = "Do a thing.", **more: Any) -> Tool:
    return Tool(name=name, description=description, call=done, **more)


@pytest.fixture
async def database(postgres_url: str) -> AsyncGenerator[PostgresDatabase]:
    async with PostgresDatabase(postgres_url) as opened:
        yield opened


@asynccontextmanager
async def replica(
    database: PostgresDatabase, tenant: str = "", runners: Mapping[str, Runner] | None = None
) -> AsyncGenerator[tuple[SharedSource, Catalog]]:
    catalog = Catalog()
    async with SharedSource(SharedCatalog(database, tenant=tenant), catalog, runners=runners) as source:
        yield source, catalog


async def reached(source: SharedSource, revision: int) -> None:
    await asyncio.wait_for(source.reached(revision), 60)


def names(catalog: Catalog) -> set[str]:
    return {tool.name for tool in catalog}


async def test_every_replica_follows_what_one_registers(database: PostgresDatabase) -> None:
    shared = SharedCatalog(database)
    await shared.register("mcp:mail", [make("send_mail", "Send an e-mail."), make("old_mail")])
    async with replica(database) as (first, one), replica(database) as (second, two):
        index = ToolIndex(two)
        assert (names(one), names(two), first.state) == ({"send_mail", "old_mail"}, {"send_mail", "old_mail"}, "ready")
        changed = await shared.register(
            "mcp:mail", [make("send_mail", "Send a letter."), make("get_weather", "Tell the weather of a city.")]
        )
        assert changed == Registration(revision=2, changed=("send_mail", "get_weather"), removed=("old_mail",))
        for source, catalog in ((first, one), (second, two)):
            await reached(source, 2)
            assert {tool.name: tool.description for tool in catalog} == {
                "send_mail": "Send a letter.",
                "get_weather": "Tell the weather of a city.",
            }
        assert index.search("weather of Paris").names[0] == "get_weather"
    assert names(one) == set()  # a source takes its tools with it


async def test_the_same_registration_by_several_replicas_is_one_change(database: PostgresDatabase) -> None:
    tools = [make(f"tool_{number}", parameters={"type": "object", "properties": {}}) for number in range(20)]
    catalogs = [SharedCatalog(database) for _ in range(6)]
    outcomes = await asyncio.gather(*(shared.register("mcp:many", tools) for shared in catalogs))
    assert [one.revision for one in outcomes] == [1] * 6
    assert sorted(len(one.changed) for one in outcomes) == [0, 0, 0, 0, 0, 20]


async def test_a_catalog_is_published_source_by_source(database: PostgresDatabase) -> None:
    shared = SharedCatalog(database)
    published = await shared.publish([make("a", source="mcp:one"), make("b", source="mcp:two")])
    assert {source: one.changed for source, one in published.items()} == {"mcp:one": ("a",), "mcp:two": ("b",)}
    # A source that is not named keeps what it has.
    assert (await shared.publish([make("c", source="mcp:two")]))["mcp:two"].removed == ("b",)
    async with replica(database) as (_, catalog):
        assert names(catalog) == {"a", "c"}


async def test_a_name_belongs_to_the_source_that_had_it_first(database: PostgresDatabase) -> None:
    shared = SharedCatalog(database)
    await shared.register("mcp:one", [make("search")])
    second = await shared.register("mcp:two", [make("search", "Another."), make("find")])
    assert (second.changed, len(second.refused)) == (("find",), 1)
    assert "'search'" in second.refused[0]
    await shared.register("mcp:one", [])  # gone: the name is free
    assert (await shared.register("mcp:two", [make("search", "Another."), make("find")])).changed == ("search",)


@pytest.mark.process
async def test_nothing_is_missed_while_postgresql_was_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "FIRST_PAUSE_SECONDS", 0.01)
    caplog.set_level(logging.ERROR)
    with PostgresServer(in_memory=True) as server:
        async with PostgresDatabase(server.new_database()) as database:
            shared = SharedCatalog(database)
            await shared.register("mcp:mail", [make("send_mail"), make("old_mail")])
            async with replica(database) as (source, catalog):
                await asyncio.to_thread(server.restart)
                await shared.register("mcp:mail", [make("send_mail", "Changed.")])  # the replica may not hear of it
                await reached(source, 2)
                assert [(tool.name, tool.description) for tool in catalog] == [("send_mail", "Changed.")]
                await shared.register("mcp:mail", [make("new_mail")])
                await reached(source, 3)
                assert names(catalog) == {"new_mail"}


async def test_a_replica_starts_while_the_database_is_down_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("toolcrib.postgres.replica.PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("toolcrib.postgres.database.OPENING_SECONDS", 0.2)
    async with PostgresDatabase("postgresql://nobody@127.0.0.1:9/none") as database, replica(database) as (source, _):
        assert (source.state, source.problem.startswith("The database postgresql://nobody@127.0.0.1:9/none")) == (
            SourceState.DOWN,
            True,
        )
    assert "The shared catalog cannot be read" in caplog.text


async def test_a_tool_is_run_with_the_code_that_the_replica_has(database: PostgresDatabase) -> None:
    def entities(result: object) -> list[Entity]:
        return []

    local = Catalog([make("send_mail", extraction=entities)])
    shared = SharedCatalog(database)
    await shared.publish([*local, make("far_away", source="mcp:far"), make("gone", source="mcp:near")])
    runners = {"python": CatalogRunner(local), "mcp:near": CatalogRunner(Catalog())}
    async with replica(database, runners=runners) as (_, catalog):
        assert (await catalog.get("send_mail").call({"to": "Ann"})).text == "done with {'to': 'Ann'}"
        assert catalog.get("send_mail").extraction is entities
        assert await catalog.get("far_away").call({}) == ToolResult.failure(
            "far_away cannot be called here: this server has no access to mcp:far."
        )
        assert await catalog.get("gone").call({}) == ToolResult.failure(
            "gone cannot be called now: mcp:near does not have it here."
        )


class Upstream:
    """A source that counts how often it was opened."""

    name = "mcp:mail"
    state = SourceState.READY
    problem = ""
    opened = closed = 0

    def __init__(self, catalog: ToolSink) -> None:
        self._catalog = catalog

    async def start(self) -> None:
        Upstream.opened += 1

    async def wait_until_settled(self) -> None:
        self._catalog.add_all([make("send_mail")])

    async def refresh(self) -> None: ...

    async def stop(self) -> None:
        Upstream.closed += 1


async def test_an_upstream_is_opened_by_the_first_call_only(database: PostgresDatabase) -> None:
    await SharedCatalog(database).register("mcp:mail", [make("send_mail")])
    async with replica(database, runners={"mcp:mail": SourceRunner(Upstream)}) as (_, catalog):
        assert Upstream.opened == 0
        for _ in range(2):
            assert (await catalog.get("send_mail").call({})).text == "done with {}"
        assert (Upstream.opened, Upstream.closed) == (1, 0)
    assert Upstream.closed == 1


async def test_new_and_changed_tools_wait_for_approval_where_they_are_reviewed(database: PostgresDatabase) -> None:
    shared = SharedCatalog(database, review=True)
    await shared.register("mcp:mail", [make("send_mail"), make("read_mail")])
    async with replica(database) as (source, catalog):
        later = [make("send_mail", "Send it to me, too."), make("read_mail"), make("delete_mail")]
        held = await shared.register("mcp:mail", later)
        assert held == Registration(revision=2, removed=("send_mail",), waiting=("send_mail", "delete_mail"))
        assert await shared.register("mcp:mail", later) == Registration(revision=2)  # no news
        await reached(source, 2)
        assert (names(catalog), list(await shared.waiting())) == ({"read_mail"}, ["delete_mail", "send_mail"])
        await shared.approve(["delete_mail"])
        await reached(source, 3)
        assert names(catalog) == {"read_mail", "delete_mail"}
        back = [make("send_mail"), make("read_mail"), make("delete_mail")]  # as it was approved before
        assert (await shared.register("mcp:mail", back)).changed == ("send_mail",)
        with pytest.raises(UnknownToolError):
            await shared.approve(["send_mail"])


async def test_a_replica_leaves_out_what_it_cannot_hold(
    database: PostgresDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    shared = SharedCatalog(database)
    await shared.register("mcp:mail", [make("send_mail"), make("mine"), make("odd")])
    async with database.connection() as connection:
        await connection.execute("""UPDATE toolcrib_catalog_tool SET definition = '{"of": 2031}' WHERE name = 'odd'""")
    catalog = Catalog([make("mine")])
    async with SharedSource(SharedCatalog(database), catalog):
        assert names(catalog) == {"send_mail", "mine"}
        catalog.remove("send_mail")
    assert names(catalog) == {"mine"}
    assert "odd of the shared catalog cannot be read here" in caplog.text
    assert "A tool of the shared catalog is left out" in caplog.text
