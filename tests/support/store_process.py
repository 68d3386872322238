"""A process of its own that works on a store, told what to do by its arguments, and how a test talks with it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import ROOT
from tests.support.agent import scripted
from toolcrib.errors import SessionBusyError
from toolcrib.memory.working import Outcome, WorkingMemory
from toolcrib.stores.record import Confirmation
from toolcrib.stores.store import open_store
from toolcrib.tools.context import current_call

PATIENCE_SECONDS = 120


@contextmanager
def process(*arguments: str) -> Generator[subprocess.Popen[str]]:
    """This program at work, with these arguments; it is killed with the block."""
    command = [sys.executable, "-m", __name__, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        alarm = threading.Timer(PATIENCE_SECONDS, child.kill)  # no test waits for ever
        alarm.start()
        try:
            yield child
        finally:
            alarm.cancel()
            child.kill()


def line(child: subprocess.Popen[str]) -> str:
    """The next line it says."""
    assert child.stdout is not None
    return child.stdout.readline().rstrip("\n")


def tell(child: subprocess.Popen[str], text: str = "go") -> None:
    """Say a line to it."""
    assert child.stdin is not None
    child.stdin.write(f"{text}\n")
    child.stdin.flush()


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - the test reads it


async def write_until_killed(place: str) -> None:
    """Append steps for ever; a line is said when its step is kept."""
    say("ready")
    async with open_store(place) as store, store.open("s") as session:
        number = len(session.history)
        while True:
            memory: WorkingMemory = session.memory.with_use("count", Outcome.OK, at=session.created_at)
            await session.append([number], memory=memory, usage={"steps": 1}, events=[number], toolbox={"at": number})
            say("kept", number)
            asked = await session.add_confirmation("wipe", {"number": number}, "digest")
            taken = await session.take_confirmation(asked.id, "digest")
            assert isinstance(taken, Confirmation)
            say("taken", asked.id)
            number += 1


async def hold(place: str) -> None:
    """Hold the session open until told to let go."""
    async with open_store(place) as store, store.open("s") as session:
        say("open")
        await asyncio.to_thread(sys.stdin.readline)
        await session.append(["held"])
    say("closed")


async def try_to_open(place: str) -> None:
    """Open the session, or say why not."""
    try:
        async with open_store(place) as store, store.open("s"):
            say("open")
    except SessionBusyError as error:
        say(error)


async def compete(place: str, name: str) -> None:
    """Take turns with others: three steps each time the session is ours."""
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)
    async with open_store(place) as store:
        for _ in range(5):
            async with store.open("s", wait_seconds=60) as session:
                for _ in range(3):
                    await session.append([name])
    say("done")


def _add_line(file: Path, text: str) -> None:
    with file.open("a") as lines:
        lines.write(f"{text}\n")


async def order(place: str, ledger: str) -> None:
    """Let an agent place an order, and stop when the model's call is kept and not yet made."""
    from toolcrib.agent.crib import Crib
    from toolcrib.agent.runner import run
    from toolcrib.catalog.catalog import Catalog

    catalog = Catalog()

    @catalog.tool
    async def place_order(number: int) -> str:
        """Place an order."""
        call = current_call()
        assert call is not None
        await asyncio.to_thread(_add_line, Path(ledger), str(call.fence))
        return f"order {number} is placed"

    _, model = scripted([("place_order", {"number": 7})], "Done.")
    async with open_store(place) as store, store.open("s") as session:
        keep = session.append

        async def keep_and_stop(messages: Iterable[Any] = (), **rest: Any) -> None:
            said = list(messages)
            await keep(said, **rest)
            if any(message["kind"] == "response" for message in said):
                say("kept")
                os.kill(os.getpid(), signal.SIGSTOP)

        session.append = keep_and_stop  # type: ignore[method-assign] - stands between keeping and calling
        done = await run(session, "Order number 7", crib=Crib(catalog, model=model, mode="direct"))
        say(done.failed.message if done.failed else done.answer)


if __name__ == "__main__":
    tasks = {"write": write_until_killed, "hold": hold, "try": try_to_open, "compete": compete, "order": order}
    asyncio.run(tasks[sys.argv[1]](*sys.argv[2:]))
