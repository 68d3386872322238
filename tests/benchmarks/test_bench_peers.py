"""Every peer is given the same text, and a coroutine that never waits is driven without a loop."""

import asyncio

import pytest

from benchmarks.data import never_called
from benchmarks.peers import finish, full_text, short_text
from toolcrib.tools.tool import Tool

TOOL = Tool(
    name="getWeather",
    description="Tell the weather.",
    category="daily",
    parameters={"type": "object", "properties": {"cityName": {"description": "Where"}, "days": {}}},
    call=never_called,
)


def test_text_rankers_get_all_there_is_and_encoders_a_sentence() -> None:
    assert full_text(TOOL) == "get Weather Tell the weather. daily city Name Where days "
    assert short_text(TOOL) == "get Weather: Tell the weather."


def test_a_coroutine_that_never_waits_is_finished_at_once() -> None:
    async def answer() -> int:
        return 42

    assert finish(answer()) == 42


def test_a_coroutine_that_waits_is_refused() -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="event loop"):
        finish(wait())
