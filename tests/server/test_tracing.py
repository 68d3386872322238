"""Spans by OpenTelemetry's GenAI names, and logs that name session and trace."""

import io
import json
import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tests.support.agent import Shop, scripted
from tests.support.server import Scene, listening, scene
from toolcrib.agent.crib import Crib
from toolcrib.errors import ServerError
from toolcrib.server.metrics import JsonLines, log_as_json, logged_session
from toolcrib.server.services import Served
from toolcrib.server.tracing import WithoutSecrets, provider_for, traced
from toolcrib.stores.sqlite.store import SqliteStore

SECRET = "a very private fern"
TRACE = "0af7651916cd43dd8448eb211c80319c"


def told_spans(*, content: bool) -> tuple[str, dict[str, ReadableSpan]]:
    """The session, and the spans of a run in it, by name."""
    shop = Shop()
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    script, model = scripted(
        [("tool_search", {"query": "find an image"})], [("search_images", {"query": SECRET})], "Done."
    )
    served = Served(crib=Crib(shop.catalog, model=model), store=SqliteStore(None), name="Shop")
    with listening(traced(served, provider, content=content)) as http:
        here = Scene(http, shop, script)
        session = here.session()
        http.headers["traceparent"] = f"00-{TRACE}-b7ad6b7169203331-01"
        here.say(session, SECRET)
        assert http.get("/api/app").json()["surface"] == "search"
    return session, {span.name: span for span in exporter.get_finished_spans()}


@pytest.mark.process
def test_a_run_is_a_tree_of_spans_in_the_trace_of_its_caller() -> None:
    session, spans = told_spans(content=False)
    assert set(spans) == {
        "invoke_agent Shop",
        "chat scripted",
        "execute_tool tool_search",
        "execute_tool search_images",
    }
    run = spans["invoke_agent Shop"]
    assert run.context is not None
    assert f"{run.context.trace_id:032x}" == TRACE
    for name, span in spans.items():
        assert span.attributes is not None
        assert span.attributes["session.id"] == session, name
        assert span.attributes["gen_ai.conversation.id"] == session, name
        assert span.attributes["gen_ai.agent.name"] == "Shop", name
        if span is not run:
            assert span.parent is not None
            assert span.parent.span_id == run.context.span_id, name
    found: Any = spans["execute_tool tool_search"].attributes
    assert found["gen_ai.operation.name"] == "execute_tool"
    assert found["toolcrib.discovery.tools"] == ("search_images",)
    assert found["toolcrib.discovery.activated"] == ("search_images",)
    assert 0 < found["toolcrib.discovery.confidence"] <= 1
    assert found["toolcrib.discovery.arm"] in ("exact", "lexical", "blended", "dense")
    assert "toolcrib.discovery.query" not in found


@pytest.mark.process
@pytest.mark.parametrize("content", [False, True], ids=["not asked for", "asked for"])
def test_content_is_in_spans_only_when_asked_for(content: bool) -> None:
    _, spans = told_spans(content=content)
    assert (SECRET in str([dict(span.attributes or {}) for span in spans.values()])) is content
    found: Any = spans["execute_tool tool_search"].attributes
    assert ("toolcrib.discovery.query" in found) is content


def test_keys_are_taken_out_of_attributes_events_and_status() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    hiding = WithoutSecrets(exporter, lambda text: text.replace("canary.17", "[secret]"))
    provider.add_span_processor(SimpleSpanProcessor(hiding))
    span = provider.get_tracer("t").start_span("chat")
    span.set_attributes({"text": "a canary.17", "names": ["canary.17", "b"], "tokens": 7, "flags": [True]})
    span.record_exception(ValueError("Bad key canary.17"))
    span.set_status(StatusCode.ERROR, "ValueError: Bad key canary.17")
    span.end()
    assert provider.force_flush()
    (told,) = exporter.get_finished_spans()
    assert "canary" not in told.to_json()
    assert dict(told.attributes or {}) == {
        "text": "a [secret]",
        "names": ("[secret]", "b"),
        "tokens": 7,
        "flags": (True,),
    }
    assert told.status.description == "ValueError: Bad key [secret]"
    assert told.events[0].name == "exception"
    provider.shutdown()


def test_spans_go_where_they_are_told_or_nowhere() -> None:
    provider_for("console", "1").shutdown()
    with pytest.raises(ServerError, match="Unknown trace exporter: 'moon'"):
        provider_for("moon", "1")
    with pytest.raises(ServerError, match="exporter is not installed"):
        provider_for("otlp", "1")


def test_logs_are_json_with_session_and_trace() -> None:
    lines = io.StringIO()
    kept = {name: (list(log.handlers), log.propagate, log.level) for name, log in _loggers()}
    try:
        log_as_json(lines)
        logger = logging.getLogger("toolcrib.server.test")
        tracer = TracerProvider().get_tracer("test")
        with logged_session("s1"), tracer.start_as_current_span("work") as span:
            logger.info("inside", extra={"fields": {"ms": 3}})
        try:
            raise ValueError("oops")
        except ValueError:
            logger.exception("outside\nwith a second line")
    finally:
        for name, log in _loggers():
            log.handlers, log.propagate, level = kept[name]
            log.setLevel(level)
            log.disabled = False
    inside, outside = map(json.loads, lines.getvalue().splitlines())
    context = span.get_span_context()
    assert {**inside, "at": ""} == {
        "at": "",
        "level": "info",
        "logger": "toolcrib.server.test",
        "message": "inside",
        "session": "s1",
        "trace": f"{context.trace_id:032x}",
        "span": f"{context.span_id:016x}",
        "ms": 3,
    }
    assert outside["message"] == "outside\nwith a second line"
    assert "ValueError: oops" in outside["error"]
    assert "session" not in outside


@pytest.mark.process
def test_the_log_of_a_request_has_no_query_in_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="toolcrib.server.middleware")
    with scene() as here:
        here.http.get("/?token=private-private")
    lines = [JsonLines().format(record) for record in caplog.records if record.name == "toolcrib.server.middleware"]
    assert [json.loads(line)["path"] for line in lines] == ["/"]
    assert "private" not in "".join(lines)


def _loggers() -> list[tuple[str, logging.Logger]]:
    return [(name, logging.getLogger(name)) for name in ("toolcrib", "uvicorn.error", "uvicorn.access")]
