"""A log of each session in a folder, `<session>.jsonl`, written while it happens: for `tail -f`, and for programs."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from toolcrib.agent.events import Event, Text
from toolcrib.errors import StoreError
from toolcrib.stores.session_log import LogLines


class SessionLog:
    """Adds events to the log of one session; the same lines that `toolcrib sessions export --jsonl` gives."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self.path = folder / f"{_file_name(session_id)}.jsonl"
        self._lines = LogLines()
        self._of_agents: dict[str, LogLines] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600)  # what people say is theirs
        except OSError as error:
            raise StoreError(
                f"No log can be written to {str(folder)!r}: {error.strerror}.", hint="Check `runtime.session_log`."
            ) from error

    def write(self, event: Event) -> None:
        """Add one event; pieces of text are not worth a line each."""
        if not isinstance(event, Text):
            self._write(self._lines.line(event.to_json(), datetime.now(UTC)))

    def write_of(self, agent_id: str, event: Event) -> None:
        """Add an event of an agent that works for the one who talks; each has counts of its own."""
        if not isinstance(event, Text):
            lines = self._of_agents.setdefault(agent_id, LogLines())
            self._write({"agent": agent_id, **lines.line(event.to_json(), datetime.now(UTC))})

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n")


def _file_name(session_id: str) -> str:
    """The id, if it can be the name of a file; else something like it that no other id has."""
    plain = re.sub(r"[^\w.-]+", "_", session_id).strip(".")
    return plain if plain == session_id else f"{plain[:100]}-{crc32(session_id.encode()):08x}"
