"""What a run leaves in its session, step by step: each half of a step at once, so that a kill loses at most one.

First what the model said, before any of its calls is made; then what came back, while the model is asked again.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from toolcrib.agent.events import Event, Text, ToolFinished
from toolcrib.agent.history import to_stored, unstored
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.session import Session

_MOST_LOGGED_CHARACTERS = 2_000  # of a result; the whole of it is in the history


class Journal:
    """Writes one run into one session. `memory` is the newest; it is kept with the next write."""

    def __init__(self, session: Session, toolbox: Toolbox) -> None:
        self._session = session
        self._toolbox = toolbox
        self._kept: list[object] = []  # the parts that are stored, and the responses
        self._log: list[Any] = []
        self._writing: asyncio.Task[None] | None = None  # goes on while the model is asked
        self.memory: WorkingMemory = session.memory

    def note(self, event: Event) -> None:
        """Log an event with the next write; pieces of text are not worth a line each."""
        if isinstance(event, Text):
            return
        said = event.to_json()
        if isinstance(event, ToolFinished) and len(event.text) > _MOST_LOGGED_CHARACTERS:
            said["text"] = f"{event.text[:_MOST_LOGGED_CHARACTERS]}… (shortened)"
        self._log.append(said)

    def has(self, message: ModelMessage) -> bool:
        """Whether this very message is kept."""
        return any(message is held for held in self._kept)

    def keep(
        self, messages: Sequence[ModelMessage], usage: Mapping[str, int | float] | None = None
    ) -> Coroutine[Any, Any, None]:
        """Keep what is new in these messages, and everything else that changed, as it is now; to be awaited."""
        fresh: list[ModelMessage] = []
        for message in messages:
            if isinstance(message, ModelRequest):
                if (gained := unstored(message, self._kept)) is not None:
                    fresh.append(gained)
                    self._kept += gained.parts
            elif not self.has(message):
                fresh.append(message)
                self._kept.append(message)
        snapshot = self._toolbox.snapshot()
        log, self._log = self._log, []
        return self._session.append(
            to_stored(fresh),
            memory=None if self.memory is self._session.memory else self.memory,
            toolbox=None if snapshot == self._session.toolbox else snapshot,
            usage=usage,
            title=None if self._session.title else _title(fresh),
            events=log,
        )

    def keep_results(self, request: ModelRequest) -> None:
        """What came back is kept while the model is asked again; the user's words only together with an answer."""
        if not any(part.part_kind == "user-prompt" for part in request.parts):
            self._writing = asyncio.create_task(self.keep([request]))

    async def keep_answer(self, messages: Sequence[ModelMessage]) -> None:
        """What the model just said, and what it was asked with."""
        await self._written()
        said = messages[-2:]
        if said and isinstance(said[-1], ModelResponse) and not self.has(said[-1]):
            await self.keep(said, usage_of(said[-1]))

    async def keep_interrupted(self, messages: Sequence[ModelMessage]) -> None:
        """What came after the last answer of a run that was stopped.

        Without an answer of this turn there is nothing to keep: the user will say it again.
        """
        await self._written()
        last = max((at for at, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
        if last >= 0 and self.has(messages[last]):
            await self.keep(messages[last + 1 :])

    async def _written(self) -> None:
        """What was being written is written, or the failure to is raised here."""
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing


def usage_of(response: ModelResponse) -> dict[str, int | float]:
    """What one answer of the model took."""
    used = response.usage
    cost = {} if used.cost is None else {"cost": float(used.cost)}
    return {"requests": 1, "input_tokens": used.input_tokens, "output_tokens": used.output_tokens, **cost}


def _title(messages: Sequence[ModelMessage]) -> str | None:
    """What the user said first."""
    for message in messages:
        for part in message.parts:
            if part.part_kind == "user-prompt" and isinstance(part.content, str):
                return part.content
    return None
