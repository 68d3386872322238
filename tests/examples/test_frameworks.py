"""The loops under examples/frameworks, each as its reader would start it, against a scripted provider."""

import io
import runpy
import sys
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.wire import Call, Turn, WireServer

pytestmark = pytest.mark.process

FOLDER = Path(__file__).parents[2] / "examples" / "frameworks"
GROWING = ["openai_chat.py", "langchain_chat.py", "langgraph_agent.py"]
LOOPS = [*GROWING, "openai_responses.py", "openai_agents.py", "anthropic_messages.py"]
NOTE = "Never more than 1 litre."
SCRIPT = [
    Turn(Call("tool_search", {"query": "give it water"})),
    Turn("One moment. ", Call("water_plant", {"name": "fern", "litres": "0.5"})),
    Turn("The fern is happy."),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
async def one_loop() -> AsyncIterator[None]:
    """One event loop for the whole file: LangChain and the Agents SDK keep their connections."""
    yield  # noqa: PT022 - the loop lives as long as this


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))  # pyright: ignore[reportUnknownMemberType] - pytest says no types of it
    monkeypatch.delitem(sys.modules, "plants", raising=False)
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")  # it would tell OpenAI
    monkeypatch.setenv("PYDANTIC_AI_NO_BANNER", "1")
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "key")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Turn]], AbstractContextManager[WireServer]]:
    """A provider that follows a script, where every SDK looks for it."""

    @contextmanager
    def serve(script: list[Turn]) -> Generator[WireServer]:
        with WireServer(script) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.origin)
            yield server

    return serve


Provider: TypeAlias = Callable[[list[Turn]], AbstractContextManager[WireServer]]


async def asked(file: str, question: str, server: WireServer) -> tuple[str, list[dict[str, Any]]]:
    """What an example answers, and what it asked of its provider for that."""
    example = runpy.run_path(str(FOLDER / file))
    return await example["answer"](question), server.bodies


@pytest.mark.parametrize("file", GROWING)
async def test_chat_completions(file: str, provider: Provider) -> None:
    with provider(SCRIPT) as server:
        said, bodies = await asked(file, "Give the fern some water", server)
    assert said == "The fern is happy."
    tools = [[entry["function"]["name"] for entry in body["tools"]] for body in bodies]
    assert tools[0] == ["tool_search"]
    assert tools[1] == tools[2]
    assert "water_plant" in tools[1]
    assert [NOTE in body["messages"][0]["content"] for body in bodies] == [False, True, True]
    assert bodies[2]["messages"][-1]["content"] == "The fern has 0.5 litres more."
    assert [convert_to_openai_tool(entry) for entry in bodies[1]["tools"]] == bodies[1]["tools"]  # as `bind_tools` does


async def test_a_checkpoint_of_langgraph_keeps_the_tools_found(provider: Provider) -> None:
    with provider([*SCRIPT, Turn("Yes, half a litre.")]) as server:
        example = runpy.run_path(str(FOLDER / "langgraph_agent.py"))
        graph = example["graph"]().compile(checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "one"}}
        empty: dict[str, Any] = {"version": 1, "active": [], "used": []}
        await graph.ainvoke({"messages": [("user", "Water the fern")], "toolbox": empty}, config)
        ended = await graph.ainvoke({"messages": [("user", "Was it enough?")]}, config)
    assert ended["messages"][-1].text == "Yes, half a litre."
    assert "water_plant" in [entry["function"]["name"] for entry in server.bodies[-1]["tools"]]


async def test_openai_responses(provider: Provider) -> None:
    with provider(SCRIPT) as server:
        said, bodies = await asked("openai_responses.py", "Give the fern some water", server)
    assert said == "The fern is happy."
    assert [body["tools"] for body in bodies] == [bodies[0]["tools"]] * 3
    assert [entry["type"] for entry in bodies[0]["tools"]] == ["tool_search"]
    for before, after in pairwise(bodies):
        assert after["input"][: len(before["input"])] == before["input"]
    shown, note = bodies[1]["input"][-2:]
    assert "water_plant" in [entry["name"] for entry in shown["tools"]]
    assert note["role"] == "developer"
    assert NOTE in note["content"]
    assert bodies[2]["input"][-1]["output"] == "The fern has 0.5 litres more."


async def test_openai_agents(provider: Provider) -> None:
    with provider(SCRIPT) as server:
        said, bodies = await asked("openai_agents.py", "Give the fern some water", server)
    assert said == "The fern is happy."
    tools = [[entry["name"] for entry in body["tools"]] for body in bodies]
    assert tools[0] == ["tool_search"]
    assert tools[1] == tools[2]
    assert "water_plant" in tools[1]
    assert [NOTE in body["instructions"] for body in bodies] == [False, True, True]
    assert bodies[2]["input"][-1]["output"] == "The fern has 0.5 litres more."


async def test_anthropic_messages(provider: Provider) -> None:
    with provider(SCRIPT) as server:
        said, bodies = await asked("anthropic_messages.py", "Give the fern some water", server)
    assert said == "The fern is happy."
    assert [(body["tools"], body["system"]) for body in bodies] == [(bodies[0]["tools"], bodies[0]["system"])] * 3
    assert [entry.get("defer_loading", False) for entry in bodies[0]["tools"]] == [False, True, True, True]
    for before, after in pairwise(bodies):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    shown, note = bodies[1]["messages"][-1]["content"]
    assert {"type": "tool_reference", "tool_name": "water_plant"} in shown["content"]
    assert NOTE in note["text"]
    assert bodies[2]["messages"][-1]["content"][0]["content"] == "The fern has 0.5 litres more."


@pytest.mark.parametrize("file", LOOPS)
@pytest.mark.parametrize(("said", "outcome"), [("y", "The fern is no more."), ("", "the user declined")])
async def test_a_risky_call_waits_for_a_yes(
    file: str,
    said: str,
    outcome: str,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{said}\n"))
    found = Turn(Call("tool_search", {"query": "throw a plant on the compost"}))
    with provider([found, Turn(Call("compost_plant", {"name": "fern"})), Turn("So be it.")]) as server:
        answer, bodies = await asked(file, "Throw the fern away", server)
    assert (capsys.readouterr().out, answer) == ("compost_plant {'name': 'fern'}? [y/N] ", "So be it.")
    assert outcome in str(bodies[2])


@pytest.mark.parametrize("file", LOOPS)
async def test_a_model_that_never_ends_is_stopped(file: str, provider: Provider) -> None:
    with provider([Turn(Call("tool_search", {"query": "my plants"}))] * 15) as server:
        answer, bodies = await asked(file, "Which plants?", server)
    assert answer == "No answer after 15 steps."
    assert len(bodies) == 15


def test_an_example_is_a_program(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["openai_chat.py", "Give the fern some water"])
    with provider(SCRIPT):
        runpy.run_path(str(FOLDER / "openai_chat.py"), run_name="__main__")
    assert capsys.readouterr().out == "The fern is happy.\n"


async def test_pydantic_ai(provider: Provider) -> None:
    with provider(SCRIPT) as server:
        said, bodies = await asked("pydantic_ai_agent.py", "Give the fern some water", server)
    assert said == "The fern is happy."
    assert [entry["name"] for entry in bodies[0]["tools"]] == ["tool_search"]
    assert NOTE in str(bodies[1])
    assert "The fern has 0.5 litres more." in str(bodies[2])
