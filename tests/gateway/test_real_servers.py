"""Eight servers that people use, of PyPI and npm and of both protocols, behind one gateway."""

import asyncio
import subprocess
import threading
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ImageContent, TextContent, TextResourceContents

from tests.support.gateway import call, in_memory, made_gateway, text
from tests.support.real_programs import NotHere, node_environment, node_programs, python_programs
from toolcrib.sources.mcp.config import McpLimits

pytestmark = [pytest.mark.anyio, pytest.mark.process]
PAGE = "The crib opens at seven."
LONG = 180  # seconds: eight programs start at once on a machine that has other things to do


class Programs:
    """What could be installed, and why something could not."""

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}
        self.missing: list[str] = []
        sets = {
            "servers": lambda: python_programs("servers"),
            "older": lambda: python_programs("older"),
            "node": node_programs,
        }
        with ThreadPoolExecutor() as side_by_side:
            begun = {name: side_by_side.submit(install) for name, install in sets.items()}
        for name, done in begun.items():
            try:
                self.folders[name] = done.result()
            except NotHere as error:
                self.missing.append(str(error))


@pytest.fixture(scope="module")
def programs() -> Programs:
    return Programs()


@pytest.fixture
def page() -> Generator[str]:
    """The address of a page in the web."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/page"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(PAGE.encode() if found else b"")

        def log_message(self, format: str, *args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/page"
        server.shutdown()


def entries(programs: Programs, folder: Path) -> dict[str, dict[str, Any]]:
    """Each server as a configuration names it."""
    known: dict[str, tuple[str, list[str]]] = {
        "time": ("servers", []),
        "git": ("servers", ["--repository", str(folder)]),
        "fetch": ("servers", ["--allow-private-ips"]),
        "sqlite": ("older", ["--db-path", str(folder / "data.db")]),
        "filesystem": ("node", [str(folder)]),
        "memory": ("node", []),
        "everything": ("node", []),
        "sequential-thinking": ("node", []),
    }
    return {
        name: {
            "command": str(programs.folders[place] / f"mcp-server-{name}"),
            "args": arguments,
            "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl"), "PATH": node_environment()["PATH"]},
        }
        for name, (place, arguments) in known.items()
        if place in programs.folders
    }


async def test_eight_real_servers_work_behind_one_gateway(programs: Programs, tmp_path: Path, page: str) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)  # noqa: ASYNC221  # some milliseconds
    (tmp_path / "note.txt").write_text("Remember the milk.")
    servers = entries(programs, tmp_path)
    gateway = made_gateway(servers, server_limits=McpLimits(connect_seconds=120, list_seconds=120, call_seconds=60))
    entity = {"name": "crib", "entityType": "room", "observations": ["It holds tools."]}
    thought = {"thought": "One.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("time__get_current_time", {"timezone": "UTC"}, '"timezone": "UTC"'),
        ("git__git_status", {"repo_path": str(tmp_path)}, "note.txt"),
        ("fetch__fetch", {"url": page, "raw": True}, PAGE),
        ("sqlite__create_table", {"query": "CREATE TABLE tools (name TEXT)"}, "success"),
        ("sqlite__list_tables", {}, "tools"),
        ("filesystem__read_text_file", {"path": str(tmp_path / "note.txt")}, "Remember the milk."),
        ("memory__create_entities", {"entities": [entity]}, "It holds tools."),
        ("memory__read_graph", {}, "It holds tools."),
        ("everything__echo", {"message": "hello"}, "Echo: hello"),
        ("sequential-thinking__sequentialthinking", thought, '"thoughtNumber": 1'),
    ]
    async with asyncio.timeout(LONG), in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        assert {source.name: source.problem for source in gateway.sources.sources if source.problem} == {}
        for name, arguments, expected in calls:
            if name.partition("__")[0] in servers:
                told = await call(client, name, arguments)
                assert not told.is_error, text(told)
                assert expected in text(told)
        if "everything" in servers:
            picture = await call(client, "everything__get-tiny-image")
            assert any(isinstance(block, ImageContent) for block in picture.content)
            weather = await call(client, "everything__get-structured-content", {"location": "New York"})
            assert weather.structured_content is not None
            assert set(weather.structured_content) == {"temperature", "conditions", "humidity"}
            listed = {one.name: one.uri for one in (await client.list_resources()).resources}
            [document] = (await client.read_resource(listed["everything__architecture_md"])).contents
            assert isinstance(document, TextResourceContents)
            assert "Everything Server" in document.text
            assert document.text == text(await call(client, "everything__architecture_md"))
            prompt = await client.get_prompt("everything__args-prompt", {"city": "Oslo"})
            assert isinstance(prompt.messages[0].content, TextContent)
            assert "Oslo" in prompt.messages[0].content.text
        wanted = {
            "what time is it in Tokyo": "time__",
            "read a file": "filesystem__read",
            "run a SQL query": "sqlite__",
            "download a web page": "fetch__fetch",
            "show the commit history": "git__git_log",
        }
        for query, name in wanted.items():
            if name.partition("__")[0] in servers:
                found = await client.call_tool("search_tools", {"query": query})
                assert name in text(found), text(found)
    if programs.missing:
        pytest.skip(f"{len(servers)} of 8 servers work; the others are not here: {'; '.join(programs.missing)}")


# A day at a desk: what people have these servers do, sixty calls.
DAY = """
time: get_current_time*3 convert_time*3
git: git_status*5 git_diff_unstaged*3 git_diff_staged git_log*3 git_show git_add*2 git_commit*2
fetch: fetch*5
sqlite: list_tables*2 describe_table*2 read_query*5 write_query
filesystem: list_directory*3 read_text_file*6 search_files*2 get_file_info directory_tree write_file*2 edit_file
memory: search_nodes*2 read_graph add_observations
everything: echo
sequential-thinking: sequentialthinking
"""


def calls_of_a_day() -> list[str]:
    calls: list[str] = []
    for line in DAY.strip().splitlines():
        server, _, listed = line.partition(": ")
        for one in listed.split():
            name, _, times = one.partition("*")
            calls += [f"{server}__{name}"] * int(times or 1)
    return calls


async def test_a_day_of_sixty_calls_asks_nine_times(programs: Programs, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)  # noqa: ASYNC221  # some milliseconds
    servers = entries(programs, tmp_path)
    limits = McpLimits(connect_seconds=120, list_seconds=120)
    gateway = made_gateway(servers, lock=tmp_path / "tools.lock", server_limits=limits, policy=None)
    async with asyncio.timeout(LONG), gateway.running():
        await gateway.sources.wait_until_settled()
        toolbox, calls = gateway.toolbox(), calls_of_a_day()
        assert len(calls) == 60
        there = [name for name in calls if name.partition("__")[0] in servers]
        asked = [name for name in there if toolbox.verdict(gateway.quarantine.catalog.get(name)).decision == "ask"]
    if programs.missing:
        pytest.skip("; ".join(programs.missing))
    assert Counter(asked) == {
        "git__git_add": 2,
        "git__git_commit": 2,
        "sqlite__write_query": 1,
        "filesystem__write_file": 2,
        "filesystem__edit_file": 1,
        "memory__add_observations": 1,
    }


async def test_a_tool_that_deletes_asks_first_whatever_server_has_it(programs: Programs, tmp_path: Path) -> None:
    servers = entries(programs, tmp_path)
    if "memory" not in servers:
        pytest.skip("; ".join(programs.missing))
    gateway = made_gateway(
        {"memory": servers["memory"]}, server_limits=McpLimits(connect_seconds=120, list_seconds=120)
    )
    async with asyncio.timeout(LONG), in_memory(gateway) as client:
        asked = await call(client, "memory__delete_entities", {"entityNames": ["crib"]})
        assert text(asked).startswith("requires_confirmation: memory__delete_entities was not called.")
