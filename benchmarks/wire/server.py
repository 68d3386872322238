"""The server: one answer of the script for each request, whichever API it came by."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, Literal, Self, TypeAlias

from benchmarks.wire import anthropic_messages, openai_chat, openai_responses
from benchmarks.wire.script import Answer, Drop, Malformed, Refuse, Slow, Turn

Wire: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic"]
PATHS: dict[str, Wire] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic",
}
APIS: dict[Wire, ModuleType] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic_messages,
}
GATE_SECONDS = 30  # so that a forgotten gate ends


@dataclass(frozen=True)
class Recorded:
    """A request as it came."""

    number: int
    wire: Wire
    path: str
    headers: Mapping[str, str]  # names in small letters
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


Script: TypeAlias = Iterable[Answer] | Callable[[Recorded], Answer]


class WireServer:
    """A provider on loopback, for `with`: `url` is the `base_url` of an OpenAI client, `origin` that of Anthropic's.

    The script is a list, one answer for each request, or a function that reads the request, for many talks at once. A
    request after the last answer gets status 400, which no SDK retries. `models` are listed as such servers list them,
    and with a `key` every request without it is refused.
    """

    def __init__(
        self, script: Script = (), *, models: Iterable[str] | None = (), owner: str = "", key: str | None = None
    ) -> None:
        self.models = None if models is None else [{"id": one, "object": "model", "owned_by": owner} for one in models]
        self.key = key
        self.requests: list[Recorded] = []
        self._answer = script if callable(script) else _one_by_one(script)
        self._gates: list[threading.Event] = []
        self._lock = threading.Lock()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    def url_for(self, wire: Wire) -> str:
        """The `base_url` that a client of this API wants."""
        return self.origin if wire == "anthropic" else self.url

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """Every request so far, as JSON."""
        return [request.json for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        for gate in self._gates:
            gate.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, wire: Wire, path: str, headers: Mapping[str, str], body: bytes) -> tuple[Recorded, Answer]:
        """Keep a request, and say what it gets."""
        with self._lock:
            request = Recorded(len(self.requests), wire, path, headers, body)
            self.requests.append(request)
            answer = self._answer(request)
            if isinstance(answer, Slow):
                self._gates.append(answer.gate)
            return request, answer


def _one_by_one(script: Iterable[Answer]) -> Callable[[Recorded], Answer]:
    left = iter(list(script))
    over = Refuse(400, message="The script is over.")
    return lambda request: next(left, over)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client may keep its connection as long as it likes
    request_queue_size = 128

    def __init__(self, wire_server: WireServer) -> None:
        self.wire_server = wire_server
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away while we write is part of many tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride] - nothing else makes one

    def do_GET(self) -> None:
        if self._is_refused():
            return
        if self.path == "/v1/models":
            self._send(200, json.dumps({"object": "list", "data": self.server.wire_server.models}))
        else:
            self._send(404, json.dumps(openai_chat.error(404, f"There is no {self.path}.")))

    def _is_refused(self) -> bool:
        key = self.server.wire_server.key
        if key is None or self.headers.get("authorization") == f"Bearer {key}":
            return False
        self._send(401, json.dumps(openai_chat.error(401, "Invalid API key.")))
        return True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self._is_refused():
            return
        wire = PATHS.get(self.path.partition("?")[0])
        if wire is None:
            self._send(404, json.dumps(openai_chat.error(404, f"There is no {self.path}.")))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request, answer = self.server.wire_server.answer(wire, self.path, headers, body)
        said, api = request.json, APIS[wire]
        if isinstance(answer, Refuse):
            self._send(answer.status, json.dumps(api.error(answer.status, answer.message)), answer.retry_after)
        elif isinstance(answer, Malformed) and not said.get("stream"):
            self._send(200, answer.text)
        elif isinstance(answer, Malformed):
            self._stream([f"data: {answer.text}\n\n"])
        elif said.get("stream"):
            turn = answer if isinstance(answer, Turn) else answer.turn
            self._stream(map(_line, api.events(turn, request.number, said)), answer)
        else:
            turn = answer if isinstance(answer, Turn) else answer.turn
            if isinstance(answer, Slow):
                answer.gate.wait(GATE_SECONDS)
            self._send(200, json.dumps(api.reply(turn, request.number, said)), cut=isinstance(answer, Drop))

    def _send(self, status: int, text: str, retry_after: float | None = None, *, cut: bool = False) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if retry_after is not None:
            self.send_header("retry-after", str(retry_after))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut

    def _stream(self, lines: Iterable[str], answer: Answer | None = None) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for at, line in enumerate(lines):
            if isinstance(answer, Drop) and at == answer.after:
                self.close_connection = True  # without the last chunk: the client sees that the reply is not whole
                return
            if isinstance(answer, Slow) and at == answer.after:
                answer.gate.wait(GATE_SECONDS)
            self._chunk(line.encode())
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is its own."""


def _line(event: tuple[str | None, Any]) -> str:
    kind, content = event
    named = f"event: {kind}\n" if kind else ""
    return f"{named}data: {content if isinstance(content, str) else json.dumps(content)}\n\n"
