"""A real server on this machine, in a thread, and a client that reads its events."""

import asyncio
import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from tests.support import PATIENCE
from tests.support.agent import Script, Shop, scripted
from toolcrib.agent.crib import Crib
from toolcrib.server.app import create_app
from toolcrib.server.listening import server
from toolcrib.server.options import Options
from toolcrib.server.served import Served
from toolcrib.server.taken_socket import address, taken_socket
from toolcrib.stores.sqlite import SqliteStore
from toolcrib.stores.store import Store

QUIET = Options(requests_per_second=10_000.0, burst=10_000, grace_seconds=1.0, warm_up=False)


class Gate:
    """A tool that waits until the test says go."""

    def __init__(self, shop: Shop) -> None:
        self._open = threading.Event()

        @shop.catalog.tool(category="reports", phrases=["wait for the gate"])
        async def wait_for_gate(name: str) -> str:
            """Wait until the gate opens."""
            await asyncio.to_thread(self._open.wait, PATIENCE)
            return f"{name} is through"

    def open(self) -> None:
        self._open.set()


@dataclass
class Scene:
    """A server that runs, and a client of it."""

    http: httpx2.Client
    shop: Shop
    script: Script

    def when_warm(self) -> httpx2.Response:
        """What `/health/ready` says when the server has stopped warming up."""
        for _ in range(int(PATIENCE / 0.05)):
            ready = self.http.get("/health/ready")
            if "The server is warming up." not in ready.json()["reasons"]:
                return ready
            threading.Event().wait(0.05)
        raise AssertionError("The server does not stop warming up.")

    def session(self) -> str:
        return self.http.post("/api/sessions").json()["id"]

    def say(self, session: str, text: str) -> list[dict[str, Any]]:
        """Everything that happens, when it is over."""
        with self.http.stream("POST", f"/api/sessions/{session}/messages", json={"text": text}) as answer:
            assert answer.status_code == 200, answer.read()
            return [event for _, event in events(answer)]

    def post(self, path: str, body: object = None, **options: Any) -> httpx2.Response:
        return self.http.post(path, json=body, **options)


def events(answer: httpx2.Response) -> Iterator[tuple[int, dict[str, Any]]]:
    """The events of a stream as they come, each with its number."""
    number, data = -1, ""
    for line in answer.iter_lines():
        name, _, rest = line.partition(": ")
        if name == "id":
            number = int(rest)
        elif name == "data":
            data = rest
        elif not line and data:
            yield number, json.loads(data)
            data = ""


def kinds(told: list[dict[str, Any]]) -> list[str]:
    """The types of events in order; pieces of text that follow each other are one."""
    found: list[str] = []
    for event in told:
        if not (event["type"] == "text" and found and found[-1] == "text"):
            found.append(event["type"])
    return found


@contextmanager
def listening(served: Served, options: Options | None = None, **client: Any) -> Generator[httpx2.Client]:
    """Serve on a free port until the block ends; gives a client."""
    options = replace(options or QUIET, port=0)
    taken = taken_socket(options)
    running = server(create_app(served, options), options)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    try:
        with httpx2.Client(base_url=address(options, taken), timeout=PATIENCE, **client) as http:
            yield http
    finally:
        running.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@contextmanager
def scene(
    *said: Any,
    options: Options | None = None,
    shop: Shop | None = None,
    store: Store | None = None,
    served: dict[str, Any] | None = None,
    **crib: Any,
) -> Generator[Scene]:
    """A shop whose model says what it is told, behind a real server."""
    shop = shop or Shop()
    script, model = scripted(*said)
    made = Served(
        crib=Crib(shop.catalog, model=model, **crib), store=store or SqliteStore(None), name="Shop", **(served or {})
    )
    with listening(made, options) as http:
        yield Scene(http, shop, script)
