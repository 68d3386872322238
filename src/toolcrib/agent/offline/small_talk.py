"""What needs no tool: greetings, thanks, "who are you"; and whether a short reply is a yes or a no."""

import re
from enum import StrEnum

from toolcrib.agent.offline.vocabulary import DEFINITION, NO, NO_PHRASES, TALK, YES, YES_PHRASES
from toolcrib.search.text import normalise

_MOST_WORDS = 7  # longer texts want something
_MOST_YES_WORDS = 5


class Talk(StrEnum):
    """Kinds of talk that are answered directly."""

    WHO = "who"
    HELP = "help"
    THANKS = "thanks"
    BYE = "bye"
    GREETING = "greeting"


def talk_in(text: str) -> Talk | None:
    """The kind of small talk a text is, if that is all it is."""
    said = _said(text)
    if not said or len(said.split()) > _MOST_WORDS:
        return None
    found = next((talk for talk in Talk if TALK[talk].search(said)), None)
    if found in (Talk.GREETING, Talk.THANKS) and len(said.split()) > 4 and not said.startswith(("how", "wie", "jak")):
        return None  # "hello, list all pages" wants something
    return found


def definition_in(text: str) -> str:
    """What the user wants explained: "What is a section?" asks for knowledge, and no tool has it."""
    found = DEFINITION.match(text.strip())
    return text.strip()[found.end() :].strip(' ?!.？。»"') if found else ""


def is_yes(text: str) -> bool:
    """Whether a text agrees, and nothing more."""
    said = _said(text)
    few = len(said.split()) <= _MOST_YES_WORDS
    return few and not is_no(text) and (said.split(" ")[0] in YES or said.startswith(_YES_PHRASES))


def is_no(text: str) -> bool:
    """Whether a text declines."""
    said = _said(text)
    return bool(said) and (said.split(" ")[0] in NO or any(phrase in said for phrase in _NO_PHRASES))


def _said(text: str) -> str:
    """The words of a text, folded, without the signs between them; an apostrophe parts words, a hyphen too."""
    return " ".join(re.findall(r"[^\W_]+(?:'t)?", normalise(text.replace("’", "'"))))


_YES_PHRASES = tuple(map(_said, YES_PHRASES))
_NO_PHRASES = tuple(map(_said, NO_PHRASES))
