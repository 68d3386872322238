"""Writes a log of each session to a folder while the session runs: for `tail -f`, and for programs.

The file is `<session>.jsonl`, or `<session>@<tenant>.jsonl` for the session of a tenant. An id or a tenant that some
file system could refuse or confuse with another (capital letters, other scripts, `CON`) is replaced by a similar ASCII
name and a hash, joined by `+`.
"""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolcrib.agent.crib import OnEvent
from toolcrib.agent.events import Event, RunStarted, Text
from toolcrib.errors import StoreError
from toolcrib.stores.log import LogLines
from toolcrib.stores.session import Session

logger = logging.getLogger(__name__)

# The log of the run that the current task belongs to. Agents that the run calls write to it, too.
_current: ContextVar["RunLog | None"] = ContextVar("session_log", default=None)


class SessionLog:
    """Writes the events of every session to its file; the same lines as `toolcrib sessions export --jsonl` prints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"No log can be written to {str(folder)!r}: {error.strerror}.", hint="Check `runtime.session_log`."
            ) from error

    def path(self, session_id: str, tenant: str = "") -> Path:
        """The file of a session."""
        of_tenant = f"@{_safe_name(tenant)}" if tenant else ""
        return self.folder / f"{_safe_name(session_id)}{of_tenant}.jsonl"

    def write(self, session: Session, event: Event) -> None:
        """Log an event of the agent that talks with the user. Pieces of text are not logged."""
        if isinstance(event, RunStarted):
            _current.set(RunLog(self.path(session.id, session.tenant)))
        if (log := _current.get()) is not None:
            log.write(event)

    def for_agent(self, agent_id: str) -> OnEvent:
        """Returns a function that logs the events of a called agent to the log of the run that called it."""
        return partial(_write_called, agent_id)


def _write_called(agent_id: str, session: Session, event: Event) -> None:
    if (log := _current.get()) is not None:
        log.write(event, agent_id)


class RunLog:
    """Writes the lines of one run; calls are counted per agent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, LogLines] = {}

    def write(self, event: Event, agent_id: str = "") -> None:
        """Log an event; `agent_id` is empty for the agent that talks with the user."""
        if isinstance(event, Text):
            return
        lines = self._lines.setdefault(agent_id, LogLines())
        named: dict[str, Any] = {"agent": agent_id} if agent_id else {}
        text = json.dumps({**named, **lines.line(event.to_json(), datetime.now(UTC))}, ensure_ascii=False)
        try:
            self._path.touch(mode=0o600)  # conversations are private
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        except OSError as error:  # a full disk is no reason to end a run
            logger.warning("The session log %s cannot be written: %s", self._path, error)


_SAFE = re.compile(
    r"(?!(con|prn|aux|nul|com\d|lpt\d)(\.|$))[a-z0-9_][a-z0-9_.-]{0,79}"
)  # Windows reserves the first ones
_MOST_READABLE_CHARACTERS = 40


def _safe_name(text: str) -> str:
    """The text, if every file system can keep it apart from others as a file name; else a similar name with a hash."""
    if _SAFE.fullmatch(text):
        return text
    readable = re.sub(r"[^a-z0-9_.-]+", "_", text.lower()).lstrip(".-")[:_MOST_READABLE_CHARACTERS]
    return f"{readable}+{sha256(text.encode()).hexdigest()[:16]}"
