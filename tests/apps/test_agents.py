"""Several agents in one app: found like tools, called with one request, with the app's tools or their own."""

from pathlib import Path

import pytest
from pydantic_ai.models import Model

from tests.support.agent import content, scripted
from tests.support.apps import WriteApp
from toolcrib.agent.runner import confirm
from toolcrib.apps.app import App
from toolcrib.apps.build import load_app
from toolcrib.apps.tools import NEEDS_YES
from toolcrib.discovery.tokens import count_tokens, definition_tokens
from toolcrib.stores.session import Session

APP = """\
app: {app_id: office}
runtime: {tool_injection: discovery, surface: SURFACE}
agents:
  - {id: desk, role: assistant}
  - id: clerk
    description: Knows the files.
    phrases: [look something up]
    tools: TOOLS
tools: {modules: [filesystem]}
"""


def office(
    write: WriteApp, model: Model | str, tmp_path: Path, *, surface: str = "search", tools: str = "inherit"
) -> App:
    path = write(APP.replace("SURFACE", surface).replace("TOOLS", tools))
    return load_app(path, model=model, workdir=tmp_path, environment={})


@pytest.mark.parametrize("surface", ["search", "browse", "domains"])
async def test_others_are_found_through_discover_agents_and_called_as_tools(
    write: WriteApp, tmp_path: Path, session: Session, surface: str
) -> None:
    (tmp_path / "plan.txt").write_text("Water the plants.", encoding="utf-8")
    script, model = scripted(
        [("discover_agents", {})],
        [("discover_agents", {"tool": "ask_clerk", "level": 2})],
        [("ask_clerk", {"request": "What is the plan?"})],
        [("fs_read", {"path": "plan.txt"})],  # from here on the clerk speaks
        "The plan is: water the plants.",
        "The clerk says: water the plants.",
    )
    done = await office(write, model, tmp_path, surface=surface).run(session, "ask about the plan")
    assert done.answer == "The clerk says: water the plants."
    assert "discover_agents" in script.tools[0]
    assert "discover_agents" not in script.tools[3]  # the clerk knows no other agents
    assert "ask_clerk" not in script.tools[3]
    assert "Water the plants." in content(script.messages[4][-1])
    told = [event for event in done.events if event.type == "tool_finished"]
    assert [(event.name, event.text) for event in told] == [("ask_clerk", "The plan is: water the plants.")]


async def test_an_agent_is_found_by_search_like_any_tool(write: WriteApp, tmp_path: Path) -> None:
    app = office(write, "offline", tmp_path)
    assert app.crib.toolbox().search("look something up").names[0] == "ask_clerk"
    assert "ask_clerk" not in app.cribs["clerk"].toolbox().search("look something up").names


async def test_what_a_model_reads_of_an_agent(write: WriteApp, tmp_path: Path) -> None:
    app = office(write, "offline", tmp_path)
    tool = app.catalog.get("ask_clerk")
    assert (tool.category, tool.source) == ("agents", "agent:clerk")
    assert tool.description == "Hand work to the agent clerk. Knows the files."
    assert list(tool.parameters["properties"]) == ["request"]
    assert definition_tokens(tool) < 80
    assert count_tokens(NEEDS_YES) < 50


async def test_a_call_of_a_shared_tool_that_needs_a_yes_is_asked_for_by_the_one_who_talks(
    write: WriteApp, tmp_path: Path, session: Session
) -> None:
    (tmp_path / "old.txt").write_text("x", encoding="utf-8")
    _, model = scripted(
        [("ask_clerk", {"request": "Delete old.txt"})],
        [("fs_delete", {"path": "old.txt"})],
        "I need a yes.",  # the clerk
        "Shall old.txt go?",
        "It is gone.",
    )
    app = office(write, model, tmp_path)
    done = await app.run(session, "delete old.txt")
    [asked] = done.confirmations
    assert (asked.tool, asked.arguments["path"], (tmp_path / "old.txt").exists()) == ("fs_delete", "old.txt", True)
    async for _ in confirm(session, asked.id, True, crib=app.crib):
        pass
    assert not (tmp_path / "old.txt").exists()


async def test_a_call_of_a_separate_tool_that_needs_a_yes_is_refused(
    write: WriteApp, tmp_path: Path, session: Session
) -> None:
    (tmp_path / "old.txt").write_text("x", encoding="utf-8")
    _, model = scripted(
        [("ask_clerk", {"request": "Delete old.txt"})],
        [("fs_delete", {"path": "old.txt"})],
        "I need a yes.",
        "The clerk may not.",
    )
    app = office(write, model, tmp_path, tools="{modules: [filesystem]}")
    done = await app.run(session, "delete old.txt")
    [finished] = [event for event in done.events if event.type == "tool_finished"]
    assert (finished.failed, finished.text) == (True, NEEDS_YES.format(id="clerk", tool="fs_delete"))
    assert (done.confirmations, (tmp_path / "old.txt").exists()) == ((), True)


async def test_an_agent_with_tools_of_its_own_has_no_others(write: WriteApp, tmp_path: Path) -> None:
    app = office(write, "offline", tmp_path, tools="{modules: [memory]}")
    assert {tool.category for tool in app.cribs["clerk"].catalog} == {"memory"}
    assert {tool.category for tool in app.cribs["desk"].toolbox().tools} == {"filesystem", "agents"}
    assert app.decision("clerk").tools == 4


async def test_an_agent_that_fails_or_is_silent_is_told_to_the_one_who_asked(
    write: WriteApp, tmp_path: Path, session: Session
) -> None:
    from pydantic_ai.exceptions import ModelHTTPError

    _, model = scripted(
        [("ask_clerk", {"request": "Look."})],
        ModelHTTPError(400, "scripted", body={"message": "no"}),
        "The clerk is out.",
    )
    done = await office(write, model, tmp_path).run(session, "look")
    [finished] = [event for event in done.events if event.type == "tool_finished"]
    assert finished.failed
    assert finished.text.startswith("clerk gave no answer: ")


async def test_who_talks_and_who_may_call_whom_can_be_said(write: WriteApp, tmp_path: Path) -> None:
    path = write("""\
        app: {app_id: office}
        runtime: {entry_agent: b}
        agents:
          - {id: a, agents: [c]}
          - {id: b, agents: [a]}
          - {id: c}
        """)
    app = load_app(path, workdir=tmp_path, environment={})
    seen = {name: [tool.name for tool in crib.toolbox().tools] for name, crib in app.cribs.items()}
    assert (app.entry.id, seen) == ("b", {"a": ["ask_c"], "b": ["ask_a"], "c": []})
