"""`toolcrib gateway` as a command."""

import asyncio
import json
import re
import signal
import socket
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import always
from tests.support.gateway import SOON, START, TOKEN, call, entry, over_http, over_stdio, text, write_config
from toolcrib.catalog.approvals import Lock, Pin
from toolcrib.cli.main import main
from toolcrib.serving import Options

Captured = pytest.CaptureFixture[str]


@pytest.mark.process
def test_a_dry_run_tells_what_would_be_served(tmp_path: Path, capsys: Captured) -> None:
    config = write_config(tmp_path, s=entry(), broken={"command": "no-such-program"})
    lock = tmp_path / "tools.lock"
    assert main(["gateway", str(config), "--lock", str(lock), "--dry-run"]) == 4  # a server is down
    table, talk = capsys.readouterr()
    assert re.search(r"mcp:s +ready +2 +0", table)
    assert "With so few tools, clients pay less without the gateway." in talk
    assert "there is no program 'no-such-program'" in table
    assert "Clients would see search_tools, get_tool, call_tool:" in table
    assert not lock.exists()  # it only looks
    assert not (tmp_path / "cache" / "gateway").exists()


@pytest.mark.process
def test_a_dry_run_shows_what_is_held_back(tmp_path: Path, capsys: Captured) -> None:
    config = write_config(tmp_path, s=entry())
    lock = tmp_path / "tools.lock"
    lock.write_text('{"version": 1, "awaited": [], "tools": {}}')
    assert main(["gateway", str(config), "--lock", str(lock), "--dry-run", "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["held_back"] == ["s__echo", "s__delete_all"]
    assert told["sources"][0]["held_back"] == 2
    assert main(["gateway", str(config), "--lock", str(lock), "--dry-run"]) == 0
    assert "held back until approved: s__echo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["none.json"], "none.json: it cannot be read"),
        (["--http", "0", "--host", "0.0.0.0"], "Without a token"),
        (["--http", "0", "--token", "short"], "A token has at least 8 characters."),
        (["--policy", "none.yaml"], "none.yaml:1:1: cannot be read"),
    ],
)
def test_what_cannot_start_says_why(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, s=entry()).rename(tmp_path / ".mcp.json")
    assert main(["gateway", *arguments]) == 1
    assert complaint in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.anyio
async def test_over_stdio_a_lock_and_a_policy_count(tmp_path: Path) -> None:
    config, lock, policy = write_config(tmp_path, s=entry()), tmp_path / "tools.lock", tmp_path / "policy.yaml"
    policy.write_text("rules: [{policy: deny, name: 's__delete*'}]")
    async with (
        asyncio.timeout(2 * SOON),
        over_stdio(str(config), "--lock", str(lock), "--policy", str(policy)) as client,
    ):
        assert "not allowed" in text(await call(client, "s__delete_all"))
    assert sorted(json.loads(lock.read_text())["tools"]) == ["s__delete_all", "s__echo"]


@pytest.mark.process
@pytest.mark.anyio
@pytest.mark.parametrize("given", [True, False])
async def test_over_http_it_tells_its_address_and_ends_on_a_signal(given: bool, tmp_path: Path) -> None:
    config = write_config(tmp_path, s=entry())
    command = [
        sys.executable,
        "-c",
        START,
        "gateway",
        str(config),
        "--http",
        "0",
        *(["--token", TOKEN] if given else []),
    ]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(SOON):
            url = (await process.stdout.readline()).decode().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
            token = TOKEN
            if not given:
                line = (await process.stderr.readline()).decode()
                while "No token was given" not in line:
                    line = (await process.stderr.readline()).decode()
                token = line.strip().rpartition(" ")[2]
            async with over_http(url, token=token) as client:
                assert text(await call(client, "s__echo", {"text": "hello"})) == "hello"
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = await process.communicate()
    assert b"Traceback" not in rest


@pytest.mark.process
def test_over_stdio_it_ends_with_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO()))
    monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO()))
    config = str(write_config(tmp_path, s=entry()))
    assert main(["gateway", config, "--lock", "off"]) == 0
    assert "--lock off: tools are served as their servers describe them" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize(("given", "callers"), [((), ["http"]), (("--token", "ann:her-token"), ["ann"])])
def test_over_http_every_token_is_a_caller(
    given: tuple[str, ...], callers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    served: list[Options] = []

    class Server:
        def run(self, sockets: list[socket.socket]) -> None:
            sockets[0].close()

    def noted(gateway: object, options: Options, oauth: object) -> Server:
        served.append(options)
        return Server()

    monkeypatch.setattr("toolcrib.gateway.http.http_server", noted)
    assert main(["gateway", str(write_config(tmp_path, s=entry())), "--http", "0", *given]) == 0
    assert [list(options.tokens.values()) for options in served] == [callers]
    out, err = capsys.readouterr()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp\n", out)
    assert ("This one is good until the gateway ends:" in err) is not bool(given)


def test_a_person_is_asked_before_anything_is_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    lock = tmp_path / "tools.lock"
    Lock.open(lock).write_waiting({"s__new": Pin("mcp:s", {"name": "new"})}, ["mcp:s"])

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    for answer, code in (("", 2), ("n", 2), ("y", 0)):
        monkeypatch.setattr("builtins.input", always(answer))
        assert main(["gateway", "approve", "--lock", str(lock)]) == code
    assert "s__new (mcp:s) is new:" in capsys.readouterr().out
    assert list(Lock.open(lock).pins) == ["s__new"]


@pytest.mark.process
@pytest.mark.anyio
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_over_stdio_a_signal_ends_it_and_its_servers(number: signal.Signals, tmp_path: Path) -> None:
    config = write_config(tmp_path, s=entry())
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", START, "gateway", str(config), stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdin is not None
    assert process.stdout is not None
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    process.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}).encode() + b"\n"
    )
    async with asyncio.timeout(SOON):
        assert json.loads(await process.stdout.readline())["result"]["serverInfo"]["name"] == "toolcrib"
        process.send_signal(number)
        assert await process.wait() == 128 + number
