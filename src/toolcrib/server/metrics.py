"""Prometheus metrics and JSON logs of a server. `docs/reference/metrics.md` is generated from this file."""

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

_session: ContextVar[str] = ContextVar("session", default="")


@contextmanager
def logged_session(session: str) -> Generator[None]:
    """Add the session to every log record that is written inside the `with` block."""
    token = _session.set(session)
    try:
        yield
    finally:
        _session.reset(token)


def current_session() -> str:
    """The session of the current task; empty if there is none."""
    return _session.get()


class JsonLines(logging.Formatter):
    """One JSON object per record: `at`, `level`, `logger`, `message`, and, if known, `session`, `trace` and `span`."""

    def __init__(self, hide_secrets: Callable[[str], str] = str) -> None:
        super().__init__()
        self._hide_secrets = hide_secrets

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._hide_secrets(record.getMessage()),
        }
        if session := current_session():
            fields["session"] = session
        fields |= _trace()
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["error"] = self._hide_secrets(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False, default=str)


def log_as_json(
    stream: TextIO | None = None, *, level: int = logging.INFO, hide_secrets: Callable[[str], str] = str
) -> logging.Handler:
    """Write the logs of Toolcrib and of the web server to a stream, by default stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(hide_secrets))
    for name in ("toolcrib", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = True  # it logs query strings, which may contain a token
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


_SEARCH_BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)
_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)
_MOST_TOOL_LABELS = 500  # catalogs may have thousands of tools, which are too many label values
OTHER = "other"


class Metrics:
    """The metrics of one server."""

    def __init__(self, *, is_tool: Callable[[str], bool]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._is_tool = is_tool
        self._tools: set[str] = set()

        self.described: list[
            tuple[str, str, tuple[str, ...], str]
        ] = []  # name, kind, labels, description: for the docs

        def counter(name: str, description: str, *labels: str) -> Counter:
            self.described.append((f"toolcrib_{name}_total", "counter", labels, description))
            return Counter(f"toolcrib_{name}", description, labels, registry=self.registry)

        def gauge(name: str, description: str) -> Gauge:
            self.described.append((f"toolcrib_{name}", "gauge", (), description))
            return Gauge(f"toolcrib_{name}", description, registry=self.registry)

        def histogram(name: str, description: str, *labels: str, buckets: tuple[float, ...] = _BUCKETS) -> Histogram:
            self.described.append((f"toolcrib_{name}", "histogram", labels, description))
            return Histogram(f"toolcrib_{name}", description, labels, registry=self.registry, buckets=buckets)

        self.tools = gauge("tools", "Tools in the catalog.")
        self._sessions = counter("sessions", "Sessions created by this server.")
        self._active = gauge("runs_active", "Active runs.")
        self._runs = counter(
            "runs", "Finished runs: answered, failed, or stopped by the user or by the end of the server.", "outcome"
        )
        self._run_seconds = histogram("run_seconds", "Duration of runs.", "request_type")
        self._discovery_seconds = histogram(
            "discovery_seconds",
            "Duration of the model's searches, by the arm that decided.",
            "arm",
            buckets=_SEARCH_BUCKETS,
        )
        self._discoveries = counter(
            "discoveries", "Searches by the model: with a hit, or with none because no tool matches.", "outcome"
        )
        self._enabled = counter("tools_enabled", "Tools that became visible to the model.")
        self._tokens = counter(
            "tokens", "Tokens in requests to the model, as Toolcrib counts them.", "part", "request_type"
        )
        self._all_tools = counter(
            "tokens_all_tools",
            "Tokens that the definitions of all tools would have taken in the same requests.",
            "request_type",
        )
        self._model_tokens = counter("model_tokens", "Tokens as the provider counts them.", "direction")
        self._dollars = counter("model_dollars", "Cost of these tokens in US dollars, by the provider's price list.")
        self._calls = counter("tool_calls", "Finished tool calls.", "tool", "outcome")
        self._call_seconds = histogram("tool_call_seconds", "Duration of tool calls.", "tool")
        self._confirmations = counter(
            "confirmations", "Calls that needed the user's confirmation, and the answers.", "event"
        )
        self._warnings = counter("warnings", "Warnings in runs, such as results that could not be read.")
        self._requests = counter("http_requests", "Answered requests.", "method", "route", "status")
        self._request_seconds = histogram("http_request_seconds", "Time to the first byte of the response.", "route")
        self._refused = counter(
            "refused_requests", "Requests refused because of their host, origin, token, size or rate.", "reason"
        )

    def text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self.registry)

    def session_created(self) -> None:
        self._sessions.inc()

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered HTTP request."""
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def confirmed(self, approved: bool) -> None:
        self._confirmations.labels("approved" if approved else "declined").inc()

    def run_started(self) -> None:
        self._active.inc()

    def run_ended(self) -> None:
        self._active.dec()

    def run_stopped(self) -> None:
        self._runs.labels("stopped").inc()

    def record(self, event: events.Event) -> None:
        """Count one event of a run."""
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
            self._record_usage(event)

    def _record_usage(self, event: events.UsageEvent) -> None:
        report: dict[str, Any] = dict(event.report)
        request_type = report["request_type"]
        self._run_seconds.labels(request_type).observe(event.seconds)
        self._model_tokens.labels("input").inc(event.input_tokens)
        self._model_tokens.labels("output").inc(event.output_tokens)
        self._dollars.inc(event.cost or 0.0)
        for part, tokens in report["tokens"].items():
            if part != "total":
                self._tokens.labels(part, request_type).inc(tokens)
        self._all_tools.labels(request_type).inc(report["all_tools_loaded"]["tokens"])
        for search in report["discoveries"]:
            self._discovery_seconds.labels(search["arm"] or "none").observe(search["search_ms"] / 1000)

    def _label(self, tool: str) -> str:
        """The tool's name if the catalog has it, else `other`: a model may invent any number of names."""
        if tool not in self._tools:
            if len(self._tools) >= _MOST_TOOL_LABELS or not self._is_tool(tool):
                return OTHER
            self._tools.add(tool)
        return tool
