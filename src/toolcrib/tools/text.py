"""Text from outside, made fit to be shown to a model: what tools say of themselves was written by strangers.

Three dangers are met here. Characters that people do not see but models read (control, zero-width, bidirectional, tag
and filler characters) are dropped. Line breaks become spaces, so that no description can pose as a line of ours. And
everything has a length: one talkative tool must not fill the window. What a text *says* is not judged here.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from toolcrib.tools.result import as_json
from toolcrib.tools.tool import Tool

ELLIPSIS = "…"

# Letters and marks that show nothing; their Unicode categories do not give them away.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159")
_NAMED_PARTS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SPOKEN_KEYS = ("description", "title", "$comment")  # what a schema says to people; nothing depends on its spelling
_MOST_SPOKEN_CHARACTERS = 500
_NOT_ASCII = re.compile(r"[^\x20-\x7e]")
_NOT_PRINTABLE = re.compile(r"[^\n\x20-\x7e]")  # JSON holds a line break only where it was indented
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


_WRITTEN_KEYS = ("enum", "const", "default", "examples", "pattern", "format")
_MOST_WRITTEN_CHARACTERS = 200


def clean_schema(schema: Mapping[str, Any], *, words: bool = True) -> str:
    """A JSON Schema for a model; nothing that its author wrote is longer than a line, also names and values."""
    return clean_json(_with_short_values(schema, named=False), words=words)


def _with_short_values(value: object, *, named: bool, written: bool = False) -> object:
    """`named`: the keys are names of the author; `written`: values are his, as those of an enum are."""
    if isinstance(value, Mapping):
        return {
            shortened(key, _MOST_WRITTEN_CHARACTERS): _with_short_values(
                inner, named=not named and key in _NAMED_PARTS, written=written or (not named and key in _WRITTEN_KEYS)
            )
            for key, inner in cast("Mapping[str, object]", value).items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_with_short_values(item, named=False, written=written) for item in cast("Sequence[object]", value)]
    return shortened(value, _MOST_WRITTEN_CHARACTERS) if isinstance(value, str) and written else value


def exact_json(value: object, *, indent: int | None = None) -> str:
    """JSON with nothing left out, for a person who decides about it; what cannot be seen stands as `\\u200b`."""
    text = as_json(value)
    if indent is not None:
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=indent)
    return _NOT_PRINTABLE.sub(_escaped, text)


def clean_words(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema with clean descriptions, everything else unchanged."""
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


# What a description says and how long it is. It is for finding a tool, and every search pays for its length.

MOST_SENTENCES = 2
MOST_TOKENS = 60

# A mark ends a sentence before a space, unless a small letter follows ("etc. and so on"); CJK writes no space.
_SENTENCE_END = re.compile(r"""[.!?…؟]["'”’)\]]*(?=\s+[^\sa-z]|\s*$)|[。！？।]""")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|incl|approx|Dr|Mr|Mrs|Ms|St|No)\.$")

_PIECE = re.compile(r"[A-Za-z]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+|\d{1,3}|[^\w\s]|_")
# Letters that one token holds at most, on average: byte-pair vocabularies know English words best.
_LETTERS_PER_TOKEN, _FOREIGN_LETTERS_PER_TOKEN = 10, 4


def sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line."""
    text = " ".join(text.split())
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        sentence = text[start : end.end()].strip()
        if not _ABBREVIATION.search(sentence):
            found.append(sentence)
            start = end.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def first_sentence(text: str) -> str:
    """The first sentence of a text, or nothing."""
    return next(iter(sentences(text)), "")


def estimated_tokens(text: str) -> int:
    """About how many tokens a model sees in a text; needs no vocabulary, so it is never exact."""
    return sum(_tokens_of_piece(piece) for piece in _PIECE.findall(text))


def _tokens_of_piece(piece: str) -> int:
    per_token = _LETTERS_PER_TOKEN if piece.isascii() else _FOREIGN_LETTERS_PER_TOKEN
    return -(-len(piece) // per_token)


# A description that says the same words over and over wants to be found, not understood: its first sentence is enough.

_FEW_WORDS = 20  # shorter texts cannot say much, whatever they repeat
_OFTEN_ENOUGH = 2  # times that a word may occur before it counts as repeated
_TOO_MUCH = 0.25  # the share of repeated words
_MOST_CHARACTERS = 200
_SHORT = 3  # letters of words that any sentence repeats
_WORD = re.compile(r"\w{3,}")


def without_repetition(tool: Tool) -> Tool:
    """The tool; if its description repeats itself too much, with the first sentence of it, each word once."""
    if not _repeats_itself(tool.description):
        return tool
    first = clean(first_sentence(tool.description), _MOST_CHARACTERS)
    return replace(tool, description=_without_repeats(first))


def _repeats_itself(text: str) -> bool:
    words = _WORD.findall(text.casefold())
    again = sum(times - _OFTEN_ENOUGH for times in Counter(words).values() if times > _OFTEN_ENOUGH)
    return len(words) >= _FEW_WORDS and again > _TOO_MUCH * len(words)


def _without_repeats(text: str) -> str:
    """The text without longer words that occurred before."""
    seen: set[str] = set()
    kept: list[str] = []
    for word in text.split():
        plain = word.casefold().strip(".,;:…")
        if len(plain) <= _SHORT or plain not in seen:
            kept.append(word)
            seen.add(plain)
    return " ".join(kept)
