"""What a source of tools is: something that has a state and keeps a catalogue current."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from toolcrib.tools.tool import Tool


class SourceState(StrEnum):
    """How a source is; the words are shown to the model."""

    READY = "ready"
    STARTING = "still starting"
    DOWN = "not reachable"
    NEEDS_LOGIN = "needs a login"
    DISABLED = "switched off"


class ToolHolder(Protocol):
    """What a source needs of a catalogue. Who stands between the two can look at each tool first."""

    def add_all(self, tools: Iterable[Tool]) -> None: ...
    def replace(self, tool: Tool) -> None: ...
    def remove(self, name: str) -> object: ...


class Source(Protocol):
    """Where tools come from. When something outside is broken its methods do not raise: it has a state for that."""

    @property
    def name(self) -> str:
        """What its tools have as `source`, such as `mcp:github`."""
        ...

    @property
    def state(self) -> SourceState: ...

    @property
    def problem(self) -> str:
        """Why it is not ready, in a sentence; empty if it is."""
        ...

    async def start(self) -> None:
        """Begin to keep the catalogue current; comes back at once."""
        ...

    async def settled(self) -> None:
        """Wait until it is known how the source is: ready, or not."""
        ...

    async def refresh(self) -> None:
        """Bring the catalogue up to date now."""
        ...

    async def stop(self) -> None:
        """Close everything, and take its tools out of the catalogue."""
        ...


@runtime_checkable
class ReportsProgress(Protocol):
    """A call's context that wants to hear how far a long call is. FastMCP's own `Context` is one."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...
