"""What a server does before anybody waits for it: builds the index, and rehearses a turn in which nothing is called."""

import asyncio
import logging
import time
from dataclasses import replace

from toolcrib.agent.crib import Crib
from toolcrib.agent.offline import OfflineModel
from toolcrib.agent.runner import run
from toolcrib.discovery.overhead import own_queries
from toolcrib.policy import Decision, Policy, Rule
from toolcrib.stores.sqlite import SqliteStore

logger = logging.getLogger(__name__)


class Warming:
    """The first search and the first turn are slow: vocabularies, templates and tables are read then."""

    def __init__(self, crib: Crib, *, wanted: bool = True) -> None:
        self._crib = crib
        self.done = not wanted

    async def __call__(self) -> None:
        """Work in a thread of its own, so that the server answers meanwhile; what fails here is no reason to stop."""
        if self.done:
            return
        began = time.perf_counter()
        try:
            await asyncio.to_thread(_rehearse, self._crib)
        except Exception:  # whatever it is, the first message will tell it to someone who can act on it
            logger.warning("The rehearsal failed.", exc_info=True)
        self.done = True
        took = round(time.perf_counter() - began, 2)
        logger.info("Warm after %s s.", took, extra={"fields": {"seconds": took}})


def _rehearse(crib: Crib) -> None:
    for query in own_queries(list(crib.catalog), count=1):
        crib.tool_index.search(query)
        asyncio.run(_turn(crib, query))


async def _turn(crib: Crib, text: str) -> None:
    """A turn for a tool's own words, up to its call: that is denied, like every other one. No provider is asked."""
    nothing = Policy(rules=(Rule(Decision.DENY, reason="this is a rehearsal"),))
    rehearsing = replace(crib, model=OfflineModel(), index=crib.tool_index, policy=nothing, learn=False)
    async with SqliteStore(None) as store, store.open() as session:
        await run(session, text, crib=rehearsing)
