"""The end of a server: runs finish, or are parked, and what they did is there at the next start."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

from tests.support import PATIENCE
from tests.support.agent import Shop, scripted
from tests.support.server import events, scene
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import Event, RunStarted
from toolcrib.agent.runner import stream
from toolcrib.errors import ServerBusyError, StoreError
from toolcrib.server.metrics import Metrics
from toolcrib.server.runs import Runs
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.store import SqliteStore

QUICK = """
import asyncio
from toolcrib import Catalog

catalog = Catalog()


@catalog.tool(category="archive", phrases=["wait for the archive"])
async def wait_for_archive() -> str:
    \"\"\"Wait for the archive.\"\"\"
    await asyncio.sleep(600)
    return "never"
"""


def metrics() -> Metrics:
    """Metrics that know no tool."""
    return Metrics(is_tool=lambda name: False)


async def test_a_run_that_is_nearly_done_is_finished_first() -> None:
    shop = Shop()
    _, model = scripted([("search_images", {"query": "fern"})], "Here it is.")
    crib = Crib(shop.catalog, model=model)
    runs = Runs(most=5, metrics=metrics())
    async with SqliteStore(None) as store:
        async with store.open("s"):
            pass
        run = await runs.start(store, "s", lambda session: stream(session, "a fern", crib=crib))
        await runs.close(grace_seconds=PATIENCE)
        told = [one.event["type"] async for one in run.follow(ping_seconds=1) if one is not None]
        assert told[-2:] == ["answered", "usage"]
        assert len(runs) == 0


async def test_a_run_that_takes_too_long_is_parked_and_a_new_one_refused() -> None:
    shop = Shop()
    _, model = scripted([("slow_archive", {"name": "x"})], "Going on.")
    crib = Crib(shop.catalog, model=model)
    async with SqliteStore(None) as store:
        async with store.open("s"):
            pass
        runs = Runs(most=5, metrics=metrics())
        run = await runs.start(store, "s", lambda session: stream(session, "fetch it", crib=crib))
        with anyio.fail_after(PATIENCE):
            await shop.hanging.wait()
            await runs.close(grace_seconds=0)
        told = [one.event async for one in run.follow(ping_seconds=1) if one is not None]
        assert told[-1]["message"] == "The server was shut down."
        refused: Any = None
        try:
            await runs.start(store, "s", lambda session: stream(session, "more", crib=crib))
        except Exception as error:
            refused = error
        assert str(refused) == "The server is shutting down."
        # What was said and done is kept: the next server goes on from there.
        kept = await store.read("s")
        assert [line.event["type"] for line in kept.events] == ["run_started", "tool_started", "failed"]
        assert kept.history[0]["parts"][0]["content"] == "fetch it"
        later = Runs(most=5, metrics=metrics())
        run = await later.start(store, "s", lambda session: stream(session, "go on", crib=crib))
        assert (await _last(run))["type"] == "usage"


async def test_a_quiet_run_is_kept_open_by_pings() -> None:
    shop = Shop()
    _, model = scripted([("slow_archive", {"name": "x"})])
    crib = Crib(shop.catalog, model=model)
    runs = Runs(most=1, metrics=metrics())
    async with SqliteStore(None) as store:
        async with store.open("s"):
            pass
        run = await runs.start(store, "s", lambda session: stream(session, "fetch it", crib=crib))
        with anyio.fail_after(PATIENCE):
            async for one in run.follow(ping_seconds=0.01):
                if one is None:
                    break
        assert await runs.stop(store, "s")


async def test_a_run_that_breaks_tells_so_and_its_numbers_are_used_up() -> None:
    async def broken(session: Session) -> AsyncGenerator[Event]:
        yield RunStarted(session=session.id, text="hi", model="none")
        raise StoreError("The disk is full.", hint="Make room.")

    async def worse(session: Session) -> AsyncGenerator[Event]:
        yield RunStarted(session=session.id, text="hi", model="none")
        raise RuntimeError("private")

    runs = Runs(most=5, metrics=metrics())
    async with SqliteStore(None) as store:
        async with store.open("s"):
            pass
        assert await _last(await runs.start(store, "s", broken)) == {
            "type": "failed",
            "message": "The disk is full.",
            "hint": "Make room.",
        }
        assert (await _last(await runs.start(store, "s", worse)))["message"] == "The run failed unexpectedly."
        assert [line.event["type"] for line in await store.events("s")] == ["run_started", "failed"] * 2


async def test_a_run_can_be_stopped_before_anything_happened() -> None:
    waiting = anyio.Event()

    async def never(session: Session) -> AsyncGenerator[Event]:
        waiting.set()
        await anyio.sleep_forever()
        yield RunStarted(session=session.id, text="hi", model="none")

    runs = Runs(most=5, metrics=metrics())
    async with SqliteStore(None) as store:
        async with store.open("s"):
            pass
        with anyio.fail_after(PATIENCE):
            starting = asyncio.create_task(runs.start(store, "s", never))
            await waiting.wait()
            assert await runs.stop(store, "s")
            assert (await _last(await starting))["message"] == "Stopped."
            # And before the session was even open: then there is no run to listen to.
            starting = asyncio.create_task(runs.start(store, "s", never))
            while not len(runs):
                await anyio.lowlevel.checkpoint()
            assert await runs.stop(store, "s")
            with pytest.raises(ServerBusyError, match="before it started"):
                await starting
        assert len(runs) == 0


async def _last(run: Any) -> Any:
    told = [one.event async for one in run.follow(ping_seconds=1) if one is not None]
    return told[-1]


@pytest.mark.process
def test_a_signal_ends_the_server_and_a_restart_finds_the_conversation(tmp_path: Path) -> None:
    (tmp_path / "archive.py").write_text(QUICK)
    with _process(tmp_path) as (server, http):
        session = http.post("/api/sessions").json()["id"]
        path = f"/api/sessions/{session}/messages"
        with http.stream("POST", path, json={"text": "wait for the archive"}) as answer:
            told = events(answer)
            assert any(event["type"] == "tool_started" for _, event in told)
            assert http.get("/health/ready").json()["runs"] == 1
            server.send_signal(signal.SIGINT)
            while http.get("/health/ready").json()["reasons"] != ["The server is about to end."]:
                pass
            refused = http.post(f"/api/sessions/{http.post('/api/sessions').json()['id']}/messages", json={"text": "x"})
            server.send_signal(signal.SIGINT)  # people are impatient
            rest = [event for _, event in told]
        assert server.wait(PATIENCE) == 0
    assert refused.status_code == 503
    assert [(event["type"], event["message"]) for event in rest] == [("failed", "The server was shut down.")]
    with scene(store=SqliteStore(tmp_path / "sessions.db")) as here:
        seen = here.http.get(f"/api/sessions/{session}").json()
    assert [line["event"]["type"] for line in seen["events"]][-1] == "failed"
    assert seen["messages"][0]["text"] == "wait for the archive"
    assert not seen["running"]


class _process:
    """`toolcrib serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> tuple["subprocess.Popen[str]", httpx2.Client]:
        said = ["serve", "--from", "archive.py", "--port", "0", "--store", "sessions.db", "--model", "offline"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLCRIB_")}
        self._server = subprocess.Popen(
            [sys.executable, "-c", "import sys; from toolcrib.cli.main import main; sys.exit(main())", *said],
            cwd=self._folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._server.stdout is not None
        address = self._server.stdout.readline().strip()
        self._http = httpx2.Client(base_url=address, timeout=PATIENCE)
        return self._server, self._http

    def __exit__(self, *raised: object) -> None:
        self._http.close()
        if self._server.poll() is None:
            self._server.kill()
        self._server.wait(PATIENCE)
        assert self._server.stdout is not None
        self._server.stdout.close()
