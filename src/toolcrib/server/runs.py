"""The runs of a server: each has a task of its own, so that it goes on whoever listens, until it is over or stopped."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from toolcrib.agent.events import Event, Failed, Text
from toolcrib.errors import ServerBusyError, SessionBusyError, ToolcribError
from toolcrib.server.metrics import logged_session
from toolcrib.stores.record import LoggedEvent
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store

# A run that is under way: what it told so far, and all who listen.

STRIDE = 100_000


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event as clients get it."""

    number: int
    event: dict[str, Any]


def position_of(number: int) -> int:
    """Where in the log an event stands; of a piece of text, the one before it."""
    return number // STRIDE


class LiveRun:
    """One run of one session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.over = False
        self.logged: list[dict[str, Any]] = []  # those that belong into the log
        self._told: list[Numbered] = []
        self._first = 0
        self._begun = asyncio.Event()
        self._piece = 0
        self._news = asyncio.Event()

    def begins_at(self, position: int) -> None:
        """Say where in the log its first event will stand."""
        self._first = position
        self._begun.set()

    async def first_number(self) -> int | None:
        """The number of its first event, once that is known; None when it ended before it began."""
        await self._begun.wait()
        return None if self.over and not self._told else self._first * STRIDE

    def tell(self, event: Event) -> None:
        """Something happened."""
        said = event.to_json()
        if isinstance(event, Text):
            self._piece += 1
        else:
            self.logged.append(said)
            self._piece = 0
        position = self._first + len(self.logged) - 1
        self._told.append(Numbered(position * STRIDE + self._piece, said))
        self._wake()

    def end(self) -> None:
        """Nothing more will happen."""
        self.over = True
        self._begun.set()
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def follow(self, after: int = -1, *, ping_seconds: float) -> AsyncGenerator[Numbered | None]:
        """What it told behind a number, and what it tells, until it is over; None after a silence."""
        at = 0
        while True:
            news = self._news
            while at < len(self._told):
                if self._told[at].number > after:
                    yield self._told[at]
                at += 1
            if self.over:
                return
            if news.is_set():
                continue
            try:
                async with asyncio.timeout(ping_seconds):
                    await news.wait()
            except TimeoutError:
                yield None


# Listening to a session from wherever one stands: its log, then the run under way, on this replica or on another.

Told = AsyncGenerator[Numbered | None]  # None after a silence


async def follow_local(run: LiveRun, store: Store, session: str, number: int | None, *, ping_seconds: float) -> Told:
    """What happens in a run of this replica; with a number, all that stands behind it."""
    if number is not None:
        first = await run.first_number()
        for line in await store.events(session, after=_position(number)):
            if first is None or line.position * STRIDE < first:
                yield _numbered(line)
    async for one in run.follow(-1 if number is None else number, ping_seconds=ping_seconds):
        yield one


async def follow_remote(store: Store, session: str, number: int | None, *, ping_seconds: float) -> Told | None:
    """What the log has behind a number, and what another replica adds to it; None when that is nothing.

    A replica that was killed may have told more than it kept. Who heard that goes on where the log ends.
    """
    is_open = await store.is_open(session)
    if number is None:
        logged = await store.events(session)
        began = [line.position for line in logged if line.event["type"] == "run_started"]
        after = began[-1] - 1 if began else -1
        return _followed(store, session, after, ping_seconds) if is_open else None
    after = _position(number)
    logged = await store.events(session, after=max(after - 1, -1))  # the one that was heard last, too: is it there?
    if not is_open:
        if after > 0 and not logged:
            after = len(await store.events(session)) - 1
        elif not any(line.position > after for line in logged):
            return None
    return _followed(store, session, after, ping_seconds)


async def _followed(store: Store, session: str, after: int, ping_seconds: float) -> Told:
    async for line in store.follow(session, after=after, ping_seconds=ping_seconds):
        yield None if line is None else _numbered(line)


def _position(number: int) -> int:
    return position_of(number) if number >= 0 else -1


def _numbered(line: LoggedEvent) -> Numbered:
    return Numbered(line.position * STRIDE, line.event)


logger = logging.getLogger(__name__)

Happening = Callable[[Session], AsyncGenerator[Event]]
STOPPED = Failed(message="Stopped.", hint="What was done so far is kept.")
PARKED = Failed(message="The server was shut down.", hint="What was done so far is kept. Say it again to go on.")
_MOST_ENDS = 10_000


class Watch(Protocol):
    """Who is told what happens in all runs."""

    def began(self) -> None: ...
    def happened(self, event: Event) -> None: ...
    def ended(self) -> None: ...


class Runs:
    """All that are under way, by tenant and session."""

    def __init__(self, *, most: int, watch: Watch) -> None:
        self._most = most
        self._watch = watch
        self._live: dict[tuple[str, str], tuple[LiveRun, asyncio.Task[None]]] = {}
        self._ends: OrderedDict[tuple[str, str], int] = OrderedDict()  # where logs ended when last seen
        self._farewell: dict[LiveRun, Failed] = {}
        self.closing = False

    def __len__(self) -> int:
        return len(self._live)

    def find(self, store: Store, session: str) -> LiveRun | None:
        """The run of a session, if there is one now."""
        found = self._live.get((store.tenant, session))
        return found[0] if found else None

    async def start(self, store: Store, session: str, happening: Happening) -> LiveRun:
        """Let something happen in a session; given back when it has begun.

        Raises:
            SessionBusyError: Something happens there already.
            ServerBusyError: Too much happens elsewhere, or the server is about to end.
            ToolcribError: Whatever else keeps it from beginning.
        """
        key = store.tenant, session
        if key in self._live:
            raise SessionBusyError(session, "a run of this server")
        if self.closing or len(self._live) >= self._most:
            raise ServerBusyError("is about to end" if self.closing else "has as many runs as it can have")
        run = LiveRun(session)
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(run, begun, store, happening), name=f"run of {session}")
        self._live[key] = run, task
        self._watch.began()

        def over(task: "asyncio.Task[None]") -> None:  # also when it was ended before its first step
            _settle(begun, ServerBusyError("was told to stop this run before it began") if task.cancelled() else None)
            self._farewell.pop(run, None)
            del self._live[key]
            run.end()
            self._watch.ended()

        task.add_done_callback(over)
        await asyncio.shield(begun)  # the one who asked may be gone; the run is not
        return run

    async def stop(self, store: Store, session: str) -> bool:
        """End a run, here or on another replica; gives whether there was one."""
        found = self._live.get((store.tenant, session))
        if found is not None:
            await self._end(*found, STOPPED)
            return True
        if not await store.is_open(session):
            return False
        # What it was about to do there is not kept, and it begins nothing more: it cannot write any longer.
        async with store.open(session, create=False, take_over=True) as taken:
            await taken.append(events=[STOPPED.to_json()])
        return True

    async def close(self, grace_seconds: float) -> None:
        """Begin nothing more, let runs finish, and park those that take too long."""
        self.closing = True
        tasks = {task for _, task in self._live.values()}
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
        await self.park()

    async def park(self) -> None:
        """End every run now; what each has done is kept."""
        self.closing = True
        await asyncio.gather(*(self._end(run, task, PARKED) for run, task in list(self._live.values())))

    async def _end(self, run: LiveRun, task: "asyncio.Task[None]", farewell: Failed) -> None:
        if run not in self._farewell:
            self._farewell[run] = farewell
            task.cancel()
        await asyncio.wait({task})

    async def _run(self, run: LiveRun, begun: "asyncio.Future[None]", store: Store, happening: Happening) -> None:
        with logged_session(run.session):
            try:
                async with store.open(run.session, create=False) as session:
                    watch = asyncio.create_task(self._end_when_lost(run, session))
                    try:
                        await self._follow(run, begun, store, session, happening)
                    finally:
                        watch.cancel()
            except Exception as error:
                if not _settle(begun, error):
                    logger.error("A run ended badly", exc_info=error)

    async def _end_when_lost(self, run: LiveRun, session: Session) -> None:
        """Another replica was asked to stop it, or took us for dead."""
        await session.lost.wait()
        for live, task in list(self._live.values()):
            if live is run:
                await self._end(run, task, STOPPED)

    async def _follow(
        self, run: LiveRun, begun: "asyncio.Future[None]", store: Store, session: Session, happening: Happening
    ) -> None:
        key = store.tenant, session.id
        start = await self._end_of_log(store, session.id)
        run.begins_at(start)
        try:
            async with aclosing(happening(session)) as events:
                async for event in events:
                    self._tell(run, event)
                    _settle(begun, None)
        except asyncio.CancelledError:
            farewell = self._farewell.get(run)
            if farewell is None:  # pragma: no cover - the loop itself is ending
                raise
            self._tell(run, farewell)
        except Exception as error:  # what the runner does not tell itself: the store, or a mistake of ours
            if not begun.done():
                raise
            logger.error("A run broke", exc_info=error)
            ours = isinstance(error, ToolcribError)
            said, hint = (str(error), error.hint or "") if ours else ("The run broke.", "The log has the details.")
            self._tell(run, Failed(message=said, hint=hint))
        if run.logged:
            await _log_rest(store, session, run, start)
            self._ends[key] = start + len(run.logged)
            self._ends.move_to_end(key)
            if len(self._ends) > _MOST_ENDS:
                self._ends.popitem(last=False)

    def _tell(self, run: LiveRun, event: Event) -> None:
        run.tell(event)
        self._watch.happened(event)

    async def _end_of_log(self, store: Store, session: str) -> int:
        """Where the next line of the log will stand. Another process may have added some since we looked."""
        known = self._ends.get((store.tenant, session), 0)
        return known + len(await store.events(session, after=known - 1))


async def _log_rest(store: Store, session: Session, run: LiveRun, start: int) -> None:
    """Log what the run told and did not keep itself, because it was stopped: numbers must not be given twice."""
    try:
        kept = len(await store.events(session.id, after=start - 1))
        if rest := run.logged[kept:]:
            await session.append(events=rest)
    except ToolcribError as error:  # the session was lost to another process, or the disk is full
        logger.warning("The end of a run could not be logged: %s", error)


def _settle(begun: "asyncio.Future[None]", error: Exception | None) -> bool:
    """Answer the one who waits for the beginning, unless they were answered before."""
    if begun.done():
        return False
    if error is None:
        begun.set_result(None)
    else:
        begun.set_exception(error)
        begun.exception()  # looked at: the one who waited may be gone
    return True
