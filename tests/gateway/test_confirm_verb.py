"""Clients that cannot ask their user: the call waits for `toolcrib gateway confirm`, and no model can answer it."""

import asyncio
import json
import os
import pty
import re
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.support.gateway import (
    ERAS,
    SOON,
    TOKEN,
    call,
    entry,
    in_memory,
    made_gateway,
    over_http,
    over_stdio,
    serving,
    text,
    write_config,
)
from toolcrib.cli.main import main
from toolcrib.errors import GatewayError
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.gateway.pending import MOST_WAITING, WaitingCalls
from toolcrib.settings import Settings
from toolcrib.sources.mcp.source import McpToolCall

pytestmark = pytest.mark.anyio
DELETE = "s__delete_all"
ARGUMENTS = {"text": "everything"}
CONFIRM = "import sys; from toolcrib.cli.main import main; sys.exit(main(['gateway', 'confirm']))"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def kept(tmp_path: Path) -> WaitingCalls:
    return WaitingCalls(tmp_path / "confirmations.db", label="mcp.json")


def in_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str | None) -> list[str]:
    """Let the command talk with a person who types this, or with None the code; gives what it asked."""
    asked: list[str] = []

    def typed(shown: str) -> str:
        asked.append(shown)
        found = re.search(r"Type (\w+) to allow", shown)
        assert found is not None
        return found[1] if answer is None else answer

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", typed)
    return asked


@pytest.mark.process
@pytest.mark.parametrize("era", ERAS)
async def test_the_call_is_refused_until_a_person_allows_it(era: str, kept: WaitingCalls) -> None:
    gateway = made_gateway({"s": entry()}, waiting_calls=kept)
    async with asyncio.timeout(SOON), in_memory(gateway, era) as client:
        assert "confirmed" not in (await client.list_tools()).tools[2].input_schema["properties"]
        refused = await call(client, DELETE, ARGUMENTS)
        assert refused.is_error
        assert text(refused) == snapshot("""\
requires_confirmation: s__delete_all was not called. The user has to agree first, because it is destructive.
It would be called with {"text":"everything"}
You cannot confirm it, and this client cannot ask its user. Tell them what would happen.
They can allow it with `toolcrib gateway confirm` in a terminal. Then call it again, unchanged.\
""")
        (waiting,) = kept.waiting()
        assert (waiting.tool, waiting.caller, waiting.gateway) == (DELETE, "local", "mcp.json")
        assert json.loads(waiting.arguments) == ARGUMENTS
        # Nothing that the model has seen, and nothing it can send, is a yes.
        assert waiting.code not in text(refused)
        for confirmed in (True, "yes", f"yes-{waiting.code}", waiting.code):
            assert (await call(client, DELETE, ARGUMENTS, confirmed=confirmed)).is_error
        assert [one.code for one in kept.waiting()] == [waiting.code]  # it is the same question still

        assert kept.answer(waiting.code, agreed=True)
        assert (await call(client, DELETE, {"text": "something else"})).is_error
        assert text(await call(client, DELETE, ARGUMENTS)) == "everything"
        assert (await call(client, DELETE, ARGUMENTS)).is_error  # once

        codes = {one.code: json.loads(one.arguments) for one in kept.waiting()}
        assert list(codes.values()) == [{"text": "something else"}, ARGUMENTS]
        for code in codes:
            assert kept.answer(code, agreed=False)
        assert text(await call(client, DELETE, ARGUMENTS)).startswith("The user did not agree, so s__delete_all")
    assert kept.waiting() == []


@pytest.mark.process
async def test_a_yes_is_not_for_a_tool_that_changed_meanwhile(kept: WaitingCalls) -> None:
    gateway = made_gateway({"s": entry()}, waiting_calls=kept)
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        await call(client, DELETE, ARGUMENTS)
        assert kept.answer(kept.waiting()[0].code, agreed=True)
        tool = gateway.quarantine.catalog.get(DELETE)
        assert isinstance(tool.call, McpToolCall)
        definition = tool.call.definition.model_copy(update={"description": "Delete it elsewhere."})
        gateway.quarantine.catalog.replace(replace(tool, call=replace(tool.call, definition=definition)))
        assert (await call(client, DELETE, ARGUMENTS)).is_error
        assert len(kept.waiting()) == 1


@pytest.mark.process
async def test_over_http_a_yes_is_for_one_caller(kept: WaitingCalls) -> None:
    gateway = made_gateway({"s": entry()}, waiting_calls=kept)
    with serving(gateway, tokens={TOKEN: "ann", "another-token": "bob"}) as url:
        async with asyncio.timeout(SOON), over_http(url) as ann, over_http(url, token="another-token") as bob:
            assert (await call(ann, DELETE, ARGUMENTS)).is_error
            (waiting,) = kept.waiting()
            assert waiting.caller == "ann"
            assert kept.answer(waiting.code, agreed=True)
            assert (await call(bob, DELETE, ARGUMENTS)).is_error
            assert text(await call(ann, DELETE, ARGUMENTS)) == "everything"
    assert kept.waiting() == []  # they end with the gateway that could make them


@pytest.mark.process
async def test_what_no_form_and_no_terminal_shows_whole_is_refused(kept: WaitingCalls) -> None:
    limits = GatewayLimits(form_characters=50, terminal_characters=100)
    gateway = made_gateway({"s": entry()}, waiting_calls=kept, limits=limits)

    async def nobody(context: Any, params: Any) -> Any:
        raise NotImplementedError

    async with asyncio.timeout(SOON), in_memory(gateway, elicitation_callback=nobody) as client:
        assert "toolcrib gateway confirm" in text(await call(client, DELETE, {"text": "x" * 60}))
        assert len(kept.waiting()) == 1
        assert "211 characters are more than a form shows whole (50)" in text(
            await call(client, DELETE, {"text": "x" * 200})
        )
    async with asyncio.timeout(SOON), in_memory(made_gateway({"s": entry()}, limits=limits)) as client:
        assert "100" not in text(await call(client, DELETE, {"text": "x" * 60}))


@pytest.mark.process
async def test_a_flood_of_calls_hides_none(kept: WaitingCalls) -> None:
    gateway = made_gateway({"s": entry()}, waiting_calls=kept)
    async with asyncio.timeout(SOON), in_memory(gateway) as client:
        for number in range(MOST_WAITING):
            await call(client, DELETE, {"text": str(number)})
        assert "too many calls wait for the user's yes" in text(await call(client, DELETE, {"text": "one more"}))
        assert "too many" not in text(await call(client, DELETE, {"text": "0"}))
        assert len(kept.waiting()) == MOST_WAITING


@pytest.mark.process
async def test_without_a_terminal_of_its_own_a_client_that_cannot_ask_is_refused() -> None:
    async with asyncio.timeout(SOON), in_memory(made_gateway({"s": entry()})) as client:
        refused = await call(client, DELETE, ARGUMENTS)
    assert (refused.is_error, text(refused)) == snapshot(
        (
            True,
            """\
requires_confirmation: s__delete_all was not called. The user has to agree first, because it is destructive.
It would be called with {"text":"everything"}
You cannot confirm it, and this client cannot ask its user. Tell them what would happen,
and that it needs a client that can ask (MCP elicitation).\
""",
        )
    )


@pytest.mark.process
async def test_in_a_real_terminal_the_code_is_typed(tmp_path: Path) -> None:
    """The gateway, its client and the command are three programs; only the person at the terminal sees the code."""
    async with asyncio.timeout(2 * SOON), over_stdio(str(write_config(tmp_path, s=entry()))) as client:
        assert "toolcrib gateway confirm" in text(await call(client, DELETE, ARGUMENTS))
        main_end, other_end = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CONFIRM, stdin=other_end, stdout=other_end, stderr=other_end
        )
        os.close(other_end)
        seen = ""
        while not (found := re.search(r"Type (\w+) to allow it once", seen)):
            seen += (await asyncio.to_thread(os.read, main_end, 4096)).decode()
        os.write(main_end, f"{found[1]}\n".encode())
        assert await process.wait() == 0
        os.close(main_end)
        assert "local (mcp.json) wants to call s__delete_all, because it is destructive" in seen
        assert '"text": "everything"' in seen
        assert text(await call(client, DELETE, ARGUMENTS)) == "everything"


def test_the_command_allows_refuses_and_leaves(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    assert main(["gateway", "confirm"]) == 0
    assert capsys.readouterr().out == "No call waits for your yes.\n"
    kept = WaitingCalls(Settings.from_environment().confirmations, label="mcp.json")

    def ask(arguments: str = '{\n  "text": "all"\n}') -> None:
        assert kept.ask(caller="ann", tool=DELETE, arguments=arguments, reason="it is destructive", binding="1")

    def answer() -> bool | None:
        return kept.take(caller="ann", binding="1")

    ask()
    assert main(["gateway", "confirm"]) == 2  # not a terminal: shown, without the code
    shown, talk = capsys.readouterr()
    assert shown == snapshot("""\
ann (mcp.json) wants to call s__delete_all, because it is destructive, with:
{
  "text": "all"
}
""")
    assert talk == "Nothing was answered: this needs a terminal.\n"
    assert main(["gateway", "confirm", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["waiting"]
    assert (told["tool"], told["arguments"], "code" in told) == (DELETE, '{\n  "text": "all"\n}', False)
    for typed, code, agreed in (("", 2, None), ("y", 2, None), (None, 0, True), ("no", 0, False)):
        ask()
        asked = in_a_terminal(monkeypatch, typed)
        assert main(["gateway", "confirm"]) == code
        assert (len(asked), answer()) == (1, agreed)
    assert capsys.readouterr().err == snapshot("""\
s__delete_all still waits.
That is not its code; s__delete_all still waits.
s__delete_all is allowed once. Tell the model to go on.
s__delete_all is refused.
""")


def test_what_is_too_old_or_gone_is_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    now = 0.0
    kept = WaitingCalls(tmp_path / "c.db", seconds=10, clock=lambda: now)
    told = {"caller": "ann", "tool": DELETE, "arguments": "{}", "reason": "", "binding": "1"}
    assert kept.ask(**told)
    (waiting,) = kept.waiting()
    assert kept.answer(waiting.code, agreed=True)
    assert not kept.answer(waiting.code, agreed=False)  # answered once
    now = 11.0
    assert kept.take(caller="ann", binding="1") is None
    assert kept.ask(**told)
    other = WaitingCalls(tmp_path / "c.db", clock=lambda: now)
    assert other.take(caller="ann", binding="1") is None
    other.close()  # another gateway's end takes none of ours away
    assert len(kept.waiting()) == 1
    kept.close()
    assert kept.waiting() == []

    shown = WaitingCalls(Settings.from_environment().confirmations)
    assert shown.ask(**told)
    asked = in_a_terminal(monkeypatch, None)

    def too_late(self: WaitingCalls, code: str, *, agreed: bool) -> bool:
        return False

    monkeypatch.setattr(WaitingCalls, "answer", too_late)
    assert main(["gateway", "confirm"]) == 2
    assert "It is too late" in capsys.readouterr().err
    assert len(asked) == 1


def test_only_its_owner_can_read_or_write_the_file(tmp_path: Path) -> None:
    kept = WaitingCalls(tmp_path / "own" / "c.db")
    told = {"caller": "ann", "tool": DELETE, "arguments": "{}", "reason": "", "binding": "1"}
    assert kept.ask(**told)
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    kept.path.chmod(0o660)
    with pytest.raises(GatewayError, match="others could read or write it"):
        kept.take(caller="ann", binding="1")
    kept.path.chmod(0o600)
    kept.path.write_text("this is no database, but long enough to be taken for a damaged one" * 20)
    with pytest.raises(GatewayError, match="confirmations cannot be kept"):
        kept.take(caller="ann", binding="1")


@pytest.mark.process
async def test_a_file_that_cannot_be_used_allows_nothing(tmp_path: Path, kept: WaitingCalls) -> None:
    kept.path.write_text("damaged" * 100)
    kept.path.chmod(0o600)
    async with asyncio.timeout(SOON), in_memory(made_gateway({"s": entry()}, waiting_calls=kept)) as client:
        assert "the user could not be asked" in text(await call(client, DELETE, ARGUMENTS))
