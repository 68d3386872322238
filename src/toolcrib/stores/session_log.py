"""A session's log as JSON Lines: what happened, one event a line, with moments, durations and counts.

The store keeps the events; this is how they read elsewhere. The line that ends a run (`usage`) also says how many tools
were called in it and how many searches were made; its `report` has the tokens of each step.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from toolcrib.stores.record import SessionRecord


@dataclass(slots=True)
class LogLines:
    """Makes lines of one session's events, in their order."""

    tool_calls: int = 0  # so far
    discovery_calls: int = 0
    _tools_before: int = 0  # when the present run began
    _searches_before: int = 0

    def line(self, event: Mapping[str, Any], at: datetime) -> dict[str, Any]:
        """One event as its line."""
        kind = event.get("type")
        if kind == "run_started":
            self._tools_before, self._searches_before = self.tool_calls, self.discovery_calls
        self.tool_calls += kind == "tool_finished"
        self.discovery_calls += kind == "tool_discovery_result"
        counts = {}
        if kind == "usage":
            counts = {
                "tool_calls_count": self.tool_calls - self._tools_before,
                "discovery_calls_count": self.discovery_calls - self._searches_before,
            }
        return {"at": at.isoformat(), **event, **counts}


def log_of(record: SessionRecord) -> Iterator[dict[str, Any]]:
    """A session's log: a line about the session, then its events."""
    lines = LogLines()
    events = [lines.line(event, at) for event, at in _events(record)]
    yield {
        "at": record.created_at.isoformat(),
        "type": "session",
        "id": record.id,
        "title": record.title,
        "tool_calls_count": lines.tool_calls,
        "discovery_calls_count": lines.discovery_calls,
        "usage": dict(record.usage),
    }
    yield from events


def tool_calls_in(record: SessionRecord) -> tuple[int, int]:
    """How many calls of tools a session's log has, and how many of them failed."""
    finished = [event for event, _ in _events(record) if event.get("type") == "tool_finished"]
    return len(finished), sum(event.get("failed") is True for event in finished)


def _events(record: SessionRecord) -> Iterator[tuple[Mapping[str, Any], datetime]]:
    """The events; to a store they are opaque, so what is no event is passed over."""
    for one in record.events:
        event: object = one.event
        if isinstance(event, dict):
            yield cast("dict[str, Any]", event), one.at
