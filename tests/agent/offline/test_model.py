"""The brain as a Pydantic AI model: streaming, output tools, usage, and the same reply for the same messages."""

from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from tests.support.offline import notes_catalog
from toolcrib.agent.models import model_for
from toolcrib.agent.offline import OfflineModel
from toolcrib.agent.toolset import CribToolset
from toolcrib.discovery.native import schema
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox


def agent(**options: Any) -> Agent[None, str]:
    return Agent(OfflineModel(), toolsets=[CribToolset(Toolbox(notes_catalog(), surface=search_surface, **options))])


@cache
def definitions() -> list[ToolDefinition]:
    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=schema(tool.parameters))
        for tool in notes_catalog()
    ]


async def replied(text: str) -> ModelResponse:
    """The first reply when every tool is in sight."""
    parameters = ModelRequestParameters(function_tools=definitions(), allow_text_output=True)
    return await OfflineModel().request([ModelRequest(parts=[UserPromptPart(text)])], None, parameters)


async def test_it_works_in_any_agent_in_three_lines() -> None:
    result = await agent().run("list all notes")
    assert result.output.startswith("**3** notes:\n- **Groceries**")


async def test_it_is_the_model_named_offline() -> None:
    model = model_for("offline")
    assert isinstance(model, OfflineModel)
    assert (model.model_name, model.system, model.provider) == ("offline", "offline", None)


async def test_its_words_come_in_small_pieces() -> None:
    async with agent().run_stream("who are you?") as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
        whole = await stream.get_output()
    assert len(pieces) > 10
    assert "".join(pieces) == whole


async def test_the_same_messages_give_the_same_reply() -> None:
    one, two = await replied("delete the tax note"), await replied("delete the tax note")
    assert (one.parts, one.usage) == (two.parts, two.usage)
    assert [part.tool_call_id for part in one.tool_calls] == ["offline_1"]


async def test_usage_counts_what_was_read_and_said() -> None:
    usage = (await replied("list all notes")).usage
    assert usage.input_tokens > 300
    assert usage.output_tokens > 0


async def test_an_agent_without_words_for_users_gets_its_output_tool() -> None:
    class Answer(BaseModel):
        reply: str

    result = await Agent(OfflineModel(), output_type=Answer).run("hello")
    assert result.output.reply.startswith("Hello!")


async def test_without_any_tool_it_says_so() -> None:
    result = await Agent(OfflineModel()).run("list all notes")
    assert result.output.startswith("I found no tool for that.")


async def test_a_history_that_begins_in_the_middle_is_no_harm() -> None:
    cut: list[ModelMessage] = [ModelResponse(parts=[ToolCallPart("list_notes", "not json")])]
    reply = await OfflineModel().request(cut, None, ModelRequestParameters(function_tools=definitions()))
    assert reply.text == "Please say what to do."


async def test_a_yes_in_words_is_taken_in_an_agent_of_pydantic_ai() -> None:
    talker = agent()
    first = await talker.run("delete the tax note")
    assert first.output.startswith("This needs your yes: **delete_note**")
    second = await talker.run("yes", message_history=first.all_messages())
    assert second.output == "Deleted the note 'Tax'."


WORDS = """create delete rename list the a note notes called to with and in for mail 5 'x' "y" 2026-02-30 it yes no
https://x.test a@b.test lösche die Notiz usuń notatkę borra la nota , . ? : weather Paris tomorrow"""
SPOKEN = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS.split()), max_size=14).map(" ".join))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=SPOKEN)
async def test_any_text_gets_a_reply_and_no_call_lacks_what_it_needs(text: str) -> None:
    reply = await replied(text)
    assert reply.text or reply.tool_calls
    needed = {tool.name: set(tool.parameters_json_schema.get("required", ())) for tool in definitions()}
    for call in reply.tool_calls:
        assert needed[call.tool_name] <= call.args_as_dict().keys()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(texts=st.lists(SPOKEN, min_size=1, max_size=3))
async def test_any_talk_goes_on(texts: list[str]) -> None:
    talker = agent()
    history: list[ModelMessage] = []
    for text in texts:
        result = await talker.run(text, message_history=history)
        history = result.all_messages()
        assert result.output
