"""Spans by OpenTelemetry's GenAI names: `invoke_agent`, `chat`, `execute_tool`. Off unless asked for.

Pydantic AI makes them. Here each gets the session it belongs to, and the span of a search what was found. Prompts,
arguments and results are in none, unless content is asked for; names of tools always are.
"""

import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import get_current_span
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel

from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.errors import ServerError
from toolcrib.server.metrics import session_here
from toolcrib.server.services import Served
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

_OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_UNNAMED = "invoke_agent agent"  # as Pydantic AI calls ours


def traced(served: Served, provider: TracerProvider, *, content: bool = False) -> Served:
    """The same agent, with spans. The provider is ended with the server."""
    crib = served.crib
    settings = InstrumentationSettings(
        tracer_provider=provider,
        include_content=content,
        include_binary_content=False,
        include_model_request_parameters=False,  # every tool definition, a second time
    )
    model = InstrumentedModel(crib.llm, settings)
    surface = None if crib.surface is None else _telling(crib.surface, content=content)
    provider.add_span_processor(SessionSpans(served.name))
    return replace(
        served,
        crib=replace(crib, model=model, index=crib.tool_index, surface=surface),
        surface_name=served.surface,
        opens=(*served.opens, _ended(provider)),
    )


def provider_for(where: str, version: str) -> TracerProvider:
    """Spans to a place: `console` is stderr, `otlp` what `OTEL_EXPORTER_OTLP_ENDPOINT` and the like say."""
    provider = TracerProvider(resource=Resource.create({"service.name": "toolcrib", "service.version": version}))
    if where == "console":
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
    elif where == "otlp":
        provider.add_span_processor(BatchSpanProcessor(_otlp_exporter()))
    else:
        raise ServerError(f"Spans cannot go to {where!r}.", hint="Set TOOLCRIB_TRACES to `otlp` or `console`.")
    return provider


def _otlp_exporter() -> Any:
    try:
        return import_module(_OTLP).OTLPSpanExporter()
    except ModuleNotFoundError as error:
        raise ServerError(
            "Spans cannot be sent: the exporter is not installed.",
            hint="Install it with: pip install opentelemetry-exporter-otlp-proto-http",
        ) from error


class SessionSpans(SpanProcessor):
    """Says of every span which session it belongs to, and of a run which agent it is."""

    def __init__(self, agent: str) -> None:
        self._agent = agent

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        session = session_here()
        if session:
            span.set_attributes({"session.id": session, "gen_ai.conversation.id": session})
        if span.attributes and "gen_ai.agent.name" in span.attributes:
            span.set_attribute("gen_ai.agent.name", self._agent)
        if span.name == _UNNAMED:
            span.update_name(f"invoke_agent {self._agent}")


def _telling(surface: Surface, *, content: bool) -> Surface:
    """A surface whose tools tell the span they run in what they found."""

    def make(toolbox: Toolbox) -> Iterable[Tool]:
        return [tool.with_metadata(call=_told(tool.call, content)) for tool in surface(toolbox)]

    return make


def _told(call: Callable[..., Any], content: bool) -> Callable[..., Any]:
    async def called(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
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

    return called


def _ended(provider: TracerProvider) -> AbstractAsyncContextManager[None]:
    @asynccontextmanager
    async def life() -> AsyncGenerator[None]:
        try:
            yield
        finally:
            provider.shutdown()  # sends what is left

    return life()
