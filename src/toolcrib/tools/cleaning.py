"""Text from outside, made fit to be shown to a model: what tools say of themselves was written by strangers.

Three dangers are met here. Characters that people do not see but models read (control, zero-width, bidirectional, tag
and filler characters) are dropped. Line breaks become spaces, so that no description can pose as a line of ours. And
everything has a length: one talkative tool must not fill the window. What a text *says* is not judged here.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from toolcrib.tools.result import as_json

ELLIPSIS = "…"

# Letters and marks that show nothing; their Unicode categories do not give them away.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159")
_SPOKEN_KEYS = ("description", "title", "$comment")  # what a schema says to people; nothing depends on its spelling
_MOST_SPOKEN_CHARACTERS = 500
_NOT_ASCII = re.compile(r"[^\x20-\x7e]")
_READ_PER_SHOWN = 4  # characters looked at for each one shown: enough for padding, and no more than a glance


def clean(text: str, most: int) -> str:
    """The text on one line of at most `most` visible characters, cut at a word."""
    return shortened(" ".join(visible(text[: most * _READ_PER_SHOWN]).split()), most)


def visible(text: str) -> str:
    """The text without what cannot be seen; every kind of white space becomes a plain space."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def shortened(text: str, most: int) -> str:
    """The text, or its beginning up to a word and an ellipsis."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    at = kept.rfind(" ")
    # Without a space in its second half it is no sentence in a script with spaces: cut where the room ends.
    return (kept[:at] if at > most // 2 else kept).rstrip(" ,;:.-") + ELLIPSIS


def clean_json(value: object, *, words: bool = True) -> str:
    """Compact JSON with clean descriptions, or none; the rest is exact, and what cannot be seen stands as `\\u200b`."""
    return _NOT_ASCII.sub(_escaped, as_json(_with_clean_words(value, words)))


def clean_words(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema with clean descriptions, everything else as it is."""
    return cast("dict[str, Any]", _with_clean_words(schema, True))


def _with_clean_words(value: object, words: bool) -> object:
    if isinstance(value, Mapping):
        kept: dict[str, object] = {}
        for key, inner in cast("Mapping[str, object]", value).items():
            # A property may be called "title": then a schema stands here, not a sentence.
            if key not in _SPOKEN_KEYS or not isinstance(inner, str):
                kept[key] = _with_clean_words(inner, words)
            elif words:
                kept[key] = clean(inner, _MOST_SPOKEN_CHARACTERS)
        return kept
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_with_clean_words(item, words) for item in cast("Sequence[object]", value)]
    return value


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if _shown(character) == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    if character.isspace():
        return " "
    if character in _BLANK or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return ""
    # Variation selectors choose between two looks of a sign; a row of them can spell out a hidden message.
    return "" if "VARIATION SELECTOR" in unicodedata.name(character, "") else character
