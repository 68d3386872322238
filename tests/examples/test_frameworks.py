"""The loops under examples/frameworks, each as its reader would start it, against a scripted provider."""

import io
import runpy
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.wire import Call, Turn, WireServer

pytestmark = pytest.mark.process

FOLDER = Path(__file__).parents[2] / "examples" / "frameworks"
LOOPS = ["openai_chat.py", "openai_responses.py", "anthropic_messages.py", "langgraph_agent.py"]
NOTE = "Never more than 1 litre."
SCRIPT = [
    Turn(Call("tool_search", {"query": "give it water"})),
    Turn("One moment. ", Call("water_plant", {"name": "fern", "litres": "0.5"})),
    Turn("The fern is happy."),
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))  # pyright: ignore[reportUnknownMemberType] - pytest says no types of it
    monkeypatch.delitem(sys.modules, "plants", raising=False)


def started(file: str, question: str, script: list[Turn], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a program asked of its provider."""
    with WireServer(script) as server:
        for name in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_API_KEY", "key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.origin)
        monkeypatch.setattr(sys, "argv", [file, *question.split()])
        runpy.run_path(str(FOLDER / file), run_name="__main__")
        return server.bodies


@pytest.mark.parametrize("file", ["openai_chat.py", "langgraph_agent.py"])
def test_chat_completions(file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = started(file, "Give the fern some water", SCRIPT, monkeypatch)
    assert capsys.readouterr().out == "The fern is happy.\n"
    tools = [[entry["function"]["name"] for entry in body["tools"]] for body in bodies]
    assert tools[0] == ["tool_search"]
    assert tools[1] == tools[2]
    assert "water_plant" in tools[1]
    assert [NOTE in body["messages"][0]["content"] for body in bodies] == [False, True, True]
    assert bodies[2]["messages"][-1]["content"] == "The fern has 0.5 litres more."
    assert [convert_to_openai_tool(entry) for entry in bodies[1]["tools"]] == bodies[1]["tools"]  # as `bind_tools` does


async def test_a_checkpoint_of_langgraph_keeps_the_tools_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with WireServer([*SCRIPT, Turn("Yes, half a litre.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        example = runpy.run_path(str(FOLDER / "langgraph_agent.py"))
        graph = example["graph"]().compile(checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "one"}}
        empty: dict[str, Any] = {"version": 1, "active": [], "used": []}
        await graph.ainvoke({"messages": [("user", "Water the fern")], "toolbox": empty}, config)
        ended = await graph.ainvoke({"messages": [("user", "Was it enough?")]}, config)
    assert ended["messages"][-1].text == "Yes, half a litre."
    assert "water_plant" in [entry["function"]["name"] for entry in server.bodies[-1]["tools"]]


def test_openai_responses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = started("openai_responses.py", "Give the fern some water", SCRIPT, monkeypatch)
    assert capsys.readouterr().out == "The fern is happy.\n"
    assert [body["tools"] for body in bodies] == [bodies[0]["tools"]] * 3
    assert [entry["type"] for entry in bodies[0]["tools"]] == ["tool_search"]
    for before, after in pairwise(bodies):
        assert after["input"][: len(before["input"])] == before["input"]
    shown, note = bodies[1]["input"][-2:]
    assert "water_plant" in [entry["name"] for entry in shown["tools"]]
    assert note["role"] == "developer"
    assert NOTE in note["content"]
    assert bodies[2]["input"][-1]["output"] == "The fern has 0.5 litres more."


def test_anthropic_messages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = started("anthropic_messages.py", "Give the fern some water", SCRIPT, monkeypatch)
    assert capsys.readouterr().out == "The fern is happy.\n"
    assert [(body["tools"], body["system"]) for body in bodies] == [(bodies[0]["tools"], bodies[0]["system"])] * 3
    assert [entry.get("defer_loading", False) for entry in bodies[0]["tools"]] == [False, True, True, True]
    for before, after in pairwise(bodies):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    shown, note = bodies[1]["messages"][-1]["content"]
    assert {"type": "tool_reference", "tool_name": "water_plant"} in shown["content"]
    assert NOTE in note["text"]
    assert bodies[2]["messages"][-1]["content"][0]["content"] == "The fern has 0.5 litres more."


@pytest.mark.parametrize("file", LOOPS)
@pytest.mark.parametrize(("said", "outcome"), [("y", "The fern is no more."), ("", "The user said no.")])
def test_a_risky_call_waits_for_a_yes(
    file: str, said: str, outcome: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{said}\n"))
    script = [Turn(Call("compost_plant", {"name": "fern"})), Turn("So be it.")]
    bodies = started(file, "Throw the fern away", script, monkeypatch)
    assert capsys.readouterr().out == "compost_plant {'name': 'fern'}? [y/N] So be it.\n"
    assert outcome in str(bodies[1])


@pytest.mark.parametrize("file", LOOPS)
def test_a_model_that_never_ends_is_stopped(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = started(file, "Which plants?", [Turn(Call("list_plants"))] * 15, monkeypatch)
    assert capsys.readouterr().out == "No answer after 15 steps.\n"
    assert len(bodies) == 15


def test_pydantic_ai(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PYDANTIC_AI_NO_BANNER", "1")
    bodies = started("pydantic_ai_agent.py", "Give the fern some water", SCRIPT, monkeypatch)
    assert capsys.readouterr().out == "The fern is happy.\n"
    assert [entry["name"] for entry in bodies[0]["tools"]] == ["tool_search"]
    assert NOTE in str(bodies[1])
    assert "The fern has 0.5 litres more." in str(bodies[2])
