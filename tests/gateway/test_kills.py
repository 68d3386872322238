"""Gateways killed at any moment: no yes is good twice, and the lock stays whole."""

import asyncio
import json
import multiprocessing
import os
import random
import socket
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.support import PATIENCE
from tests.support.gateway import TOKEN, call, entry, over_http, text, write_config
from toolcrib.catalog.approvals import read_pins
from toolcrib.gateway.pending import WaitingCalls
from toolcrib.settings import Settings

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]
KILLS = int(os.environ.get("KILLS", "200"))
DELETE = "s__delete_all"
AT_ONCE = 3  # a client that tries again while its call is under way


def run(folder: str, port: int) -> None:
    """A gateway, until somebody kills it."""
    import logging

    from toolcrib.cli.main import main

    logging.disable()
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        options = ["--http", str(port), "--token", TOKEN, "--lock", f"{folder}/tools.lock"]
        raise SystemExit(main(["gateway", f"{folder}/mcp.json", *options]))


def approve(folder: str) -> None:
    """Approve what is held back."""
    from toolcrib.cli.main import main

    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        raise SystemExit(main(["gateway", "approve", "--lock", f"{folder}/tools.lock", "--yes"]))


@dataclass
class Found:
    """What a loop of kills came to."""

    kills: int = 0
    agreed: int = 0  # calls that the user allowed
    made: int = 0  # of them, in the ledger
    asked_again: int = 0  # the same call after the kill
    approvals: int = 0  # that were killed
    completed: int = 0  # of them, that had been written
    wrong: list[str] = field(default_factory=list[str])


class Loop:
    """Starts gateways on one configuration, and kills them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.found = Found()
        self.ledger = folder / "ledger"
        self.ledger.touch()
        self.told = folder / "told.json"
        self.approval_seconds = 0.2  # what the last one took that was not killed
        self.kept = WaitingCalls(Settings.from_environment().confirmations)
        self.forks = multiprocessing.get_context("forkserver")
        self.forks.set_forkserver_preload(["tests.gateway.test_kills", "toolcrib.cli.gateway", "toolcrib.gateway.http"])
        self.publish(0)
        write_config(folder, s=entry(told_file=str(self.told), ledger=str(self.ledger), call={"delete_all": "note"}))

    def publish(self, edition: int) -> None:
        """Let the server describe its tool in another way."""
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        tools = [
            {"name": "delete_all", "description": f"Delete all, edition {edition}.", "inputSchema": schema},
            {"name": "echo", "description": "Say it again.", "inputSchema": schema},
        ]
        self.told.write_text(json.dumps({"tools": tools}))

    async def start(self) -> tuple[BaseProcess, str]:
        """A gateway that answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = self.forks.Process(target=run, args=(str(self.folder), port))
        process.start()
        deadline = monotonic() + PATIENCE
        while monotonic() < deadline and process.is_alive():
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return process, f"http://127.0.0.1:{port}/mcp"
            await asyncio.sleep(0.02)
        raise AssertionError("The gateway does not start.")

    async def kill(self, process: BaseProcess) -> None:
        process.kill()
        await asyncio.to_thread(process.join)
        self.found.kills += 1

    async def kill_while_calling(self, number: int) -> None:
        """The user allows a call; the gateway is killed while the client makes it, some times at once."""
        arguments = {"text": f"call {number}"}
        process, url = await self.start()
        async with over_http(url) as client:
            await self.until(client, arguments["text"], lambda said: "requires_confirmation" in said)
            (waiting,) = [one for one in self.kept.waiting() if json.loads(one.arguments) == arguments]
            self.kept.answer(waiting.code, agreed=True)
            self.found.agreed += 1
            calls = [asyncio.create_task(call(client, DELETE, arguments)) for _ in range(AT_ONCE)]
            await asyncio.sleep(self.chance.uniform(0, 0.12))
            await self.kill(process)
            for one in calls:
                one.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            with suppress(Exception):  # there is nobody left to say goodbye to
                await client.close()

    async def ask_again(self, number: int) -> None:
        """The same call at the next gateway is a new question."""
        process, url = await self.start()
        async with over_http(url) as client:
            await self.until(client, f"call {number}", lambda said: "requires_confirmation" in said)
            self.found.asked_again += 1
        await self.kill(process)

    async def kill_while_approving(self, number: int) -> None:
        """A changed tool is held back; whoever approves it is killed."""
        before = read_pins(self.folder / "tools.lock")
        self.publish(number)
        process, url = await self.start()
        async with over_http(url) as client:
            await self.until(client, "held back", lambda said: "requires_confirmation" not in said)
        await self.kill(process)
        approving = self.forks.Process(target=approve, args=(str(self.folder),))
        approving.start()
        await asyncio.sleep(self.chance.uniform(0, 1.4) * self.approval_seconds)
        await self.kill(approving)
        after = read_pins(self.folder / "tools.lock")  # an error, if half of it was written
        self.expect(set(after) == set(before), f"approved are {set(after)}")
        self.expect(after["s__echo"] == before["s__echo"], "another tool's approval changed")
        self.found.approvals += 1
        self.found.completed += after != before
        if after == before:
            began = monotonic()
            approving = self.forks.Process(target=approve, args=(str(self.folder),))
            approving.start()
            await asyncio.to_thread(approving.join)
            self.approval_seconds = monotonic() - began
            self.expect(approving.exitcode == 0, "after the kill nothing can be approved")

    async def until(self, client: Any, what: str, seen: Callable[[str], bool]) -> None:
        """Make a call until the answer is this; at first the gateway only knows what the server listed last."""
        deadline = monotonic() + PATIENCE
        while not seen(said := text(await call(client, DELETE, {"text": what}))):
            self.expect(monotonic() < deadline, f"{what}: {said}")
            if monotonic() > deadline:
                return
            await asyncio.sleep(0.02)

    def expect(self, true: bool, what: str) -> None:
        if not true:
            self.found.wrong.append(what)

    async def run(self, kills: int) -> Found:
        number = 0
        while self.found.kills < kills:
            number += 1
            await self.kill_while_calling(number)
            await self.ask_again(number)
            await self.kill_while_approving(number)
        made = Counter(self.ledger.read_text().splitlines())
        self.found.made = len(made)
        self.found.wrong += [f"{what!r} was done {times} times" for what, times in made.items() if times > 1]
        return self.found


def killed(folder: Path, kills: int, *, seed: int = 1) -> Found:
    """What a loop of so many kills comes to."""
    return asyncio.run(Loop(folder, seed).run(kills))


@pytest.mark.parametrize("kills", [6, pytest.param(KILLS // 4, marks=pytest.mark.chaos)])
def test_gateways_that_are_killed_use_no_yes_twice_and_keep_their_lock(tmp_path: Path, kills: int) -> None:
    found = killed(tmp_path, kills)
    assert found.wrong == []
    assert min(found.agreed, found.asked_again, found.approvals) >= kills // 4
