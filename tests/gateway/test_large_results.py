"""Long answers: the beginning goes out with a handle, by which the same caller reads on."""

import asyncio
import re

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from tests.support.gateway import SOON, TOKEN, call, entry, in_memory, made_gateway, over_http, serving, text
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.gateway.surface import LargeResults

BIG = {"call": {"echo": "big"}, "bytes": 1_050}


@pytest.mark.process
@pytest.mark.anyio
async def test_a_long_answer_is_read_in_pieces() -> None:
    for surface, run, inner in (("search", "call_tool", "arguments"), ("browse", "execute_tool", "params")):
        gateway = made_gateway({"s": entry(**BIG)}, limits=GatewayLimits(result_characters=500), surface=surface)
        async with asyncio.timeout(SOON), in_memory(gateway) as client:

            async def read(name: str, arguments: dict[str, object], run: str = run, inner: str = inner) -> str:
                return text(await client.call_tool(run, {"name": name, inner: arguments}))

            pieces = [await read("s__echo", {})]
            while told := re.search(r'call read_result with \{"handle": "(.*)", "start": (\d+)\}', pieces[-1]):
                pieces.append(await read("read_result", {"handle": told[1], "start": int(told[2])}))
            assert [piece.count("x") for piece in pieces] == [500, 500, 50]
            assert "(Characters 1 to 500 of 1,050." in pieces[0]
            assert pieces[2] == "x" * 50
            assert (
                await read("read_result", {"handle": "r-0"})
                == "There is no result 'r-0' any more. Call its tool again."
            )


@pytest.mark.process
@pytest.mark.anyio
async def test_nobody_reads_what_another_asked_for() -> None:
    gateway = made_gateway({"s": entry(**BIG)}, limits=GatewayLimits(result_characters=500))
    with serving(gateway, tokens={TOKEN: "ann", "another-token": "bob"}) as url:
        async with asyncio.timeout(SOON), over_http(url) as ann, over_http(url, token="another-token") as bob:
            cut = text(await call(ann, "s__echo"))
            handle = cut.split('"handle": "')[1].split('"')[0]
            assert (await call(bob, "read_result", {"handle": handle})).is_error
            assert not (await call(ann, "read_result", {"handle": handle})).is_error
            beyond = await call(ann, "read_result", {"handle": handle, "start": 1_050})
            assert text(beyond) == "The result ends at 1,050 characters."


def words(content: str) -> TextContent:
    return TextContent(type="text", text=content)


def test_what_fits_is_the_very_same() -> None:
    fits = CallToolResult(content=[words("x" * 800)], structured_content={"a": 1})
    assert LargeResults(GatewayLimits(result_characters=500)).fit(fits, "me") is fits


def test_pictures_stay_and_data_that_is_too_large_goes_as_text() -> None:
    picture = ImageContent(type="image", data="AA==" * 100, mime_type="image/png")
    long = CallToolResult(content=[words("short"), picture], structured_content={"a": "y" * 900})
    cut = LargeResults(GatewayLimits(result_characters=500)).fit(long, "me")
    assert isinstance(cut.content[0], TextContent)
    assert cut.content[0].text.startswith('{"a":"yyy')
    assert (cut.content[1], cut.structured_content) == (picture, None)


def test_only_so_much_is_kept() -> None:
    results = LargeResults(GatewayLimits(result_characters=10, kept_results_characters=1_500))
    cuts = [results.fit(CallToolResult(content=[words(sign * 1_000)]), "me") for sign in "ab"]
    handles = [str(cut.content[0]).split('"handle": "')[1].split('"')[0] for cut in cuts]
    assert [handle in results for handle in handles] == [False, True]
