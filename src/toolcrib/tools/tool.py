"""What a tool is: one frozen value that a catalog holds, an index finds and a model calls."""

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol as Seam

from toolcrib.errors import CatalogError
from toolcrib.tools.definition import checked, checked_callable, checked_choice, checked_texts
from toolcrib.tools.extraction import Extractor
from toolcrib.tools.protocol import Protocol
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import checked_schema

# What OpenAI, Anthropic and Google all accept as a function name.
SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class Risk(StrEnum):
    """How much harm a wrong call can do."""

    SAFE = "safe"
    MODERATE = "moderate"
    DESTRUCTIVE = "destructive"


class ToolCall(Seam):
    """Runs a tool. Bad arguments and failures of the tool's own code come back as failed results."""

    def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> Awaitable[ToolResult]: ...


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Tool:
    """One thing a model can do, with what is needed to find it, use it and judge it."""

    name: str
    description: str  # for finding it: one or two sentences
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])  # JSON Schema of an object
    call: ToolCall
    category: str = ""
    phrases: tuple[str, ...] = ()  # how people ask for it
    related: tuple[str, ...] = ()  # tools often used with it
    risk: Risk = Risk.SAFE
    confirm: bool = False  # ask the user before each call
    protocol: Protocol | None = None  # for using it: stands in the prompt only while the tool is active
    extraction: Extractor | None = None  # where its result holds entities
    source: str = "python"  # where it came from, as shown to people
    origin: str = ""  # where exactly, for error messages: the line that defines it

    def __post_init__(self) -> None:
        name = self.name
        _refuse_unsafe(name)
        checked(name, "description", self.description, str)
        checked(name, "category", self.category, str)
        checked(name, "confirm", self.confirm, bool)
        checked_callable(name, "call", self.call)
        checked_schema(name, self.parameters)
        if self.protocol is not None:
            checked(name, "protocol", self.protocol, Protocol)
        if self.extraction is not None:
            checked_callable(name, "extraction", self.extraction)
        # Lists and plain words are welcome when a tool is made; what is kept is always the same kind.
        object.__setattr__(self, "phrases", checked_texts(name, "phrases", self.phrases))
        object.__setattr__(self, "related", checked_texts(name, "related", self.related))
        object.__setattr__(self, "risk", checked_choice(name, "risk", self.risk, Risk))

    def with_metadata(self, **changes: Any) -> "Tool":
        """The same tool with other metadata."""
        return replace(self, **changes)


def _refuse_unsafe(name: object) -> None:
    if not isinstance(name, str) or not SAFE_NAME.fullmatch(name):
        raise CatalogError(
            f"{str(name)[:80]!r} is not a name that model providers accept.",
            hint=f"Use letters, digits, '_' and '-', at most 64, such as {safe_name(str(name))!r}.",
        )


def safe_name(name: str) -> str:
    """The nearest name that providers accept."""
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:64]
    return cleaned if SAFE_NAME.fullmatch(cleaned) else f"tool_{cleaned}"[:64].rstrip("_")
