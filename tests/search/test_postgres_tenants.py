"""Whatever is put, removed, hidden or asked: no tenant ever sees a row of another, in the index or in the catalog."""

import asyncio
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from benchmarks.postgres_server import PostgresServer
from tests.support.search import make
from toolcrib.catalog.catalog import Catalog
from toolcrib.postgres.catalog import SharedCatalog
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.index import arms as postgres_dense
from toolcrib.postgres.index.filter import Filter, FilterRule
from toolcrib.postgres.index.index import PostgresIndex
from toolcrib.postgres.replica import SharedSource
from toolcrib.search.query import SearchOptions
from toolcrib.tools.tool import Tool

# Both tenants say the same few words, so that every way of finding a tool leads to tools of both.
WORDS = st.sampled_from(["send", "mail", "read", "page", "zdjęcie", "画像", "GitHub", "mails"])
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
NAMES = st.sampled_from(["send_mail", "read_page", "getPage", "list_mails", "find"])
ALL_TENANTS = ["a", "b", "a' OR tenant = 'b", "a%", ""]
TENANTS = st.sampled_from(ALL_TENANTS)
PUT = st.tuples(st.just("put"), TENANTS, NAMES, TEXTS)
REMOVE = st.tuples(st.just("remove"), TENANTS, NAMES, st.just(""))
STEPS = st.lists(PUT | PUT | REMOVE, min_size=2, max_size=10)
FILTERS = st.sampled_from([None, Filter(), Filter((FilterRule(shows=False, name="send*"),))])
ROUNDS = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
runs = count()


def owned(tenant: str, name: str, text: str) -> Tool:
    """A tool whose name and description say whose it is."""
    mark = ALL_TENANTS.index(tenant)
    related = [f"send_mail_of_{other}" for other in range(len(ALL_TENANTS))]
    return make(f"{name}_of_{mark}", f"{text} of {mark}.", related=related)


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.mark.parametrize("compared", [0, 2_000], ids=["by the graph", "all compared"])
@ROUNDS
@given(steps=STEPS, asked=st.lists(TEXTS | NAMES, min_size=1, max_size=4), where=FILTERS)
def test_no_search_of_a_tenant_finds_a_tool_of_another(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    compared: int,
    steps: list[tuple[str, str, str, str]],
    asked: list[str],
    where: Filter | None,
) -> None:
    monkeypatch.setattr(postgres_dense, "COMPARE_ALL_UP_TO", compared)
    run = next(runs)  # each example has tenants of its own; what others left stays in the tables
    indexes = {
        tenant: PostgresIndex(url, tenant=f"{tenant}{run}", options=SearchOptions(abstain=False))
        for _, tenant, _, _ in steps
    }
    held: dict[str, dict[str, Tool]] = {tenant: {} for tenant in indexes}
    try:
        for verb, tenant, name, text in steps:
            tool = owned(tenant, name, text)
            if verb == "put":
                held[tenant][tool.name] = tool
                indexes[tenant].put([tool])
            else:
                held[tenant].pop(tool.name, None)
                indexes[tenant].remove([tool.name])
        for tenant, index in indexes.items():
            assert len(index) == len(held[tenant])
            others = [name for other, tools in held.items() if other != tenant for name in tools]
            for text in (*asked, *others):
                found = set(index.search(text, limit=100, where=where).names)
                assert found <= {name for name, tool in held[tenant].items() if where is None or where(tool)}
    finally:
        for index in indexes.values():
            index.close()


@ROUNDS
@given(steps=STEPS, review=st.booleans())
def test_no_replica_of_a_tenant_holds_a_tool_of_another(
    url: str, steps: list[tuple[str, str, str, str]], review: bool
) -> None:
    asyncio.run(_follow_all(url, steps, review))


async def _follow_all(url: str, steps: list[tuple[str, str, str, str]], review: bool) -> None:
    run = next(runs)
    async with PostgresDatabase(url) as database:
        shared = {tenant: SharedCatalog(database, tenant=f"{tenant}{run}", review=review) for _, tenant, _, _ in steps}
        held: dict[str, dict[str, Tool]] = {tenant: {} for tenant in shared}
        for verb, tenant, name, text in steps:
            tool = owned(tenant, name, text)
            if verb == "put":
                held[tenant][tool.name] = tool
            else:
                held[tenant].pop(tool.name, None)
            own = [one for one in held[tenant].values() if one.name.startswith(name)]
            registered = await shared[tenant].register(f"mcp:{name}", own)
            if registered.waiting:
                await shared[tenant].approve(registered.waiting)
        for tenant, one in shared.items():
            catalog = Catalog()
            source = SharedSource(one, catalog)
            await source.refresh()
            assert {tool.name: tool.description for tool in catalog} == {
                name: tool.description for name, tool in held[tenant].items()
            }
            assert await one.waiting() == {}
