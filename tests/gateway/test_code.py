"""The gateway with the surface code: programs over the tools of servers, and a yes wherever it is given."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitResult

from tests.support.gateway import ERAS, SOON, entry, in_memory, made_gateway, text
from toolcrib.gateway.pending import WaitingCalls
from toolcrib.gateway.server import Gateway
from toolcrib.stores.store import open_store

pytestmark = [pytest.mark.anyio, pytest.mark.process]

CODE = """\
import asyncio
words = await asyncio.gather(*[s__echo(text=w) for w in ["żółw", "页"]])
try:
    last = await s__delete_all(text="everything")
except Denied as no:
    last = str(no)
[*words, last]"""


def gateway(**options: Any) -> Gateway:
    return made_gateway({"s": entry()}, surface="code", **options)


class User:
    """Answers questions in turn, and remembers them."""

    def __init__(self, *answers: bool) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": self._answers.pop(0)})


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("yes", "last"), [(True, "everything"), (False, "The user declined this call.")])
async def test_a_program_pauses_for_the_user_and_goes_on(era: str, yes: bool, last: str) -> None:
    user = User(yes)
    async with asyncio.timeout(SOON), in_memory(gateway(), era, elicitation_callback=user) as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["tool_search", "run_code"]
        found = text(await client.call_tool("tool_search", {"query": "s__echo"}))
        assert "s__echo(text: str" in found
        assert text(await client.call_tool("run_code", {"code": CODE})) == f'["żółw","页","{last}"]'
    [question] = user.asked
    assert question.startswith("Allow s__delete_all to run with these arguments?")
    assert '>   4 |     last = await s__delete_all(text="everything")' in question


async def test_two_questions_of_one_program_are_two_questions() -> None:
    user = User(True, False)
    code = 'first = await s__delete_all(text="a")\nawait s__delete_all(text="b")'
    async with asyncio.timeout(SOON), in_memory(gateway(), ERAS[0], elicitation_callback=user) as client:
        result = await client.call_tool("run_code", {"code": code})
    assert len(user.asked) == 2
    assert "Denied: The user declined this call." in text(result)


async def test_a_program_goes_on_after_a_restart_once(tmp_path: Path) -> None:
    store, waiting = tmp_path / "sessions.db", WaitingCalls(tmp_path / "calls.db")
    async with asyncio.timeout(SOON), in_memory(gateway(programs=open_store(store), waiting_calls=waiting)) as client:
        asked = text(await client.call_tool("run_code", {"code": CODE}))
    program = asked.partition("resume='")[2].partition("'")[0]
    assert "call it again, unchanged" not in asked
    again = WaitingCalls(tmp_path / "calls.db")
    async with (
        asyncio.timeout(SOON),
        in_memory(gateway(programs=open_store(store), waiting_calls=again)) as client,
        in_memory(gateway(programs=open_store(store), waiting_calls=again)) as other,
    ):
        assert "requires_confirmation" in text(await client.call_tool("run_code", {"resume": program}))
        [call] = again.waiting()
        assert (call.tool, again.answer(call.code, agreed=True)) == ("s__delete_all", True)
        done = text(await client.call_tool("run_code", {"resume": program}))
        assert done == '["żółw","页","everything"]'
        for late in (client, other):
            assert "There is no program" in text(await late.call_tool("run_code", {"resume": program}))
