"""What a text wants: whether it commands anything, undoes something, agrees, declines, or is only small talk."""

import re
from collections.abc import Sequence
from enum import StrEnum

from toolcrib.agent.offline.language import (
    PHRASES,
    SMALL_TALK,
    UNDO,
    WORDS,
    any_of,
)
from toolcrib.agent.offline.request import NAME, Request
from toolcrib.search.text import normalise


class Objection(StrEnum):
    """Why a text is no command."""

    NEGATION = "negation"
    CONDITION = "condition"
    QUESTION = "question"
    STATEMENT = "statement"


_QUESTION_MARKS = ("?", "？", "؟", "¿")
_QUESTION = re.compile(r"(?:ですか|ますか|でしょうか|吗|嗎|呢|까요|나요)[。.\s]*$|\bли\b|\best-ce\b")
# A word that means something else in other languages: "no" is "in the" in Portuguese, "se" reflexive in Spanish.
_ONLY_IN = {"se": ("it", "pt"), "om": ("sv",), "ne": ("fr", "cs"), "caso": ("pt", "es"), "als": ("nl",)}
_NOT_IN = {"no": ("pt",), "si": ("it",)}
_AT_THE_START = ("se", "als", "om")  # these suppose in any language, where a sentence begins with them


def objection_to(text: str) -> Objection | None:
    """Why a text is no command: it forbids, supposes, asks or tells; else None. Names and quotes are payload."""
    request = Request(NAME.sub(" ", Request(text).unquoted.text))
    folded = [normalise(word.text.replace("’", "'")) for word in request.words]
    spoken, language = normalise(request.text.replace("’", "'")), Request(text).language
    negated = bool(folded) and (
        (language == "tr" and re.search(r"m[ae](?:y[ıi]n(?:[ıi]z)?)?$", folded[-1]) is not None)
        or (language == "cs" and re.match(r"ne\w{3,}", folded[0]) is not None)
    )  # Turkish and Czech negate within the verb
    if negated or _holds("forbidding", folded, spoken, language):
        return Objection.NEGATION
    if _holds("conditions", folded, spoken, language):
        return Objection.CONDITION
    first = next((word for word in folded if word not in WORDS["greetings"]), "")
    asks = first in WORDS["openers"] or first in WORDS["asking"] or _QUESTION.search(spoken) is not None
    if asks or any(mark in request.text for mark in _QUESTION_MARKS):
        return Objection.QUESTION
    # "I deleted the page"; a word alone is an answer, such as "ja".
    tells = len(folded) > 1 and first in WORDS["subjects"] and not WORDS["wishes"] & set(folded[:4])
    return Objection.STATEMENT if tells else None


def _holds(kind: str, folded: Sequence[str], spoken: str, language: str) -> bool:
    def counts(index: int, word: str) -> bool:
        here = language in _ONLY_IN.get(word, (language,)) or (index == 0 and word in _AT_THE_START)
        return word in WORDS[kind] and here and language not in _NOT_IN.get(word, ())

    return any(map(counts, range(len(folded)), folded)) or re.search(any_of(PHRASES[kind]), spoken) is not None


def asks(request: Request) -> bool:
    """Whether the user only wants to know something."""
    first = request.unquoted.words[:1]
    return objection_to(request.text) is Objection.QUESTION or (bool(first) and first[0].folded in WORDS["asking"])


def undone_by(request: Request) -> set[str]:
    """What the request takes back ("unpublish"), as verbs of tools: a search finds the tool that does it first."""
    undone = {verb for verb, pattern in UNDO.items() if pattern.search(request.unquoted.text)}
    return set(UNDO) if undone == {"anything"} else undone


# Small talk, and short answers

_MOST_TALK_WORDS = 7  # longer texts want something
_MOST_YES_WORDS = 5
_DEFINITION = re.compile(rf"(?i){any_of(PHRASES['definition'])}")


def small_talk_in(text: str) -> str:
    """The kind of small talk a text is, if that is all it is."""
    spoken = _spoken(text)
    count = len(spoken.split())
    if not 0 < count <= _MOST_TALK_WORDS:
        return ""
    found = next((kind for kind, pattern in SMALL_TALK.items() if pattern.search(spoken)), "")
    if found in ("greeting", "thanks") and count > 4 and not spoken.startswith(("how", "wie", "jak")):
        return ""  # "hello, list all pages" wants something
    return found


def definition_in(text: str) -> str:
    """What the user wants explained: "What is a section?" asks for knowledge, and no tool has it."""
    found = _DEFINITION.match(text.strip())
    return text.strip()[found.end() :].strip(' ?!.？。»"') if found else ""


def is_yes(text: str) -> bool:
    """Whether a text agrees, and nothing more."""
    spoken = _spoken(text)
    agrees = spoken.split(" ")[0] in WORDS["yes"] or spoken.startswith(tuple(map(_spoken, PHRASES["yes"])))
    return agrees and len(spoken.split()) <= _MOST_YES_WORDS and not is_no(text)


def is_no(text: str) -> bool:
    """Whether a text declines."""
    spoken = _spoken(text)
    return bool(spoken) and (
        spoken.split(" ")[0] in WORDS["no"] or any(_spoken(phrase) in spoken for phrase in PHRASES["no"])
    )


def _spoken(text: str) -> str:
    """The words of a text, folded, without the signs between them; a hyphen parts words."""
    return " ".join(re.findall(r"[^\W_]+(?:'t)?", normalise(text.replace("’", "'"))))
