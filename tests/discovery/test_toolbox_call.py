"""Calling through the toolbox: found, allowed, active, with arguments that fit, in time. Else a text that helps."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot

from tests.support import PATIENCE
from tests.support.recorded_tools import calls_of, make, pages, told
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Policy, Rule
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

pytestmark = pytest.mark.anyio


def finder(toolbox: Toolbox) -> Sequence[Tool]:
    return [make("find_tools", "Find tools.")]


async def test_a_call_reaches_the_tool_with_its_context() -> None:
    catalog = pages()
    done = await Toolbox(catalog).call("get_page", {"slug": "home"}, "the session")
    call: Any = catalog.get("get_page").call
    assert (done, call.calls, call.contexts) == (ToolResult.of("done"), [{"slug": "home"}], ["the session"])


async def test_a_function_runs_too() -> None:
    @tool
    def double(number: int) -> int:
        """Double a number."""
        return number * 2

    assert (await Toolbox(Catalog([double])).call("double", '{"arguments": {"number": "4"}}')).value == 8


async def test_a_surface_tool_is_called_like_any_other_whatever_the_policy() -> None:
    toolbox = Toolbox(pages(), policy=Policy(rules=(Rule("hide"),)), surface=finder, inactive="refuse")
    assert (await toolbox.call("find_tools", {})).text == "done"


async def test_an_unknown_name_gets_the_nearest_one() -> None:
    assert told(await Toolbox(pages(), surface=finder).call("getPage", {})) == snapshot(
        ("There is no tool named 'getPage'. Did you mean 'get_page'?", 16)
    )
    assert told(await Toolbox(pages(), surface=finder).call("fnd_tools", {})) == snapshot(
        ("There is no tool named 'fnd_tools'. Did you mean 'find_tools'?", 17)
    )


@pytest.mark.parametrize(
    ("asked", "meant"), [("getPage9", "get_page_9"), ("deletePgae_77", "delete_page_77"), ("xage_1", None)]
)
async def test_the_nearest_one_is_found_among_very_many(asked: str, meant: str | None) -> None:
    toolbox = Toolbox(Catalog(make(f"{verb}_page_{number}") for verb in ("get", "delete") for number in range(600)))
    answer = (await toolbox.call(asked, {})).text
    assert answer.endswith(f"Did you mean {meant!r}?" if meant else "?")


async def test_a_name_like_no_other_gets_the_way_to_find_one() -> None:
    assert told(await Toolbox(pages(), surface=finder).call("bake_bread", {})) == snapshot(
        ("There is no tool named 'bake_bread'. Find the right one with find_tools.", 19)
    )
    assert told(await Toolbox(pages()).call("bake_bread", {})) == snapshot(("There is no tool named 'bake_bread'.", 11))


async def test_a_name_without_end_is_cut() -> None:
    assert len((await Toolbox(pages()).call("x" * 10_000, {})).text) < 120


async def test_what_is_denied_says_why() -> None:
    policy = Policy(rules=(Rule("deny", name="delete_*", reason="this site is an archive"),))
    catalog = pages()
    assert told(await Toolbox(catalog, policy=policy).call("delete_page", {"slug": "home"})) == snapshot(
        ("delete_page is not allowed, because this site is an archive. Do not try again; tell the user.", 22)
    )
    assert calls_of(catalog, "delete_page") == []


async def test_a_known_tool_becomes_active_when_it_is_called() -> None:
    toolbox = Toolbox(pages())
    await toolbox.call("get_page", {"slug": "home"})
    assert toolbox.active == ("get_page",)


async def test_a_call_with_wrong_arguments_leaves_the_tool_active_to_read_its_schema() -> None:
    toolbox = Toolbox(pages())
    assert (await toolbox.call("get_page", {})).failed
    assert toolbox.active == ("get_page",)


async def test_a_toolbox_can_refuse_what_is_not_active() -> None:
    catalog = pages()
    toolbox = Toolbox(catalog, inactive="refuse", surface=finder)
    assert told(await toolbox.call("list_pages", {})) == snapshot(
        ("list_pages is not active. Ask find_tools for it first, then call it.", 17)
    )
    assert told(await Toolbox(catalog, inactive="refuse").call("list_pages", {})) == snapshot(
        ("list_pages is not active. Activate it first, then call it.", 14)
    )
    assert (toolbox.active, calls_of(catalog, "list_pages")) == ((), [])
    toolbox.activate(["list_pages"])
    assert (await toolbox.call("list_pages", {})).text == "done"


async def test_pinned_tools_are_never_inactive() -> None:
    toolbox = Toolbox(pages(), inactive="refuse", pinned=["list_pages"])
    assert (await toolbox.call("list_pages", {})).text == "done"
    assert toolbox.active == ()


async def test_a_tool_that_hangs_is_given_up() -> None:
    stopped = asyncio.Event()

    async def hang(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        try:
            return await asyncio.Future[ToolResult]()
        finally:
            stopped.set()

    toolbox = Toolbox(Catalog([make("hang", call=hang)]), timeout_seconds=0.01)
    with anyio.fail_after(PATIENCE):
        assert told(await toolbox.call("hang", {})) == snapshot(
            ("hang gave no answer within 0.01 seconds. It may have had an effect: check before you call it again.", 25)
        )
    assert stopped.is_set()


async def test_the_tool_behind_a_surface_is_the_one_that_took_too_long() -> None:
    async def hang(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        return await asyncio.Future[ToolResult]()

    def runner(toolbox: Toolbox) -> Sequence[Tool]:
        async def execute(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
            return await toolbox.call("hang", {})

        return [make("execute_tool", call=execute)]

    toolbox = Toolbox(Catalog([make("hang", call=hang)]), surface=runner, timeout_seconds=0.01)
    with anyio.fail_after(PATIENCE):
        assert (await toolbox.call("execute_tool", {})).text.startswith("hang gave no answer within 0.01 seconds.")


async def test_a_toolbox_can_wait_without_end() -> None:
    catalog = pages()
    assert (await Toolbox(catalog, timeout_seconds=None).call("list_pages", {})).text == "done"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError("no route to host"), "explode failed: OSError: no route to host"),
        (TimeoutError(), "explode failed: TimeoutError"),
        (ValueError("x" * 10_000), f"explode failed: ValueError: {'x' * 1_988}"),
    ],
    ids=["message", "no message", "long message"],
)
async def test_a_tool_that_raises_gives_a_failed_result(error: Exception, text: str) -> None:
    async def explode(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        raise error

    failed = await Toolbox(Catalog([make("explode", call=explode)])).call("explode", {})
    assert failed == ToolResult.failure(text)


async def test_what_raises_before_it_is_awaited_fails_as_well() -> None:
    def explode(arguments: Mapping[str, Any], context: object = None, /) -> Any:
        raise ConnectionError("down")

    failed = await Toolbox(Catalog([make("explode", call=explode)])).call("explode", {})
    assert told(failed) == snapshot(("explode failed: ConnectionError: down", 7))


async def test_a_plain_value_becomes_a_result() -> None:
    async def plain(arguments: Mapping[str, Any], context: object = None, /) -> Any:
        return {"pages": 3}

    assert (await Toolbox(Catalog([make("plain", call=plain)])).call("plain", {})).text == '{"pages":3}'


async def test_cancellation_passes_through() -> None:
    started = asyncio.Event()

    async def hang(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        started.set()
        return await asyncio.Future[ToolResult]()

    toolbox = Toolbox(Catalog([make("hang", call=hang)]))
    with anyio.fail_after(PATIENCE):
        task = asyncio.ensure_future(toolbox.call("hang", {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_several_calls_of_one_step_run_at_once() -> None:
    together = asyncio.Barrier(3)

    async def meet(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        await together.wait()
        return ToolResult.of(arguments["number"])

    toolbox = Toolbox(Catalog([make(f"meet_{letter}", call=meet) for letter in "abc"]))
    with anyio.fail_after(PATIENCE):
        results = await asyncio.gather(
            *(toolbox.call(f"meet_{letter}", {"number": number}) for number, letter in enumerate("abc"))
        )
    assert [result.value for result in results] == [0, 1, 2]
    assert toolbox.active == ("meet_a", "meet_b", "meet_c")
