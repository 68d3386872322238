"""The conversation in a request to a model: the turns so far, the tools in sight, what is remembered."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from toolcrib.agent.confirmation import is_pressed
from toolcrib.agent.offline.entities import Entity
from toolcrib.agent.offline.request import Request
from toolcrib.agent.offline.tools import ToolInfo, as_object
from toolcrib.search.text import is_unspaced

NOTES = "offline"  # the key of our notes among a response's `provider_details`
NEEDS_YES = "requires_confirmation"
_FEW_WORDS = 3
_MEMORY = re.compile(r"<working-memory>(.*?)</working-memory>", re.DOTALL)
_REMEMBERED = re.compile(r'^- ("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)(?: ("(?:[^"\\]|\\.)*"))?$', re.MULTILINE)
_DATE = re.compile(r"(?:<date>|\b(?:date|today)\b)\D{0,20}(\d{4}-\d{2}-\d{2})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool with the arguments it is called with."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def same_as(self, other: "Call") -> bool:
        """Whether both are one call, in whatever order their arguments stand."""
        return self.tool == other.tool and dict(self.arguments) == dict(other.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came back: the text a model reads, its value where the text is JSON, and how the call ended."""

    text: str
    value: object = None
    failed: bool = False

    @property
    def needs_yes(self) -> bool:
        """Whether nothing has happened yet, because the user has to agree first."""
        return self.text.startswith(NEEDS_YES) or NEEDS_YES in as_object(self.value)


@dataclass(slots=True)
class Step:
    """A call of this conversation and its result, if it has come."""

    call: Call
    result: Result | None = None


@dataclass(slots=True)
class Turn:
    """What the user said, what was called, and what the brain noted for itself in its answer."""

    text: str
    at: datetime
    steps: list[Step] = field(default_factory=list[Step])
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One request to the brain."""

    turns: Sequence[Turn]
    tools: Mapping[str, ToolInfo]  # by name, in the order they were given
    memory: Sequence[Entity] = ()  # newest first
    instructions: str = ""

    @property
    def turn(self) -> Turn:
        """The turn to go on with."""
        return self.turns[-1]

    @property
    def previous(self) -> Turn | None:
        """The turn before, if there is one."""
        return self.turns[-2] if len(self.turns) > 1 else None

    @property
    def calls(self) -> int:
        """How many calls were made in all turns."""
        return sum(len(turn.steps) for turn in self.turns)

    @property
    def language(self) -> str:
        """The language of this turn; a word or two, and a button, are in that of the turn before."""
        texts = [turn.text for turn in self.turns if _tells_language(turn.text)]
        return Request(texts[-1] if texts else self.turn.text).language

    @property
    def today(self) -> date:
        """The day in the instructions; else the day on which the user spoke. Never the clock: replies must repeat."""
        found = _DATE.search(self.instructions)
        try:
            return date.fromisoformat(found[1]) if found else self.turn.at.date()
        except ValueError:
            return self.turn.at.date()


def _tells_language(text: str) -> bool:
    words = text.split()
    return not is_pressed(text) and (len(words) >= _FEW_WORDS or any(is_unspaced(word) for word in words))


def read_conversation(
    messages: Sequence[ModelMessage], tools: Sequence[ToolDefinition], instructions: str
) -> Conversation:
    """The conversation in the messages of Pydantic AI."""
    turns: list[Turn] = []
    steps: dict[str, Step] = {}
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, SystemPromptPart):
                instructions += f"\n{part.content}"
            elif isinstance(part, UserPromptPart):
                turns.append(Turn(text=_text_of(part), at=part.timestamp))
            elif isinstance(part, ToolReturnPart) and (step := steps.get(part.tool_call_id)):
                step.result = _result_of(part)
        if isinstance(message, ModelResponse) and turns:  # without a turn, the start of the conversation was cut off
            turns[-1].notes = as_object((message.provider_details or {}).get(NOTES))
            for call in message.tool_calls:
                arguments = as_object(_json(call.args) if isinstance(call.args, str) else call.args)
                steps[call.tool_call_id] = Step(Call(tool=call.tool_name, arguments=dict(arguments)))
                turns[-1].steps.append(steps[call.tool_call_id])
    if not turns:
        turns.append(Turn(text="", at=datetime(1970, 1, 1, tzinfo=UTC)))
    return Conversation(
        turns=turns,
        tools={
            one.name: ToolInfo.from_schema(one.name, one.description or "", one.parameters_json_schema) for one in tools
        },
        memory=_remembered(instructions),
        instructions=instructions,
    )


def _text_of(part: UserPromptPart) -> str:
    """The words of a prompt; pictures and files say nothing to rules."""
    if isinstance(part.content, str):
        return part.content
    pieces = (piece if isinstance(piece, str) else getattr(piece, "content", None) for piece in part.content)
    return "\n".join(piece for piece in pieces if isinstance(piece, str))


def _result_of(part: ToolReturnPart) -> Result:
    text = part.content if isinstance(part.content, str) else part.model_response_str()
    value = _json(text) if isinstance(part.content, str) else cast("object", part.content)
    if part.outcome != "success":
        text = str(as_object(value).get("error", text))
    return Result(text=text, value=value, failed=part.outcome != "success")


def _json(text: str) -> object:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _remembered(instructions: str) -> list[Entity]:
    """The entities of the newest working memory in the prompt."""
    blocks = _MEMORY.findall(instructions)
    found = _REMEMBERED.findall(blocks[-1]) if blocks else []
    return [
        Entity(type=_unquoted(kind), id=_unquoted(identity), name=_unquoted(name or identity))
        for kind, identity, name in found
    ]


def _unquoted(word: str) -> str:
    return str(json.loads(word)) if word.startswith('"') else word
