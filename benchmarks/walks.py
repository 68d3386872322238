"""How far a reader walks: the files that one request passes through, and how often it goes from one to another.

    python benchmarks/walks.py

Five walks on real calls: a search, a turn with one search and one call, a call through the gateway, `toolcrib run`, and
a message over HTTP. Resumptions of coroutines are left out: they would count every `await` as a step.
"""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

import httpx2
from mcp import Client

import toolcrib
from toolcrib import Catalog, Crib, ToolIndex
from toolcrib.catalog import Quarantine, load_catalog
from toolcrib.cli.main import main as command
from toolcrib.gateway import Gateway
from toolcrib.server import Served, create_app
from toolcrib.serving import Options
from toolcrib.sources import McpSource, SourceGroup, read_mcp_server
from toolcrib.stores import SqliteStore
from toolcrib.testing import scripted_model

SRC = f"{Path(toolcrib.__file__).parent}{os.sep}"
CLOCK = """
from fastmcp import FastMCP
server = FastMCP("clock")

@server.tool
def tell_time() -> str:
    "Tell the time."
    return "noon"

server.run(show_banner=False)
"""
COROUTINE = 0x2A0  # flags of generators, coroutines and both in one
REQUEST = "create a page about our team"


class Walk:
    """Notes in which file of ours each call begins."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self._seen: dict[int, FrameType] = {}  # held, so that no id is used twice

    def __enter__(self) -> "Walk":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(SRC):
            return
        if frame.f_code.co_flags & COROUTINE:
            if id(frame) in self._seen:
                return
            self._seen[id(frame)] = frame
        self.files.append(file.removeprefix(SRC))

    @property
    def switches(self) -> int:
        return sum(one != other for one, other in zip(self.files, self.files[1:], strict=False))


def weather() -> Catalog:
    catalog = Catalog()

    @catalog.tool(phrases=["will it rain"])
    def get_forecast(city: str) -> str:
        """Get the weather forecast for a city."""
        return f"Sunny in {city}."

    return catalog


def search() -> Walk:
    index = ToolIndex(load_catalog("toolcrib_cms:definitions"))
    index.search("find an image")  # reads the tools in
    with Walk() as walk:
        index.search(REQUEST)
    return walk


async def turn() -> Walk:
    answers = [("tool_search", {"query": "weather forecast"}), ("get_forecast", {"city": "Oslo"}), "It is sunny."]
    crib = Crib(weather(), model=scripted_model(*answers, *answers))
    await crib.run("will it rain in Oslo?", session="first")
    async with SqliteStore(None) as store, store.open() as session:
        with Walk() as walk:
            async for _ in toolcrib.stream(session, "will it rain in Oslo?", crib=crib):
                pass
    return walk


def run() -> Walk:
    arguments = ["run", "desk/app.yaml", "--message", "hi", "--store", "talks.db"]
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        before = Path.cwd()
        os.chdir(folder)
        try:
            command(["new", "desk"])
            command(arguments)
            with Walk() as walk:
                command(arguments)
        finally:
            os.chdir(before)
    return walk


async def message() -> Walk:
    crib = Crib(weather(), model=scripted_model("hello", "hello again"))
    app = create_app(Served(crib=crib, store=SqliteStore(None), name="walk"), Options(warm_up=False))
    async with app.router.lifespan_context(app):
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1")
        session = (await client.post("/api/sessions")).json()["id"]
        await client.post(f"/api/sessions/{session}/messages", json={"text": "hi"})
        with Walk() as walk:
            await client.post(f"/api/sessions/{session}/messages", json={"text": "hi"})
    return walk


async def gateway() -> Walk:
    quarantine = Quarantine(Catalog())
    source = McpSource(read_mcp_server("clock", {"command": sys.executable, "args": ["-c", CLOCK]}), quarantine)
    made = Gateway(SourceGroup([source]), quarantine)
    async with Client(made.server) as client:
        await client.list_tools()
        await made.sources.wait_until_settled()
        name = next(tool.name for tool in quarantine.catalog if tool.source == source.name)
        await client.call_tool("call_tool", {"name": name, "arguments": {}})
        with Walk() as walk:
            await client.call_tool("call_tool", {"name": name, "arguments": {}})
    return walk


WALKS: dict[str, Callable[[], Walk]] = {
    "one search": search,
    "a turn: one search, one call": lambda: asyncio.run(turn()),
    "toolcrib run app.yaml": run,
    "a message over HTTP": lambda: asyncio.run(message()),
    "gateway call_tool": lambda: asyncio.run(gateway()),
}


def main() -> None:
    print(f"{'walk':<32}{'files':>6}{'switches':>10}")
    for name, walk in WALKS.items():
        walked = walk()
        print(f"{name:<32}{len(set(walked.files)):>6}{walked.switches:>10}", flush=True)


if __name__ == "__main__":
    main()
