"""Who called what: the audit of a session, made from its log, without a value of any argument or result.

The log is the only record of calls (`session_log.py` has all of it); this is the part of it that an auditor may keep.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from toolcrib.stores.record import SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One thing that was asked, called or answered."""

    at: datetime
    tenant: str
    session: str
    what: str  # `call`, `question` (to the user), `answer` (of the user)
    tool: str
    arguments: str  # a digest: the same for the same arguments
    outcome: str  # of a call `ok`, `failed`, `unfinished`; of an answer `taken`, `declined`; of a question `asked`

    def to_json(self) -> dict[str, str]:
        """The line as JSON can say it."""
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
    """A session's calls, questions and answers, in the order of time."""
    return iter(sorted(_lines(tenant, record), key=lambda line: line.at))


def digest_of(arguments: object) -> str:
    """A short text that is the same for the same arguments. Who guesses them can see that the guess is right."""
    said = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return sha256(said.encode()).hexdigest()[:16]


def _lines(tenant: str, record: SessionRecord) -> Iterator[AuditLine]:
    events = [(one.at, cast("dict[str, Any]", one.event)) for one in record.events if isinstance(one.event, dict)]  # pyright: ignore[reportUnknownMemberType] - opaque to a store; what is no event is passed over
    ends = {event.get("call_id"): event for _, event in events if event.get("type") == "tool_finished"}
    for at, event in events:
        if event.get("type") == "tool_started":
            end = ends.get(event.get("call_id"))
            outcome = "unfinished" if end is None else "failed" if end.get("failed") is True else "ok"
            tool, digest = str(event.get("name")), digest_of(event.get("arguments"))
            yield AuditLine(
                at=at, tenant=tenant, session=record.id, what="call", tool=tool, arguments=digest, outcome=outcome
            )
    for one in record.confirmations:
        said = {"tenant": tenant, "session": record.id, "tool": one.tool, "arguments": digest_of(dict(one.arguments))}
        yield AuditLine(at=one.created_at, what="question", outcome="asked", **said)
        if one.settled_at is not None and one.settled_as is not None:
            yield AuditLine(at=one.settled_at, what="answer", outcome=one.settled_as.value, **said)
