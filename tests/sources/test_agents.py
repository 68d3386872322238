"""Agents as tools: those of this process, and those elsewhere that have an A2A card."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from tests.support import PATIENCE
from tests.support.web_server import Answer, Asked, WebServer, serve_web
from toolcrib import Catalog, Toolbox
from toolcrib.discovery.surfaces.domains import domain_surface
from toolcrib.errors import ToolDefinitionError
from toolcrib.settings import Settings
from toolcrib.sources.a2a import A2aSource
from toolcrib.sources.agents import agent_tool
from toolcrib.sources.source import SourceGroup, SourceState

NO_KEYS = Settings.from_environment({})


async def test_an_agent_of_this_process_is_a_tool_that_takes_a_request() -> None:
    writer = Agent(TestModel(custom_output_text="A poem."), name="writer")
    tool = agent_tool(writer, description="Write texts.", phrases=["write a poem"])
    assert (tool.name, tool.category, tool.source) == ("writer", "agents", "agent:writer")
    result = await tool.call({"request": "a poem, please"})
    assert (result.text, result.failed) == ("A poem.", False)
    empty = await tool.call({"request": " "})
    assert empty.text.startswith("writer was not called, because its arguments are wrong:\n- request: is required")


async def test_an_agent_that_fails_is_a_failed_result() -> None:
    def broken(messages: Any, info: AgentInfo) -> Any:
        raise OSError("no model today")

    tool = agent_tool(Agent(FunctionModel(broken)), name="poet", description="Write.")
    result = await tool.call({"request": "go"})
    assert (result.failed, result.text) == (True, "poet failed: OSError: no model today")


def test_an_agent_needs_a_name() -> None:
    with pytest.raises(ToolDefinitionError, match="without a name"):
        agent_tool(Agent(TestModel()), description="Write.")


async def test_agents_are_discovered_as_such() -> None:
    catalog = Catalog([agent_tool(Agent(TestModel(), name="writer"), description="Write texts.")])
    toolbox = Toolbox(catalog, surface=domain_surface)
    assert toolbox.surface[0].name == "discover_agents"
    assert "writer" in (await toolbox.call("discover_agents", {})).text


CARD: dict[str, Any] = {
    "name": "Travel",
    "description": "Plans trips.",
    "version": "1",
    "skills": [
        {"id": "plan", "name": "Plan", "description": "Plan a\u200b trip.", "tags": ["travel"],
         "examples": ["go to Rome"]},
        {"id": "book", "name": "Book a hotel"},
        {"name": "without an identity"},
    ],
}  # fmt: skip


class Desk:
    """A scripted agent; `results` are given one after the other."""

    def __init__(self, web: WebServer, version: str = "1.0", **card: Any) -> None:
        self.web = web
        self.results: list[Any] = []
        url = f"{web.origin}/a2a"
        interfaces = [
            {"url": "x", "protocolBinding": "GRPC"},
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version},
        ]
        spoken = {"supportedInterfaces": interfaces} if version == "1.0" else {"url": url, "protocolVersion": version}
        web.answers["/.well-known/agent-card.json"] = Answer(body={**CARD, **spoken, **card})
        web.answers["/a2a"] = self._answer

    def _answer(self, asked: Asked) -> Answer:
        result = self.results.pop(0)
        if isinstance(result, Answer):
            return result
        return Answer(body={"jsonrpc": "2.0", "id": 1, **(result if "error" in result else {"result": result})})

    @property
    def calls(self) -> list[Any]:
        return [json.loads(asked.body) for asked in self.web.asked if asked.path == "/a2a"]


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serve_web() as server:
        yield server


async def at_once(seconds: float) -> None:
    """Time that passes by itself."""


@asynccontextmanager
async def opened(web: WebServer, catalog: Catalog, **options: Any) -> AsyncGenerator[A2aSource]:
    options = {"open_origins": (web.origin,), "settings": NO_KEYS, "sleep": at_once, **options}
    source = A2aSource("travel", web.origin, catalog, **options)
    async with asyncio.timeout(PATIENCE), SourceGroup([source]) as group:
        await group.wait_until_settled()
        yield source


async def test_each_skill_of_a_card_is_a_tool(web: WebServer) -> None:
    Desk(web)
    catalog = Catalog()
    async with opened(web, catalog) as source:
        assert source.state is SourceState.READY
        assert [(tool.name, tool.description, tool.phrases, tool.category, tool.source) for tool in catalog] == [
            ("travel__plan", "Plan a trip.", ("go to Rome", "travel"), "agents", "agent:travel"),
            ("travel__book", "Book a hotel", (), "agents", "agent:travel"),
        ]
    assert len(catalog) == 0


TASK = {"id": "t1", "status": {"state": "TASK_STATE_WORKING"}}
DONE = {
    "id": "t1",
    "status": {"state": "TASK_STATE_COMPLETED"},
    "artifacts": [{"parts": [{"text": "Rome"}, {"data": {"days": 3}}]}],
}


@pytest.mark.parametrize(
    ("results", "text", "failed"),
    [
        ([{"message": {"parts": [{"text": "Go to Rome."}]}}], "Go to Rome.", False),
        ([{"task": DONE}], 'Rome\n{"days":3}', False),
        ([{"task": TASK}, TASK, DONE], 'Rome\n{"days":3}', False),
        ([{"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}}}], "Done, without a text.", False),
        ([{"message": {"parts": [{"file": {"name": "map.png"}}, {"url": "https://a.example/x"}, {}]}}],
         "[file map.png]\n[file https://a.example/x]\n[file]", False),
        ([{"task": {"status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": {"parts": [{"text": "When?"}]}}}}],
         "travel needs more information: When? Call it again with all of it.", True),
        ([{"task": {"status": {"state": "TASK_STATE_AUTH_REQUIRED"}}}], "travel requires the user to log in: ", True),
        ([{"task": {"id": "t", "status": {"state": "TASK_STATE_FAILED"}}}],
         "travel did not complete it (failed): ", True),
        ([{"task": TASK}, *[TASK] * 20], "travel is still working after 40 seconds (task t1).", True),
        ([{"error": {"code": -1, "message": "no\u200b budget"}}], "travel refused: no budget", True),
        ([Answer(status=500, body="oops")], "travel answered with status 500, not with JSON.", True),
        ([Answer(status=401)], "travel needs a key. Ask the user to set TOOLCRIB_KEY_TRAVEL.", True),
    ],
)  # fmt: skip
async def test_a_request_is_handed_over_and_its_outcome_told(
    web: WebServer, results: list[Any], text: str, failed: bool
) -> None:
    desk, catalog = Desk(web), Catalog()
    desk.results = list(results)
    async with opened(web, catalog):
        result = await catalog.get("travel__plan").call({"request": "three days in Rome"})
    assert (result.text, result.failed) == (text, failed)
    assert desk.results == []
    sent = desk.calls[0]["params"]["message"]
    assert (desk.calls[0]["method"], sent["role"]) == ("SendMessage", "ROLE_USER")
    assert sent["parts"] == [{"text": "three days in Rome"}]
    assert web.asked[-1].headers["a2a-version"] == "1.0"
    assert all(call["method"] == "GetTask" for call in desk.calls[1:])


async def test_agents_of_the_older_protocol_are_called_as_they_expect(web: WebServer) -> None:
    desk, catalog = Desk(web, "0.3.0"), Catalog()
    working = {"kind": "task", "id": "t", "status": {"state": "working"}}
    desk.results = [working, {"kind": "message", "parts": [{"kind": "text", "text": "ok"}]}]
    async with opened(web, catalog, key="s3cret"):
        tool = catalog.get("travel__plan")
        assert (await tool.call({"request": "go"})).text == "ok"
        assert "s3cret" not in repr(tool)
        assert (await tool.call({})).failed
    assert [call["method"] for call in desk.calls] == ["message/send", "tasks/get"]
    assert web.asked[-1].headers["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(
    ("answer", "state", "problem"),
    [
        (Answer(status=404), SourceState.DOWN, "The card of travel cannot be fetched: status 404."),
        (Answer(status=401), SourceState.NEEDS_LOGIN, "travel requires a login."),
        (Answer(body="<html>"), SourceState.DOWN, "{place} is not an agent card."),
        (Answer(body={"name": "x"}), SourceState.DOWN, "{place}: the card has no JSON-RPC address."),
        (
            Answer(body={"url": "https://evil.example", "skills": []}),
            SourceState.DOWN,
            "{place}: calls, and your key with them, would go to evil.example.",
        ),
    ],
)
async def test_a_card_that_cannot_be_used_is_a_state(
    web: WebServer, answer: Answer, state: SourceState, problem: str
) -> None:
    place = f"{web.origin}/.well-known/agent-card.json"
    web.answers["/.well-known/agent-card.json"] = answer
    async with opened(web, Catalog(), key="k") as source:
        assert (source.state, source.problem) == (state, problem.format(place=place))


async def test_agents_in_a_private_network_are_not_asked_unless_opened(web: WebServer) -> None:
    Desk(web)
    async with opened(web, Catalog(), open_origins=()) as source:
        assert source.state is SourceState.DOWN
        assert "private network" in source.problem
    catalog = Catalog()
    for url, said in (("http://10.0.0.1/", "its address is not allowed"), (f"{web.origin[:-1]}0/", "gave no answer")):
        web.answers["/.well-known/agent-card.json"] = Answer(body={**CARD, "url": url})
        async with opened(
            web, catalog, open_origins=(web.origin, url.rstrip("/")) if "10." not in url else (web.origin,)
        ):
            assert said in (await catalog.get("travel__plan").call({"request": "go"})).text


async def test_an_agent_without_skills_can_be_asked_anything(web: WebServer) -> None:
    desk, catalog = Desk(web, skills=[]), Catalog()
    desk.results = [{"message": {"parts": [{"text": "hi"}]}}]
    async with opened(web, catalog):
        assert (await catalog.get("travel__ask").call({"request": "hello"})).text == "hi"
