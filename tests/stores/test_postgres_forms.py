"""Tables of an older Toolcrib in PostgreSQL: brought up with all in them, while replicas of that version go on."""

from dataclasses import replace

import psycopg
import pytest

from tests.stores.test_schema import ERSTE
from tests.support.stores import KEPT, Clock
from toolcrib.errors import SessionBusyError
from toolcrib.postgres.session_rows import SESSIONS
from toolcrib.postgres.sessions import PostgresStore

STEP = (KEPT / "postgres_form_1_step.sql").read_text(encoding="utf-8")
CONTINUED = replace(ERSTE, history=(*ERSTE.history, {"role": "user", "text": "more"}))


def run(url: str, text: str) -> list[tuple[object, ...]]:
    """Run statements as they stand; gives the rows of the last one."""
    with psycopg.connect(url) as connection:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def form_1(postgres_url: str) -> str:
    run(postgres_url, (KEPT / "postgres_form_1.sql").read_text(encoding="utf-8"))
    return postgres_url


def test_each_older_form_is_kept() -> None:
    kept = {f"postgres_form_{migration.version}.sql" for migration in SESSIONS.migrations[:-1]}
    assert kept <= {path.name for path in KEPT.iterdir()}


async def test_older_tables_are_brought_up_with_nothing_lost(form_1: str, clock: Clock) -> None:
    async with PostgresStore(form_1, clock=clock) as store:
        with pytest.raises(SessionBusyError):  # the older replica holds it
            async with store.open("erste"):
                pass  # pragma: no cover
        assert await store.read("erste") == ERSTE
        assert (await store.for_tenant("acme").read("erste")).history[0]["text"] == "find the café (acme)"
        clock.forward(seconds=31)
        async with store.open("erste") as session:
            await session.begin_call("call-1", "cms_getPage")
            assert session.fence == 1
    assert run(form_1, "SELECT version FROM toolcrib_versions WHERE component = 'sessions'") == [(SESSIONS.version,)]


async def test_what_an_older_replica_goes_on_to_write_is_read(form_1: str, clock: Clock) -> None:
    async with PostgresStore(form_1, clock=clock) as store:
        assert await store.read("erste") == ERSTE  # the tables are brought up under the older replica
        assert run(form_1, STEP) == [(1,)]
        clock.forward(seconds=1)
        continued = await store.read("erste")
        assert (continued.history, continued.usage) == (CONTINUED.history, {"input_tokens": 13})
        assert [line.event for line in continued.events] == [{"type": "more"}]
        with pytest.raises(SessionBusyError):
            async with store.open("erste"):
                pass  # pragma: no cover


async def test_an_older_replica_that_lost_its_session_writes_nothing_more(form_1: str, clock: Clock) -> None:
    async with PostgresStore(form_1, clock=clock) as store, store.open("erste", take_over=True) as session:
        assert run(form_1, STEP) == []
        await session.append(["ours"])
        assert (await store.read("erste")).history == (*ERSTE.history, "ours")
