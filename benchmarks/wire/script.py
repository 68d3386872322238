"""What a scripted provider answers: a model's turns, and the ways in which a provider fails."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Call:
    """A tool call by the model; arguments as text are sent as they are, also when they are no JSON."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """The arguments as JSON."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


class Turn:
    """One reply of the model: words, tool calls, or both."""

    def __init__(self, *said: str | Call, input_tokens: int = 100, output_tokens: int = 10) -> None:
        self.text = "".join(part for part in said if isinstance(part, str))
        self.calls = tuple(part for part in said if isinstance(part, Call))
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens

    @property
    def pieces(self) -> list[str]:
        """The words as they are streamed, one at a time, spaces kept."""
        return self.text.replace(" ", " \0").split("\0") if self.text else []


@dataclass(frozen=True)
class Refuse:
    """An error status, such as 429 with a time to wait, or 500."""

    status: int
    retry_after: float | None = None  # seconds; fractions are no standard, but both SDKs read them
    message: str = "The script says no."


@dataclass(frozen=True)
class Drop:
    """The connection ends in the middle of the reply."""

    turn: Turn
    after: int = 2  # events of a stream; a reply in one piece ends after half of it


@dataclass(frozen=True)
class Slow:
    """A reply that waits until the gate is opened; closing the server opens all gates."""

    turn: Turn
    gate: threading.Event = field(default_factory=threading.Event)
    after: int = 0  # events of a stream that are sent before the wait


@dataclass(frozen=True)
class Malformed:
    """A reply that says 200 and is no JSON."""

    text: str = '{"id": "cut", "choices": [{"mess'


Answer: TypeAlias = Turn | Refuse | Drop | Slow | Malformed
