"""A real HTTP server on this machine that answers from a table and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support import PATIENCE


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What goes back; `silent` says nothing until the server stops."""

    status: int = 200
    body: object = b""  # bytes as they are, text as HTML, anything else as JSON
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    silent: bool = False


@dataclass
class WebServer:
    """What a test may set and look at. A path (without its query) has an answer, or a function that makes one."""

    origin: str = ""
    answers: dict[str, Answer | Callable[[Asked], Answer]] = field(
        default_factory=dict[str, Answer | Callable[[Asked], Answer]]
    )
    asked: list[Asked] = field(default_factory=list[Asked])
    stopping: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serve_web() -> Generator[WebServer]:
    """A running server; it ends with the block."""
    server = WebServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(method=self.command, path=self.path, headers=headers, body=self.rfile.read(length))
            server.asked.append(asked)
            answer = server.answers.get(self.path.partition("?")[0], Answer(status=404, body="no such page"))
            self._send(answer if isinstance(answer, Answer) else answer(asked))

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        def _send(self, answer: Answer) -> None:
            if answer.silent:
                server.stopping.wait(PATIENCE)
                self.close_connection = True
                return
            kind, content = _content(answer.body)
            headers = {"Content-Type": kind, "Content-Length": str(len(content)), **answer.headers}
            self.send_response(answer.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):  # the client had enough
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: the tests look at `asked`."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.origin = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        http.shutdown()
        http.server_close()
        thread.join(PATIENCE)


def _content(body: object) -> tuple[str, bytes]:
    if isinstance(body, bytes):
        return "application/octet-stream", body
    if isinstance(body, str):
        return "text/html; charset=utf-8", body.encode()
    return "application/json", json.dumps(body).encode()
