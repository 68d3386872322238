"""Following a session's log while somebody else writes it, in this process or another.

For a server that is asked for a run which happens on another replica: it tells what is logged, as it is logged, and
ends when nobody has the session open any more.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from toolcrib.stores.record import LoggedEvent

if TYPE_CHECKING:
    from toolcrib.stores.store import Store

PING_SECONDS = 15.0


async def follow(
    store: "Store", session_id: str, *, after: int, ping_seconds: float, look_seconds: float, news: asyncio.Event
) -> AsyncGenerator[LoggedEvent | None]:
    """See `Store.follow`. It looks when `news` is set, and every `look_seconds`: news get lost, and holders die."""
    last_told = time.monotonic()
    while True:
        news.clear()
        is_open = await store.is_open(session_id)  # first: what was logged before it was given back is then seen
        for event in await store.events(session_id, after=after):
            after = event.position
            yield event
            last_told = time.monotonic()
        if not is_open:
            return
        silence_left = last_told + ping_seconds - time.monotonic()
        if silence_left <= 0:
            yield None
            last_told = time.monotonic()
            continue
        try:
            async with asyncio.timeout(min(look_seconds, silence_left)):
                await news.wait()
        except TimeoutError:
            pass
