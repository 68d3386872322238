"""Events: one value each, the same for every door."""

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from inline_snapshot import snapshot

from toolcrib.agent import events
from toolcrib.agent.events import ConfirmationRequired, Event, ToolDiscoveryResult

ALL: list[Event] = [
    events.RunStarted(session="s", text="Hi", model="offline"),
    events.ToolDiscoveryStart(query="find"),
    ToolDiscoveryResult(query="find", tools=("a", "b"), confidence=0.9, took_ms=1.5, named=("c",)),
    events.ToolsEnabled(names=("a",)),
    events.ToolStarted(call_id="1", name="a", arguments={"x": (1, 2)}),
    events.ToolFinished(call_id="1", name="a", text="ok", failed=False, took_ms=2.0),
    ConfirmationRequired(
        id="c", tool="a", arguments={}, reason="it is destructive", expires_at=datetime(2026, 11, 15, tzinfo=UTC)
    ),
    events.Text(delta="He"),
    events.Answered(text="Hello", choices=("yes", "no")),
    events.UsageEvent(requests=1, input_tokens=2, output_tokens=3, cost=None, seconds=0.1),
    events.Warning(text="Careful."),
    events.Failed(message="Broken.", hint="Mend it."),
]


def test_every_event_is_here() -> None:
    assert {type(event) for event in ALL} == set(get_args(Event))


def test_every_event_can_be_said_in_json_its_type_first() -> None:
    said = [json.loads(json.dumps(event.to_json())) for event in ALL]
    assert [next(iter(one)) for one in said] == ["type"] * len(ALL)
    assert [one["type"] for one in said] == snapshot(
        [
            "run_started",
            "tool_discovery_start",
            "tool_discovery_result",
            "tools_enabled",
            "tool_started",
            "tool_finished",
            "confirmation_required",
            "text",
            "answered",
            "usage",
            "warning",
            "failed",
        ]
    )
    assert said[2] == {
        "type": "tool_discovery_result",
        "query": "find",
        "tools": ["a", "b"],
        "confidence": 0.9,
        "took_ms": 1.5,
        "named": ["c"],
    }
    assert said[4]["arguments"] == {"x": [1, 2]}
    assert said[6]["expires_at"] == "2026-11-15T00:00:00+00:00"


def test_an_event_does_not_change() -> None:
    with pytest.raises(AttributeError):
        setattr(ALL[7], "delta", "x")  # noqa: B010 - a type checker would refuse it, too


def test_the_reference_names_every_event_and_field() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "events.md").read_text("utf-8")
    for event in ALL:
        named = ", ".join(f"`{one.name}`" for one in fields(event) if one.name != "type")
        assert f"| `{event.type}` | `{type(event).__name__}` | {named} |" in page
