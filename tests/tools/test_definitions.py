"""Definitions as JSON, in the forms in which people have them."""

import json
import logging
import types
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Catalog, Policy, Risk, Toolbox, ToolIndex
from toolcrib.catalog import load_catalog
from toolcrib.discovery import PendingApproval, chat_tools
from toolcrib.errors import CatalogError, LoadError, ToolDefinitionError
from toolcrib.tools.tool import Tool
from toolcrib_cms import definitions as cms

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SAYS = {"name": "get_weather", "description": "Tell the weather in a city."}
FORMS: dict[str, Any] = {
    "openai-chat": {"type": "function", "function": {**SAYS, "parameters": SCHEMA, "strict": True}},
    "openai-responses": {"type": "function", **SAYS, "parameters": SCHEMA, "strict": True},
    "anthropic": {**SAYS, "input_schema": SCHEMA, "strict": True},
    "mcp": {**SAYS, "inputSchema": SCHEMA, "strict": True},
    "gemini": {"functionDeclarations": [{**SAYS, "parameters": SCHEMA, "strict": True}]},
    "plain": {**SAYS, "parameters": SCHEMA, "strict": True},
    "an answer of tools/list": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**SAYS, "inputSchema": SCHEMA}]}},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_definition_is_read_in_every_form(form: str) -> None:
    catalog = Catalog()
    catalog.add_definitions(FORMS[form])
    [tool] = catalog
    assert (tool.name, tool.description, tool.parameters) == (*SAYS.values(), SCHEMA)
    assert tool.source == "definitions"


def test_a_single_definition_can_be_added_like_a_tool() -> None:
    catalog = Catalog([FORMS["openai-chat"]])
    assert ToolIndex(catalog).search("what is the weather like").hits[0].name == "get_weather"
    with pytest.raises(CatalogError, match="holds 2 definitions"):
        catalog.add({"tools": [SAYS, {**SAYS, "name": "other"}]})


def test_what_else_a_definition_says_survives() -> None:
    catalog = Catalog()
    catalog.add_definitions(
        [
            {
                **SAYS,
                "title": "Weather",
                "inputSchema": SCHEMA,
                "outputSchema": {"type": "object", "properties": {"celsius": {"type": "number"}}},
                "annotations": {"readOnlyHint": True},
            },
            {
                "name": "order",
                "parameters": {},
                "category": "shop",
                "phrases": ["buy something"],
                "confirm": True,
                "protocol": {"before": "Ask for the address."},
                "metadata": {"owner": "ops"},
            },
            {"type": "namespace", "name": "rooms", "tools": [{"type": "function", "name": "delete_room"}]},
        ],
        category="other",
    )
    weather, order, delete = catalog
    assert (weather.risk, weather.category) == (Risk.SAFE, "other")
    assert weather.output_schema == {"type": "object", "properties": {"celsius": {"type": "number"}}}
    assert (order.category, order.phrases, order.confirm, order.metadata) == (
        "shop",
        ("buy something",),
        True,
        {"owner": "ops"},
    )
    assert order.protocol is not None
    assert order.protocol.before == "Ask for the address."
    assert (delete.category, delete.risk) == ("rooms", Risk.DESTRUCTIVE)
    assert Policy().risk_of(weather) is Risk.MODERATE  # a file may not call its own tools safe


def test_texts_of_a_definition_are_cleaned() -> None:
    catalog = Catalog([{"name": "look", "description": "Look\u202e\n\n around\u200b."}])
    assert catalog.get("look").description == "Look around."


async def test_one_handler_runs_all_of_them() -> None:
    ran: list[tuple[str, dict[str, Any]]] = []

    async def handle(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        ran.append((name, arguments))
        return {"celsius": 7}

    catalog = Catalog()
    catalog.add_definitions([FORMS["mcp"], {"name": "delete_station"}], handler=handle)
    toolbox = Toolbox(catalog)
    assert (await toolbox.call("get_weather", {"city": "Oslo"})).text == '{"celsius":7}'
    assert (await toolbox.call("get_weather", {})).failed
    assert isinstance((await toolbox.call("delete_station", {})).value, PendingApproval)
    assert ran == [("get_weather", {"city": "Oslo"})]


async def test_a_handler_may_be_sync_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    def handle(name: str, arguments: dict[str, Any]) -> str:
        if name == "get_weather":
            raise OSError("no route")
        return name

    catalog = Catalog()
    catalog.add_definitions([FORMS["mcp"], {"name": "say"}], handler=handle)
    assert (await catalog.get("say").call({})).text == "say"
    with caplog.at_level(logging.CRITICAL):
        failed = await catalog.get("get_weather").call({"city": "Oslo"})
    assert (failed.failed, failed.text) == (True, "get_weather failed: OSError: no route")


async def test_without_a_handler_tools_are_found_and_not_called() -> None:
    catalog = Catalog([FORMS["plain"], Tool(name="walk", description="Take a walk.")])
    for name, arguments in (("get_weather", {"city": "Oslo"}), ("walk", {})):
        answer = await Toolbox(catalog).call(name, arguments)
        assert (answer.failed, "only listed here" in answer.text) == (True, True)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("get_weather", "definitions: 'get_weather' is no definition of a tool"),
        ([SAYS, 7], "definitions, number 2: 7 is no definition of a tool"),
        ([{"type": "web_search"}], "number 1: 'web_search' has no name: it is run by its provider"),
        ({"description": "Nameless."}, "a definition without a name"),
        ({"name": "x", "description": 7}, "the description of 'x' is 7"),
        ({"name": "x", "parameters": "city"}, "the parameters of 'x' are 'city'"),
        ({"name": "x", "input_shema": SCHEMA}, "'x' has no parameters, but 'input_shema'"),
        ({"name": "x", "parameters": {"type": "string"}}, "have the type 'string'"),
        ({"name": "x", "risk": "saf"}, "The risk of 'x' is 'saf'"),
        ({"name": "x", "protocol": {"befor": "Ask."}}, "the protocol of 'x' cannot have 'befor'"),
        ({"name": "x", "metadata": ["a"]}, "The metadata of 'x' is"),
    ],
)
def test_a_wrong_definition_is_named_with_its_place(wrong: object, complaint: str) -> None:
    catalog = Catalog()
    with pytest.raises(ToolDefinitionError, match=complaint) as refused:
        catalog.add_definitions(wrong)
    assert refused.value.hint
    assert len(catalog) == 0


def test_a_wrong_name_or_handler_is_refused() -> None:
    catalog = Catalog()
    with pytest.raises(CatalogError, match="not a name that model providers accept"):
        catalog.add_definitions({"name": "get weather"})
    with pytest.raises(ToolDefinitionError, match="not a function"):
        catalog.add_definitions(SAYS, handler="print")  # pyright: ignore[reportArgumentType] - the point


# Files


def test_a_file_of_definitions_is_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(chat_tools(cms)))
    loaded = load_catalog("tools.json", folder=tmp_path)
    assert [tool.name for tool in loaded] == [tool.name for tool in cms]
    assert {tool.source for tool in loaded} == {"file:tools.json"}
    (tmp_path / "tools.yaml").write_text("cms_listPages:\n  category: pages\n")
    assert load_catalog("tools.json", folder=tmp_path).get("cms_listPages").category == "pages"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[{", "'tools.json' is not JSON: Expecting property name"),
        ('{"mcpServers": {}}', "names servers, not tools"),
    ],
)
def test_a_file_that_holds_no_definitions_says_so(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "tools.json").write_text(text)
    with pytest.raises(LoadError, match=complaint):
        load_catalog("tools.json", folder=tmp_path)


# Functions


def _module(text: str) -> types.ModuleType:
    module = types.ModuleType("warehouse")
    exec(text, module.__dict__)
    return module


MODULE = '''
from json import dumps
from toolcrib import tool

def count_boxes(shelf: int) -> int:
    """Count the boxes on a shelf."""
    return shelf

async def move_box(box: int, shelf: int) -> str:
    """Move a box to a shelf."""
    return f"{box} is on {shelf}"

@tool(risk="destructive")
def burn_box(box: int) -> None:
    """Burn a box."""

def _helper(): ...

class Shelf: ...
'''


async def test_the_public_functions_of_a_module_become_tools() -> None:
    catalog = Catalog()
    catalog.add_functions(_module(MODULE), category="boxes")
    assert {tool.name: tool.category for tool in catalog} == {
        "count_boxes": "boxes",
        "move_box": "boxes",
        "burn_box": "",  # its own decorator says all there is to say
    }
    assert (await catalog.get("move_box").call({"box": 1, "shelf": 2})).text == "1 is on 2"


def test_a_module_may_list_what_is_public() -> None:
    catalog = Catalog()
    catalog.add_functions(_module(MODULE + "\n__all__ = ['move_box']"))
    assert [tool.name for tool in catalog] == ["move_box"]


def test_a_list_of_functions_will_do() -> None:
    def one() -> int:
        """Give one."""
        return 1

    catalog = Catalog()
    catalog.add_functions([one], risk="moderate")
    assert catalog.get("one").risk is Risk.MODERATE


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [(_module(""), "'warehouse' defines no functions"), (7, "7 is no module"), (_module("def f(x): ..."), "no type")],
)
def test_a_module_that_cannot_become_tools_says_why(wrong: Any, complaint: str) -> None:
    with pytest.raises(ToolDefinitionError, match=complaint):
        Catalog().add_functions(wrong)
