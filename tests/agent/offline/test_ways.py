"""Every way into a catalog: a search, a walk, a list, domains, or all tools at once."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from tests.support.offline import Talk, notes_catalog
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.surfaces.browse import browse_surface, compact_surface
from toolcrib.discovery.surfaces.domains import domain_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.tools.tool import Tool

GREP = "find a tool that can grep file contents and tell me what it requires; do not run it"


def renamed_surface(toolbox: Toolbox) -> tuple[Tool, ...]:
    return search_surface(toolbox, name="find_tools")


WAYS: dict[str, dict[str, Any]] = {
    "search": {},
    "renamed": {"surface": renamed_surface},
    "browse": {"surface": browse_surface},
    "compact": {"surface": compact_surface, "mode": Mode.COMPACT},
    "domains": {"surface": domain_surface},
    "direct": {"surface": None, "mode": Mode.DIRECT},
}


@asynccontextmanager
async def talking(way: str) -> AsyncGenerator[Talk]:
    async with SqliteStore(None) as store, store.open(way) as session:
        yield Talk(session, notes_catalog(), **WAYS[way])


Talking = Callable[[str], AbstractAsyncContextManager[Talk]]


def inner(calls: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """The calls, those through `execute_tool` as what they stand for."""
    return [(given["name"], given["params"]) if name == "execute_tool" else (name, given) for name, given in calls]


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_is_found_filled_and_called(way: str) -> None:
    async with talking(way) as talk:
        assert "Lisbon" in await talk.say("read the holiday note")
        assert inner(talk.calls) == [("list_notes", {}), ("get_note", {"note": "n2"})]


@pytest.mark.parametrize("way", WAYS)
async def test_a_deletion_is_asked_for_and_confirmed(way: str) -> None:
    async with talking(way) as talk:
        await talk.say("delete the tax note")
        assert await talk.say("ja") == "Deleted the note 'Tax'."
        assert inner(talk.calls) == [("delete_note", {"note": "n3", "confirmed": True})]


@pytest.mark.parametrize("way", WAYS)
async def test_an_unserved_request_calls_nothing(way: str) -> None:
    async with talking(way) as talk:
        await talk.say("compose a haiku on penguins")
        assert talk.calls == []


async def test_a_tool_is_described_and_not_run_in_two_discovery_calls() -> None:
    async with talking("browse") as talk:
        answer = await talk.say(GREP)
        assert (len(talk.searches), talk.calls) == (2, [])
    assert answer == (
        "**grep_files**: Search the contents of files for a pattern and list the lines that match.\n"
        "It requires `pattern`.\nOptional: `path`, `ignore_case`.\nI did not run it."
    )


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_is_described_on_every_way(way: str) -> None:
    async with talking(way) as talk:
        assert "It requires `pattern`." in await talk.say(GREP)
        assert talk.calls == []
