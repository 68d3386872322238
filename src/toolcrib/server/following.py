"""Listening to a session from wherever one stands: its log, then the run under way, on this replica or on another."""

from collections.abc import AsyncGenerator

from toolcrib.server.live_run import STRIDE, LiveRun, Numbered, position_of
from toolcrib.stores.record import LoggedEvent
from toolcrib.stores.store import Store

Told = AsyncGenerator[Numbered | None]  # None after a silence


async def told_here(run: LiveRun, store: Store, session: str, number: int | None, *, ping_seconds: float) -> Told:
    """What happens in a run of this replica; with a number, all that stands behind it."""
    if number is not None:
        first = await run.first_number()
        for line in await store.events(session, after=_position(number)):
            if first is None or line.position * STRIDE < first:
                yield _numbered(line)
    async for one in run.follow(-1 if number is None else number, ping_seconds=ping_seconds):
        yield one


async def told_elsewhere(store: Store, session: str, number: int | None, *, ping_seconds: float) -> Told | None:
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
