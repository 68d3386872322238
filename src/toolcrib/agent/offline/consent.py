"""Whether a text commands something outright: where it forbids, supposes or asks, nothing is written.

Quoted text, and what follows "called" and the like, is payload: a page may be named "Why not?".
"""

import re
from enum import StrEnum

from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.vocabulary import ASKING, CONDITIONS, FORBIDDING, GREETING_WORDS, NAMED, OPENERS
from toolcrib.search.text import normalise


class Objection(StrEnum):
    """Why a text is no command."""

    NEGATION = "negation"
    CONDITION = "condition"
    QUESTION = "question"


_MARKS = ("?", "？", "؟", "¿")
# A word that means something else in other languages: "no" is "in the" in Portuguese, "se" reflexive in Spanish.
_ONLY_IN = {"se": ("it", "pt"), "om": ("sv",), "ne": ("fr", "cs"), "caso": ("pt", "es"), "als": ("nl",)}
_BEGINNING = ("se", "als", "om")  # these suppose in any language, where a sentence begins with them
_NOT_IN = {"no": ("pt",), "si": ("it",)}


def objection_to(text: str) -> Objection | None:
    """Why a text commands nothing; None if it does."""
    said = RequestText(NAMED.sub(" ", RequestText(text).unquoted.text))
    folded = [normalise(word.text.replace("’", "'")) for word in said.words]
    language = RequestText(text).language
    spoken = normalise(said.text.replace("’", "'"))
    if _holds(FORBIDDING, folded, spoken, language) or _is_negated_in(language, folded):
        return Objection.NEGATION
    if _holds(CONDITIONS, folded, spoken, language):
        return Objection.CONDITION
    first = next((word for word in folded if word not in GREETING_WORDS), "")
    if any(mark in said.text for mark in _MARKS) or first in OPENERS or first in ASKING or _QUESTION.search(spoken):
        return Objection.QUESTION
    return None


_QUESTION = re.compile(r"(?:ですか|ますか|でしょうか|吗|嗎|呢|까요|나요)[。.\s]*$|\bли\b|\best-ce\b")


def _holds(vocabulary: tuple[frozenset[str], re.Pattern[str]], folded: list[str], spoken: str, language: str) -> bool:
    words, phrases = vocabulary
    found = [word for word in folded if word in words]
    meant = [
        word
        for word in found
        if (language in _ONLY_IN.get(word, (language,)) or (word == folded[0] and word in _BEGINNING))
        and language not in _NOT_IN.get(word, ())
    ]
    return bool(meant) or phrases.search(spoken) is not None


def _is_negated_in(language: str, folded: list[str]) -> bool:
    """Languages that negate within the verb: Turkish "silme", Czech "nemaž"."""
    if not folded:
        return False
    if language == "tr":
        return re.search(r"m[ae](?:y[ıi]n(?:[ıi]z)?)?$", folded[-1]) is not None
    return language == "cs" and re.match(r"ne\w{3,}", folded[0]) is not None
