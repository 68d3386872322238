"""Our search in agents of LangChain and langgraph-bigtool, with their real packages and a scripted chat model."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# LangChain and langgraph-bigtool have no whole types.

import subprocess
import sys
from collections.abc import Sequence
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_bigtool import create_agent as create_bigtool_agent
from pydantic import Field

from toolcrib.errors import DuplicateToolError, MissingExtraError
from toolcrib.integrations.bigtool import retrieve_tools_function
from toolcrib.integrations.langchain import ToolcribMiddleware


@tool
def rename_page(slug: str, title: str) -> str:
    """Give a page another title."""
    return f"{slug} is now called {title}"


@tool
def send_invoice(customer: str) -> str:
    """Send an invoice to a customer."""
    return f"sent to {customer}"


def search_images(query: str) -> str:
    """Search images by what they show."""
    return query


TOOLS = [rename_page, send_invoice, search_images]
FIND = ("tool_search", {"query": "den Titel einer Seite ändern"})
RENAME = ("rename_page", {"slug": "home", "title": "Start"})


class Scripted(BaseChatModel):
    """Says one thing after the other, and remembers which tools it was bound to each time."""

    said: list[str | tuple[str, dict[str, Any]]]
    bound: list[list[str]] = Field(default_factory=list[list[str]])
    now: tuple[str, ...] = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        names = tuple(one.name if isinstance(one, BaseTool) else one["name"] for one in tools)
        return self.model_copy(update={"now": names})

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        self.bound.append(list(self.now))
        said = self.said.pop(0)
        calls = [] if isinstance(said, str) else [{"name": said[0], "args": said[1], "id": f"call-{len(self.bound)}"}]
        message = AIMessage(said if isinstance(said, str) else "", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def ask(text: str) -> Any:
    return {"messages": [("user", text)]}


def results(state: dict[str, Any]) -> list[str]:
    messages = cast("list[AnyMessage]", state["messages"])
    return [message.text for message in messages if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_the_model_starts_with_one_tool_and_gets_what_it_finds(way: str) -> None:
    model = Scripted(said=[FIND, RENAME, "Done."])
    agent = create_agent(model, middleware=[ToolcribMiddleware(TOOLS)])
    asked = ask("Rename home")
    done = await agent.ainvoke(asked) if way == "ainvoke" else agent.invoke(asked)
    assert done["messages"][-1].text == "Done."
    assert model.bound[0] == ["tool_search"]
    assert model.bound[1][:2] == ["tool_search", "rename_page"]
    assert model.bound[2] == model.bound[1]
    assert results(done)[-1] == "home is now called Start"


async def test_when_nothing_fits_no_tool_is_bound_and_the_model_is_told() -> None:
    model = Scripted(said=[("tool_search", {"query": "brew a cup of tea"}), "I cannot."])
    done = await create_agent(model, middleware=[ToolcribMiddleware(TOOLS)]).ainvoke(ask("Tea, please"))
    assert model.bound == [["tool_search"], ["tool_search"]]
    assert results(done)[0].startswith('No tool fits "brew a cup of tea".')


async def test_tools_of_the_agent_itself_are_always_there() -> None:
    model = Scripted(said=[FIND, "Done."])
    await create_agent(model, [send_invoice], middleware=[ToolcribMiddleware([rename_page])]).ainvoke(ask("Rename"))
    assert model.bound == [["tool_search", "send_invoice"], ["tool_search", "send_invoice", "rename_page"]]


async def test_a_later_turn_in_another_process_has_what_was_found() -> None:
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "one"}}
    for said in ([FIND, "Ready."], [RENAME, "Done."]):
        model = Scripted(said=[*said])
        agent = create_agent(model, middleware=[ToolcribMiddleware(TOOLS)], checkpointer=saver)
        done = await agent.ainvoke(ask("Rename home"), config)
    assert "rename_page" in model.bound[0]
    assert results(done)[-1] == "home is now called Start"


async def test_a_tool_called_by_its_name_stays() -> None:
    model = Scripted(said=[RENAME, "Done."])
    done = await create_agent(model, middleware=[ToolcribMiddleware(TOOLS)]).ainvoke(ask("Rename home"))
    assert model.bound == [["tool_search"], ["tool_search", "rename_page"]]
    assert results(done) == ["home is now called Start"]


async def test_wrong_arguments_of_a_search_are_answered() -> None:
    model = Scripted(said=[("tool_search", {"query": " "}), ("tool_search", {}), "Hm."])
    done = await create_agent(model, middleware=[ToolcribMiddleware(TOOLS)]).ainvoke(ask("Find"))
    assert results(done)[0].startswith("The query is empty.")
    assert "query" in results(done)[1]


def test_two_tools_with_one_name_are_named() -> None:
    with pytest.raises(DuplicateToolError, match="two tools named 'rename_page'"):
        ToolcribMiddleware([rename_page, rename_page])

    @tool("tool_search")
    def own(query: str) -> str:
        """Search."""
        return query

    with pytest.raises(DuplicateToolError, match="two tools named 'tool_search'"):
        ToolcribMiddleware([own])


# langgraph-bigtool


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_bigtool_retrieves_with_our_search(way: str) -> None:
    registry: dict[str, Any] = {"1": rename_page, "2": send_invoice, "3": search_images}
    # It goes no further: bigtool 0.0.3 calls tools by a method that `ToolNode` had until langgraph-prebuilt 1.0.1.
    model = Scripted(said=[("retrieve_tools", FIND[1]), "Ready."])
    builder = create_bigtool_agent(model, registry, retrieve_tools_function=retrieve_tools_function(registry))
    agent = builder.compile()
    asked: Any = {**ask("Rename home"), "selected_tool_ids": []}
    done = await agent.ainvoke(asked) if way == "ainvoke" else agent.invoke(asked)
    assert done["selected_tool_ids"][0] == "1"
    assert model.bound[0] == ["retrieve_tools"]
    assert model.bound[1][:2] == ["retrieve_tools", "rename_page"]


def test_bigtool_gets_few_tools_when_the_search_is_sure_and_none_when_nothing_fits() -> None:
    registry: dict[str, Any] = {"1": rename_page, "2": send_invoice, "3": search_images}
    retrieve = retrieve_tools_function(registry)
    assert retrieve("send_invoice") == ["2"]
    assert retrieve("brew a cup of tea") == []


@pytest.mark.process
@pytest.mark.parametrize(
    ("package", "module", "hint"),
    [
        ("langchain", "langchain", "pip install langchain"),
        ("langchain_core", "bigtool", "pip install langgraph-bigtool"),
        ("fastmcp", "fastmcp", "pip install 'toolcrib[gateway]'"),
        ("pydantic_ai", "pydantic_ai", "pip install 'toolcrib[agent]'"),
    ],
)
def test_a_missing_framework_is_named_with_the_command_that_installs_it(package: str, module: str, hint: str) -> None:
    names = {"langchain": "ToolcribMiddleware", "bigtool": "retrieve_tools_function"}
    names |= {"fastmcp": "ToolcribSearchTransform", "pydantic_ai": "ToolcribSearch"}
    program = f"import sys; sys.modules[{package!r}] = None; from toolcrib.integrations import {names[module]}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert MissingExtraError.__name__ in done.stderr
    assert f"hint: {hint}" in done.stderr
