"""Toolsets of Pydantic AI, and tools of other frameworks, in a catalog."""

import logging
import runpy
from dataclasses import dataclass
from typing import Any, cast

import pytest
from fastmcp import FastMCP
from langchain_core.tools import tool as langchain_decorator
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool as PydanticTool,
)
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.ext.langchain import LangChainToolset
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ExternalToolset, ToolsetTool

from tests.support import ROOT
from tests.support.agent import scripted
from toolcrib import Catalog, CribToolset, Decision, Policy, Risk, Rule, Toolbox, ToolIndex, search_surface
from toolcrib.discovery import PendingApproval
from toolcrib.errors import CatalogError


@dataclass
class User:
    """The deps of a run."""

    name: str
    is_admin: bool = False


def crm(**options: Any) -> FunctionToolset[User]:
    toolset = FunctionToolset[User](id="crm", **options)

    @toolset.tool(metadata={"team": "sales"}, retries=4)
    def find_customer(ctx: RunContext[User], name: str) -> str:
        """Look a customer up by name.

        Args:
            ctx: The context.
            name: The customer's name.
        """
        if name == "?":
            raise ModelRetry("Give a name.")
        return f"{name}, seen by {ctx.deps.name}, {ctx.tool_name}, {ctx.max_retries}"

    @toolset.tool_plain(requires_approval=True)
    def close_account(number: int) -> dict[str, int]:
        """Close the account of a customer."""
        return {"closed": number}

    return toolset


NOT_SEARCHED = "Not searched: toolset:moody (not reachable). Tell the user if the task needs one of these."


async def answer_of(
    catalog: Catalog,
    name: str,
    arguments: dict[str, Any],
    deps: User | None = None,
    *,
    policy: Policy | None = None,
) -> str:
    """What a call of one tool gives the model, in an agent."""
    script, model = scripted([(name, arguments)], "Done.")
    agent = Agent[Any, str](model, toolsets=[CribToolset[Any](catalog, policy=policy or Policy(), pinned=[name])])
    await agent.run("Do it", deps=deps)
    return script.results[-1]


# Functions


async def test_functions_are_found_at_once_and_called_with_the_context_of_the_run() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm())
    assert ToolIndex(catalog).search("look up a customer").hits[0].name == "find_customer"
    assert await answer_of(catalog, "find_customer", {"name": "Ada"}, User("Bo")) == "Ada, seen by Bo, find_customer, 4"


def test_what_a_toolset_says_of_its_tools_survives() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm().prefixed("eu"))
    found, close = catalog
    assert (found.name, found.description, found.source, found.metadata) == (
        "eu_find_customer",
        "Look a customer up by name.",
        "toolset:PrefixedToolset",
        {"team": "sales"},
    )
    assert found.parameters["properties"]["name"] == {"description": "The customer's name.", "type": "string"}
    assert (close.confirm, close.risk) == (True, Risk.SAFE)
    assert close.output_schema == {"additionalProperties": {"type": "integer"}, "type": "object"}


async def test_definitions_of_an_agent_keep_output_schema_and_metadata() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm())
    seen: list[ToolDefinition] = []

    async def see(ctx: RunContext[User], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
        seen.extend(definitions)
        return definitions

    _, model = scripted("Done.")
    toolset = CribToolset[User](catalog, pinned=["find_customer", "close_account"]).prepared(see)
    await Agent(model, toolsets=[toolset], deps_type=User).run("Hello", deps=User("Bo"))
    by_name = {one.name: one for one in seen}
    assert by_name["find_customer"].metadata == {"team": "sales"}
    assert by_name["close_account"].return_schema is not None


async def test_a_tool_that_needs_approval_is_called_after_the_users_yes() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm())
    script, model = scripted([("close_account", {"number": 7})], "It is closed.")
    agent = Agent(
        model,
        toolsets=[CribToolset[User](catalog, pinned=["close_account"])],
        deps_type=User,
        output_type=[str, DeferredToolRequests],
    )
    waits = await agent.run("Close 7", deps=User("Bo"))
    assert isinstance(waits.output, DeferredToolRequests)
    [asked] = waits.output.approvals
    yes = DeferredToolResults(approvals={asked.tool_call_id: True})
    done = await agent.run(message_history=waits.all_messages(), deferred_tool_results=yes, deps=User("Bo"))
    assert (done.output, script.results[-1]) == ("It is closed.", '{"closed":7}')


async def test_a_toolset_that_asks_before_some_calls_does_so_in_any_loop() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm().approval_required(lambda ctx, definition, arguments: arguments.get("name") == "Ada"))
    toolbox = Toolbox(catalog)
    assert not (await toolbox.call("find_customer", {"name": "Cy"}, User("Bo"))).failed
    waits = await toolbox.call("find_customer", {"name": "Ada"}, User("Bo"))
    assert isinstance(waits.value, PendingApproval)
    other = await toolbox.call("find_customer", {"name": "Cy"}, User("Bo"), approved=waits.value.approve())
    assert other.text == "Cy, seen by Bo, find_customer, 4"
    agreed = await toolbox.call("find_customer", {"name": "Ada"}, User("Bo"), approved=waits.value.approve())
    assert agreed.text == "Ada, seen by Bo, find_customer, 4"


async def test_what_a_tool_raises_means_what_it_means_in_pydantic_ai() -> None:
    toolset = FunctionToolset[None]()

    @toolset.tool_plain
    def refuse() -> str:
        """Refuse."""
        raise ToolFailed("Not today.")

    @toolset.tool_plain
    def crash() -> str:
        """Crash."""
        raise RuntimeError("Out of paper.")

    @toolset.tool_plain
    def ask() -> str:
        """Ask."""
        raise ApprovalRequired

    catalog = Catalog()
    catalog.add_toolset(toolset)
    catalog.add_toolset(crm())
    toolbox = Toolbox(catalog)
    assert [(await toolbox.call(name, {})).text for name in ("refuse", "crash")] == [
        "Not today.",
        "crash failed: RuntimeError: Out of paper.",
    ]
    assert isinstance((await toolbox.call("ask", {})).value, PendingApproval)
    script, model = scripted([("find_customer", {"name": "?"})], [("find_customer", {"name": "Ada"})], "Done.")
    agent = Agent(model, toolsets=[CribToolset[User](catalog, pinned=["find_customer"])], deps_type=User)
    await agent.run("Find Ada", deps=User("Bo"))
    assert script.results[-1] == "Ada, seen by Bo, find_customer, 4"


async def test_wrong_arguments_are_refused_with_the_schema() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm())
    refused = await catalog.get("close_account").call({"number": "many"})
    assert refused.failed
    assert "number" in refused.text
    assert "integer" in refused.text


async def test_external_tools_end_the_run_as_deferred_calls() -> None:
    catalog = Catalog()
    catalog.add_toolset(ExternalToolset[None]([ToolDefinition(name="sign_on_paper", description="Have it signed.")]))
    _, model = scripted([("sign_on_paper", {})], "Signed.")
    agent = Agent(
        model, toolsets=[CribToolset(catalog, pinned=["sign_on_paper"])], output_type=[str, DeferredToolRequests]
    )
    waits = await agent.run("Sign")
    assert isinstance(waits.output, DeferredToolRequests)
    assert [one.tool_name for one in waits.output.calls] == ["sign_on_paper"]


async def test_instructions_of_a_toolset_are_read_while_one_of_its_tools_is_visible() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm(instructions="Customers have one account each."))
    script, model = scripted([("tool_search", {"query": "look up a customer"})], "Done.")
    await Agent(model, toolsets=[CribToolset[User](catalog)], deps_type=User).run("Who is Ada?", deps=User("Bo"))
    assert ["one account each" in one for one in script.instructions] == [False, True]


# Who sees what


def for_admins() -> AbstractToolset[User]:
    return crm().filtered(lambda ctx, definition: ctx.deps.is_admin or definition.name != "close_account")


async def test_what_a_toolset_does_not_offer_to_a_user_does_not_exist_for_them() -> None:
    catalog = Catalog()
    catalog.add_toolset(for_admins())
    assert list(catalog) == []  # the filter needs the deps of a run
    script, model = scripted([("tool_search", {"query": "close an account"})], "Done.")
    await Agent(model, toolsets=[CribToolset[User](catalog)], deps_type=User).run("x", deps=User("Bo", is_admin=True))
    assert "close_account" in script.results[-1]

    guesses = [("close_account", {"number": 7}), ("open_account", {"number": 7})]
    script, model = scripted([("tool_search", {"query": "close an account"})], guesses, "Done.")
    await Agent(model, toolsets=[CribToolset[User](catalog)], deps_type=User).run("x", deps=User("Cy"))
    assert [tools for tools in script.tools if "close_account" in tools] == []
    assert "close_account" not in script.results[0]
    hidden, missing = script.results[1:]
    assert hidden.replace("close_", "open_") == missing


async def test_a_policy_counts_for_tools_of_a_toolset() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm())
    policy = Policy(rules=(Rule(Decision.HIDE, source="toolset:crm", name="close_*"),))
    assert [tool.name for tool in Toolbox(catalog, policy=policy).tools] == ["find_customer"]


# Servers


def weather() -> FastMCP[None]:
    server = FastMCP[None]("weather")

    @server.tool(annotations={"readOnlyHint": True})
    def forecast(city: str) -> str:
        """Tell the weather of tomorrow in a city."""
        return f"Rain in {city}"

    @server.tool
    def delete_station(number: int) -> str:
        """Delete a weather station."""
        return f"{number} is gone"

    return server


async def test_an_mcp_toolset_is_listed_when_an_agent_runs() -> None:
    catalog = Catalog()
    catalog.add_toolset(MCPToolset(weather(), id="weather"))
    assert list(catalog) == []
    script, model = scripted(
        [("tool_search", {"query": "weather of tomorrow"})], [("forecast", {"city": "Oslo"})], "Rain."
    )
    agent = Agent(model, toolsets=[CribToolset(catalog)])
    async with agent:
        done = await agent.run("Do I need an umbrella in Oslo?")
    assert (done.output, script.results[-1]) == ("Rain.", "Rain in Oslo")
    assert {tool.name: (tool.risk, tool.source, tool.category) for tool in catalog} == {
        "forecast": (Risk.SAFE, "toolset:weather", "weather"),
        "delete_station": (Risk.DESTRUCTIVE, "toolset:weather", "weather"),
    }


async def test_a_catalog_connects_its_toolsets_for_any_loop() -> None:
    catalog = Catalog()
    catalog.add_toolset(MCPToolset(weather(), id="weather"))
    async with catalog:
        toolbox = Toolbox(catalog)
        assert (await toolbox.call("forecast", {"city": "Oslo"})).text == "Rain in Oslo"
        assert isinstance((await toolbox.call("delete_station", {"number": 1})).value, PendingApproval)


class Broken(AbstractToolset[Any]):
    """Fails wherever it is asked."""

    @property
    def id(self) -> str:
        return "broken"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        raise ConnectionError("no route")

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any: ...


class Unreachable(Broken):
    """Cannot even be entered."""

    async def __aenter__(self) -> Any:
        raise ConnectionError("refused")


@pytest.mark.parametrize("broken", [Broken(), Unreachable()])
async def test_a_toolset_that_fails_is_named_and_the_others_work(
    broken: Broken, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Catalog()
    catalog.add_toolset(broken)
    catalog.add_toolset(crm())
    assert (await answer_of(catalog, "find_customer", {"name": "Ada"}, User("Bo"))).startswith("Ada")
    async with catalog:
        pass
    told = {record.getMessage() for record in caplog.records if record.levelno == logging.WARNING}
    assert len([one for one in told if one.startswith("toolset:broken: it offers no tools now: ConnectionError")]) >= 1


async def test_a_toolset_that_begins_to_fail_hides_its_tools(caplog: pytest.LogCaptureFixture) -> None:
    class Moody(FunctionToolset[Any]):
        fails = False

        async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
            if self.fails:
                raise ConnectionError("no route")
            return await super().get_tools(ctx)

    toolset = Moody(id="moody")
    toolset.add_function(lambda: "here", name="say_where", description="Say where you are.")
    catalog = Catalog()
    catalog.add_toolset(toolset)
    assert await answer_of(catalog, "say_where", {}) == "here"
    toolset.fails = True
    assert (await answer_of(catalog, "say_where", {})).startswith("Unknown tool name")
    assert "toolset:moody" in caplog.text
    assert NOT_SEARCHED in await answer_of(catalog, "tool_search", {"query": "say where you are"})
    hidden = Policy(rules=(Rule(Decision.HIDE, source="toolset:moody"),))
    assert "moody" not in await answer_of(catalog, "tool_search", {"query": "say where you are"}, policy=hidden)
    toolset.fails = False
    assert (await answer_of(catalog, "tool_search", {"query": "say where you are"})).startswith("Ready to call")


async def test_a_search_in_any_loop_names_a_toolset_that_could_not_be_opened() -> None:
    catalog = Catalog()
    catalog.add_toolset(Unreachable(), name="moody")
    async with catalog:
        toolbox = Toolbox(catalog, surface=search_surface)
        assert NOT_SEARCHED in (await toolbox.call("tool_search", {"query": "say where you are"})).text


def test_two_tools_of_one_name_are_refused_and_named() -> None:
    catalog = Catalog()
    catalog.add_toolset(crm())
    with pytest.raises(CatalogError, match=r"toolset:crm-2: There are two tools named 'find_customer'") as refused:
        catalog.add_toolset(crm())
    assert refused.value.hint is not None
    assert "prefixed" in refused.value.hint
    assert {tool.source for tool in catalog} == {"toolset:crm"}
    catalog.add_toolset(crm().prefixed("us"))
    assert len(catalog) == 4


async def test_a_name_that_a_server_has_too_stays_with_the_first(caplog: pytest.LogCaptureFixture) -> None:
    catalog = Catalog()

    @catalog.tool
    def forecast(city: str) -> str:
        """Tell the weather of tomorrow in a city."""
        return f"Sun in {city}"

    catalog.add_toolset(MCPToolset(weather(), id="weather"))
    assert await answer_of(catalog, "forecast", {"city": "Oslo"}) == "Sun in Oslo"
    assert "toolset:weather: There are two tools named 'forecast'" in caplog.text
    assert "delete_station" in catalog


async def test_a_tool_whose_schema_changes_is_named_and_follows(caplog: pytest.LogCaptureFixture) -> None:
    wanted = "string"

    async def prepare(ctx: RunContext[Any], definition: ToolDefinition) -> ToolDefinition:
        definition.parameters_json_schema = {"type": "object", "properties": {"place": {"type": wanted}}}
        return definition

    def go(place: Any) -> str:
        """Go to a place."""
        return f"at {place}"

    catalog = Catalog()
    catalog.add_toolset(FunctionToolset([PydanticTool(go, prepare=prepare)], id="walks"))
    assert await answer_of(catalog, "go", {"place": "home"}) == "at home"
    wanted = "integer"
    await answer_of(catalog, "go", {"place": 7})
    assert catalog.get("go").parameters["properties"]["place"] == {"type": "integer"}
    assert "toolset:walks: the arguments of 'go' have changed." in caplog.text


async def test_two_hundred_tools_of_three_toolsets_and_a_server_change_one_line() -> None:
    office = runpy.run_path(str(ROOT / "docs_src" / "from_all_tools" / "office.py"))
    toolsets = [office["sales"], office["people"], office["files"], MCPToolset(office["mail"], id="mail")]
    listed: list[list[str]] = []
    for toolset in (
        CombinedToolset(toolsets),
        CribToolset[Any](toolsets, mode="direct"),
        CribToolset[Any](toolsets),
    ):
        script, model = scripted("Hello.")
        await Agent(model, toolsets=[toolset]).run("Hello")
        listed += script.tools
    before, direct, discovery = listed
    assert len(before) == 200
    assert sorted(direct) == sorted(before)
    assert discovery == ["tool_search"]


# Single tools of other frameworks


async def test_a_tool_of_pydantic_ai_can_be_added_by_itself() -> None:
    def greet(ctx: RunContext[User], word: str = "Hello") -> str:
        """Greet the user."""
        return f"{word}, {ctx.deps.name}!"

    catalog = Catalog([PydanticTool(greet, requires_approval=False)])
    assert (catalog.get("greet").source, catalog.get("greet").confirm) == ("python", False)
    assert await answer_of(catalog, "greet", {}, User("Bo")) == "Hello, Bo!"


def test_what_cannot_be_added_says_so() -> None:
    async def never(ctx: RunContext[Any], definition: ToolDefinition) -> None: ...

    def greet() -> str:
        """Greet."""
        return "Hi"

    catalog = Catalog()
    with pytest.raises(CatalogError, match="prepared for each run"):
        catalog.add(PydanticTool(greet, prepare=never))
    with pytest.raises(CatalogError, match="is a toolset"):
        catalog.add(FunctionToolset([greet]))
    with pytest.raises(CatalogError, match="is no toolset"):
        catalog.add_toolset(greet)


async def test_tools_of_langchain_can_be_added_singly_or_as_a_toolset() -> None:
    @langchain_decorator(response_format="content_and_artifact")
    def multiply(first: int, second: int = 2) -> tuple[str, list[int]]:
        """Multiply two numbers."""
        return f"{first * second}", [first, second]

    multiply.metadata, multiply.tags = {"team": "maths"}, ["numbers"]
    catalog = Catalog()
    catalog.add(multiply)
    tool = catalog.get("multiply")
    assert (tool.description, tool.metadata) == ("Multiply two numbers.", {"team": "maths", "tags": ["numbers"]})
    assert tool.parameters["required"] == ["first"]
    result = await Toolbox(catalog).call("multiply", {"first": "4"})
    assert (result.text, result.value) == ("8", [4, 2])
    assert (await tool.call({"first": "four"})).failed

    @langchain_decorator
    def add(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    other = Catalog()
    other.add_toolset(LangChainToolset([cast("Any", add)], id="maths"))
    assert await answer_of(other, "add", {"first": 4, "second": 3}) == "7"
