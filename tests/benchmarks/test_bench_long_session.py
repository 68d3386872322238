"""The benchmark of a long session: what it counts, and that its model searches only for what it does not see."""

from typing import Any

import pytest

from benchmarks import long_session
from benchmarks.long_session import (
    ALL_TOOLS,
    DISCOVERY,
    LARGE_ALL_TOOLS,
    LARGE_DISCOVERY,
    Spent,
    most_saved,
    saved,
    session,
    tokens,
    visible,
)
from toolcrib_cms import build


def test_a_session_has_fifty_requests() -> None:
    requests = session()
    assert len(requests) == 50
    assert len({request.user for request in requests}) == 50


def test_a_tool_that_claude_holds_back_is_seen_when_a_message_adds_it() -> None:
    held: dict[str, Any] = {"name": "get_page", "input_schema": {}, "defer_loading": True}
    added = {"role": "system", "content": [{"type": "tool_addition", "tool": {"name": "get_page"}}]}
    body: dict[str, Any] = {
        "tools": [{"name": "find", "input_schema": {}}, held],
        "messages": [{"role": "user", "content": "Hello"}],
    }
    assert visible("anthropic", body) == {"find"}
    assert visible("anthropic", {**body, "messages": [added]}) == {"find", "get_page"}
    assert tokens("anthropic", body) > tokens("anthropic", {**body, "tools": body["tools"][:1]})


def test_a_cached_token_counts_a_tenth() -> None:
    one = Spent(user="", steps=1, searches=0, tokens=3_000, cached=2_000, tools=1)
    other = Spent(user="", steps=1, searches=0, tokens=6_000, cached=0, tools=1)
    assert one.cost == pytest.approx(1_200)
    assert saved([one], [other], cached=True) == pytest.approx(0.8)
    assert saved([one], [other], cached=False) == pytest.approx(0.5)


def test_the_most_that_can_be_saved_are_the_definitions() -> None:
    one = Spent(user="", steps=2, searches=0, tokens=6_000, cached=5_000, tools=45, listed=4_000)
    assert most_saved([one], cached=False) == pytest.approx(2 / 3)
    assert most_saved([one], cached=True) == pytest.approx(400 / 1_500)


@pytest.mark.process
async def test_the_same_work_is_done_in_every_way() -> None:
    cms, requests = build(":memory:"), session()[3:7]
    spent = {way: await long_session.hold(cms, "openai-responses", way, requests) for way in (DISCOVERY, ALL_TOOLS)}
    assert [one.searches for one in spent[DISCOVERY]] == [1, 1, 0, 1], "only for what is not visible"
    assert [one.steps for one in spent[ALL_TOOLS]] == [2] * 4
    assert saved(spent[DISCOVERY], spent[ALL_TOOLS], cached=False) > 0.5
    assert most_saved(spent[ALL_TOOLS], cached=False) > saved(spent[DISCOVERY], spent[ALL_TOOLS], cached=False)


@pytest.mark.process
async def test_tools_that_nobody_needs_cost_all_tools_and_not_discovery() -> None:
    cms, requests = build(":memory:"), session()[3:6]
    ways = (DISCOVERY, LARGE_DISCOVERY, LARGE_ALL_TOOLS)
    spent = {way: await long_session.hold(cms, "openai-responses", way, requests) for way in ways}
    assert saved(spent[LARGE_DISCOVERY], spent[DISCOVERY], cached=False) == pytest.approx(0, abs=0.1)
    assert saved(spent[LARGE_DISCOVERY], spent[LARGE_ALL_TOOLS], cached=False) > 0.8
