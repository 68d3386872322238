"""A typed function becomes a tool: hints are the schema, the docstring the words."""

import asyncio
import functools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from toolcrib.errors import CatalogError, ToolDefinitionError
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Protocol, Risk, Tool

pytestmark = pytest.mark.anyio


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Size:
    width: int
    height: int = 1


class Folder(BaseModel):
    name: str
    folders: list["Folder"] = []


def search_images(query: str, limit: Annotated[int, Field(ge=1)] = 5) -> list[str]:
    """Search images by what they show. Scores are not returned.

    Args:
        query: What the image shows,
            in any language.
        limit: How many at most.
    """
    return [query] * limit


def test_a_signature_and_its_docstring_become_the_tool() -> None:
    made = tool(search_images)
    assert made == Tool(
        name="search_images",
        description="Search images by what they show.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the image shows, in any language."},
                "limit": {"type": "integer", "description": "How many at most.", "default": 5, "minimum": 1},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        call=made.call,
        origin=f"{__name__}:{search_images.__code__.co_firstlineno}",
    )


def test_options_say_what_a_function_cannot() -> None:
    protocol = Protocol(gotcha="Scores closer to 0 are better.")

    @tool(
        name="find",
        description="Find it.",
        category="images",
        phrases=["find image"],
        related=["show"],
        risk="destructive",
        confirm=True,
        protocol=protocol,
        extraction=lambda result: [],
    )
    def anything() -> None:
        """Not this."""

    assert anything == Tool(
        name="find",
        description="Find it.",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
        call=anything.call,
        category="images",
        phrases=("find image",),
        related=("show",),
        risk=Risk.DESTRUCTIVE,
        confirm=True,
        protocol=protocol,
        extraction=anything.extraction,
        origin=anything.origin,
    )


def numpy_style(width: int, height: int) -> int:
    """
    Multiply.

    Parameters
    ----------
    width, height : int
        A side.
    """
    return width * height


def sphinx_style(width: int, height: int) -> int:
    """Multiply.

    :param width: A side.
    :param height: A side.
    """
    return width * height


@pytest.mark.parametrize("function", [numpy_style, sphinx_style])
def test_other_docstring_styles_are_read_too(function: Callable[..., int]) -> None:
    made = tool(function)
    described = {name: schema["description"] for name, schema in made.parameters["properties"].items()}
    assert (made.description, described) == ("Multiply.", {"width": "A side.", "height": "A side."})


def test_a_field_written_by_hand_wins_over_the_docstring() -> None:
    @tool
    def find(query: Annotated[str, Field(description="By hand.")], page: int = Field(1, description="Also.")) -> str:
        """Find.

        Args:
            query: From the docstring.
            page: From the docstring.
        """
        return f"{query} {page}"

    assert find.parameters["properties"] == {
        "query": {"type": "string", "description": "By hand."},
        "page": {"type": "integer", "default": 1, "description": "Also."},
    }


def test_a_broken_docstring_still_gives_the_first_sentence() -> None:
    @tool
    def find(query: str) -> str:
        """Find it. Then stop.

        :param str query extra words: more
        :returns
        """
        return query

    assert find.description == "Find it."


def test_without_a_docstring_the_description_is_empty() -> None:
    def find() -> None: ...

    assert tool(find).description == ""


async def test_rich_types_arrive_as_what_the_hints_say() -> None:
    received: dict[str, Any] = {}

    @tool
    def take(
        colour: Colour,
        size: Size,
        folder: Folder,
        when: datetime,
        mode: Literal["fast", "slow"] = "fast",
        tags: list[str] | None = None,
    ) -> None:
        received.update(locals())

    result = await take.call(
        {
            "colour": "red",
            "size": {"width": 3},
            "folder": {"name": "a", "folders": [{"name": "b"}]},
            "when": "2026-01-02T03:04:05Z",
        }
    )
    received.pop("received")
    assert result == ToolResult(text="null")
    assert received == {
        "colour": Colour.RED,
        "size": Size(3, 1),
        "folder": Folder(name="a", folders=[Folder(name="b")]),
        "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "mode": "fast",
        "tags": None,
    }


async def test_parameters_may_have_names_that_pydantic_uses_itself() -> None:
    @tool
    def take(schema: int, copy: int, json: int, model_config: int, self: int, _private: int = 6) -> list[int]:
        return [schema, copy, json, model_config, self, _private]

    arguments = {"schema": 1, "copy": 2, "json": 3, "model_config": 4, "self": 5}
    assert (await take.call(arguments)).value == [1, 2, 3, 4, 5, 6]


async def test_a_mutable_default_is_fresh_in_every_call() -> None:
    @tool
    def collect(item: str, into: list[str] = []) -> list[str]:  # noqa: B006 -- the danger under test
        into.append(item)
        return into

    assert [(await collect.call({"item": item})).value for item in "ab"] == [["a"], ["b"]]


async def test_the_context_reaches_the_function_and_stays_hidden_from_the_model() -> None:
    @tool
    def who(greeting: str, context: dict[str, str]) -> str:
        return f"{greeting} {context['user']}"

    assert list(who.parameters["properties"]) == ["greeting"]
    assert await who.call({"greeting": "Hello"}, {"user": "Ada"}) == ToolResult(text="Hello Ada", value="Hello Ada")
    assert (await who.call({"greeting": "Hello", "context": {"user": "Eve"}}, {"user": "Ada"})).failed


async def test_an_alias_can_offer_an_argument_named_context() -> None:
    @tool
    def ask(passage: Annotated[str, Field(alias="context")]) -> str:
        return passage

    assert list(ask.parameters["properties"]) == ["context"]
    assert (await ask.call({"context": "Once upon a time"})).text == "Once upon a time"


class Shop:
    def find(self, name: str) -> str:
        """Find a thing."""
        return f"found {name}"

    async def __call__(self, name: str) -> str:
        """Sell a thing."""
        return f"sold {name}"


@functools.cache
def cached(name: str) -> str:
    """Remember a thing."""
    return f"remembered {name}"


@pytest.mark.parametrize(
    ("function", "name", "description", "answer"),
    [
        pytest.param(Shop().find, "find", "Find a thing.", "found it", id="bound method"),
        pytest.param(Shop(), "Shop", "Sell a thing.", "sold it", id="callable object"),
        pytest.param(functools.partial(Shop().find), "find", "Find a thing.", "found it", id="partial"),
        pytest.param(cached, "cached", "Remember a thing.", "remembered it", id="decorated function"),
    ],
)
async def test_whatever_can_be_called_by_name_can_be_a_tool(
    function: Callable[..., object], name: str, description: str, answer: str
) -> None:
    made = tool(function)
    assert (made.name, made.description) == (name, description)
    assert await made.call({"name": "it"}) == ToolResult(text=answer, value=answer)


# Mistakes, each of its own kind; a type checker finds some of them, too.
def no_hints(query, limit):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType] - one of them
    return query, limit  # pyright: ignore[reportUnknownVariableType] - as above


def with_args(*names: str) -> None: ...
def any_context(*context: str) -> None: ...
def with_kwargs(**names: str) -> None: ...
def positional_only(name: str, /) -> None: ...
def unknown_hint(name: "Missing") -> None: ...  # noqa: F821 # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType] - one of them
def not_json(name: Callable[[], None]) -> None: ...
def opaque(name: Iterator[object], other: type(sys)) -> None: ...  # pyright: ignore[reportInvalidTypeForm, reportUnknownParameterType] - one of them
def object_default(name: Any = object()) -> None: ...  # noqa: B008 -- the mistake under test
def infinite_default(name: float = float("nan")) -> None: ...
def generator() -> Iterator[int]:
    yield 1


def said_of_infinity() -> str:
    """What this version of Python says."""
    with pytest.raises(ValueError, match="not JSON compliant") as caught:
        json.dumps(float("nan"), allow_nan=False)
    return str(caught.value)


REFUSED: list[tuple[Any, str, str]] = [
    (
        no_hints,
        "'no_hints' cannot become a tool: no type hint for query, limit.",
        "Write what it takes, such as `query: str`.",
    ),
    (
        Shop.find,
        "'find' cannot become a tool: no type hint for self.",
        "Make a tool of the bound method, such as `tool(shop.find)`.",
    ),
    (
        with_args,
        "'with_args' cannot become a tool: its parameter '*names: str' takes any number of values.",
        "A model calls a tool with one JSON object: give each argument a name and a type.",
    ),
    (
        with_kwargs,
        "'with_kwargs' cannot become a tool: its parameter '**names: str' takes any keyword.",
        "A model calls a tool with one JSON object: give each argument a name and a type.",
    ),
    (
        positional_only,
        "'positional_only' cannot become a tool: its parameter 'name: str' is positional-only.",
        "A model calls a tool with one JSON object: give each argument a name and a type.",
    ),
    (
        unknown_hint,
        "'unknown_hint' cannot become a tool: a type hint cannot be read: name 'Missing' is not defined.",
        "Import the type, or define it, at the top of the module; not under `if TYPE_CHECKING`.",
    ),
    (
        not_json,
        "'not_json' cannot become a tool: Cannot generate a JsonSchema for core_schema.CallableSchema",
        "Use types that JSON can carry: numbers, text, lists, dicts, enums, dates, dataclasses, models.",
    ),
    (
        infinite_default,
        f"The parameters of 'infinite_default' are not JSON: {said_of_infinity()}.",
        "Use only dicts with text keys, lists, text, finite numbers, booleans and None.",
    ),
    (
        max,
        "'max' cannot become a tool: it does not tell what it takes.",
        "Write a typed function that calls it, and make a tool of that.",
    ),
    (
        any_context,
        "'any_context' cannot become a tool: its parameter '*context: str' takes any number of values.",
        "A model calls a tool with one JSON object: give each argument a name and a type.",
    ),
    (
        generator,
        "'generator' yields, so it cannot become a tool: a model gets one result.",
        "Return a list of what it yields.",
    ),
    (
        Shop,
        f"{Shop!r} is not a function, so it cannot become a tool.",
        "Write `@tool` above a function, or above a function that makes and uses the object.",
    ),
    (
        "search",
        "'search' is not a function, so it cannot become a tool.",
        "Write `@tool` above a function, or above a function that makes and uses the object.",
    ),
]


@pytest.mark.parametrize(("function", "message", "hint"), REFUSED)
def test_what_cannot_become_a_tool_is_refused_with_a_hint(function: Any, message: str, hint: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    assert (str(caught.value), caught.value.hint) == (message, hint)


OUTSIDE_JSON: list[Any] = [opaque, object_default]


@pytest.mark.parametrize("function", OUTSIDE_JSON)
def test_types_and_defaults_outside_json_are_refused(function: Callable[..., None]) -> None:
    with pytest.raises(ToolDefinitionError):
        tool(function)


def test_an_unknown_option_is_refused_with_the_nearest_one() -> None:
    options: dict[str, Any] = {"categry": "images"}
    with pytest.raises(ToolDefinitionError, match="no option 'categry'") as caught:
        tool(search_images, **options)
    assert caught.value.hint == "Did you mean 'category'?"


@pytest.mark.parametrize("name", ["cms.search", "search images", "a" * 200, "ß", "", "<lambda>"])
def test_names_that_providers_refuse_are_refused_with_a_name_that_works(name: str) -> None:
    with pytest.raises(CatalogError, match="is not a name that model providers accept") as caught:
        tool(search_images, name=name)
    suggestion = str(caught.value.hint).rsplit(" ", 1)[-1].strip("'.")
    assert tool(search_images, name=suggestion).name == suggestion


@pytest.mark.process
def test_the_tool_itself_needs_no_pydantic() -> None:
    code = (
        "import sys, toolcrib.tools.tool, toolcrib.tools.function, toolcrib.catalog; print('pydantic' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


async def test_many_calls_run_side_by_side() -> None:
    made = tool(search_images)
    results = await asyncio.gather(*(made.call({"query": str(n), "limit": 1}) for n in range(50)))
    assert [result.value for result in results] == [[str(n)] for n in range(50)]
