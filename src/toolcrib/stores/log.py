"""The log and the audit of a session. The audit says who called what, without values of arguments or results.

The log is the only record of calls (`session_log.py` has all of it); this is the part of it that an auditor may keep.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from toolcrib.stores.record import SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One question, call or answer."""

    at: datetime
    tenant: str
    session: str
    what: str  # `call`, `question` (to the user), `answer` (of the user)
    tool: str
    arguments: str  # a digest: the same for the same arguments
    outcome: str  # of a call `ok`, `failed`, `unfinished`; of an answer `taken`, `declined`; of a question `asked`

    def to_json(self) -> dict[str, str]:
        """The line as JSON."""
        return {
            "at": self.at.isoformat(),
            "tenant": self.tenant,
            "session": self.session,
            "what": self.what,
            "tool": self.tool,
            "arguments": self.arguments,
            "outcome": self.outcome,
        }


def audit_of(tenant: str, record: SessionRecord) -> Iterator[AuditLine]:
    """A session's calls, questions and answers, oldest first."""
    return iter(sorted(_lines(tenant, record), key=lambda line: line.at))


def digest_of(arguments: object) -> str:
    """A short digest of the arguments. It does not hide arguments that are easy to guess."""
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


def _lines(tenant: str, record: SessionRecord) -> Iterator[AuditLine]:
    events = [(one.at, cast("dict[str, Any]", one.event)) for one in record.events if isinstance(one.event, dict)]  # pyright: ignore[reportUnknownMemberType] - opaque to a store; what is no event is passed over
    ends = {event.get("call_id"): event for _, event in events if event.get("type") == "tool_finished"}
    for at, event in events:
        if event.get("type") == "tool_started":
            end = ends.get(event.get("call_id"))
            outcome = "unfinished" if end is None else "failed" if end.get("failed") is True else "ok"
            tool, digest = _called(event, end or {})
            yield AuditLine(
                at=at, tenant=tenant, session=record.id, what="call", tool=tool, arguments=digest, outcome=outcome
            )
    for one in record.confirmations:
        common = {"tenant": tenant, "session": record.id, "tool": one.tool, "arguments": digest_of(dict(one.arguments))}
        yield AuditLine(at=one.created_at, what="question", outcome="asked", **common)
        if one.settled_at is not None and one.settled_as is not None:
            yield AuditLine(at=one.settled_at, what="answer", outcome=one.settled_as.value, **common)


def _called(start: Mapping[str, Any], end: Mapping[str, Any]) -> tuple[str, str]:
    """The tool that was called and a digest of its arguments: of the inner one, where `execute_tool` ran it."""
    arguments = start.get("arguments")
    if end.get("inner") and isinstance(arguments, dict):
        return str(end["inner"]), digest_of(cast("dict[str, Any]", arguments).get("params", {}))
    return str(start.get("name")), digest_of(arguments)


# A session's log as JSON Lines: what happened, one event a line, with moments, durations and counts.


_COUNTS = ("tool_calls_count", "discovery_calls_count", "inner_calls_count")


@dataclass(slots=True)
class LogLines:
    """Turns the events of one session into lines."""

    tool_calls: int = 0  # of the model so far, those of tools that find or run others among them
    discovery_calls: int = 0  # of these, calls of tools that find others
    inner_calls: int = 0  # tools that `execute_tool` ran
    _before: tuple[int, int, int] = (0, 0, 0)  # when the present run began

    @property
    def counts(self) -> dict[str, int]:
        """The calls so far."""
        return dict(zip(_COUNTS, (self.tool_calls, self.discovery_calls, self.inner_calls), strict=True))

    def line(self, event: Mapping[str, Any], at: datetime) -> dict[str, Any]:
        """One event as its line."""
        kind = event.get("type")
        if kind == "run_started":
            self._before = self.tool_calls, self.discovery_calls, self.inner_calls
        self.tool_calls += kind in ("tool_finished", "tool_discovery_result")
        self.discovery_calls += kind == "tool_discovery_result"
        self.inner_calls += kind == "tool_finished" and bool(event.get("inner"))
        counts: dict[str, int] = {}
        if kind == "usage":
            pairs = zip(self.counts.items(), self._before, strict=True)
            counts = {name: now - before for (name, now), before in pairs}
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
        **lines.counts,
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
