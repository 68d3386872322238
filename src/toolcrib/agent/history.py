"""The conversation: how it is stored, what the next request contains of it, and which tools it made active.

Messages are kept as Pydantic AI writes them, less the instructions, which are made anew each time. All of them are
kept; what is sent is a window, which moves only between turns and in leaps, because each move costs the prompt cache.

An agent of Pydantic AI keeps no session of ours: there, `message_history` is all there is. What a search found and what
the user was asked stand in the metadata of results, which no model sees, and `replay` makes a toolbox of them again.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextContent,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
    repair_messages,
)

from toolcrib.discovery.program.paused import RUN_CODE, of_call
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.stores.record import BegunCall

MOST_MESSAGES = 20
KEEP_MESSAGES = 10
_OUTLINE_CHARACTERS = 80  # of each thing that was asked
_SUMMARY_CHARACTERS = 1_200
_TRANSCRIPT_CHARACTERS = 600  # of each message
_SPEAKERS = {"user-prompt": "user", "text": "assistant", "tool-call": "call", "tool-return": "result"}


def dump_messages(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
    """Messages as a store has them."""
    dumped: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    for message in dumped:
        message.pop("instructions", None)
    return dumped


MAY_HAVE_HAPPENED = (
    "This call was begun and cut off: it may have happened (call id {id}). "
    "Find out before you do anything again; do not repeat it blindly."
)


PROGRAM_CUT_OFF = (
    "This program was cut off, and is not run again. It had called: {made}. It may have called: {begun}. "
    "Find out about those before you do anything again; then do what is left in a new program."
)


def call_id(session: str, messages: int, model_call: str) -> str:
    """The id of a call in a session whose history has so many messages, the last one with the call."""
    return f"{session}:{messages}:{model_call}"


def load_messages(
    stored: Sequence[Any],
    *,
    most: int = MOST_MESSAGES,
    keep: int = KEEP_MESSAGES,
    session: str = "",
    begun: Collection[BegunCall] = (),
    made: Mapping[str, str] | None = None,
) -> list[ModelMessage]:
    """The messages of the next request: the window, with every call answered.

    A call whose run was stopped gets a result that says so; one that was `begun`, that it may have happened. Of a
    program it says which calls happened (`made`, by the ids of their marks), and which may have.
    """
    stored = _with_unfinished(stored, session, begun, made or {})
    return repair_messages(ModelMessagesTypeAdapter.validate_python(window(stored, most=most, keep=keep)))


def _with_unfinished(
    stored: Sequence[Any], session: str, begun: Collection[BegunCall], made: Mapping[str, str]
) -> list[Any]:
    """The messages, with a result for each call that was begun and has none."""
    ids = {call.id for call in begun}
    completed: list[Any] = []
    for at, message in enumerate(stored):
        completed.append(message)
        if _kind(message) != "response":
            continue
        calls = [part for part in _parts(message) if part.get("part_kind") == "tool-call"]
        answered = {part.get("tool_call_id") for part in _answers(stored, at)}
        results = [
            {
                "part_kind": "tool-return",
                "tool_name": call["tool_name"],
                "tool_call_id": call["tool_call_id"],
                "content": _cut_off(id, begun, made)
                if call["tool_name"] == RUN_CODE
                else MAY_HAVE_HAPPENED.format(id=id),
                "outcome": "failed",
            }
            for call in calls
            if call.get("tool_call_id") not in answered
            and (
                (id := call_id(session, at + 1, str(call.get("tool_call_id")))) in ids or call["tool_name"] == RUN_CODE
            )
        ]
        if results:
            completed.append({"kind": "request", "parts": results})
    return completed


def _cut_off(id: str, begun: Collection[BegunCall], made: Mapping[str, str]) -> str:
    """What is known of a program that was cut off."""
    own = [call for call in begun if of_call(call.id, id)]
    happened = [made[call.id] for call in own if call.id in made]
    perhaps = [f"{call.tool} (call id {call.id})" for call in own if call.id not in made]
    return PROGRAM_CUT_OFF.format(made=", ".join(happened) or "nothing", begun=", ".join(perhaps) or "nothing else")


def _answers(stored: Sequence[Any], at: int) -> Iterator[dict[str, Any]]:
    """The parts of the requests between one response and the next."""
    for message in stored[at + 1 :]:
        if _kind(message) == "response":
            return
        yield from _parts(message)


def window(stored: Sequence[Any], *, most: int = MOST_MESSAGES, keep: int = KEEP_MESSAGES) -> list[Any]:
    """The last messages, once there are more than `most`: about `keep` of them, from a whole turn on if possible.

    A result never stands without its call. A system prompt in the first message stays, and when a single turn is
    longer than the window, the request that began it stays too.
    """
    first, begin = _begin(stored, most=most, keep=keep)
    return [*_system(stored, begin), *first, *stored[begin:]]


def just_left(stored: Sequence[Any], *, most: int = MOST_MESSAGES, keep: int = KEEP_MESSAGES) -> list[Any]:
    """The messages that left the window with the last turn; none while it begins where it began before."""
    last = max((at for at, message in enumerate(stored) if _begins_turn(message)), default=0)
    before, now = (_begin(part, most=most, keep=keep)[1] for part in (stored[:last], stored))
    return list(stored[before:now])


def outline(messages: Sequence[Any], *, earlier: str = "") -> str:
    """What was asked and done, without a model: the user's words and the tools that were called, in order."""
    turns: list[str] = [earlier] if earlier else []
    for message in messages:
        for part in _parts(message):
            if part.get("part_kind") == "user-prompt" and isinstance(part.get("content"), str):
                turns.append(f'asked "{" ".join(part["content"].split())[:_OUTLINE_CHARACTERS]}"')
            elif part.get("part_kind") == "tool-call":
                turns.append(f"called {part.get('tool_name')}")
    text = "; ".join(turn for turn, _ in groupby(turns))
    return text if len(text) <= _SUMMARY_CHARACTERS else f"...{text[-_SUMMARY_CHARACTERS:]}"


def transcript(messages: Sequence[Any], *, earlier: str = "") -> str:
    """The messages as text, a line each, for a model that summarizes them; long ones are cut."""
    lines = [f"summary so far: {earlier}"] if earlier else []
    for message in messages:
        for part in _parts(message):
            label = _SPEAKERS.get(part.get("part_kind", ""))
            if label:
                text = part.get("content") or f"{part.get('tool_name', '')}({part.get('args', '')})"
                lines.append(f"{label}: {' '.join(str(text).split())[:_TRANSCRIPT_CHARACTERS]}")
    return "\n".join(lines)


def _begin(stored: Sequence[Any], *, most: int, keep: int) -> tuple[list[Any], int]:
    """The messages before the window, and where it begins."""
    starts = [at for at, message in enumerate(stored) if _begins_turn(message)]
    first: list[Any] = []
    begin = 0
    # Turn by turn, as it happened: so the window begins at the same message until it has to leap.
    for end in [*starts[1:], len(stored)]:
        if len(first) + end - begin > most:
            first, begin = _leap(stored, starts, end, keep)
    return first, begin


def _leap(stored: Sequence[Any], starts: Sequence[int], end: int, keep: int) -> tuple[list[Any], int]:
    """Where the window begins when the last messages before `end` are kept, and what goes before it."""
    fresh = [at for at in starts if end - keep <= at < end]
    if fresh:
        return [], fresh[0]
    turn = max((at for at in starts if at < end), default=0)
    answers = [at for at in range(max(end - keep, turn + 1), end) if _kind(stored[at]) == "response"]
    return ([stored[turn]], answers[0]) if answers else ([], turn)


def _system(stored: Sequence[Any], begin: int) -> list[Any]:
    """The system prompt of the first message, unless the window has it. Only histories from elsewhere have one."""
    if begin == 0 or not stored:
        return []
    system = [part for part in _parts(stored[0]) if part.get("part_kind") == "system-prompt"]
    return [{**stored[0], "parts": system}] if system else []


def _begins_turn(message: Any) -> bool:
    return _kind(message) == "request" and any(part.get("part_kind") == "user-prompt" for part in _parts(message))


def _kind(message: Any) -> str:
    return str(cast("dict[str, Any]", message).get("kind", "")) if isinstance(message, dict) else ""


def _parts(message: Any) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", message.get("parts", []))


def user_texts(stored: Sequence[Any]) -> list[tuple[str, str]]:
    """The user's messages, newest first: the timestamp as stored, and the text."""
    return [
        (str(part.get("timestamp", "")), part["content"])
        for message in reversed(stored)
        if _kind(message) == "request"
        for part in reversed(_parts(message))
        if part.get("part_kind") == "user-prompt" and isinstance(part.get("content"), str)
    ]


def new_parts(request: ModelRequest, stored_parts: Sequence[object]) -> ModelRequest | None:
    """What a request gained after its results were stored, as a request of its own.

    Pydantic AI notes there which tools and instructions changed. Two requests in a row are one to it.
    """
    parts = [part for part in request.parts if not any(part is held for held in stored_parts)]
    return ModelRequest(parts=parts, timestamp=request.timestamp) if parts else None


# What results say to us, in their metadata

NOTE = "toolcrib"  # the key
FOUND = "found"  # names of tools
ASKED = "asked"  # the digest of a call that waits for the user's yes, and its tool
PROGRAM = "program"  # that waits for the answer to what was asked
AGREED = "agreed"  # the digest of a call that the user agreed to


def with_note(metadata: object, note: Mapping[str, Any]) -> object:
    """Metadata of a result with our note; a tool's own keys stay, and what it writes in place of our note goes."""
    if not isinstance(metadata, Mapping | None):
        return metadata
    own = {key: value for key, value in cast("Mapping[str, Any]", metadata or {}).items() if key != NOTE}
    return ({**own, NOTE: dict(note)} if note else own) or None


def note_of(part: ToolReturnPart) -> Mapping[str, Any]:
    """Our note of a result; empty if there is none."""
    metadata: object = part.metadata
    note = cast("Mapping[str, object]", metadata).get(NOTE) if isinstance(metadata, Mapping) else None
    return cast("Mapping[str, Any]", note) if isinstance(note, Mapping) else {}


@dataclass(slots=True)
class UserTurn:
    """A message of the user, and the results that came until the next one."""

    text: str
    results: list[ToolReturnPart] = field(default_factory=list[ToolReturnPart])


def turns_of(messages: Sequence[ModelMessage]) -> list[UserTurn]:
    """The turns of a conversation."""
    turns: list[UserTurn] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            if is_turn(message):
                turns.append(UserTurn(_user_text(message)))
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and turns:
                    turns[-1].results.append(part)
    return turns


def is_turn(request: ModelRequest) -> bool:
    """Whether a request begins a turn of the user. Beside results, a user's part is what a tool wants to show."""
    parts = request.parts
    return any(isinstance(one, UserPromptPart) for one in parts) and not any(
        isinstance(one, ToolReturnPart) for one in parts
    )


def _user_text(request: ModelRequest) -> str:
    return "\n".join(_text(part.content) for part in request.parts if isinstance(part, UserPromptPart))


def _text(content: str | Sequence[UserContent]) -> str:
    if isinstance(content, str):
        return content
    pieces = (one.content if isinstance(one, TextContent) else one for one in content)
    return "\n".join(piece for piece in pieces if isinstance(piece, str))


_LISTED = re.compile(r"^(?:- )?([A-Za-z_][\w-]{0,63})[(\[:]", re.MULTILINE | re.ASCII)

OwnName: TypeAlias = Callable[[str], str | None]
"""The name in the toolbox of what the model called; None for tools of other toolsets."""


def replay(toolbox: Toolbox, messages: Sequence[ModelMessage], own_name: OwnName) -> None:
    """Bring a new toolbox to where a conversation left it: what was found, used, and idle since.

    It goes through the same methods as the conversation itself, so that both end in the same state.
    """
    finders = {tool.name for tool in toolbox.surface}

    def found_by(name: str | None, part: ToolReturnPart) -> None:
        if name is not None:
            toolbox.activate(_found(part, lists=name in finders and not toolbox.is_fixed))

    answers: dict[str, ToolReturnPart] = {}
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            answers = {part.tool_call_id: part for part in _results_after(messages, at)}
            for call in message.tool_calls:  # in their order, also where several were made at once
                name, answer = own_name(call.tool_name), answers.get(call.tool_call_id)
                if name is not None and name not in finders:
                    toolbox.mark_used(name)
                if answer is not None:
                    found_by(name, answer)
            continue
        if is_turn(message):
            toolbox.begin_turn()
        for part in message.parts:
            if isinstance(part, ToolReturnPart) and own_name(part.tool_name) == RUN_CODE:
                toolbox.programs.hold(note_of(part).get(PROGRAM))
            if isinstance(part, ToolReturnPart) and part.tool_call_id not in answers:  # the history was cut
                found_by(own_name(part.tool_name), part)


def _results_after(messages: Sequence[ModelMessage], at: int) -> Iterator[ToolReturnPart]:
    """The results between one response and the next."""
    for message in messages[at + 1 :]:
        if isinstance(message, ModelResponse):
            return
        yield from (part for part in message.parts if isinstance(part, ToolReturnPart))


def _found(part: ToolReturnPart, *, lists: bool) -> list[str]:
    """The tools that a result handed over: by its note, or, where a client dropped metadata, by what it listed."""
    if isinstance(names := note_of(part).get(FOUND), list):
        return [name for name in cast("list[object]", names) if isinstance(name, str)]
    if lists and isinstance(part.content, str) and part.metadata is None:
        return _LISTED.findall(part.content)
    return []
