"""Arguments from the user's words: one value for each parameter the words speak of, by its type, its name and its
description. What names a thing that exists is filled in `references.py`; what is not said is never made up.
"""

import re
from typing import Any

from toolcrib.agent.offline.json_shapes import as_object
from toolcrib.agent.offline.meaning import is_like
from toolcrib.agent.offline.parameters import Parameter, singular
from toolcrib.agent.offline.spoken import END, Words
from toolcrib.agent.offline.text_values import MAILS, TITLES, after_name, is_dated, text_value
from toolcrib.agent.offline.vocabulary import AND, NOT, SMALL
from toolcrib.search.text import words

_AMOUNTS = frozenset(["limit", "count", "max", "maximum", "top", "size", "number", "amount"])
_ONLY = frozenset(["include", "includes", "with", "is", "only", "has", "show", "allow", "enable", "enabled"])
_NEVER = "confirmed"  # the user's to say, through the agent


def plain_value(parameter: Parameter, given: Words) -> Any:
    """The value the words give a parameter; None if they say nothing about it."""
    if parameter.name == _NEVER:
        return None
    if parameter.choices:
        return _choice(parameter, given)
    match parameter.type:
        case "boolean":
            return _switch(parameter, given)
        case "integer" | "number":
            return _amount(parameter, given)
        case "array":
            return _list(parameter, given)
        case "object":
            return _fields(parameter, given)
        case _:
            return text_value(parameter, given)


def _choice(parameter: Parameter, given: Words) -> Any:
    said = [
        singular(word.folded) for word in given.said.words if not word.is_small or word.folded in _folded(parameter)
    ]
    for value in parameter.choices:
        if all(singular(part) in said for part in words(str(value))) and words(str(value)):
            return value
    for clause in re.split(r"[;,.]", parameter.description):
        named = [value for value in parameter.choices if str(value).casefold() in words(clause)]
        hints = {singular(word) for word in words(clause)} - SMALL - {"make", "once", "default", "only"}
        if len(named) == 1 and hints & set(said) - {str(named[0])}:
            return named[0]
    telling = [word.folded for word in given.telling()]
    near = [value for value in parameter.choices for word in telling if is_like(word, str(value))]
    if near:
        return near[0]
    return parameter.choices[0] if parameter.required and len(parameter.choices) == 1 else None


def _folded(parameter: Parameter) -> set[str]:
    return {word for value in parameter.choices for word in words(str(value))}


def _switch(parameter: Parameter, given: Words) -> bool | None:
    names = [word for word in parameter.words if word not in _ONLY]
    said = [word.folded for word in given.said.words]
    if len(names) == 1 and names[0].startswith("un") and any(word in NOT for word in said):
        return True if names[0].removeprefix("un") in said else None  # "not used" is unused
    if not names or not all(any(word == name or singular(word) == singular(name) for word in said) for name in names):
        return None
    place = next(place for place, word in enumerate(said) if singular(word) == singular(names[0]))
    return not any(word in NOT for word in said[max(0, place - 2) : place])


def _amount(parameter: Parameter, given: Words) -> int | float | None:
    named = after_name(parameter, given)
    found = named if named and re.fullmatch(r"-?\d+(?:[.,]\d+)?", named) else None
    if found is None and (parameter.required or (set(parameter.words) & _AMOUNTS and not is_dated(given))):
        found = given.number()
    if found is None:
        return None
    given.spend(found)
    value = float(found.replace(",", "."))
    if parameter.type == "integer":
        if value != int(value):
            return None
        value = int(value)
    low, high = parameter.schema.get("minimum"), parameter.schema.get("maximum")
    if (isinstance(low, int | float) and value < low) or (isinstance(high, int | float) and value > high):
        return None
    return value


def _list(parameter: Parameter, given: Words) -> list[str] | None:
    if parameter.is_nested or as_object(parameter.schema.get("items")).get("type", "string") != "string":
        return None
    named = after_name(parameter, given, whole=True)
    if named and not _of_something(parameter, given):
        return [piece.strip(END) for piece in AND.split(named) if piece.strip(END)] or None
    if set(parameter.words) & (MAILS | {singular(word) for word in MAILS}) and given.said.emails:
        return list(given.said.emails)
    if given.whole or (parameter.required and given.said.quoted):
        pieces = given.said.quoted or AND.split(given.said.text)
        return [piece.strip(END) for piece in pieces if piece.strip(END)] or None
    return None


def _of_something(parameter: Parameter, given: Words) -> bool:
    """Whether the parameter's name is followed by whose they are: "all sections of the page" lists no sections."""
    name = r"\s*[_-]?".join(map(re.escape, parameter.words))
    whose = r"of|on|in|from|von|auf|aus|der|des|del|de|du|da|van|z|ze|na"
    return re.search(rf"(?i)(?<!\w){name}\s+(?:{whose})\s", given.said.text) is not None


def _fields(parameter: Parameter, given: Words) -> dict[str, Any] | None:
    """ "Change the heading to X" as `{"heading": "X"}`, where a tool takes any fields."""
    if not parameter.required or parameter.is_nested or not given.tail:
        return None
    name, quoted = field_named(given), given.quoted()
    return {name.casefold() if name.isupper() or name.istitle() else name: quoted or given.tail} if name else None


def field_named(given: Words) -> str:
    """The word before the new value that says which field gets it: "the heading of the page", "the hero heading"."""
    if not given.tail:
        return ""
    head = [word for word in given.head.words if word.folded not in SMALL or word.folded in TITLES]
    telling = [word for word in head if given.said.verb is None or word.folded != given.said.verb.folded]
    of = re.search(
        r"(?i)\b([\w-]+)\s+(?:of|on|in|des|der|von|auf|im|del|de|du|della|van|w|na|en|sur|sul|sulla)\s", given.head.text
    )
    return next((word.text for word in telling if of and word.text == of[1]), telling[-1].text if telling else "")
