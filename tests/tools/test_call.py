"""Calling a tool gives a result, whatever happens; its text is written for a model."""

import asyncio
import logging
import threading
from contextvars import ContextVar
from typing import Annotated, Any

import anyio
import anyio.lowlevel
import pytest
from inline_snapshot import snapshot
from pydantic import AfterValidator, BaseModel

from tests.support import PATIENCE
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult

pytestmark = pytest.mark.anyio


class Address(BaseModel):
    city: str
    zip: int


@tool
def order(item: str, amount: int = 1, address: Address | None = None) -> str:
    """Order an item.

    Args:
        amount: How many.
    """
    return f"{amount} x {item}"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(
            {"amount": "many"},
            snapshot("""\
order was not called, because its arguments are wrong:
- item: is required, but missing
- amount: Input should be a valid integer, unable to parse string as an integer (got 'many')
Expected:
- item: {"type":"string"}
- amount: {"default":1,"description":"How many.","type":"integer"}
Correct the arguments and call it again.\
"""),
            id="missing and wrong",
        ),
        pytest.param(
            {"item": "tea", "amuont": 2},
            snapshot("""\
order was not called, because its arguments are wrong:
- amuont: there is no such argument. Did you mean 'amount'?
Correct the arguments and call it again.\
"""),
            id="misspelt",
        ),
        pytest.param(
            {"item": "tea", "verbose": True},
            snapshot("""\
order was not called, because its arguments are wrong:
- verbose: there is no such argument. It takes: item, amount, address.
Correct the arguments and call it again.\
"""),
            id="invented",
        ),
        pytest.param(
            {"item": "tea", "address": {"zip": "x" * 40}},
            snapshot("""\
order was not called, because its arguments are wrong:
- address.city: is required, but missing
- address.zip: Input should be a valid integer, unable to parse string as an integer (got 'xxxxxxxxxxxx...xxxxxxxxxxxxx')
Expected:
- address: {"anyOf":[{"$ref":"#/$defs/Address"},{"type":"null"}],"default":null,"$defs":{"Address":{"properties":{"city":{"type":"string"},"zip":{"type":"integer"}},"required":["city","zip"],"title":"Address","type":"object"}}}
Correct the arguments and call it again.\
"""),  # noqa: E501
            id="nested",
        ),
        pytest.param(
            ["tea"],
            snapshot("""\
order was not called, because its arguments are not a JSON object (got ['tea']).
Call it again with an object, such as {"name": "value"}.\
"""),
            id="a list",
        ),
        pytest.param(
            {1: "tea"},
            snapshot("""\
order was not called, because its arguments are wrong:
- item: is required, but missing
- 1: Keys should be strings (got 1)
Expected:
- item: {"type":"string"}
Correct the arguments and call it again.\
"""),
            id="a key that is no text",
        ),
    ],
)
async def test_wrong_arguments_are_explained_to_the_model(arguments: Any, text: str) -> None:
    result = await order.call(arguments)
    assert (result.failed, result.text) == (True, text)


async def test_a_thousand_wrong_items_are_told_in_a_few_lines() -> None:
    @tool
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    result = await total.call({"numbers": ["x"] * 1000})
    lines = result.text.splitlines()
    assert (result.failed, len(lines), lines[11]) == (True, 15, "- and 990 more")


async def test_a_huge_schema_is_shortened_in_the_explanation() -> None:
    @tool
    def pick(number: Annotated[int, "x"] = 1) -> int:
        """Pick.

        Args:
            number: A number.
        """
        return number

    pick.parameters["properties"]["number"]["description"] = "long " * 2000
    assert len((await pick.call({"number": "x"})).text) < 2500


async def test_sync_functions_run_in_a_thread_with_the_callers_context() -> None:
    user = ContextVar("user", default="nobody")

    @tool
    def where() -> list[object]:
        return [threading.current_thread() is threading.main_thread(), user.get()]

    user.set("Ada")
    assert (await where.call({})).value == [False, "Ada"]


async def test_a_sync_function_that_gives_an_awaitable_is_awaited() -> None:
    async def later() -> str:
        return "later"

    assert (await tool(lambda: later(), name="soon").call({})).text == "later"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no stock"), "buy failed: ValueError: no stock"),
        (KeyError("tea"), "buy failed: KeyError: 'tea'"),
        (RuntimeError(), "buy failed: RuntimeError"),
        (StopIteration(3), "buy failed: RuntimeError: coroutine raised StopIteration"),
        (SystemExit(2), "buy failed: SystemExit: 2"),
        (ValueError("x" * 5000), f"buy failed: ValueError: {'x' * 1988}"),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_an_exception_of_the_tool_is_a_failed_result_and_logged_with_its_traceback(
    kind: str, error: BaseException, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    def buy() -> None:
        raise error

    async def buy_slowly() -> None:
        raise error

    with caplog.at_level(logging.ERROR):
        with anyio.fail_after(PATIENCE):
            result = await tool(buy if kind == "sync" else buy_slowly, name="buy").call({})

    logged = [(record.message, record.exc_info and record.exc_info[1] is not None) for record in caplog.records]
    assert (result, logged) == (ToolResult(text=text, failed=True), [("Tool 'buy' failed", True)])


async def test_a_validator_that_breaks_is_a_failure_of_the_tool() -> None:
    def broken(value: int) -> int:
        raise LookupError("no table")

    @tool
    def buy(amount: Annotated[int, AfterValidator(broken)]) -> int:
        return amount

    assert await buy.call({"amount": 1}) == ToolResult(text="buy failed: LookupError: no table", failed=True)


async def test_a_result_that_cannot_be_written_is_a_failure_of_the_tool() -> None:
    @tool
    def loop() -> list[Any]:
        endless: list[Any] = []
        endless.append(endless)
        return endless

    assert (await loop.call({})).failed


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_cancellation_passes_through(kind: str) -> None:
    started, release = threading.Event(), threading.Event()

    def wait() -> None:
        started.set()
        release.wait(PATIENCE)

    async def wait_async() -> None:
        started.set()
        await anyio.sleep_forever()

    call = asyncio.ensure_future(tool(wait if kind == "sync" else wait_async).call({}))
    with anyio.fail_after(PATIENCE):
        while not started.is_set():
            await anyio.lowlevel.checkpoint()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    release.set()


async def test_a_tool_may_give_its_own_result() -> None:
    said = ToolResult.failure("Sold out; try coffee.")
    assert await tool(lambda: said, name="buy").call({}) is said


async def test_half_a_surrogate_pair_does_not_leave_the_tool() -> None:
    assert await order.call({"item": "\ud800"}) == ToolResult(text="1 x ?", value="1 x \ud800")
