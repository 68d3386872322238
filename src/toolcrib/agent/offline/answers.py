"""What a user answers to a question of the brain: a choice, its number or a name. Anything else is a new request."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.agent.offline.consent import objection_to
from toolcrib.agent.offline.json_shapes import as_list
from toolcrib.agent.offline.references import chosen
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.things import Thing
from toolcrib.search.text import words

_MOST_WORDS = 8  # a longer text is a new request
_NUMBER = re.compile(r"\W*(?:nr\.?|no\.?|#)?\s*(\d{1,2})\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A tool that was chosen, the thing that was, or the text that was asked for."""

    tool: str = ""
    value: str | None = None
    said: RequestText | None = None


def answer_to(asked: Mapping[str, Any], said: RequestText) -> Answer | None:
    """The answer in a text; None if the text is a request of its own."""
    tools = [str(name) for name in as_list(asked.get("tools"))]
    options = [Thing(type="", name=str(name), id=str(value)) for name, value in as_list(asked.get("options"))]
    number = _NUMBER.fullmatch(said.text)
    if number and 0 < (place := int(number[1])) <= len(tools or options):
        return Answer(tool=tools[place - 1]) if tools else Answer(value=options[place - 1].id)
    if tools:
        named = [name for name in tools if words(name) and set(words(name)) <= set(words(said.text))]
        return Answer(tool=named[0]) if len(named) == 1 and len(said.words) <= len(words(named[0])) + 2 else None
    if not _may_be_a_name(said):
        return None
    own = [word for word in said.words if not word.is_small]
    if options:
        thing = next((one for one in options if one.name.casefold() == said.text.strip(' ."').casefold()), None)
        thing = thing or chosen(options, own, own, ranked=False)
        if thing is not None:
            return Answer(value=thing.id)
        return Answer(said=said) if said.quoted or said.identifiers else None
    return Answer(said=said)


def _may_be_a_name(said: RequestText) -> bool:
    """Whether a text can be a name or a value, and asks for nothing by itself."""
    rest = said.unquoted.words
    if said.quoted and not rest:
        return True
    if objection_to(said.text) is not None or len(said.words) > _MOST_WORDS:
        return False
    return said.verb is None or len(said.words) == 1
