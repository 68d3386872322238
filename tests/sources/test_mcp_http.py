"""MCP servers elsewhere, over real sockets: both protocols, both transports, refusals and sizes."""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from tests.support.mcp_servers import LIVE
from tests.support.mcp_servers.live import serving
from tests.support.mcp_source import PATIENT, called, running, until
from tests.support.web_server import Answer, Asked, WebServer, serve_web
from toolcrib import Catalog
from toolcrib.sources.mcp.config import McpServer
from toolcrib.sources.source import SourceState


@pytest.fixture(scope="module", params=["http", "sse", "stdio"])
def live(request: pytest.FixtureRequest) -> Iterator[McpServer]:
    kind: Literal["http", "sse", "stdio"] = request.param
    if kind == "stdio":
        yield McpServer(name="live", transport="stdio", command=sys.executable, arguments=(LIVE,))
        return
    with serving(kind) as url:
        yield McpServer(name="live", transport=kind, url=url)


class Heard:
    def __init__(self) -> None:
        self.steps: list[tuple[float, float | None, str | None]] = []

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        self.steps.append((progress, total, message))


async def test_a_real_server_is_followed_and_called_over_every_transport(live: McpServer) -> None:
    catalog, heard = Catalog(), Heard()
    async with running(live, catalog, limits=replace(PATIENT, message_bytes=1_000_000)) as source:
        assert source.state is SourceState.READY, source.problem + source.log
        assert {"live__add", "live__big", "live__slow"} <= {tool.name for tool in catalog}
        total = await called(catalog, "live__add", a=2, b=3)
        assert (total.text, total.value.structured_content) == ("5", {"result": 5})
        assert (await catalog.get("live__slow").call({}, heard)).text == "done"
        assert heard.steps == [(1, 2, "half")]
        await called(catalog, "live__grow")
        await until(lambda: "live__grown" in catalog)
        assert (await called(catalog, "live__grown")).text == "new"
        wrong = await called(catalog, "live__add", a="x", b=3)
        assert wrong.failed


async def test_an_answer_that_is_too_large_fails_one_call_over_every_transport(live: McpServer) -> None:
    catalog = Catalog()
    async with running(live, catalog, limits=replace(PATIENT, message_bytes=1_000_000)):
        result = await called(catalog, "live__big", size=5_000_000)
        assert result.failed
        assert live.transport == "sse" or "too large" in result.text
        assert (await called(catalog, "live__add", a=2, b=3)).text == "5"


async def test_a_call_that_hangs_ends_in_time_over_every_transport(live: McpServer) -> None:
    catalog = Catalog()
    async with running(live, catalog, limits=replace(PATIENT, call_seconds=3)):
        result = await called(catalog, "live__hang")
        assert result.failed
        assert result.text == (
            "live did not answer within 3 seconds; the call was cancelled. "
            "Whether it did its work is not known. Look before you try again."
        )
        assert (await called(catalog, "live__add", a=2, b=3)).text == "5"


# A server of the older protocol, answer by answer.


class Desk:
    """A scripted MCP server over HTTP; `refusals` are given to calls before any answer."""

    def __init__(self, web: WebServer) -> None:
        self.refusals: list[int] = []
        self.sessions = 0
        self.calls = 0
        self.server = McpServer(name="desk", transport="http", url=f"{web.origin}/mcp?key=s3cret")
        web.answers["/mcp"] = self._answer

    def _answer(self, asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(status=405)
        message = json.loads(asked.body)
        match message["method"]:
            case "initialize":
                self.sessions += 1
                result: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
                headers = {"mcp-session-id": str(self.sessions)}
                return self._result(message, {**result, "serverInfo": {"name": "desk", "version": "1"}}, headers)
            case "tools/list":
                tools = [
                    {"name": "ask", "inputSchema": {"type": "object"}},
                    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
                ]
                return self._result(message, {"tools": tools})
            case "tools/call":
                self.calls += 1
                if self.refusals:
                    return Answer(status=self.refusals.pop(0), body="no")
                return self._result(message, {"content": [{"type": "text", "text": f"call {self.calls}"}]})
            case _ if "id" in message:
                error = {"code": -32601, "message": "no such method"}
                return Answer(body={"jsonrpc": "2.0", "id": message["id"], "error": error})
            case _:
                return Answer(status=202)

    def _result(self, message: Any, result: Any, headers: dict[str, str] | None = None) -> Answer:
        return Answer(body={"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers or {})


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serve_web() as server:
        yield server


@pytest.mark.parametrize(
    ("refusals", "tool", "text", "sessions"),
    [
        ([404], "ask", "call 2", 2),  # the session is forgotten: nothing was done, so it is said again
        ([503], "ask", "call 2", 1),
        ([503, 503], "ask", "desk gave no result: it answered with status 503.", 1),
        ([500], "ask", "desk gave no result: it answered with status 500.", 1),
        ([500], "look", "call 2", 1),  # may be repeated
    ],
)
async def test_only_what_surely_did_nothing_or_may_be_repeated_is_sent_again(
    web: WebServer, refusals: list[int], tool: str, text: str, sessions: int
) -> None:
    desk, catalog = Desk(web), Catalog()
    async with running(desk.server, catalog, limits=PATIENT) as source:
        desk.refusals = list(refusals)
        assert (await called(catalog, f"desk__{tool}")).text == text
        assert desk.sessions == sessions
        # In a new session the tools are listed again, perhaps behind the answer.
        await until(lambda: source.state is SourceState.READY)


async def test_a_server_that_asks_who_we_are_in_mid_session_needs_a_login(web: WebServer) -> None:
    desk, catalog = Desk(web), Catalog()
    async with running(desk.server, catalog, limits=PATIENT) as source:
        desk.refusals = [401]
        result = await called(catalog, "desk__ask")
        assert result.text == (
            "desk wants a login. Ask the user to run `toolcrib sources login desk`, "
            "or to put a token into its configuration."
        )
        assert desk.calls == 1
        assert source.state in (SourceState.NEEDS_LOGIN, SourceState.STARTING, SourceState.READY)


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    ("status", "state", "problem"),
    [
        (401, SourceState.NEEDS_LOGIN, "away wants a login."),
        (403, SourceState.NEEDS_LOGIN, "away wants a login."),
        (503, SourceState.DOWN, "away answered with status 503."),
    ],
)
async def test_a_refusal_at_the_door_is_a_state(
    web: WebServer, transport: Literal["http", "sse"], status: int, state: SourceState, problem: str
) -> None:
    web.answers["/mcp"] = Answer(status=status, body="no")
    server = McpServer(name="away", transport=transport, url=f"{web.origin}/mcp?key=s3cret")
    async with running(server, Catalog(), limits=PATIENT) as source:
        assert (source.state, source.problem) == (state, problem)


async def test_a_server_that_is_not_there_is_named_by_its_host_alone() -> None:
    server = McpServer(name="away", transport="http", url="http://127.0.0.1:9/mcp?key=s3cret")
    async with running(server, Catalog(), limits=PATIENT) as source:
        assert (source.state, source.problem) == (SourceState.DOWN, "away cannot be reached at 127.0.0.1:9.")


async def test_a_web_page_is_no_mcp_server(web: WebServer) -> None:
    web.answers["/mcp"] = Answer(body="<h1>hello</h1>")
    server = McpServer(name="away", transport="http", url=f"{web.origin}/mcp")
    async with running(server, Catalog(), limits=PATIENT) as source:
        assert (source.state, source.problem) == (
            SourceState.DOWN,
            "away does not speak MCP as we know it (MCPError).",
        )


async def test_headers_go_along_and_keys_stay_out_of_logs(web: WebServer, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(web)
    server = McpServer(name="desk", transport="http", url=desk.server.url, headers={"X-Key": "s3cret"})
    catalog = Catalog()
    with caplog.at_level("INFO"):
        async with running(server, catalog, limits=PATIENT):
            await asyncio.gather(*(called(catalog, "desk__ask") for _ in range(5)))
    assert {asked.headers.get("x-key") for asked in web.asked} == {"s3cret"}
    assert "HTTP Request" in caplog.text
    assert "s3cret" not in caplog.text


def _answers(tools: list[Any], **headers: str) -> Any:
    """What an HTTP server of the older protocol says, with these tools."""

    def answer(asked: Asked) -> Answer:
        if asked.method != "POST":
            return Answer(status=405)
        message = json.loads(asked.body)
        info: dict[str, Any] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": dict[str, Any]()},
            "serverInfo": {"name": "s", "version": "1"},
        }
        results: dict[str, Any] = {"initialize": info, "tools/list": {"tools": tools}}
        if "id" not in message:
            return Answer(status=202)
        if message["method"] not in results:
            return Answer(status=404)
        return Answer(
            body={"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}, headers=headers
        )

    return answer


@pytest.mark.process
async def test_over_http_too_a_schema_that_is_too_deep_costs_its_tool_and_not_the_server() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    catalog = Catalog()
    with serve_web() as web:
        web.answers["/mcp"] = _answers(
            [{"name": "deep", "inputSchema": deep}, {"name": "ok", "inputSchema": {"type": "object"}}]
        )
        server = McpServer(name="far", transport="http", url=f"{web.origin}/mcp")
        async with running(server, catalog, limits=PATIENT) as source:
            assert (source.state, [tool.name for tool in catalog]) == (SourceState.READY, ["far__ok"]), source.problem
            assert [problem[:40] for problem in source.problems] == ["The schema of 'far__deep' contains itself"[:40]]
        assert {asked.headers["accept-encoding"] for asked in web.asked} == {"identity"}


@pytest.mark.process
async def test_a_compressed_answer_that_nobody_asked_for_is_refused() -> None:
    with serve_web() as web:
        web.answers["/mcp"] = _answers([], **{"Content-Encoding": "gzip"})
        server = McpServer(name="far", transport="http", url=f"{web.origin}/mcp")
        async with running(server, Catalog(), limits=PATIENT) as source:
            assert source.state is SourceState.DOWN
