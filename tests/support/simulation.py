"""Replicas on one SQLite store, simulated: one of them moves at a time, and whoever calls says which, or a seed does.

The code is the real one: stores, leases, sessions, turns, confirmations. Every transaction of a store, and every effect
of a tool, waits at a gate until its replica is let on; all the rest runs on one thread, by itself. Time passes when it
is told to, a crashed replica stays at its gate for ever, and one that is not let on is a process that was stopped.

After each transaction the tables are looked at, by a connection of our own, and compared with what is promised.
"""

import asyncio
import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.support.errands import GO_ON, YES, decide, is_last_word, parts_of, text_of
from tests.support.stores import Clock
from toolcrib.agent.crib import Crib, Limits
from toolcrib.agent.runner import collect, confirm, run
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import ToolcribError
from toolcrib.stores.lease import Heartbeat, Lease
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.file import SqliteFile, Work
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.context import current_call

Result = TypeVar("Result")


# One thread: what would run beside the event loop runs in it, at once.


class OneThreadLoop(asyncio.SelectorEventLoop):
    """An event loop without helpers."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # as an executor does: it belongs to whoever waits
            done.set_exception(error)
        return done

    async def settle(self) -> None:
        """Come back when nothing is left to do but to wait."""
        ready: Any = self._ready  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - nobody else knows
        while ready:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)


class _AtOnce(ThreadPoolExecutor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # as an executor does
            done.set_exception(error)
        return done


class _Leases(Heartbeat):
    """Beats when the simulation says so."""

    def __init__(self, renew: Callable[[tuple[Lease, ...]], Any]) -> None:
        super().__init__(renew)
        self.held: dict[Lease, Callable[[], object] | None] = {}

    def add(self, lease: Lease, lost: Callable[[], object] | None = None) -> None:
        self.held[lease] = lost

    def remove(self, lease: Lease) -> bool:
        return self.held.pop(lease, self) is not self

    def beat(self) -> None:
        for lease in self._renew(tuple(self.held)):
            on_lost = self.held.pop(lease, None)
            if on_lost is not None:
                on_lost()


class Machine:
    """Where a replica runs: a connection to the file, and an agent with a scripted model and a ledger for tools."""

    def __init__(self, path: Path) -> None:
        self.replica: Replica  # the one that runs here now
        self.file = _SteppedFile(self, path)
        catalog = Catalog()

        @catalog.tool(risk="moderate")
        async def place_order(number: int) -> str:
            """Place an order."""
            return await self.replica.enter("order", number)

        @catalog.tool(risk="destructive")
        async def refund_order(number: int) -> str:
            """Refund an order."""
            return await self.replica.enter("refund", number)

        @catalog.tool(risk="safe")
        async def check_ledger(done: str, number: int) -> str:
            """Check the ledger."""
            return self.replica.check(done, number)

        model = FunctionModel(self._answer, model_name="scripted")
        limits = Limits(seconds=None, most_messages=400, keep_messages=400)
        self.crib = Crib(catalog, model=model, mode="direct", limits=limits)

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[self.replica.answer(messages)])


class _SteppedFile(SqliteFile):
    """Waits at a gate before each transaction."""

    def __init__(self, machine: Machine, path: Path) -> None:
        self._machine = machine
        super().__init__(path, durable=False)

    def _begin(self) -> None:
        super()._begin()
        self._worker = _AtOnce()

    async def write(self, work: "Work[Result]") -> Result:
        replica = self._machine.replica
        what = work.__qualname__.split(".")[1]
        await replica.gate(what)
        result = await super().write(work)
        replica.world.look(replica, what)
        return result


@dataclass(frozen=True, slots=True)
class Entry:
    """An attempt to write into the ledger."""

    call: str
    fence: int
    done: str
    number: int
    accepted: bool


@dataclass
class Replica:
    """A process on a machine, from its start to its end or crash."""

    world: "World"
    machine: Machine
    name: str
    take_over: Callable[[], bool]
    rounds: int
    waiting: list[tuple[str, "asyncio.Future[None]"]] = field(default_factory=list[Any])
    session: Session | None = None
    unfinished: frozenset[str] = frozenset()  # calls that were begun before this turn, and have no result
    asked: set[str] = field(default_factory=set[str])  # by the model, in this turn
    by_button: bool = False  # this turn begins with a call that the user's button let through
    crashed: bool = False
    done: bool = False  # every errand was brought to an end

    def start(self) -> None:
        """Begin to work."""
        self.store = SqliteStore(self.machine.file, clock=self.world.clock)
        self.leases = _Leases(self.store._renew)  # pyright: ignore[reportPrivateUsage] - a thread would beat when it likes
        self.store._heartbeat = self.leases  # pyright: ignore[reportPrivateUsage] - as above
        self.machine.replica = self
        self.task = asyncio.create_task(self._work())

    async def gate(self, what: str) -> None:
        """Wait until this replica is let on."""
        if self.world.over:
            raise asyncio.CancelledError
        waiting = asyncio.get_running_loop().create_future()
        self.waiting.append((what, waiting))
        await waiting

    async def _work(self) -> None:
        for _ in range(self.rounds):
            self.session = None
            try:
                async with self.store.open(self.world.session, take_over=self.take_over()) as session:
                    self.session = session
                    if not await self._turn(session):
                        self.done = True
                        return
            except ToolcribError as error:  # busy, or lost
                self.world.errors[type(error).__name__] += 1
                await self.gate("again")

    async def _turn(self, session: Session) -> bool:
        answered = {part.get("tool_call_id") for part in parts_of(session) if part["part_kind"] == "tool-return"}
        self.unfinished = frozenset(one.id for one in session.calls if one.id.split(":")[2] not in answered)
        self.asked, self.by_button = set(), False
        crib, chance = self.machine.crib, self.world.chance
        last = session.history[-1] if session.history else None
        if session.confirmations:
            question = session.confirmations[-1]
            if question.arguments["number"] in self.world.errands.values() and chance.random() < 0.5:
                self.by_button = True
                await collect(confirm(session, question.id, chance.random() < 0.8, crib=crib))
            else:
                await run(session, YES if question.arguments["number"] < 1_000 else "no", crib=crib)
        elif last is not None and not is_last_word(last):
            await run(session, GO_ON, crib=crib)
        elif text := self.world.next_errand(session):
            await run(session, text, crib=crib)
        else:
            return False
        return True

    # The model

    def answer(self, messages: list[ModelMessage]) -> TextPart | ToolCallPart:
        """What the model says: it looks into the ledger whenever it cannot know what happened."""
        told = " ".join(text_of(part) for message in messages for part in message.parts)
        for id in self.unfinished:
            if f"may have happened (call id {id})" not in told:
                self.world.broken(f"{self.name} was not told that the call {id} may have happened")
        said = decide(messages)
        if self.world.chance.random() < 0.3 and isinstance(said, tuple) and said[1].get("confirmed"):
            said = (
                said[0],
                {**said[1], "number": said[1]["number"] + 1_000},
            )  # some models agree to more than the user did
        if isinstance(said, str):
            return TextPart(said)
        id = f"{self.name}-{len(self.world.ledger)}-{next(self.world.numbers)}"
        self.asked.add(id)
        return ToolCallPart(said[0], said[1], tool_call_id=id)

    # The ledger

    async def enter(self, done: str, number: int) -> str:
        """Do it, unless a later holder of the session was heard of."""
        call, world = current_call(), self.world
        assert call is not None
        await self.gate("effect")
        accepted = not world.fenced or call.fence >= world.highest
        world.enter(Entry(call.id, call.fence, done, number, accepted), self)
        return f"{done} {number}: done" if accepted else "refused: somebody else has this session"

    def check(self, done: str, number: int) -> str:
        """Whether it was done; from now on, nobody who had the session before can do it."""
        call = current_call()
        assert call is not None
        self.world.highest = max(self.world.highest, call.fence)
        found = any((one.done, one.number) == (done, number) for one in self.world.ledger if one.accepted)
        return f"{done} {number}: {'done' if found else 'not yet'}"


@dataclass(frozen=True, slots=True)
class Tables:
    """What stands in the store about the session."""

    fence: int = 0
    messages: tuple[str, ...] = ()
    calls: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])  # id: tool, fence
    answers: Mapping[str, tuple[str, str | None]] = field(default_factory=dict[str, Any])  # id: arguments, settled as


class World:
    """One history: a session, its errands, the replicas that work on them, and what is wrong with it."""

    def __init__(
        self, place: "Place", session: str, chance: random.Random, *, errands: Mapping[str, int], fenced: bool = True
    ) -> None:
        self.place = place
        self.session = session
        self.chance = chance
        self.errands = errands
        self.fenced = fenced
        self.clock = Clock()
        # Messages carry the real time: a day ahead of it, every open question is younger than every message, each time.
        self.clock.now = datetime.now(UTC) + timedelta(days=1)
        self.replicas: list[Replica] = []
        self.ledger: list[Entry] = []
        self.highest = 0  # fence that the ledger has seen
        self.numbers = count()
        self.tables = Tables()
        self.problems: list[str] = []
        self.trace: list[str] = []
        self.errors: Counter[str] = Counter()
        self.over = False
        self._ids = count()

    # Steps

    async def start(self, machine: int, *, take_over: Callable[[], bool] = lambda: True, rounds: int = 6) -> Replica:
        """A replica starts, and comes to its first gate."""
        replica = Replica(self, self.place.machines[machine], f"{'ABC'[machine]}{next(self._ids)}", take_over, rounds)
        self.replicas.append(replica)
        replica.start()
        await self.place.settle()
        return replica

    async def move(self, replica: Replica) -> str:
        """Let a replica on, up to its next gate."""
        what, waiting = replica.waiting.pop(0)
        self.trace.append(f"{replica.name} {what}")
        self.clock.forward(milliseconds=1)
        waiting.set_result(None)
        await self.place.settle()
        return what

    def beat(self, replica: Replica) -> None:
        """Its heart beats."""
        self.trace.append(f"{replica.name} beats")
        replica.leases.beat()
        self.look(replica, "beat")

    def crash(self, replica: Replica) -> None:
        """It is gone, and gives nothing back."""
        self.trace.append(f"{replica.name} crashes")
        self._compare_memory(replica)
        replica.crashed = True

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.trace.append(f"{seconds:g} s pass")
        self.clock.forward(seconds=seconds)

    @property
    def movable(self) -> list[Replica]:
        """The replicas that wait at a gate."""
        return [one for one in self.replicas if one.waiting and not one.crashed]

    async def finish(self) -> list[str]:
        """Everything that is left crashes; one replica brings all to an end. Gives what is wrong with the history."""
        for replica in self.replicas:
            self.crash(replica)
        self.wait(31)
        last = await self.start(0, rounds=40)
        while last.waiting:
            await self.move(last)
        self._compare_memory(last)
        if not last.done:
            self.broken("the errands are not brought to an end")
        done = Counter((one.done, one.number) for one in self.ledger if one.accepted)
        for (task, number), times in done.items():
            if times > 1 and self.fenced:
                self.broken(f"{task} {number} is {times} times in the ledger")
        for text, number in self.errands.items():
            if text.startswith("order") and not done["order", number]:
                self.broken(f"{text} is not in the ledger")
        return self.problems

    async def end(self) -> None:
        """Let nobody wait any longer."""
        self.over = True
        tasks = {one.task for one in self.replicas}
        for replica in self.replicas:
            for _, waiting in replica.waiting:
                waiting.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.result()

    def next_errand(self, session: Session) -> str | None:
        """What the user has not said yet."""
        said = {part["content"] for part in parts_of(session) if part["part_kind"] == "user-prompt"}
        return next((text for text in self.errands if text not in said), None)

    # Promises

    def broken(self, problem: str) -> None:
        """A promise was not kept."""
        self.problems.append(problem)

    def look(self, replica: Replica, what: str) -> None:
        """Compare the tables with what they were before a transaction of this replica, and with what is promised."""
        before, now = self.tables, self.place.tables(self.session)
        self.tables = now
        if now == before:
            return
        holder = replica.session.fence if replica.session is not None else now.fence
        if what != "_begin" and holder != now.fence:
            self.broken(f"{replica.name} wrote with fence {holder} after fence {now.fence} was given out ({what})")
        if now.fence < before.fence:
            self.broken(f"the fence fell from {before.fence} to {now.fence}")
        if now.messages[: len(before.messages)] != before.messages:
            self.broken(f"messages were lost or changed ({what})")
        for id in before.calls.keys() | now.calls.keys():
            if id not in now.calls or before.calls.get(id, now.calls[id]) != now.calls[id]:
                self.broken(f"the mark of the call {id} was lost or changed")
            elif id not in before.calls and now.calls[id][1] != now.fence:
                self.broken(
                    f"the call {id} was begun with fence {now.calls[id][1]} after fence {now.fence} was given out"
                )
        for id, (arguments, settled) in before.answers.items():
            after = {settled} if settled else {None, "taken", "declined"}
            if id not in now.answers or now.answers[id][0] != arguments or now.answers[id][1] not in after:
                self.broken(f"the confirmation {id} was lost, changed or settled again")

    def enter(self, entry: Entry, replica: Replica) -> None:
        """Compare a call that is made with what is promised, and note it."""
        if any(one.call == entry.call for one in self.ledger):
            self.broken(f"the call {entry.call} was made twice")
        if entry.call not in self.tables.calls:
            self.broken(f"the call {entry.call} was made without a mark")
        if entry.call in replica.unfinished:
            self.broken(f"the call {entry.call} was repeated")
        if not replica.by_button and entry.call.split(":")[2] not in replica.asked:
            self.broken(f"the model did not ask for the call {entry.call} in this turn")
        if entry.accepted:
            self.highest = max(self.highest, entry.fence)
        self.ledger.append(entry)
        if entry.done == "refund":
            made = sum((one.done, one.number) == ("refund", entry.number) for one in self.ledger)
            agreed = sum(
                json.loads(arguments) == {"number": entry.number} and settled == "taken"
                for arguments, settled in self.tables.answers.values()
            )
            if made > agreed:
                self.broken(f"refund {entry.number} was made {made} times; the user agreed {agreed} times")

    def _compare_memory(self, replica: Replica) -> None:
        """What a replica was told is kept must be there."""
        if replica.session is None:
            return
        kept = [json.loads(message) for message in self.tables.messages]
        told = list(replica.session.history)
        if kept[: len(told)] != told:
            self.broken(f"{replica.name} was told that messages are kept which are not")
        if lost := {one.id for one in replica.session.calls} - self.tables.calls.keys():
            self.broken(f"{replica.name} was told that calls are marked which are not: {lost}")


class Place:
    """A store and three machines, for one history after the other."""

    def __init__(self, folder: Path) -> None:
        path = folder / "simulated.db"
        self.machines = [Machine(path) for _ in range(3)]
        self._path = path
        self._looking: sqlite3.Connection | None = None
        self._runner = asyncio.Runner(loop_factory=OneThreadLoop)
        self._sessions = count()

    async def settle(self) -> None:
        """Come back when every replica waits at a gate, or is done."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, OneThreadLoop)
        await loop.settle()

    def tables(self, session: str) -> Tables:
        """What stands in the store."""
        if self._looking is None:
            self._looking = sqlite3.connect(self._path)
        ask = self._looking.execute
        head = ask("SELECT fence FROM sessions WHERE id = ?", (session,)).fetchone()
        messages = ask("SELECT message FROM messages WHERE session = ? ORDER BY position", (session,))
        calls = ask("SELECT id, tool, fence FROM calls WHERE session = ?", (session,))
        answers = ask("SELECT id, arguments, settled_as FROM confirmations WHERE session = ?", (session,))
        return Tables(
            fence=head[0] if head else 0,
            messages=tuple(text for (text,) in messages),
            calls={id: (tool, fence) for id, tool, fence in calls},
            answers={id: (arguments, settled) for id, arguments, settled in answers},
        )

    def history(
        self, play: Callable[[World], Any], *, seed: int = 0, errands: Mapping[str, int], fenced: bool = True
    ) -> World:
        """A history, as `play` lets it go, brought to its end."""

        async def whole() -> World:
            world = World(self, f"s{next(self._sessions)}", random.Random(seed), errands=errands, fenced=fenced)
            try:
                await play(world)
                await world.finish()
            finally:
                await world.end()
            return world

        return self._runner.run(whole())

    def close(self) -> None:
        """Let go of everything."""

        async def files() -> None:
            for machine in self.machines:
                await machine.file.close()

        self._runner.run(files())
        self._runner.close()
        if self._looking is not None:
            self._looking.close()


# Ways through a history


async def by_chance(world: World) -> None:
    """Replicas come and go, and who is next is drawn."""
    chance = world.chance
    takes = chance.choice([0.1, 0.5, 1.0])
    for machine in range(chance.choice([2, 3])):
        await world.start(machine, take_over=lambda: chance.random() < takes)
    stopped: set[int] = set()
    for _ in range(chance.randint(20, 90)):
        running = [one for one in world.movable if id(one) not in stopped]
        drawn = chance.random()
        if drawn < 0.05:
            world.wait(chance.choice([5, 12, 31, 31, 4_000]))
        elif drawn < 0.09 and running:
            world.beat(chance.choice(running))
        elif drawn < 0.14 and running:
            stopped.add(id(chance.choice(running)))
        elif drawn < 0.19:
            stopped.clear()
        elif drawn < 0.25 and running:
            dead = chance.choice(running)
            world.crash(dead)
            await world.start(world.place.machines.index(dead.machine), take_over=lambda: chance.random() < takes)
        elif running:
            one = chance.choice(running)
            for _ in range(chance.choice([1, 1, 2, 5])):
                if one.waiting:
                    await world.move(one)


def every_way(history: Callable[[Callable[[int], int]], bool]) -> int:
    """Run a history once for each way in which its choices can go, or until it says that it saw enough; how many."""
    chosen: list[tuple[int, int]] = []  # the choice, and of how many
    ways = 0
    while True:
        places = count()

        def choose(options: int, places: Iterator[int] = places) -> int:
            place = next(places)
            if place == len(chosen):
                chosen.append((0, options))
            return chosen[place][0]

        seen_enough = history(choose)
        ways += 1
        while chosen and chosen[-1][0] + 1 == chosen[-1][1]:
            chosen.pop()
        if seen_enough or not chosen:
            return ways
        choice, options = chosen.pop()
        chosen.append((choice + 1, options))
