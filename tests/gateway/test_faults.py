"""Broken upstreams, real processes each: everything else keeps working, and the caller reads what happened."""

import asyncio
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from tests.support.gateway import PATIENT, SOON, call, entry, in_memory, made_gateway, text
from toolcrib.sources.mcp.config import McpLimits

pytestmark = [pytest.mark.anyio, pytest.mark.process]
# What should work has all the time that a busy machine may need; what should fail has little.
LIMITS = replace(PATIENT, first_retry_seconds=0.01, message_bytes=1 << 20)
SHORT = McpLimits(connect_seconds=2, list_seconds=2, call_seconds=2)
LONG = 5 * SOON  # twenty processes
BROKEN = {
    "hangs": entry(start="hang"),
    "dies": entry(start="die"),
    "never-lists": entry(list="hang"),
    "lists-nonsense": entry(list="broken"),
    "missing": {"command": "no-such-program"},
}


async def test_five_of_twenty_are_broken_and_fifteen_work() -> None:
    good = {f"good{number}": entry() for number in range(15)}
    gateway = made_gateway(good | BROKEN, server_limits=LIMITS, special=dict.fromkeys(BROKEN, SHORT))
    async with asyncio.timeout(LONG), in_memory(gateway) as client:
        assert len((await client.list_tools()).tools) == 3  # waits for nobody
        answers = await asyncio.gather(*(call(client, f"{name}__echo", {"text": name}) for name in good))
        assert [text(answer) for answer in answers] == list(good)
        await gateway.sources.wait_until_settled()
        nothing = await client.call_tool("search_tools", {"query": "paint a picture of the moon"})
        missing = text(nothing).splitlines()[1]
        assert missing.startswith("Not searched: mcp:")
        assert [name for name in BROKEN if f"mcp:{name} (" in missing] == list(BROKEN)
        assert "good" not in missing


async def test_what_goes_wrong_in_a_call_is_told_and_hurts_nobody_else() -> None:
    told = {
        "hang": entry(call={"echo": "hang"}) | {"timeout": 2_000},
        "die": entry(call={"echo": "die"}),
        "flood": entry(call={"echo": "chatter"}),
        "big": entry(call={"echo": "big"}, bytes=50_000_000),
        "lie": entry(call={"echo": "lie"}),
        "nonsense": entry(call={"echo": "nonsense"}),
        "refuse": entry(call={"echo": "refuse"}),
        "good": entry(),
    }
    gateway = made_gateway(told, server_limits=LIMITS)
    async with asyncio.timeout(LONG), in_memory(gateway) as client:
        await gateway.sources.wait_until_settled()
        answers = await asyncio.gather(*(call(client, f"{name}__echo", {"text": "fine"}) for name in told))
        said = {name: (answer.is_error, text(answer)) for name, answer in zip(told, answers, strict=True)}
        assert said == snapshot(
            {
                "hang": (
                    True,
                    "hang did not answer within 2 seconds; the call was cancelled. Whether it did its work is not known. Look before you try again.",  # noqa: E501
                ),
                "die": (True, "die gave no result: it ended before it answered. Whether it did its work is not known."),
                "flood": (False, "said it all"),
                "big": (True, "big refused the call: its answer is too large: 50,000,082 bytes, at most 1,048,576"),
                "lie": (False, "twelve"),
                "nonsense": (True, "nonsense gave no result: its answer does not follow MCP."),
                "refuse": (True, "refuse refused the call: no such thing"),
                "good": (False, "fine"),
            }
        )
        assert text(await call(client, "good__echo", {"text": "still fine"})) == "still fine"


async def test_a_server_that_died_is_there_again_for_the_next_call(tmp_path: object) -> None:
    gateway = made_gateway({"s": entry(call={"delete_all": "die"})}, server_limits=LIMITS, let_models_confirm=True)
    async with asyncio.timeout(LONG), in_memory(gateway) as client:
        code = text(await call(client, "s__delete_all")).split('"confirmed": "')[1].split('"')[0]
        assert "ended" in text(await call(client, "s__delete_all", confirmed=code))
        assert text(await call(client, "s__echo", {"text": "back"})) == "back"
