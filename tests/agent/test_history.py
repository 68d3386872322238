"""What of a conversation goes along with the next turn."""

from typing import Any

from hypothesis import given, strategies as st
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from toolcrib.agent.history import (
    dump_messages,
    just_left,
    load_messages,
    new_parts,
    outline,
    transcript,
    user_texts,
    window,
)


def talk(*steps_of_turns: int) -> list[Any]:
    """Turns with so many tool calls each, as they are stored."""
    messages: list[Any] = []
    for turn, steps in enumerate(steps_of_turns):
        messages.append(ModelRequest(parts=[UserPromptPart(f"turn {turn}")]))
        for step in range(steps):
            call = f"{turn}-{step}"
            messages.append(ModelResponse(parts=[ToolCallPart("get", {"n": step}, call)]))
            messages.append(ModelRequest(parts=[ToolReturnPart("get", "ok", call)]))
        messages.append(ModelResponse(parts=[TextPart(f"answer {turn}")]))
    return dump_messages(messages)


def kinds(stored: list[Any]) -> list[str]:
    return [part["part_kind"] for message in stored for part in message["parts"]]


def test_instructions_are_not_stored() -> None:
    (stored,) = dump_messages([ModelRequest(parts=[UserPromptPart("Hi")], instructions="Be brief.")])
    assert "instructions" not in stored
    assert ModelMessagesTypeAdapter.validate_python([stored])


def test_a_short_conversation_goes_along_whole() -> None:
    stored = talk(2, 2, 2)
    assert window(stored) == stored
    assert window([]) == []


def test_a_long_one_begins_with_a_whole_turn() -> None:
    stored = talk(*[1] * 6)  # 4 messages a turn: 24
    kept = window(stored)
    assert kept == stored[16:]
    assert kinds(kept)[0] == "user-prompt"


def test_the_window_stays_until_it_has_to_leap() -> None:
    begins = [window(talk(*[1] * turns))[0]["parts"][0]["content"] for turns in range(5, 13)]
    assert begins == ["turn 0", "turn 4", "turn 4", "turn 4", "turn 4", "turn 8", "turn 8", "turn 8"]


def test_what_left_the_window_is_known_once_at_each_leap() -> None:
    left = [outline(just_left(talk(*[1] * turns))) for turns in range(5, 11)]
    first = "; ".join(f'asked "turn {turn}"; called get' for turn in range(4))
    second = "; ".join(f'asked "turn {turn}"; called get' for turn in range(4, 8))
    assert left == ["", first, "", "", "", second]
    assert just_left([]) == []


def test_an_outline_keeps_what_is_newest_and_a_transcript_says_who_spoke() -> None:
    stored = talk(1, 0)
    assert outline(stored, earlier="earlier") == 'earlier; asked "turn 0"; called get; asked "turn 1"'
    assert transcript(stored, earlier="earlier").splitlines() == [
        "summary so far: earlier",
        "user: turn 0",
        "call: get({'n': 0})",
        "result: ok",
        "assistant: answer 0",
        "user: turn 1",
        "assistant: answer 1",
    ]
    long = outline(talk(*[0] * 200))
    assert (len(long) < 1_300, long.startswith("..."), long.endswith('asked "turn 199"')) == (True, True, True)


def test_a_turn_longer_than_the_window_keeps_its_request_and_its_end() -> None:
    stored = talk(1, 15)
    kept = window(stored)
    assert len(kept) <= 11
    assert kept[0]["parts"][0]["content"] == "turn 1"
    assert kinds(kept)[1] == "tool-call"


def test_what_the_system_said_stays() -> None:
    first = dump_messages([ModelRequest(parts=[SystemPromptPart("Be kind."), UserPromptPart("Hi")])])
    stored = [*first, *dump_messages([ModelResponse(parts=[TextPart("Hello")])]), *talk(*[1] * 6)]
    kept = window(stored)
    assert kinds(kept)[:2] == ["system-prompt", "user-prompt"]


@given(st.lists(st.integers(0, 14), max_size=12), st.integers(2, 20), st.integers(1, 12))
def test_a_result_never_stands_without_its_call(turns: list[int], most: int, keep: int) -> None:
    stored = talk(*turns)
    kept = window(stored, most=most, keep=keep)
    calls = [part["tool_call_id"] for m in kept for part in m["parts"] if part["part_kind"] == "tool-call"]
    results = [part["tool_call_id"] for m in kept for part in m["parts"] if part["part_kind"] == "tool-return"]
    assert calls == results
    assert not kept or kinds(kept)[0] == "user-prompt"
    assert not stored or kept[-1] == stored[-1]
    assert len(stored) > most or kept == stored


def test_a_call_whose_run_was_stopped_gets_a_result_that_says_so() -> None:
    messages = load_messages(talk(1)[:2])
    (part,) = messages[-1].parts
    assert isinstance(part, ToolReturnPart)
    assert part.outcome != "success"


def test_a_request_and_what_it_gained_are_one_again() -> None:
    result = ToolReturnPart("get", "ok", "0-0")
    request = ModelRequest(parts=[result])
    first = dump_messages([request])
    request.parts = [result, UserPromptPart("and then")]
    gained = new_parts(request, [result])
    assert gained is not None
    stored = [*talk(1)[:2], *first, *dump_messages([gained])]
    assert [len(message.parts) for message in load_messages(stored)] == [1, 1, 2]
    assert new_parts(request, request.parts) is None


def test_the_users_words_newest_first() -> None:
    assert [text for _, text in user_texts(talk(0, 1))] == ["turn 1", "turn 0"]
