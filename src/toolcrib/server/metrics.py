"""What a server counts, for Prometheus. `docs/reference/metrics.md` lists the names, and is made from this file."""

import json
import logging
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from toolcrib.agent import events

# Logs as JSON, a line each, with the session and the trace they belong to.

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
        fields: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if session := session_here():
            fields["session"] = session
        fields |= _trace()
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)


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


_FAST = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)
_SLOW = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)
_MOST_TOOL_LABELS = 500  # a label each would be too much for catalogs of thousands
OTHER = "other"


class Metrics:
    """The metrics of one server."""

    def __init__(self, *, is_tool: Callable[[str], bool]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._is_tool = is_tool
        self._tools: set[str] = set()

        self.described: list[tuple[str, str, tuple[str, ...], str]] = []  # name, kind, labels, what it is: for the docs

        def counter(name: str, about: str, *labels: str) -> Counter:
            self.described.append((f"toolcrib_{name}_total", "counter", labels, about))
            return Counter(f"toolcrib_{name}", about, labels, registry=self.registry)

        def gauge(name: str, about: str) -> Gauge:
            self.described.append((f"toolcrib_{name}", "gauge", (), about))
            return Gauge(f"toolcrib_{name}", about, registry=self.registry)

        def histogram(name: str, about: str, *labels: str, buckets: tuple[float, ...] = _SLOW) -> Histogram:
            self.described.append((f"toolcrib_{name}", "histogram", labels, about))
            return Histogram(f"toolcrib_{name}", about, labels, registry=self.registry, buckets=buckets)

        self.tools = gauge("tools", "Tools in the catalog.")
        self._sessions = counter("sessions", "Sessions made here.")
        self._active = gauge("runs_active", "Runs under way.")
        self._runs = counter("runs", "Runs that are over: answered, or failed (also when stopped).", "outcome")
        self._run_seconds = histogram("run_seconds", "How long runs took.", "request_type")
        self._discovery_seconds = histogram(
            "discovery_seconds", "Searches of a model, by the arm that decided.", "arm", buckets=_FAST
        )
        self._discoveries = counter(
            "discoveries", "Searches of a model: with a hit, or none because nothing fits.", "outcome"
        )
        self._enabled = counter("tools_enabled", "Tools that became visible to a model.")
        self._tokens = counter("tokens", "Tokens put into requests, counted by us.", "part", "request_type")
        self._all_tools = counter(
            "tokens_all_tools", "What tool definitions alone would have taken with all tools loaded.", "request_type"
        )
        self._model_tokens = counter("model_tokens", "Tokens as the provider counts them.", "direction")
        self._dollars = counter("model_dollars", "What the provider's price list says for them.")
        self._calls = counter("tool_calls", "Tool calls that came back.", "tool", "outcome")
        self._call_seconds = histogram("tool_call_seconds", "How long tool calls took.", "tool")
        self._confirmations = counter("confirmations", "Calls that wait for a user's yes, and answers.", "event")
        self._warnings = counter("warnings", "Warnings of runs, such as results that could not be read.")
        self._requests = counter("http_requests", "Requests answered.", "method", "route", "status")
        self._request_seconds = histogram("http_request_seconds", "Until the first byte of the answer.", "route")
        self._refused = counter(
            "refused_requests", "Requests refused at the door: host, origin, token, size, rate.", "reason"
        )

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)

    def made_session(self) -> None:
        self._sessions.inc()

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """An HTTP request got its answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def confirmed(self, approved: bool) -> None:
        self._confirmations.labels("approved" if approved else "declined").inc()

    def began(self) -> None:
        self._active.inc()

    def ended(self) -> None:
        self._active.dec()

    def happened(self, event: events.Event) -> None:
        """One event of a run."""
        if isinstance(event, events.ToolFinished):
            tool = self._label(event.name)
            self._calls.labels(tool, "failed" if event.failed else "ok").inc()
            self._call_seconds.labels(tool).observe(event.took_ms / 1000)
        elif isinstance(event, events.ToolDiscoveryResult):
            self._discoveries.labels("hit" if event.tools else "none").inc()
        elif isinstance(event, events.ToolsEnabled):
            self._enabled.inc(len(event.names))
        elif isinstance(event, events.ConfirmationRequired):
            self._confirmations.labels("asked").inc()
        elif isinstance(event, events.Warning):
            self._warnings.inc()
        elif isinstance(event, events.Failed):
            self._runs.labels("failed").inc()
        elif isinstance(event, events.Answered):
            self._runs.labels("answered").inc()
        elif isinstance(event, events.UsageEvent):
            self._used(event)

    def _used(self, event: events.UsageEvent) -> None:
        report: dict[str, Any] = dict(event.report)
        kind = report["request_type"]
        self._run_seconds.labels(kind).observe(event.seconds)
        self._model_tokens.labels("input").inc(event.input_tokens)
        self._model_tokens.labels("output").inc(event.output_tokens)
        self._dollars.inc(event.cost or 0.0)
        for part, tokens in report["tokens"].items():
            if part != "total":
                self._tokens.labels(part, kind).inc(tokens)
        self._all_tools.labels(kind).inc(report["all_tools_loaded"]["tokens"])
        for search in report["discoveries"]:
            self._discovery_seconds.labels(search["arm"] or "none").observe(search["search_ms"] / 1000)

    def _label(self, tool: str) -> str:
        """A tool's name, if it is one: a model may invent any number of others."""
        if tool not in self._tools:
            if len(self._tools) >= _MOST_TOOL_LABELS or not self._is_tool(tool):
                return OTHER
            self._tools.add(tool)
        return tool
