"""A log of each session in a folder, `<session>.jsonl`, written while it happens: for `tail -f`, and for programs."""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from toolcrib.agent.crib import OnEvent
from toolcrib.agent.events import Event, RunStarted, Text
from toolcrib.errors import StoreError
from toolcrib.stores.log import LogLines

logger = logging.getLogger(__name__)

# The log of the run that the current task works for: agents that the run calls write to it, too.
_current: ContextVar["RunLog | None"] = ContextVar("session_log", default=None)


class SessionLog:
    """Writes the events of every session to its file; the same lines that `toolcrib sessions export --jsonl` gives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"No log can be written to {str(folder)!r}: {error.strerror}.", hint="Check `runtime.session_log`."
            ) from error

    def path(self, session_id: str) -> Path:
        """The file of a session."""
        return self.folder / f"{_file_name(session_id)}.jsonl"

    def write(self, session_id: str, event: Event) -> None:
        """Add an event of the agent that talks with the user. Pieces of text are not logged."""
        if isinstance(event, RunStarted):
            _current.set(RunLog(self.path(session_id)))
        if (log := _current.get()) is not None:
            log.write(event)

    def for_agent(self, agent_id: str) -> OnEvent:
        """Adds the events of an agent that works for another, to the log of the run that called it."""
        return partial(_write_called, agent_id)


def _write_called(agent_id: str, session_id: str, event: Event) -> None:
    if (log := _current.get()) is not None:
        log.write(event, agent_id)


class RunLog:
    """The lines of one run; each agent has counts of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, LogLines] = {}

    def write(self, event: Event, agent_id: str = "") -> None:
        """Add an event; `agent_id` names the agent, unless it is the one that talks with the user."""
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


def _file_name(session_id: str) -> str:
    """The id, if it can be a file name; else a similar name that no other id has."""
    plain = re.sub(r"[^\w.-]+", "_", session_id).strip(".")
    return plain if plain == session_id else f"{plain[:100]}-{crc32(session_id.encode()):08x}"
