"""The scripted provider, by the SDKs that real programs use."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic import Anthropic
from anthropic.types import RawMessageStreamEvent
from openai import APIConnectionError, BadRequestError, InternalServerError, NotFoundError, OpenAI, RateLimitError

from benchmarks.wire import Call, Drop, Malformed, Refuse, Slow, Turn, WireServer

pytestmark = pytest.mark.process

SEARCH = Call("find", {"query": "größe"})
ASKED: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture
def clients() -> Iterator[list[Any]]:
    """Clients to close at the end."""
    made: list[Any] = []
    yield made
    for client in made:
        client.close()


def openai(server: WireServer, clients: list[Any], *, retries: int = 2) -> OpenAI:
    clients.append(OpenAI(api_key="key", base_url=server.url, max_retries=retries))
    return clients[-1]


def anthropic(server: WireServer, clients: list[Any]) -> Anthropic:
    clients.append(Anthropic(api_key="key", base_url=server.origin))
    return clients[-1]


def test_chat_completions_come_whole_and_in_pieces(clients: list[Any]) -> None:
    with WireServer([Turn("Let me see. ", SEARCH), Turn("It is big.", SEARCH, SEARCH)]) as server:
        client = openai(server, clients)
        whole = client.chat.completions.create(model="m", messages=ASKED)
        message = whole.choices[0].message
        assert (message.content, whole.choices[0].finish_reason) == ("Let me see. ", "tool_calls")
        assert message.tool_calls is not None
        assert message.tool_calls[0].to_dict()["function"] == {"name": "find", "arguments": '{"query": "größe"}'}
        text, usage = "", None
        arguments: dict[int, str] = {}
        options: Any = {"include_usage": True}
        for chunk in client.chat.completions.create(model="m", messages=ASKED, stream=True, stream_options=options):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    assert call.function is not None
                    arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
        assert text == "It is big."
        assert [json.loads(said) for said in arguments.values()] == [{"query": "größe"}] * 2
        assert usage is not None
        assert usage.total_tokens == 110


def test_responses_come_whole_and_in_pieces(clients: list[Any]) -> None:
    with WireServer([Turn("Let me see.", SEARCH), Turn("It is big.", SEARCH)]) as server:
        client = openai(server, clients)
        whole = client.responses.create(model="m", input="hello")
        assert whole.output_text == "Let me see."
        assert whole.output[1].to_dict() == {
            "id": "fc_0_0",
            "type": "function_call",
            "call_id": "call_0_0",
            "name": "find",
            "arguments": '{"query": "größe"}',
            "status": "completed",
        }
        with client.responses.stream(model="m", input="hello") as stream:
            done = stream.get_final_response()
        assert done.output_text == "It is big."
        assert done.usage is not None
        assert (done.output[1].to_dict()["arguments"], done.usage.output_tokens) == ('{"query": "größe"}', 10)


def test_responses_know_a_search_by_the_client(clients: list[Any]) -> None:
    with WireServer([Turn(Call("tool_search", {"query": "mail"}))] * 2) as server:
        client = openai(server, clients)
        tools: Any = [{"type": "tool_search", "execution": "client", "description": "d", "parameters": {}}]
        [item] = client.responses.create(model="m", input="hello", tools=tools).output
        assert (item.type, item.to_dict()["arguments"]) == ("tool_search_call", {"query": "mail"})
        with client.responses.stream(model="m", input="hello", tools=tools) as stream:
            assert [item.type for item in stream.get_final_response().output] == ["tool_search_call"]


def test_anthropic_messages_come_whole_and_in_pieces(clients: list[Any]) -> None:
    with WireServer([Turn("Let me see.", SEARCH), Turn("It is big.", SEARCH)]) as server:
        client = anthropic(server, clients)
        whole = client.messages.create(model="m", max_tokens=9, messages=ASKED)
        assert [block.type for block in whole.content] == ["text", "tool_use"]
        with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
            done = stream.get_final_message()
        assert [block.to_dict().get("input") for block in done.content] == [None, {"query": "größe"}]
        assert (done.stop_reason, done.usage.input_tokens, done.usage.output_tokens) == ("tool_use", 100, 10)


def test_every_request_is_kept_as_it_came(clients: list[Any]) -> None:
    with WireServer(lambda request: Turn(f"You are number {request.number}.")) as server:
        client = openai(server, clients)
        texts = [client.responses.create(model="m", input="größer").output_text for _ in range(2)]
        assert texts == ["You are number 0.", "You are number 1."]
        assert server.bodies == [{"input": "größer", "model": "m"}] * 2
        assert b'"gr\xc3\xb6\xc3\x9fer"' in server.requests[0].body
        assert (server.requests[0].wire, server.requests[0].headers["authorization"]) == (
            "openai-responses",
            "Bearer key",
        )


def test_faults_reach_the_client(clients: list[Any]) -> None:
    again = Refuse(429, retry_after=0.001)
    script = [again, again, again, Refuse(500), Malformed(), Drop(Turn("never whole"))]
    with WireServer(script) as server:
        with pytest.raises(RateLimitError, match="The script says no"):
            openai(server, clients).chat.completions.create(model="m", messages=ASKED)
        assert len(server.requests) == 3
        client = openai(server, clients, retries=0)
        with pytest.raises(InternalServerError):
            client.chat.completions.create(model="m", messages=ASKED)
        with pytest.raises(json.JSONDecodeError):
            client.chat.completions.create(model="m", messages=ASKED)
        with pytest.raises(APIConnectionError):
            client.chat.completions.create(model="m", messages=ASKED)
        with pytest.raises(BadRequestError, match="The script is over"):
            client.chat.completions.create(model="m", messages=ASKED)
        with pytest.raises(NotFoundError, match="There is no /v1/embeddings"):
            client.embeddings.create(model="m", input="x")


def test_a_stream_can_break_in_the_middle(clients: list[Any]) -> None:
    with WireServer([Drop(Turn("one two three"), after=3), Malformed()]) as server:
        client = anthropic(server, clients)
        seen: list[RawMessageStreamEvent] = []
        with pytest.raises(Exception, match="incomplete chunked read"):  # noqa: PT012
            for event in client.messages.create(model="m", max_tokens=9, messages=ASKED, stream=True):
                seen.append(event)  # noqa: PERF402  # what came before the break is the point
        assert [event.type for event in seen] == ["message_start", "content_block_start", "content_block_delta"]
        with pytest.raises(json.JSONDecodeError):
            list(openai(server, clients).chat.completions.create(model="m", messages=ASKED, stream=True))


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_can_wait_for_its_gate(clients: list[Any], stream: bool) -> None:
    slow = Slow(Turn("late"))
    with WireServer([slow]) as server:
        slow.gate.set()
        client = openai(server, clients)
        got = client.chat.completions.create(model="m", messages=ASKED, stream=stream)
        assert "late" in (str(got) if not stream else "".join(map(str, got)))
