"""Programs that wait for a user's answer: kept in a store, for this gateway after a restart and for its replicas.

Each is a session of its own with its questions; the caller's name is the tenant. Of all gateways that get the answer,
the one that uses up the question goes on with the program.
"""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.program.paused import RUN_CODE
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import StoreError
from toolcrib.stores.record import Confirmation
from toolcrib.stores.store import Store

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 5.0
_MOST_ASKED = 1_000
_KEPT_FOR = timedelta(days=30)


class WaitingPrograms:
    """The programs of one gateway; without a store they last as long as the gateway."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._asked: OrderedDict[str, str] = OrderedDict()  # program by the state of the question to a client

    async def keep(self, pending: PendingApproval, caller: str) -> None:
        """Keep a program that waits, before anybody is asked about it."""
        if self._store is None or pending.pause is None:
            return
        try:
            async with self._sessions(caller).open(_session(pending.pause.program), wait_seconds=_WAIT_SECONDS) as held:
                await held.add_confirmation(
                    pending.tool,
                    pending.arguments,
                    pending.digest,
                    expires_in=pending.pause.expires_in,
                    program=pending.pause.stored,
                )
        except StoreError as error:
            logger.warning("A program that waits is kept in this process only: %s", error)

    async def take(self, pending: PendingApproval, caller: str) -> bool:
        """Use up the question at which a program waits; False if another gateway did."""
        if self._store is None or pending.pause is None:
            return True
        try:
            async with self._sessions(caller).open(_session(pending.pause.program), wait_seconds=_WAIT_SECONDS) as held:
                mine = [one for one in held.confirmations if one.digest == pending.digest]
                return bool(mine) and isinstance(
                    await held.take_confirmation(mine[-1].id, pending.digest), Confirmation
                )
        except StoreError as error:
            logger.warning("A program could not go on: %s", error)
            return False

    async def load(self, toolbox: Toolbox, arguments: Mapping[str, Any], caller: str) -> None:
        """Let a toolbox know the program that a call goes on with, if another gateway paused it."""
        program = str(arguments.get("resume") or "").strip()
        if self._store is None or not program or len(program) > _MOST_ID:
            return
        try:
            record = await self._sessions(caller).read(_session(program))
        except StoreError:  # there is none, or it cannot be read: the toolbox says so
            return
        if waiting := [one for one in record.confirmations if one.is_pending(toolbox.programs.clock())]:
            toolbox.programs.hold(waiting[-1].program)

    async def purge(self) -> None:
        """Forget what nobody answered."""
        if self._store is not None:
            await self._store.purge(_KEPT_FOR)

    # A client of the newer protocol answers a question by sending its call once more.

    def asked(self, state: str | None, pending: PendingApproval) -> None:
        """Note which program a question to a client is about."""
        if state is not None and pending.pause is not None:
            self._asked[state] = pending.pause.program
            while len(self._asked) > _MOST_ASKED:
                self._asked.popitem(last=False)

    def answered(self, name: str, arguments: dict[str, Any], state: str | None) -> dict[str, Any]:
        """The arguments of a call, or, where it answers a question of a program, what goes on with that."""
        program = self._asked.pop(state or "", None) if name == RUN_CODE else None
        return arguments if program is None else {"resume": program}

    def _sessions(self, caller: str) -> Store:
        assert self._store is not None
        return self._store.for_tenant(f"gateway:{caller}"[:_MOST_ID])


_MOST_ID = 200


def _session(program: str) -> str:
    return f"program-{program}"
