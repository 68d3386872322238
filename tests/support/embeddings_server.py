"""A real HTTP server that speaks OpenAI's `/embeddings`, answers from a script first and honestly after that."""

import base64
import hashlib
import json
import threading
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from tests.support import PATIENCE
from toolcrib.search.kernels.rows import Vectors

DIMENSIONS = 8


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One scripted answer; `silent` gives none until the server stops, `dropped` hangs up."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    silent: bool = False
    dropped: bool = False


@dataclass
class ModelServer:
    """What the test may set and look at."""

    url: str = ""
    script: deque[Reply] = field(default_factory=deque[Reply])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # the bodies
    keys: list[str | None] = field(default_factory=list[str | None])  # the Authorization headers
    stopping: threading.Event = field(default_factory=threading.Event)


def refusal(status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None) -> Reply:
    """An error as OpenAI words it."""
    return Reply(status=status, body={"error": {"message": message, "code": code}}, headers=headers or {})


def model_vector(text: str, dimensions: int = DIMENSIONS) -> Vectors:
    """The vector this model has for a text, not of unit length."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return (np.random.default_rng(seed).standard_normal(dimensions) * 3).astype(np.float32)


def honest_reply(request: Mapping[str, Any]) -> Reply:
    """The right answer, its items in the wrong order, which the protocol allows."""
    vectors = [model_vector(text, request.get("dimensions", DIMENSIONS)) for text in request["input"]]
    encode = _as_base64 if request.get("encoding_format") == "base64" else _as_numbers
    items = [{"object": "embedding", "index": i, "embedding": encode(vector)} for i, vector in enumerate(vectors)]
    return Reply(body={"object": "list", "data": items[::-1], "model": request["model"]})


@contextmanager
def serve_model() -> Generator[ModelServer]:
    """A running server; it ends with the block."""
    server = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(request)
            server.keys.append(self.headers["Authorization"])
            if self.path != "/v1/embeddings":
                self._send(refusal(404, f"no such page: {self.path}"))
                return
            reply = server.script.popleft() if server.script else honest_reply(request)
            if reply.silent:
                server.stopping.wait(PATIENCE)
            if reply.silent or reply.dropped:
                self.close_connection = True
                return
            self._send(reply)

        def _send(self, reply: Reply) -> None:
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: the tests look at `requests`."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        http.shutdown()
        http.server_close()
        thread.join(PATIENCE)


def _as_numbers(vector: Vectors) -> list[float]:
    return [float(number) for number in vector]


def _as_base64(vector: Vectors) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
