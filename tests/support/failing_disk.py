"""A disk that fails: `failing_disk.c` stands between SQLite and the system, and fails the nth call of a kind.

    python -m tests.support.failing_disk FOLDER STEP      with the library in LD_PRELOAD

It plays the same few steps of a session again and again, with another call failing each time: once, or from there on
until there is room again. It prints, as JSON, how many and what was wrong.
"""

import asyncio
import ctypes
import errno
import json
import logging
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import ROOT
from toolcrib.errors import ToolcribError
from toolcrib.stores.record import Confirmation
from toolcrib.stores.sqlite import file
from toolcrib.stores.sqlite.store import SqliteStore

SOURCE = Path(__file__).with_suffix(".c")
WRITE, SYNC, MOVE, LOCK, SHORT = 1, 2, 4, 8, 16
FOR_EVER = 2**30
STEPS = 3
FAULTS = {  # what fails, with which error, and whether it goes on failing
    "write once": (WRITE, errno.EIO, False),
    "half a write once": (WRITE | SHORT, errno.EIO, False),
    "write from then on": (WRITE, errno.EIO, True),
    "disk full once": (WRITE | SHORT, errno.ENOSPC, False),
    "disk full from then on": (WRITE | SHORT, errno.ENOSPC, True),
    "fsync once": (SYNC, errno.EIO, False),
    "fsync from then on": (SYNC, errno.EIO, True),
    "unlink once": (MOVE, errno.EIO, False),
    "lock or release once": (LOCK, errno.EIO, False),
}


def built(folder: Path) -> Path:
    """The library."""
    library = folder / "failing_disk.so"
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Werror",
        "-std=gnu11",
        str(SOURCE),
        "-o",
        str(library),
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return library


@dataclass
class Found:
    """What it came to, for each fault."""

    tried: Counter[str] = field(default_factory=Counter[str])
    told: Counter[str] = field(default_factory=Counter[str])  # the caller got an error that says what to do
    wrong: list[str] = field(default_factory=list[str])


def failed(folder: Path, step: int) -> Found:
    """What every `step`-th place to fail comes to, by a process of its own."""
    command = [sys.executable, "-m", __name__, str(folder), str(step)]
    environment = {**os.environ, "LD_PRELOAD": str(built(folder))}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    return Found(Counter(found["tried"]), Counter(found["told"]), found["wrong"])


class Player:
    """Plays, and compares what it was told with what is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library: Any = ctypes.CDLL(None)
        self.found = Found()

    def fail(self, kinds: int, first: int, last: int, code: int) -> None:
        self.library.fail_on(str(self.folder).encode(), kinds, first, last, code)

    async def all(self, step: int) -> None:
        for name, (kinds, code, goes_on) in FAULTS.items():
            self.fail(kinds, FOR_EVER, FOR_EVER, code)
            await self._play()
            places = self.library.calls_counted()
            self.fail(0, 0, 0, 0)
            # After a release that failed SQLite waits for itself: few of them are enough.
            for place in range(1, places + 1, max(step, 40) if kinds == LOCK else min(step, places // 2)):
                self.found.tried[name] += 1
                wrong = await self._once(name, kinds, place, FOR_EVER if goes_on else place, code)
                self.found.wrong += [f"{name}, call {place}: {what}" for what in wrong]

    async def _once(self, name: str, kinds: int, first: int, last: int, code: int) -> list[str]:
        shutil.rmtree(self.folder / "play", ignore_errors=True)
        path = self.folder / "play" / "s.db"
        path.parent.mkdir()
        wrong: list[str] = []
        kept: list[int] = []
        begun: list[str] = []
        taken: list[str] = []
        store = SqliteStore(path)
        self.fail(kinds, first, last, code)
        told = False
        try:
            async with store.open("s") as session:
                for number in range(STEPS):
                    for attempt in range(3):  # as one who is told to try again does
                        if attempt == 1:
                            self.fail(0, 0, 0, 0)  # somebody made room
                        try:
                            await session.append([number], usage={"steps": 1}, events=[number])
                        except ToolcribError:
                            told = True
                        else:
                            kept.append(number)
                            break
                    await session.begin_call(f"call-{number}", "order")
                    begun.append(f"call-{number}")
                    asked = await session.add_confirmation("wipe", {"number": number}, "digest")
                    if isinstance(await session.take_confirmation(asked.id, "digest"), Confirmation):
                        taken.append(asked.id)
        except ToolcribError:
            told = True
        except BaseException as error:
            wrong.append(f"{type(error).__name__}: {error}")
        try:
            await store.close()
        except ToolcribError:
            told = True
        except BaseException as error:
            wrong.append(f"at the end, {type(error).__name__}: {error}")
        self.fail(0, 0, 0, 0)
        self.found.told[name] += told
        return wrong + await self._compare(path, kept, begun, taken)

    async def _compare(self, path: Path, kept: list[int], begun: list[str], taken: list[str]) -> list[str]:
        wrong: list[str] = []
        try:
            async with SqliteStore(path) as store:
                async with store.open("s") as session:  # nobody has it
                    history = list(session.history)
                    if sorted(set(history)) != history or not set(kept) <= set(history):
                        wrong.append(f"{kept} were told to be kept, there are {history}")
                    if not set(begun) <= {call.id for call in session.calls}:
                        wrong.append("a mark of a call is lost")
                    if any([isinstance(await session.take_confirmation(id, "digest"), Confirmation) for id in taken]):
                        wrong.append("a yes was good twice")
                    await session.append(["usable"])
                record = await store.read("s")
                if [*history, "usable"] != list(record.history):
                    wrong.append("what was kept when all was well again is not there")
        except BaseException as error:
            wrong.append(f"afterwards, {type(error).__name__}: {error}")
        return wrong

    async def _play(self) -> None:
        shutil.rmtree(self.folder / "play", ignore_errors=True)
        path = self.folder / "play" / "s.db"
        path.parent.mkdir()
        async with SqliteStore(path) as store, store.open("s") as session:
            for number in range(STEPS):
                await session.append([number], usage={"steps": 1}, events=[number])
                await session.begin_call(f"call-{number}", "order")
                asked = await session.add_confirmation("wipe", {"number": number}, "digest")
                await session.take_confirmation(asked.id, "digest")


def main(folder: str, step: str) -> None:
    logging.disable(logging.ERROR)
    file.BUSY_SECONDS = 0.1  # a lock that could not be given back is waited for
    player = Player(Path(folder))
    asyncio.run(player.all(int(step)))
    sys.stdout.write(json.dumps(vars(player.found)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
