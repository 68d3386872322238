"""An open session: its state in memory, which always equals the stored state. All changes go through it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, TypeVar

from toolcrib.errors import StoreError
from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.record import (
    MOST_TITLE_CHARACTERS,
    BegunCall,
    Confirmation,
    Json,
    Refusal,
    Resolution,
    SessionRecord,
    Step,
    Totals,
    from_text,
    new_id,
    to_text,
)
from toolcrib.stores.store import SessionWriter
from toolcrib.tools.text import clean

# Writes that are finished although their caller is cancelled, so that memory and database do not part.

Result = TypeVar("Result")


async def shielded(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`. When the caller is cancelled meanwhile, the work is done first; it takes milliseconds."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:  # once more; the caller is told below
                continue
        if not task.cancelled():
            task.exception()  # looked at, so that nobody complains that it was not
        raise


CONFIRMATION_EXPIRES_IN = timedelta(hours=1)


class Session:
    """Made by `store.open`. Every change is kept before it returns: a killed process loses at most the running step."""

    def __init__(
        self, record: SessionRecord, writer: SessionWriter, clock: Callable[[], datetime], *, tenant: str = ""
    ) -> None:
        self.id = record.id
        self.tenant = tenant  # that owns the session; empty if there is only one
        self._record = record
        self._writer = writer
        self._clock = clock
        self._writing = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self.lost = asyncio.Event()  # set when somebody took it over: nothing more can be written

    @property
    def title(self) -> str:
        return self._record.title

    @property
    def created_at(self) -> datetime:
        return self._record.created_at

    @property
    def memory(self) -> WorkingMemory:
        return self._record.memory

    @property
    def toolbox(self) -> Json:
        """What the toolbox last said of itself, or None."""
        return self._record.toolbox

    @property
    def history(self) -> tuple[Json, ...]:
        """Every message, from the first on."""
        return self._record.history

    @property
    def calls(self) -> tuple[BegunCall, ...]:
        """The calls that were begun, oldest first."""
        return self._record.calls

    @property
    def fence(self) -> int:
        """The number of this opening: higher than that of every holder before."""
        return self._record.fence

    @property
    def usage(self) -> Totals:
        """What the session has used up so far."""
        return self._record.usage

    @property
    def confirmations(self) -> tuple[Confirmation, ...]:
        """The questions that the user can still answer, oldest first."""
        now = self._clock()
        return tuple(one for one in self._record.confirmations if one.is_pending(now))

    def mark_lost(self) -> None:
        """Set `lost` in the session's event loop; may be called from any thread."""
        with suppress(RuntimeError):  # the loop has ended, and with it whoever would care
            self._loop.call_soon_threadsafe(self.lost.set)

    async def append(
        self,
        messages: Iterable[Json] = (),
        *,
        memory: WorkingMemory | None = None,
        toolbox: Json = None,
        usage: Totals | None = None,
        title: str | None = None,
        events: Iterable[Json] = (),
    ) -> None:
        """Keep what a step leaves behind, all of it or, if it fails, nothing.

        Messages and events are added at the end and `usage` is added to the totals; the rest takes the place of what
        was there, and None leaves it as it was.
        """
        # A copy through JSON: what stands in memory is what a later process will read, whoever changes the original.
        copied: Any = from_text(to_text([list(messages), toolbox, list(events)], "step"), "step")
        await shielded(self._append(copied[0], memory, copied[1], usage, title, copied[2]))

    async def _append(
        self,
        messages: list[Json],
        memory: WorkingMemory | None,
        toolbox: Json,
        usage: Totals | None,
        title: str | None,
        events: list[Json],
    ) -> None:
        async with self._writing:
            record = self._record
            totals = None if usage is None else added(record.usage, usage)
            step = Step(
                messages=tuple(messages),
                memory=memory,
                toolbox=toolbox,
                usage=totals,
                title=None if title is None else clean(title, MOST_TITLE_CHARACTERS),
                events=tuple(events),
            )
            await self._writer.append(step)
            self._record = replace(
                self._record,
                history=(*record.history, *messages),
                memory=record.memory if memory is None else memory,
                toolbox=record.toolbox if toolbox is None else toolbox,
                usage=record.usage if totals is None else totals,
                title=record.title if step.title is None else step.title,
            )

    async def begin_call(self, id: str, tool: str) -> None:
        """Mark a call as begun, immediately before it is made. When this returns, the session was ours at that moment.

        Raises:
            SessionLostError: Somebody took the session over.
            StoreError: A call with this id was begun before.
        """
        call = BegunCall(id=id, tool=tool, fence=self.fence, at=self._clock())
        await shielded(self._begin_call(call))

    async def _begin_call(self, call: BegunCall) -> None:
        async with self._writing:
            if not await self._writer.begin_call(call):
                raise StoreError(
                    f"The call {call.id!r} was begun before; it is not made again.",
                    hint="Find out whether it happened.",
                )
            self._record = replace(self._record, calls=(*self._record.calls, call))

    async def add_confirmation(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        digest: str,
        *,
        expires_in: timedelta = CONFIRMATION_EXPIRES_IN,
        program: Json = None,
    ) -> Confirmation:
        """Keep a question to the user until it is answered or too old, with the program that waits for the answer."""
        now = self._clock()
        asked = Confirmation(
            id=new_id(),
            tool=tool,
            arguments=from_text(to_text(dict(arguments), "arguments"), "arguments"),
            digest=digest,
            created_at=now,
            expires_at=now + expires_in,
            program=from_text(to_text(program, "program"), "program"),
        )
        await shielded(self._add_confirmation(asked))
        return asked

    async def _add_confirmation(self, asked: Confirmation) -> None:
        async with self._writing:
            await self._writer.add_confirmation(asked)
            self._record = replace(self._record, confirmations=(*self._record.confirmations, asked))

    async def take_confirmation(self, id: str, digest: str) -> Confirmation | Refusal:
        """Use a confirmation up, for the one call it was given for. Of all who try, one gets it, once."""
        return await shielded(self._settle(id, digest, Resolution.TAKEN))

    async def decline_confirmation(self, id: str) -> Confirmation | Refusal:
        """The user said no: nobody can take it any more."""
        return await shielded(self._settle(id, None, Resolution.DECLINED))

    async def _settle(self, id: str, digest: str | None, settled_as: Resolution) -> Confirmation | Refusal:
        async with self._writing:
            settled = await self._writer.settle_confirmation(id, digest, settled_as)
            if isinstance(settled, Confirmation):
                others = self._record.confirmations
                self._record = replace(
                    self._record, confirmations=tuple(settled if one.id == id else one for one in others)
                )
            return settled

    def __repr__(self) -> str:
        return f"<Session {self.id!r}, {len(self.history)} messages>"


def added(totals: Totals, usage: Totals) -> Totals:
    """The totals after some more usage."""
    for name, value in usage.items():
        if isinstance(value, bool) or not isfinite(value):
            raise StoreError(f"The usage {name!r} is {value!r}, not a number.", hint="Give finite numbers.")
    return {**totals, **{name: totals.get(name, 0) + value for name, value in usage.items()}}
