"""Agents at work on one store, killed, stopped and taken over at any moment; and what became of what they were told.

    python -m tests.support.kill_loop STORE FOLDER KILLS SEED

It prints what it found, as JSON. Agents are forked from here, because most of what a start takes is to import
everything. Each has errands of two kinds in the same few sessions: orders, and refunds that the user agrees to.

The ledger is a file. Who has it locked reads and writes; what is asked of it with an older fence than it has seen of
a session is refused, and noted. The diary has what an agent was told is kept.
"""

import asyncio
import fcntl
import gc
import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import psycopg
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.support import ROOT
from tests.support.errands import GO_ON, YES, decide, is_last_word, parts_of
from toolcrib.agent.crib import Crib, Limits
from toolcrib.agent.runner import collect, confirm, run
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import SessionBusyError, ToolcribError
from toolcrib.settings import is_postgres
from toolcrib.stores.session import Session
from toolcrib.stores.store import open_store
from toolcrib.tools.context import current_call

ROUNDS_PER_SESSION = 12  # then it has a long enough history
MOST_SECONDS = 60.0  # that something is waited for that comes at once


class Ledger:
    """Lines of `session fence call done number` and `accepted` or `refused`; also `seen`, when somebody looked."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def _locked(self) -> Generator[tuple[list[list[str]], Callable[..., None]]]:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)

            def write(*words: object) -> None:
                os.write(descriptor, (" ".join(map(str, words)) + "\n").encode())  # whole, or not at all

            yield self.lines(), write
        finally:
            os.close(descriptor)

    def lines(self) -> list[list[str]]:
        """All that stands in it."""
        return [line.split() for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def enter(self, session: str, done: str, number: int) -> bool:
        """Do it, unless a later holder of the session was here."""
        call = current_call()
        assert call is not None
        with self._locked() as (lines, write):
            accepted = call.fence >= max((int(line[1]) for line in lines if line[0] == session), default=0)
            write(session, call.fence, call.id, done, number, "accepted" if accepted else "refused")
        return accepted

    def check(self, session: str, done: str, number: int) -> bool:
        """Whether it was done; who had the session before can do it no more."""
        call = current_call()
        assert call is not None
        with self._locked() as (lines, write):
            write(session, call.fence, call.id, "look", 0, "seen")
        return any((line[0], *line[3:]) == (session, done, str(number), "accepted") for line in lines)


def digest(message: object) -> str:
    """Short, for a message."""
    return blake2b(json.dumps(message, sort_keys=True).encode(), digest_size=8).hexdigest()


# An agent: a process


def crib_of(ledger: Ledger) -> Crib:
    """The agent, with the ledger's tools."""
    catalog = Catalog()

    async def write(done: str, number: int) -> str:
        accepted = await asyncio.to_thread(ledger.enter, _session(), done, number)
        return f"{done} {number}: done" if accepted else "refused: somebody else has this session"

    @catalog.tool(risk="moderate")
    async def place_order(number: int) -> str:
        """Place an order."""
        return await write("order", number)

    @catalog.tool(risk="destructive")
    async def refund_order(number: int) -> str:
        """Refund an order."""
        return await write("refund", number)

    @catalog.tool(risk="safe")
    async def check_ledger(done: str, number: int) -> str:
        """Check the ledger."""
        found = await asyncio.to_thread(ledger.check, _session(), done, number)
        return f"{done} {number}: {'done' if found else 'not yet'}"

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = decide(messages)
        part = TextPart(said) if isinstance(said, str) else ToolCallPart(*said, tool_call_id=uuid4().hex)
        return ModelResponse(parts=[part])

    limits = Limits(seconds=None, most_messages=400, keep_messages=400)
    return Crib(catalog, model=FunctionModel(answer, model_name="scripted"), mode="direct", limits=limits)


def _session() -> str:
    call = current_call()
    assert call is not None
    return call.id.split(":")[0]


class Agent:
    """One process that works in one session after the other, until somebody kills it."""

    def __init__(self, place: str, folder: Path, sessions: list[str], chance: random.Random) -> None:
        self.place = place
        self.diary = os.open(folder / "diary", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.sessions = sessions
        self.chance = chance
        self.crib = crib_of(Ledger(folder / "ledger"))

    def note(self, *words: object) -> None:
        os.write(self.diary, (" ".join(map(str, (os.getpid(), *words))) + "\n").encode())

    async def work(self, take_over: bool) -> None:
        async with open_store(self.place) as store:
            while True:
                name = self.chance.choice(self.sessions)
                try:
                    async with store.open(name, take_over=take_over) as session:
                        self.note("opened", name, session.fence)
                        self._keep_a_diary(name, session)
                        for _ in range(self.chance.randint(1, 4)):
                            if not await self.turn(session):
                                break
                except SessionBusyError:
                    self.note("busy", name)
                except ToolcribError as error:
                    self.note("error", name, type(error).__name__)
                take_over = False
                await asyncio.sleep(0.002)

    async def turn(self, session: Session) -> bool:
        """One turn of the user; gives whether the session is still ours."""
        last = session.history[-1] if session.history else None
        if session.confirmations:
            if self.chance.random() < 0.5:
                return (
                    await collect(confirm(session, session.confirmations[-1].id, True, crib=self.crib))
                ).failed is None
            said = YES
        elif last is not None and not is_last_word(last):
            said = GO_ON
        else:
            number = sum(part["part_kind"] == "user-prompt" and " " in part["content"] for part in parts_of(session))
            said = f"{self.chance.choice(('order', 'refund'))} {number}"
        return (await run(session, said, crib=self.crib)).failed is None

    def _keep_a_diary(self, name: str, session: Session) -> None:
        keep = session.append

        async def keep_and_note(messages: Iterable[Any] = (), **rest: Any) -> None:
            said, start = list(messages), len(session.history)
            await keep(said, **rest)
            for place, message in enumerate(session.history[start:], start):
                self.note("kept", name, place, digest(message))
            await asyncio.sleep(
                self.chance.random() * 0.005
            )  # to be stopped in: between what is kept and what is called

        session.append = keep_and_note  # type: ignore[method-assign] - stands between us and the store


# Who kills them


def looped(place: str, folder: Path, kills: int, *, seed: int = 1) -> "Found":
    """What a loop of so many kills comes to, by a process of its own."""
    command = [sys.executable, "-m", __name__, place, str(folder), str(kills), str(seed)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Found(**json.loads(done.stdout))


@dataclass
class Found:
    """What a loop came to."""

    kills: int = 0
    stops: int = 0
    takeovers: int = 0
    sessions: int = 0
    steps: int = 0  # messages that were told to be kept
    calls: int = 0  # marked as begun
    effects: int = 0  # in the ledger
    late: int = 0  # refused by the ledger: marked in time, made after the next holder had looked
    agreed: int = 0  # confirmations used
    lost: int = 0
    twice: int = 0
    used_twice: int = 0
    busy: int = 0  # after a kill, though nobody else was there
    problems: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    @property
    def broken(self) -> list[str]:
        """Promises that were not kept."""
        counts = {"lost": self.lost, "begun twice": self.twice, "used twice": self.used_twice, "busy": self.busy}
        return [f"{count} {what}" for what, count in counts.items() if count] + self.problems


class Loop:
    """Starts agents and ends them; one of them may hold the session of another that was stopped."""

    def __init__(self, place: str, folder: Path, seed: int) -> None:
        self.place = place
        self.folder = folder
        self.chance = random.Random(seed)
        self.found = Found()
        self.sessions: list[str] = []
        self.diary = folder / "diary"
        self.diary.touch()
        self.seen = 0

    def run(self, kills: int) -> Found:
        """Until so many were killed."""
        began = time.monotonic()
        rounds = 0
        while self.found.kills < kills:
            if rounds % ROUNDS_PER_SESSION == 0:
                self.sessions = [f"s{rounds}-{letter}" for letter in "ab"]
            rounds += 1
            self._round()
            if rounds % ROUNDS_PER_SESSION == 0 or self.found.kills >= kills:
                self.found.problems += problems(self.place)
        self._compare()
        self.found.seconds = round(time.monotonic() - began, 1)
        return self.found

    def _round(self) -> None:
        chance, found = self.chance, self.found
        first = self._start(take_over=False)
        kind = chance.choice(("kill", "kill", "stop", "take over"))
        self._wait_for(first, "opened")
        time.sleep(chance.uniform(0, 0.06))  # it has come to no moment in particular
        if kind == "kill":
            self._kill(first)
            return
        if kind == "stop":
            os.kill(first, signal.SIGSTOP)
            found.stops += 1
        second = self._start(take_over=True, session=self._opened_by(first))
        found.takeovers += 1
        # A stopped process may have the file's or the ledger's lock; then nobody gets on before it goes on.
        if kind == "stop":
            self._wait_for(second, "kept", seconds=chance.uniform(0.02, 0.5))
        else:
            self._wait_for(second, "opened")
        time.sleep(chance.uniform(0, 0.04))
        if kind == "stop":
            if chance.random() < 0.3:  # it is never heard of again
                self._kill(first)
                self._kill(second)
                return
            os.kill(first, signal.SIGCONT)
            time.sleep(chance.uniform(0.01, 0.06))
        for one in chance.sample((first, second), 2):
            self._kill(one)
            time.sleep(chance.uniform(0, 0.01))

    def _opened_by(self, process: int) -> str:
        """The session that an agent opened last."""
        lines = (line.split() for line in self.diary.read_text().splitlines())
        return [line[2] for line in lines if line[:2] == [str(process), "opened"]][-1]

    def _start(self, *, take_over: bool, session: str | None = None) -> int:
        chance = random.Random(self.chance.random())
        sessions = [session] if session else self.sessions
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(Agent(self.place, self.folder, sessions, chance).work(take_over))
            finally:
                os._exit(1)
        return child

    def _kill(self, process: int) -> None:
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        self.found.kills += 1
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            self.found.problems.append("an agent ended by itself")

    def _wait_for(self, process: int, word: str, seconds: float = MOST_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self.diary.open() as diary:
                diary.seek(self.seen)
                lines = [line.split() for line in diary.readlines() if line.endswith("\n")]
            if any(line[:2] == [str(process), word] for line in lines):
                break
            # The first of a round is alone: who held the session before is dead.
            if (
                word == "opened"
                and seconds == MOST_SECONDS
                and any(line[:2] == [str(process), "busy"] for line in lines)
            ):
                self.found.busy += 1
                break
            time.sleep(0.002)
        else:
            if seconds == MOST_SECONDS:
                self.found.problems.append(f"nobody {word} a session for {seconds:g} s")
        self.seen = self.diary.stat().st_size

    def _compare(self) -> None:
        found, diary = self.found, [line.split() for line in self.diary.read_text().splitlines()]
        ledger = [line for line in Ledger(self.folder / "ledger").lines() if line[5] != "seen"]
        names = {line[2] for line in diary if line[1] == "opened"}
        kept = asyncio.run(_records(self.place, names))
        found.sessions = len(names)
        told = {(line[2], int(line[3])): line[4] for line in diary if line[1] == "kept"}
        found.steps = len(told)
        found.lost = sum(
            place >= len(kept[name]["history"]) or digest(kept[name]["history"][place]) != sum_
            for (name, place), sum_ in told.items()
        )
        found.calls = sum(len(record["calls"]) for record in kept.values())
        marked = {call for record in kept.values() for call in record["calls"]}
        found.problems += [f"{line[2]} was made without a mark" for line in ledger if line[2] not in marked]
        found.problems += [
            f"in {name}, calls were begun with the fences {record['fences']}"
            for name, record in kept.items()
            if record["fences"] != sorted(record["fences"])
        ]
        found.effects, found.late = len(ledger), sum(line[5] == "refused" for line in ledger)
        found.twice = sum(count - 1 for count in Counter(line[2] for line in ledger).values())
        done = Counter((line[0], line[3], line[4]) for line in ledger if line[5] == "accepted")
        found.problems += [f"{what} stands {count} times in the ledger" for what, count in done.items() if count > 1]
        made = Counter((line[0], line[4]) for line in ledger if line[3] == "refund")
        agreed: Counter[tuple[str, str]] = Counter()
        for name, record in kept.items():
            agreed.update((name, str(number)) for number in record["agreed"])
        found.agreed = agreed.total()
        found.used_twice = (made - agreed).total()


async def _records(place: str, names: Iterable[str]) -> dict[str, Any]:
    async with open_store(place) as store:
        records = {name: await store.read(name) for name in names}
    return {
        name: {
            "history": record.history,
            "calls": [call.id for call in record.calls],
            "fences": [call.fence for call in record.calls],
            "agreed": [one.arguments["number"] for one in record.confirmations if one.settled_as == "taken"],
        }
        for name, record in records.items()
    }


def problems(place: str) -> list[str]:
    """What the engine itself finds wrong, and positions that are missing."""
    gaps = "SELECT tenant, session FROM {} GROUP BY tenant, session HAVING count(*) <> max(position) + 1"
    if is_postgres(place):
        with psycopg.connect(place) as connection:
            return [
                f"{table}: {row}"
                for table in ("toolcrib_messages", "toolcrib_events")
                for row in connection.execute(gaps.format(table).encode())
            ]
    with closing(sqlite3.connect(place)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        for table in ("messages", "events"):
            found += [f"{table}: {row}" for row in connection.execute(gaps.format(table))]
    return found


async def warm_up(place: str) -> None:
    """Load and make all that the first turn of a process takes."""
    with TemporaryDirectory() as folder:
        agent = Agent(place, Path(folder), ["warm"], random.Random(0))
        async with open_store(place) as store, store.open("warm") as session:
            for _ in range(4):
                await agent.turn(session)


def main(place: str, folder: str, kills: str, seed: str) -> None:
    logging.disable(logging.ERROR)  # who lost a session says so
    asyncio.run(warm_up(place))
    gc.freeze()
    found = Loop(place, Path(folder), int(seed)).run(int(kills))
    sys.stdout.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
