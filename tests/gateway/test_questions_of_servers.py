"""What servers ask back during a call reaches the client's user, or its model, in both protocols on either side."""

import asyncio
import json
import sys
from typing import Any

import mcp
import pytest
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

from tests.support.gateway import ERAS, SOON, TOKEN, call, entry, in_memory, made_gateway, over_http, serving, text
from tests.support.mcp_servers import ASKING
from toolcrib.gateway.server import Gateway

pytestmark = [pytest.mark.anyio, pytest.mark.process]
OLDER = entry(
    tools=[{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "ask_for_page", "sample", "echo")],
    call={"ask": "ask", "ask_for_page": "ask_for_page", "sample": "sample"},
)
NEWER = {"command": sys.executable, "args": [ASKING]}
SERVERS = {"older": OLDER, "newer": NEWER}


class Client:
    """A client's user, and its model."""

    def __init__(self, size: str = "large") -> None:
        self.asked: list[str] = []
        self._size = size

    async def user(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"size": self._size})

    async def model(self, context: Any, params: Any) -> CreateMessageResult:
        self.asked.append(params.messages[0].content.text)
        return CreateMessageResult(role="assistant", model="m", content=TextContent(type="text", text=self._size))


def gateway(**options: Any) -> Gateway:
    return made_gateway(SERVERS, **options)


@pytest.mark.parametrize("era", ERAS)
async def test_the_user_is_asked_and_told_who_asks(era: str) -> None:
    client = Client()
    async with asyncio.timeout(SOON), in_memory(gateway(), era, elicitation_callback=client.user) as connected:
        for server in SERVERS:
            told = await call(connected, f"{server}__ask")
            assert not told.is_error
            assert '"action' in text(told)
            assert "large" in text(told)
    assert client.asked == [f"{server} asks: Which size?" for server in SERVERS]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.filterwarnings("ignore:.*sampling.*:DeprecationWarning")
async def test_the_clients_model_is_asked(era: str) -> None:
    client = Client()
    async with asyncio.timeout(SOON), in_memory(gateway(), era, sampling_callback=client.model) as connected:
        for server in SERVERS:
            assert "large" in text(await call(connected, f"{server}__sample"))
    assert client.asked == ["Which size?"] * len(SERVERS)


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_hears_that_a_client_cannot_be_asked(era: str) -> None:
    async with asyncio.timeout(SOON), in_memory(gateway(), era) as connected:
        for server in SERVERS:
            assert "The client of this call cannot ask its user." in text(await call(connected, f"{server}__ask"))
            assert "does not let servers use its model" in text(await call(connected, f"{server}__sample"))
        assert "cannot open a page for its user" in text(await call(connected, "older__ask_for_page"))
        assert text(await call(connected, "older__echo", {"text": "still there"})) == "still there"


@pytest.mark.parametrize("era", ERAS)
async def test_over_http_too(era: str) -> None:
    async def user(message: str, *_: Any) -> dict[str, str]:
        return {"size": "small"}

    with serving(gateway()) as url:
        async with asyncio.timeout(SOON), over_http(url, era, elicitation_handler=user) as connected:
            assert "small" in text(await call(connected, "older__ask"))
            assert "small" in text(await call(connected, "newer__ask"))


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_may_ask_several_things(era: str) -> None:
    client = Client()
    async with asyncio.timeout(SOON), in_memory(gateway(), era, elicitation_callback=client.user) as connected:
        told = text(await call(connected, "newer__ask_twice"))
    assert told.startswith("mine ")
    assert told.count("large") == 2
    assert len(client.asked) == 2


@pytest.mark.parametrize("era", ERAS)
async def test_the_gateways_own_question_comes_first(era: str) -> None:
    client = Client()

    async def user(context: Any, params: Any) -> ElicitResult:
        reply = await client.user(context, params)
        if params.message.startswith("Allow"):
            return ElicitResult(action="accept", content={"confirm": True})
        return reply

    async with asyncio.timeout(SOON), in_memory(gateway(), era, elicitation_callback=user) as connected:
        assert "large" in text(await call(connected, "newer__delete_after_asking"))
    assert [asked.split(" ")[0] for asked in client.asked] == ["Allow", "newer"]


async def test_nobody_is_asked_for_a_call_that_may_be_another_persons() -> None:
    """Over the pipes of an older server a question does not say which call it belongs to."""
    bob = Client("bobs")
    hanging = entry(tools=[{"name": "ask", "inputSchema": {"type": "object"}}], call={"ask": "ask"})
    made = made_gateway({"s": hanging})
    began, go = asyncio.Event(), asyncio.Event()

    async def thinks(message: str, *_: Any) -> dict[str, str]:
        began.set()
        await go.wait()
        return {"size": "anns"}

    async def user(message: str, *_: Any) -> dict[str, str]:
        bob.asked.append(message)
        return {"size": "bobs"}

    with serving(made, tokens={TOKEN: "ann", "another-token": "bob"}) as url:
        async with (
            asyncio.timeout(SOON),
            over_http(url, "legacy", elicitation_handler=thinks) as one,
            over_http(url, "legacy", token="another-token", elicitation_handler=user) as other,
        ):
            first = asyncio.create_task(call(one, "s__ask"))
            await began.wait()
            refused = json.loads(text(await call(other, "s__ask")))
            assert refused["message"].startswith("Nobody was asked: several calls are running")
            go.set()
            assert "anns" in text(await first)
    assert bob.asked == []


async def asked_once(connected: mcp.Client, name: str) -> InputRequiredResult:
    asked = await connected.session.call_tool("call_tool", {"name": name}, allow_input_required=True)
    assert isinstance(asked, InputRequiredResult)
    return asked


async def test_a_reply_belongs_to_one_call_and_counts_once() -> None:
    """In the newer protocol it comes with a second call, which anybody could send."""
    client = Client()
    yes: dict[str, Any] = {"question": ElicitResult(action="accept", content={"size": "large"})}

    async with asyncio.timeout(SOON), in_memory(gateway(), elicitation_callback=client.user) as connected:

        async def answered(name: str, state: str | None, reply: dict[str, Any]) -> Any:
            return await connected.session.call_tool(
                "call_tool", {"name": name}, input_responses=reply, request_state=state, allow_input_required=True
            )

        first = await asked_once(connected, "older__ask")
        gone = await answered("newer__ask", first.request_state, yes)
        assert (gone.is_error, text(gone)) == (
            True,
            "The question is too old, or was answered before. Call the tool again.",
        )
        assert "large" in text(await answered("older__ask", first.request_state, yes))
        assert (await answered("older__ask", first.request_state, yes)).is_error
        assert (await answered("older__ask", "ask-made-up", yes)).is_error
        second = await asked_once(connected, "older__ask")
        assert (await answered("older__ask", second.request_state, {})).is_error  # a reply without an answer
        assert (await answered("older__ask", second.request_state, yes)).is_error
        await asked_once(connected, "older__ask")  # nobody comes back: it ends with the gateway


async def test_two_callers_do_not_answer_for_each_other() -> None:
    async def user(message: str, *_: Any) -> dict[str, str]:
        return {"size": "large"}

    with serving(gateway(), tokens={TOKEN: "ann", "another-token": "bob"}) as url:
        async with (
            asyncio.timeout(SOON),
            over_http(url, elicitation_handler=user) as ann,
            over_http(url, token="another-token", elicitation_handler=user) as bob,
        ):
            asked = await ann.session.call_tool("call_tool", {"name": "newer__ask"}, allow_input_required=True)
            assert isinstance(asked, InputRequiredResult)
            yes: Any = {"question": ElicitResult(action="accept", content={"size": "large"})}
            stolen = await bob.session.call_tool(
                "call_tool",
                {"name": "newer__ask"},
                input_responses=yes,
                request_state=asked.request_state,
                allow_input_required=True,
            )
            assert getattr(stolen, "is_error", False)
