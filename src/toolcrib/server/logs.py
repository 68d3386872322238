"""Logs as JSON, a line each, with the session and the trace they belong to."""

import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

_session: ContextVar[str] = ContextVar("session", default="")


@contextmanager
def logged_session(session: str) -> Generator[None]:
    """Everything logged inside belongs to this session."""
    mark = _session.set(session)
    try:
        yield
    finally:
        _session.reset(mark)


def session_here() -> str:
    """The session that this task works for; empty where there is none."""
    return _session.get()


class JsonLines(logging.Formatter):
    """One JSON object a record: `at`, `level`, `logger`, `message`, and what is known of `session`, `trace`, `span`."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if session := session_here():
            said["session"] = session
        said |= _trace()
        said |= getattr(record, "fields", {})
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=str)


def log_as_json(stream: TextIO | None = None, *, level: int = logging.INFO) -> logging.Handler:
    """Write the logs of Toolcrib and of the web server to a stream, stderr unless another is given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("toolcrib", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = True  # it writes addresses whole, with what stands behind the "?"
    return handler


def _trace() -> dict[str, str]:
    try:
        from opentelemetry.trace import get_current_span
    except ModuleNotFoundError:  # pragma: no cover - part of the extra
        return {}
    context = get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace": f"{context.trace_id:032x}", "span": f"{context.span_id:016x}"}
