"""The protocol's own conformance tests (`@modelcontextprotocol/conformance`) against the gateway over HTTP.

They call tools and prompts of a reference server by name and can show no token. So a server that has these stands
behind the gateway, and a small piece before it does what a client would: it shows the token, runs such a tool by
`call_tool`, and takes the name of a prompt from our list.
"""

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.gateway import SOON, TOKEN, made_gateway
from tests.support.mcp_servers import CONFORMANCE
from tests.support.real_programs import PINNED, NotHere, node_environment, node_programs
from toolcrib.gateway.http import http_app
from toolcrib.serving import Options

pytestmark = pytest.mark.process

SERVER = {"command": sys.executable, "args": [CONFORMANCE]}
SECONDS = 180
PASSED = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "server-sse-multiple-streams",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
    "completion-complete",
    "dns-rebinding-protection",
]


class LikeAClient:
    """Stands before the gateway."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await self._body(receive) if scope["method"] == "POST" else b""
        changed = _by_our_names(body) if body else body
        told = [(name, value) for name, value in scope["headers"] if name not in (b"authorization", b"content-length")]
        told.append((b"authorization", f"Bearer {TOKEN}".encode()))
        if changed:
            told.append((b"content-length", str(len(changed)).encode()))
        messages: list[Message] = [{"type": "http.request", "body": changed, "more_body": False}]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        await self._app({**scope, "headers": told}, again, send)

    @staticmethod
    async def _body(receive: Receive) -> bytes:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                return body


def _by_our_names(body: bytes) -> bytes:
    message: dict[str, Any] = json.loads(body)
    params: dict[str, Any] = message.get("params") or {}
    if message.get("method") == "tools/call" and params["name"].startswith("test_"):
        inner: dict[str, Any] = {"name": f"up__{params['name']}", "arguments": params.get("arguments") or {}}
        message["params"] = {**params, "name": "call_tool", "arguments": inner}
    named: dict[str, Any] = params.get("ref", params)
    if message.get("method") in ("prompts/get", "completion/complete") and "name" in named:
        named["name"] = f"up__{named['name']}"
    return json.dumps(message).encode()


@contextmanager
def gateway() -> Generator[str]:
    made = made_gateway({"up": SERVER})
    options = Options(port=0, tokens={TOKEN: "conformance"}, requests_per_second=1e6, burst=1_000_000)
    config = uvicorn.Config(LikeAClient(http_app(made, options)), port=0, log_config=None, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    taken = config.bind_socket()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([taken])), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join(timeout=SOON)
        taken.close()


def test_the_gateway_conforms_but_for_what_is_explained(tmp_path: Path) -> None:
    try:
        program = node_programs() / "conformance"
    except NotHere as error:
        pytest.skip(f"the conformance tests are not here: {error}")
    with gateway() as url:
        expected = str(PINNED / "conformance.yml")
        done = subprocess.run(
            [str(program), "server", "--url", url, "--suite", "all", "--expected-failures", expected],
            cwd=tmp_path,
            env=node_environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    passed = re.findall(r"✓ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout)
    assert sorted(passed) == sorted(PASSED)
