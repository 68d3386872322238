"""Real providers' models, real HTTP, a scripted server: discovery on each wire, faults, and keys that stay secret."""

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai import Agent

from benchmarks.request_parts import kept_prefix
from benchmarks.wire import Call, Drop, Malformed, Refuse, Slow, Turn, WireServer
from benchmarks.wire.script import Answer
from benchmarks.wire.server import Wire
from toolcrib import Catalog, Protocol, Toolbox
from toolcrib.agent import events
from toolcrib.agent.crib import Crib
from toolcrib.agent.limits import Limits
from toolcrib.agent.models import model_for
from toolcrib.agent.runner import RunResult, run, stream
from toolcrib.agent.toolset import CribToolset
from toolcrib.discovery.search_surface import search_surface
from toolcrib.discovery.wire import WIRES
from toolcrib.stores.session import Session

pytestmark = pytest.mark.process

MODELS: dict[Wire, str] = {
    "openai-chat": "openai-chat:gpt-5.4",
    "openai-responses": "openai-responses:gpt-5.4",
    "anthropic": "anthropic:claude-sonnet-5-5",
}
KEY = "sk-very-secret-0123456789abcdef"
NOTE = "Never more than 1 litre."
SEARCH = Turn(Call("tool_search", {"query": "give it water"}))
WATER = Turn(Call("water_plant", {"name": "fern", "litres": "0.5"}))
DONE = Turn("The fern is happy.")
LATER = Refuse(429, retry_after=0.01)

every_wire = pytest.mark.parametrize("wire", WIRES)


def plants() -> Catalog:
    catalog = Catalog()

    @catalog.tool(phrases=["give it water"], protocol=Protocol(gotcha=NOTE))
    def water_plant(name: str, litres: float = 0.2) -> str:
        """Water a plant."""
        return f"The {name} has {litres} litres more."

    @catalog.tool(phrases=["turn on a lamp"], protocol=Protocol(before="Draw the curtains."))
    def switch_lamp(on: bool) -> str:
        """Switch the lamp on or off."""
        return f"The lamp is {'on' if on else 'off'}."

    return catalog


@asynccontextmanager
async def provider(wire: Wire, *script: Answer, **options: Any) -> AsyncGenerator[tuple[Crib, WireServer]]:
    """A crib whose model is at a scripted server; it never sleeps."""
    options.setdefault("sleep", no_sleep)
    with WireServer(script) as server:
        model = model_for(MODELS[wire], base_url=server.url_for(wire), api_key=KEY)
        async with model:  # closes its connections
            yield Crib(plants(), model=model, **options), server


async def no_sleep(seconds: float) -> None:
    """No time passes."""


async def asked(
    session: Session, wire: Wire, *script: Answer, **options: Any
) -> tuple[RunResult, list[dict[str, Any]]]:
    async with provider(wire, *script, **options) as (crib, server):
        return await run(session, "Give the fern some water", crib=crib), server.bodies


def tool_names(wire: Wire, body: dict[str, Any]) -> list[str]:
    """Which tools a request has told the model of."""
    entries = list(body["tools"])
    entries += [entry for item in body.get("input", ()) for entry in item.get("tools", ())]
    return [entry["function"]["name"] if wire == "openai-chat" else entry["name"] for entry in entries]


# Discovery


@every_wire
async def test_tools_are_found_and_called_with_their_protocol_at_hand(wire: Wire, session: Session) -> None:
    done, bodies = await asked(session, wire, SEARCH, WATER, DONE)
    assert (done.answer, done.failed) == ("The fern is happy.", None)
    assert [tool_names(wire, body) for body in bodies] == [["tool_search"], *[["tool_search", "water_plant"]] * 2]
    assert [json.dumps(body).count(NOTE) for body in bodies] == [0, 1, 1]
    assert "The fern has 0.5 litres more." in json.dumps(bodies[2])
    assert [event.type for event in done.events if event.type != "text"] == [
        "run_started",
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
        "tool_started",
        "tool_finished",
        "answered",
        "usage",
    ]


@every_wire
async def test_the_words_come_as_they_are_written(wire: Wire, session: Session) -> None:
    async with provider(wire, Turn("One two three.")) as (crib, server):
        happened = [event async for event in stream(session, "Count", crib=crib)]
    deltas = [event.delta for event in happened if isinstance(event, events.Text)]
    assert deltas == ["One ", "two ", "three."]
    assert server.bodies[0]["stream"] is True


@every_wire
async def test_a_later_turn_needs_no_second_search(wire: Wire, session: Session) -> None:
    async with provider(wire, SEARCH, WATER, DONE, WATER, DONE) as (crib, server):
        await run(session, "Give the fern some water", crib=crib)
        again = await run(session, "And once more", crib=crib)
        assert again.answer == DONE.text
        assert "water_plant" in tool_names(wire, server.bodies[3])
        assert NOTE in json.dumps(server.bodies[3])


@pytest.mark.parametrize("wire", ["openai-responses", "anthropic"])
async def test_what_was_sent_stays_as_it_was_so_that_the_prompt_cache_holds(wire: Wire, session: Session) -> None:
    lamp = [Turn(Call("tool_search", {"query": "turn on a lamp"})), Turn(Call("switch_lamp", {"on": True}))]
    async with provider(wire, Turn("Hello."), SEARCH, WATER, DONE, *lamp, Turn("Bright.")) as (crib, server):
        for text in ("Hi", "Give the fern some water", "Turn on a lamp"):
            assert (await run(session, text, crib=crib)).failed is None
        for before, after in pairwise(server.bodies):
            same, whole = kept_prefix(wire, before, after)
            assert same == whole


@every_wire
async def test_the_toolset_works_in_anyones_agent(wire: Wire) -> None:
    async with provider(wire, SEARCH, WATER, DONE) as (crib, server):
        agent = Agent(crib.thinker, toolsets=[CribToolset(Toolbox(plants(), surface=search_surface))])
        assert (await agent.run("Give the fern some water")).output == "The fern is happy."
        assert [tool_names(wire, body) for body in server.bodies][0::2] == [
            ["tool_search"],
            ["tool_search", "water_plant"],
        ]
        assert NOTE in json.dumps(server.bodies[1])


# Faults


PASSING = {
    "later": LATER,
    "broken": Refuse(500),
    "away": Refuse(503),
    "dropped": Drop(DONE),
    "at once": Drop(DONE, after=0),
}


@every_wire
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_a_passing_fault_is_told_and_tried_again(wire: Wire, fault: Answer, session: Session) -> None:
    done, bodies = await asked(session, wire, SEARCH, fault, WATER, fault, DONE)
    assert (done.answer, done.failed) == ("The fern is happy.", None)
    assert [event.type for event in done.events].count("warning") == 2
    assert len(bodies) == 5
    assert bodies[1] == bodies[2]
    assert bodies[3] == bodies[4]


@every_wire
async def test_a_provider_may_say_how_long_to_wait(wire: Wire, session: Session) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    done, _ = await asked(session, wire, Refuse(429, retry_after=7), Refuse(500), DONE, sleep=sleep)
    assert done.failed is None
    assert waited == [7.0, 2.0]


FAULTS: list[tuple[Answer, str]] = [
    (LATER, "is asked too often (429)."),
    (Refuse(500), "had an error of its own (500)."),
    (Drop(DONE), "The connection to"),
]


@every_wire
@pytest.mark.parametrize(("fault", "message"), FAULTS, ids=["429", "500", "dropped"])
async def test_a_fault_that_stays_ends_in_clear_words(
    wire: Wire, fault: Answer, message: str, session: Session
) -> None:
    done, bodies = await asked(session, wire, fault, fault, fault)
    assert done.failed is not None
    assert message in done.failed.message
    assert MODELS[wire].partition(":")[2] in done.failed.message
    assert done.failed.hint
    assert len(bodies) == 3
    async with provider(wire, DONE) as (crib, _):  # and the session goes on
        assert (await run(session, "Again", crib=crib)).answer == DONE.text


@every_wire
async def test_a_reply_that_is_no_json_is_a_clear_failure(wire: Wire, session: Session) -> None:
    broken = Malformed()
    done, _ = await asked(session, wire, broken, broken, broken)
    assert done.failed is not None
    assert done.answer == ""


@every_wire
async def test_a_refused_key_is_not_tried_again(wire: Wire, session: Session) -> None:
    done, bodies = await asked(session, wire, Refuse(401, message=f"Incorrect API key provided: {KEY}"))
    assert done.failed is not None
    assert "(401)" in done.failed.message
    assert len(bodies) == 1


@every_wire
async def test_a_provider_that_does_not_answer_runs_into_the_time_limit(wire: Wire, session: Session) -> None:
    done, _ = await asked(session, wire, Slow(DONE), limits=Limits(seconds=0.2))
    assert done.failed is not None
    assert done.failed.message == "No answer within 0.2 seconds."


@every_wire
async def test_stopping_in_the_middle_leaves_a_session_that_goes_on(wire: Wire, session: Session) -> None:
    async with provider(wire, SEARCH, Slow(Turn("One two three"), after=4), DONE) as (crib, _):
        happening = stream(session, "Give the fern some water", crib=crib)
        async for event in happening:
            if isinstance(event, events.Text):
                break
        await happening.aclose()
        assert (await run(session, "Never mind", crib=crib)).answer == DONE.text


# Models that get things wrong


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
async def test_arguments_that_are_no_json_come_back_as_a_failed_call(wire: Wire, session: Session) -> None:
    broken = Turn(Call("water_plant", '{"name": "fern'))
    done, _ = await asked(session, wire, SEARCH, broken, WATER, DONE)
    assert done.answer == DONE.text
    assert [event.failed for event in done.events if isinstance(event, events.ToolFinished)] == [True, False]


@every_wire
async def test_an_unknown_tool_is_answered_with_the_nearest_name(wire: Wire, session: Session) -> None:
    done, bodies = await asked(session, wire, Turn(Call("water_plants", {"name": "fern"})), DONE)
    assert done.answer == DONE.text
    assert "Did you mean 'water_plant'?" in json.dumps(bodies[1])


# Keys


@every_wire
async def test_a_key_is_in_no_event_and_in_no_log(
    wire: Wire, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    refused = Refuse(401, message=f"Incorrect API key provided: {KEY}. Authorization: Bearer {KEY}")
    async with provider(wire, LATER, SEARCH, refused) as (crib, server):
        done = await run(session, "Give the fern some water", crib=crib)
        headers = server.requests[0].headers
        assert KEY in headers.get("authorization", "") + headers.get("x-api-key", "")
    assert done.failed is not None
    said = [json.dumps(event.to_json()) for event in done.events]
    said += [json.dumps(entry) for entry in session.history]
    said += [f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records if "toolcrib" in record.name]
    assert [text for text in said if KEY in text] == []
