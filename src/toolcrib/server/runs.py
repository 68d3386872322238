"""The runs of a server, and how clients follow them.

Each run has a task of its own, so that it goes on when a client disconnects. Clients get numbered events and can resume
after any number: from the session's log, from a run on this replica (`LiveRun`), or from one on another replica.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from toolcrib.agent.events import Event, Failed, Text
from toolcrib.errors import ServerBusyError, SessionBusyError, ToolcribError
from toolcrib.server.metrics import Metrics, logged_session
from toolcrib.stores.record import LoggedEvent
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store

logger = logging.getLogger(__name__)

STOPPED = Failed(message="Stopped.", hint="What was done so far is kept.")
SHUT_DOWN = Failed(
    message="The server was shut down.", hint="What was done so far is kept. Send the message again to continue."
)
STRIDE = 100_000  # event numbers per log position: the text deltas in between are not logged
_MOST_ENDS = 10_000

StartRun = Callable[[Session], AsyncGenerator[Event]]


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with the number that clients resume from."""

    number: int
    event: dict[str, Any]


def position_of(number: int) -> int:
    """The log position of an event; for a text delta, the position of the event before it."""
    return number // STRIDE


class LiveRun:
    """An active run: its events so far, and a way to wait for more."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.over = False
        self.logged: list[dict[str, Any]] = []  # without text deltas
        self._events: list[Numbered] = []
        self._first = 0
        self._begun = asyncio.Event()
        self._delta = 0
        self._changed = asyncio.Event()

    def begins_at(self, position: int) -> None:
        """Set the log position of its first event."""
        self._first = position
        self._begun.set()

    async def first_number(self) -> int | None:
        """The number of its first event, once known; None if the run ended before it began."""
        await self._begun.wait()
        return None if self.over and not self._events else self._first * STRIDE

    def publish(self, event: Event) -> None:
        """Pass an event to all followers."""
        data = event.to_json()
        if isinstance(event, Text):
            self._delta += 1
        else:
            self.logged.append(data)
            self._delta = 0
        position = self._first + len(self.logged) - 1
        self._events.append(Numbered(position * STRIDE + self._delta, data))
        self._wake_followers()

    def end(self) -> None:
        """Tell all followers that the run is over."""
        self.over = True
        self._begun.set()
        self._wake_followers()

    def _wake_followers(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def follow(self, after: int = -1, *, ping_seconds: float) -> AsyncGenerator[Numbered | None]:
        """The events after a number, until the run is over; None after `ping_seconds` without any."""
        at = 0
        while True:
            changed = self._changed
            while at < len(self._events):
                if self._events[at].number > after:
                    yield self._events[at]
                at += 1
            if self.over:
                return
            if changed.is_set():
                continue
            try:
                async with asyncio.timeout(ping_seconds):
                    await changed.wait()
            except TimeoutError:
                yield None


EventStream = AsyncGenerator[Numbered | None]  # None after a time without events


async def follow_local(
    run: LiveRun, store: Store, session: str, number: int | None, *, ping_seconds: float
) -> EventStream:
    """The events of a run on this replica; with a number, all events of the session after it."""
    if number is not None:
        first = await run.first_number()
        for line in await store.events(session, after=_position(number)):
            if first is None or line.position * STRIDE < first:
                yield _numbered(line)
    async for one in run.follow(-1 if number is None else number, ping_seconds=ping_seconds):
        yield one


async def follow_remote(store: Store, session: str, number: int | None, *, ping_seconds: float) -> EventStream | None:
    """The events in the log after a number, and those that another replica adds; None if there are none.

    A replica that was killed may have sent more events than it logged. Clients that got those resume at the log's end.
    """
    is_open = await store.is_open(session)
    if number is None:
        logged = await store.events(session)
        began = [line.position for line in logged if line.event["type"] == "run_started"]
        after = began[-1] - 1 if began else -1
        return _follow_log(store, session, after, ping_seconds) if is_open else None
    after = _position(number)
    # Includes the last event that the client received, to check that the log has it.
    logged = await store.events(session, after=max(after - 1, -1))
    if not is_open:
        if after > 0 and not logged:
            after = len(await store.events(session)) - 1
        elif not any(line.position > after for line in logged):
            return None
    return _follow_log(store, session, after, ping_seconds)


async def _follow_log(store: Store, session: str, after: int, ping_seconds: float) -> EventStream:
    async for line in store.follow(session, after=after, ping_seconds=ping_seconds):
        yield None if line is None else _numbered(line)


def _position(number: int) -> int:
    return position_of(number) if number >= 0 else -1


def _numbered(line: LoggedEvent) -> Numbered:
    return Numbered(line.position * STRIDE, line.event)


class Load:
    """How long a turn would wait for the processor, which all turns of this process share.

    As long as the event loop is on time, nobody waits: turns under way wait for models and tools. When it is late, each
    of them takes as much of the processor as turns took when it was on time, out of what other programs leave of it.
    """

    LATE_SECONDS = 0.05
    _LOOK_SECONDS = 0.25
    _WEIGHT = 0.3  # of the last look
    _LEAST_SHARE = 0.05
    _FORGETS = 0.98  # at the end of each turn: the last fifty count
    _REHEARSED = 4.0  # turns that a rehearsal counts for

    def __init__(self, processor_seconds: Callable[[], float] = time.process_time) -> None:
        self._processor_seconds = processor_seconds
        self._since = 0.0
        self._active = 0
        self._spent = 0.0  # by turns that count: those that began and ended while the loop was on time
        self._ended = 0.0
        self._lateness = 0.0
        self._share = 1.0  # of a processor, that this process gets when it wants all of it
        self._period = 1  # grows each time the loop is on time again

    async def watch(self) -> None:
        """Look again and again how late the event loop is."""
        while True:
            began, spent = time.monotonic(), time.process_time()
            await asyncio.sleep(self._LOOK_SECONDS)
            took = time.monotonic() - began
            self.observe(took - self._LOOK_SECONDS, (time.process_time() - spent) / took)

    def observe(self, late_seconds: float, share: float) -> None:
        """A look came too late by so much, and meanwhile the process had this share of a processor."""
        was_late = self.is_late
        self._count()
        self._lateness += self._WEIGHT * (late_seconds - self._lateness)
        share = max(share, self._LEAST_SHARE) if self.is_late else 1.0
        self._share += self._WEIGHT * (share - self._share)
        self._period += was_late and not self.is_late

    @property
    def is_late(self) -> bool:
        return self._lateness > self.LATE_SECONDS

    def rehearsed(self, seconds: float) -> None:
        """A turn that nobody asked for took so much of the processor."""
        self._spent += seconds * self._REHEARSED
        self._ended += self._REHEARSED

    def begin(self) -> int:
        """One more turn is under way; what this gives belongs to its `end`."""
        self._count()
        self._active += 1
        return 0 if self.is_late else self._period

    def end(self, begun: int) -> None:
        """A turn has ended."""
        self._count()
        self._active -= 1
        if begun == self._period and not self.is_late:
            self._spent *= self._FORGETS
            self._ended = self._ended * self._FORGETS + 1

    def _count(self) -> None:
        now = self._processor_seconds()
        if self._active and not self.is_late:
            self._spent += now - self._since
        self._since = now

    @property
    def wait_seconds(self) -> float:
        """What the turns under way will keep another one waiting."""
        if not self.is_late or not self._ended:
            return 0.0
        return self._active * self._spent / self._ended / self._share


class Runs:
    """All active runs, by tenant and session."""

    def __init__(
        self, *, most: int, metrics: Metrics, longest_wait_seconds: float = inf, load: Load | None = None
    ) -> None:
        self._most = most
        self._longest_wait_seconds = longest_wait_seconds
        self.load = load or Load()
        self._metrics = metrics
        self._live: dict[tuple[str, str], tuple[LiveRun, asyncio.Task[None]]] = {}
        self._ends: OrderedDict[tuple[str, str], int] = OrderedDict()  # the last known length of each log
        self._last_event: dict[LiveRun, Failed] = {}
        self.closing = False

    def __len__(self) -> int:
        return len(self._live)

    def find(self, store: Store, session: str) -> LiveRun | None:
        """The run of a session, if there is one."""
        found = self._live.get((store.tenant, session))
        return found[0] if found else None

    async def start(self, store: Store, session: str, start_run: StartRun) -> LiveRun:
        """Start a run in a session; returns after its first event.

        Raises:
            SessionBusyError: The session has a run already.
            ServerBusyError: There are too many runs, or the server is shutting down.
            ToolcribError: The run could not start.
        """
        key = store.tenant, session
        if key in self._live:
            raise SessionBusyError(session, "a run of this server")
        self._refuse_when_busy()
        run = LiveRun(session)
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(run, begun, store, start_run), name=f"run of {session}")
        self._live[key] = run, task
        self._metrics.run_started()
        period = self.load.begin()

        def on_done(task: "asyncio.Task[None]") -> None:  # also if it was cancelled before its first step
            _settle(begun, ServerBusyError("stopped this run before it started") if task.cancelled() else None)
            self._last_event.pop(run, None)
            del self._live[key]
            run.end()
            self.load.end(period)
            self._metrics.run_ended()

        task.add_done_callback(on_done)
        await asyncio.shield(begun)  # the client may disconnect; the run goes on
        return run

    def _refuse_when_busy(self) -> None:
        if self.closing:
            raise ServerBusyError("is shutting down")
        if len(self._live) >= self._most:
            raise ServerBusyError("has reached its limit of active runs")
        wait = self.load.wait_seconds
        if wait > self._longest_wait_seconds:
            seconds = ceil(wait - self._longest_wait_seconds)
            raise ServerBusyError(f"is busy: this would wait for some {wait:.0f} s", retry_seconds=seconds)

    async def stop(self, store: Store, session: str) -> bool:
        """Stop a run, here or on another replica; returns whether there was one."""
        found = self._live.get((store.tenant, session))
        if found is not None:
            await self._end(*found, STOPPED)
            return True
        if not await store.is_open(session):
            return False
        # The other replica loses its lease: it cannot write any more, and starts nothing new.
        async with store.open(session, create=False, take_over=True) as taken:
            await taken.append(events=[STOPPED.to_json()])
        return True

    async def close(self, grace_seconds: float) -> None:
        """Start no more runs, let active ones finish, and stop those that take too long."""
        self.closing = True
        tasks = {task for _, task in self._live.values()}
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
        await self.stop_all()

    async def stop_all(self) -> None:
        """Stop every run now; what each has done is kept."""
        self.closing = True
        await asyncio.gather(*(self._end(run, task, SHUT_DOWN) for run, task in list(self._live.values())))

    async def _end(self, run: LiveRun, task: "asyncio.Task[None]", last_event: Failed) -> None:
        if run not in self._last_event:
            self._last_event[run] = last_event
            task.cancel()
        await asyncio.wait({task})

    async def _run(self, run: LiveRun, begun: "asyncio.Future[None]", store: Store, start_run: StartRun) -> None:
        with logged_session(run.session):
            try:
                async with store.open(run.session, create=False) as session:
                    watcher = asyncio.create_task(self._end_when_lost(run, session))
                    try:
                        await self._follow(run, begun, store, session, start_run)
                    finally:
                        watcher.cancel()
            except Exception as error:
                if not _settle(begun, error):
                    logger.error("A run failed at its end", exc_info=error)

    async def _end_when_lost(self, run: LiveRun, session: Session) -> None:
        """Stop a run whose lease was lost: another replica stopped it, or took this one for dead."""
        await session.lost.wait()
        for live, task in list(self._live.values()):
            if live is run:
                await self._end(run, task, STOPPED)

    async def _follow(
        self, run: LiveRun, begun: "asyncio.Future[None]", store: Store, session: Session, start_run: StartRun
    ) -> None:
        key = store.tenant, session.id
        start = await self._end_of_log(store, session.id)
        run.begins_at(start)
        try:
            async with aclosing(start_run(session)) as events:
                async for event in events:
                    self._publish(run, event)
                    _settle(begun, None)
        except asyncio.CancelledError:
            last_event = self._last_event.get(run)
            if last_event is None:  # pragma: no cover - the event loop itself is closing
                raise
            run.publish(last_event)
            self._metrics.run_stopped()
        except Exception as error:  # errors that the runner does not report: a failure of the store, or a bug
            if not begun.done():
                raise
            logger.error("A run failed unexpectedly", exc_info=error)
            expected = isinstance(error, ToolcribError)
            message, hint = (
                (error.public, error.hint or "")
                if expected
                else ("The run failed unexpectedly.", "The log has the details.")
            )
            self._publish(run, Failed(message=message, hint=hint))
        if run.logged:
            await _log_rest(store, session, run, start)
            self._ends[key] = start + len(run.logged)
            self._ends.move_to_end(key)
            if len(self._ends) > _MOST_ENDS:
                self._ends.popitem(last=False)

    def _publish(self, run: LiveRun, event: Event) -> None:
        run.publish(event)
        self._metrics.record(event)

    async def _end_of_log(self, store: Store, session: str) -> int:
        """The position after the last event of the log, to which another process may have added events."""
        known = self._ends.get((store.tenant, session), 0)
        return known + len(await store.events(session, after=known - 1))


async def _log_rest(store: Store, session: Session, run: LiveRun, start: int) -> None:
    """Log the events that a stopped run published but did not log itself: their numbers must not be used again."""
    try:
        kept = len(await store.events(session.id, after=start - 1))
        if rest := run.logged[kept:]:
            await session.append(events=rest)
    except ToolcribError as error:  # the session was lost to another process, or the disk is full
        logger.warning("The end of a run could not be logged: %s", error)


def _settle(begun: "asyncio.Future[None]", error: Exception | None) -> bool:
    """Resolve the future that `start` waits for, unless it is resolved; returns whether it was open."""
    if begun.done():
        return False
    if error is None:
        begun.set_result(None)
    else:
        begun.set_exception(error)
        begun.exception()  # marks it as retrieved: the client may have disconnected
    return True
