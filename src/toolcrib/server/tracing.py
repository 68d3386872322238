"""OpenTelemetry traces of runs, with the GenAI span names `invoke_agent`, `chat` and `execute_tool`. Off by default.

Pydantic AI creates the spans. This module adds the session to each span, and the results to the span of a search.
Spans always contain tool names. They contain prompts, arguments and results only if content is enabled.
"""

import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.trace import Status, get_current_span
from opentelemetry.util.types import Attributes, AttributeValue
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel

from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.errors import ServerError
from toolcrib.server.metrics import current_session
from toolcrib.server.services import Served
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

_OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_DEFAULT_SPAN_NAME = "invoke_agent agent"  # the name that Pydantic AI gives to the span of an unnamed agent


def traced(served: Served, provider: TracerProvider, *, content: bool = False) -> Served:
    """The same agent, traced. The provider is shut down with the server."""
    crib = served.crib
    settings = InstrumentationSettings(
        tracer_provider=provider,
        include_content=content,
        include_binary_content=False,
        include_model_request_parameters=False,  # they repeat every tool definition
    )
    model = InstrumentedModel(crib.llm, settings)
    surface = None if crib.surface is None else _with_search_attributes(crib.surface, content=content)
    provider.add_span_processor(SessionSpans(served.name))
    return replace(
        served,
        crib=replace(crib, model=model, index=crib.tool_index, surface=surface),
        surface_name=served.surface,
        opens=(*served.opens, _shut_down_at_exit(provider)),
    )


def provider_for(exporter: str, version: str, hide_secrets: Callable[[str], str] = str) -> TracerProvider:
    """A provider for a destination: `console` writes to stderr, `otlp` reads the `OTEL_EXPORTER_OTLP_*` variables.

    `hide_secrets` takes our keys out of what spans tell, such as an error in which a provider repeats one.
    """
    provider = TracerProvider(resource=Resource.create({"service.name": "toolcrib", "service.version": version}))
    if exporter == "console":
        provider.add_span_processor(
            SimpleSpanProcessor(WithoutSecrets(ConsoleSpanExporter(out=sys.stderr), hide_secrets))
        )
    elif exporter == "otlp":
        provider.add_span_processor(BatchSpanProcessor(WithoutSecrets(_otlp_exporter(), hide_secrets)))
    else:
        raise ServerError(f"Unknown trace exporter: {exporter!r}.", hint="Set TOOLCRIB_TRACES to `otlp` or `console`.")
    return provider


def _otlp_exporter() -> Any:
    try:
        return import_module(_OTLP).OTLPSpanExporter()
    except ModuleNotFoundError as error:
        raise ServerError(
            "Traces cannot be exported: the OTLP exporter is not installed.",
            hint="Install it with: pip install opentelemetry-exporter-otlp-proto-http",
        ) from error


class WithoutSecrets(SpanExporter):
    """Exports spans without keys in their attributes, events and status."""

    def __init__(self, exporter: SpanExporter, hide_secrets: Callable[[str], str]) -> None:
        self._exporter = exporter
        self._hide = hide_secrets

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([self._hidden(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def _hidden(self, span: ReadableSpan) -> ReadableSpan:
        status = span.status
        return ReadableSpan(
            name=span.name,
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=self._attributes(span.attributes),
            events=[Event(one.name, self._attributes(one.attributes), one.timestamp) for one in span.events],
            links=span.links,
            kind=span.kind,
            status=Status(status.status_code, status.description and self._hide(status.description)),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _attributes(self, attributes: Attributes) -> Attributes:
        def hidden(value: AttributeValue) -> AttributeValue:
            if isinstance(value, str):
                return self._hide(value)
            if isinstance(value, Sequence) and not isinstance(value, bytes) and value and isinstance(value[0], str):
                return tuple(self._hide(str(one)) for one in value)
            return value

        return {name: hidden(value) for name, value in (attributes or {}).items()}


class SessionSpans(SpanProcessor):
    """Adds the session to every span, and the name of the agent to the span of a run."""

    def __init__(self, agent: str) -> None:
        self._agent = agent

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        session = current_session()
        if session:
            span.set_attributes({"session.id": session, "gen_ai.conversation.id": session})
        if span.attributes and "gen_ai.agent.name" in span.attributes:
            span.set_attribute("gen_ai.agent.name", self._agent)
        if span.name == _DEFAULT_SPAN_NAME:
            span.update_name(f"invoke_agent {self._agent}")


def _with_search_attributes(surface: Surface, *, content: bool) -> Surface:
    """A surface whose tools add the results of a search to the current span."""

    def make(toolbox: Toolbox) -> Iterable[Tool]:
        return [tool.with_metadata(call=_record_search(tool.call, content)) for tool in surface(toolbox)]

    return make


def _record_search(call: Callable[..., Any], content: bool) -> Callable[..., Any]:
    async def call_and_record(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        result: ToolResult = ToolResult.of(await call(arguments, context))
        found = result.value
        if isinstance(found, Discovered):
            span = get_current_span()
            span.set_attributes(
                {
                    "toolcrib.discovery.tools": list(found.tools),
                    "toolcrib.discovery.activated": list(found.activated),
                    "toolcrib.discovery.confidence": found.confidence,
                    "toolcrib.discovery.arm": found.path,
                    "toolcrib.discovery.search_ms": found.took_ms,
                }
            )
            if content:
                span.set_attribute("toolcrib.discovery.query", found.query)
        return result

    return call_and_record


def _shut_down_at_exit(provider: TracerProvider) -> AbstractAsyncContextManager[None]:
    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        try:
            yield
        finally:
            provider.shutdown()  # exports the remaining spans

    return lifespan()
