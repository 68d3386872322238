"""Whatever a function's signature is made of: good arguments call it, bad ones give a failed result."""

import asyncio
import inspect
import keyword
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional

from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, Field

from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    label: str = ""


class Order(BaseModel):
    item: str
    amount: int = 1
    parts: list["Order"] = []


class Kind(NamedTuple):
    """A supported hint: JSON values that fit it, values that do not, and what the function should then receive."""

    hint: Any
    good: st.SearchStrategy[Any]
    bad: st.SearchStrategy[Any]
    received: Callable[[Any], Any] = lambda value: value


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def point(x: int, label: str) -> dict[str, Any]:
    return asdict(Point(x, label))


def as_point(value: dict[str, Any]) -> Point:
    return Point(**value)


INTEGERS = st.integers(-(10**9), 10**9)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
ORDERS = st.fixed_dictionaries({"item": TEXTS}, optional={"amount": INTEGERS, "parts": st.just([{"item": "a part"}])})
NOTHING_FITS = st.sampled_from([object(), {"surprise": [None]}])

KINDS: dict[str, Kind] = {
    "int": Kind(int, INTEGERS, one_of("many", 1.5, None, [], "1e400", float("nan"))),
    "float": Kind(float, st.floats(allow_nan=False, width=32), one_of("much", None, {})),
    "str": Kind(str, TEXTS, one_of(1, None, [], {})),
    "bool": Kind(bool, st.booleans(), one_of("perhaps", 2, None)),
    "list": Kind(list[int], st.lists(INTEGERS, max_size=3), one_of("ab", [None], None, {"a": 1})),
    "dict": Kind(dict[str, int], st.dictionaries(TEXTS, INTEGERS, max_size=3), one_of([1], {"a": "x"}, None)),
    "literal": Kind(Literal["fast", 3], one_of("fast", 3), one_of("slow", 4, None, [])),
    "optional": Kind(Optional[int], st.none() | INTEGERS, one_of("many", [], {})),  # noqa: UP045
    "union": Kind(int | list[str], INTEGERS | st.lists(TEXTS, max_size=2), one_of(None, {}, [1])),
    "enum": Kind(Level, one_of(1, 2), one_of(3, "LOW", None, []), Level),
    "dataclass": Kind(
        Point,
        st.builds(point, INTEGERS, TEXTS),
        one_of({}, {"x": "far"}, {"x": 1, "label": 2}, [1], None),
        as_point,
    ),
    "model": Kind(Order, ORDERS, one_of({}, {"item": 1}, {"item": "a", "parts": [{}]}, "tea"), Order.model_validate),
    "datetime": Kind(
        datetime, st.datetimes().map(datetime.isoformat), one_of("soon", [], None), datetime.fromisoformat
    ),
    "field": Kind(Annotated[int, Field(ge=0, le=9)], st.integers(0, 9), st.integers(10) | st.integers(max_value=-1)),
}

parameter_names = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name) and name != "context"
)
signatures = st.dictionaries(
    parameter_names, st.tuples(st.sampled_from(sorted(KINDS)), st.booleans()), min_size=1, max_size=5
)


def function_with(parameters: dict[str, tuple[str, bool]], *, is_async: bool) -> Tool:
    """A tool of a function that gives back the keywords it received; True stands for a default of None."""

    def sync_function(**received: Any) -> dict[str, Any]:
        return received

    async def async_function(**received: Any) -> dict[str, Any]:
        return received

    function = async_function if is_async else sync_function
    vars(function)["__signature__"] = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=KINDS[kind].hint,
                default=None if has_default else inspect.Parameter.empty,
            )
            for name, (kind, has_default) in parameters.items()
        ]
    )
    return tool(function)


def called(made: Tool, arguments: Any) -> ToolResult:
    async def call() -> ToolResult:
        return await made.call(arguments)

    return asyncio.run(call())


@settings(max_examples=150)
@given(st.data(), signatures, st.booleans())
def test_good_arguments_call_the_function_and_bad_ones_fail(
    data: st.DataObject, parameters: dict[str, tuple[str, bool]], is_async: bool
) -> None:
    made = function_with(parameters, is_async=is_async)
    given_names = [name for name, (_, has_default) in parameters.items() if not has_default or data.draw(st.booleans())]
    good = {name: data.draw(KINDS[parameters[name][0]].good, label=name) for name in given_names}

    result = called(made, good)
    received = {name: KINDS[parameters[name][0]].received(value) for name, value in good.items()}
    assert (result.failed, result.value) == (False, dict.fromkeys(parameters) | received), result.text

    wrong = data.draw(st.sampled_from(sorted(parameters)), label="wrong argument")
    bad = good | {wrong: data.draw(KINDS[parameters[wrong][0]].bad | NOTHING_FITS, label="bad value")}
    refused = called(made, bad)
    assert (refused.failed, refused.value) == (True, None)
    assert f"- {wrong}" in refused.text


@settings(max_examples=100)
@given(
    signatures,
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
)
def test_no_json_value_as_arguments_raises(parameters: dict[str, tuple[str, bool]], arguments: Any) -> None:
    result = called(function_with(parameters, is_async=True), arguments)
    assert isinstance(result.text, str)
