"""What a run leaves in its session, step by step: each half of a step at once, so that a kill loses at most one.

First what the model said, before any of its calls is made; then what came back, while the model is asked again.
"""

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
