"""A description that says the same words over and over wants to be found, not understood: its first sentence is enough.

Measured on 13,017 real MCP tools: 1.1 % repeat themselves that much, mostly lists of fields. A list of foreign keywords
that stood there once moved no ranking of ours; said three times it did (`tests/gateway/test_poisoned_text.py`).
"""

import re
from collections import Counter
from dataclasses import replace

from toolcrib.tools.cleaning import clean
from toolcrib.tools.description import first_sentence
from toolcrib.tools.tool import Tool

_FEW_WORDS = 20  # shorter texts cannot say much, whatever they repeat
_OFTEN_ENOUGH = 2  # times that a word may be said before it counts as said again
_TOO_MUCH = 0.25  # the share of words said again
_MOST_CHARACTERS = 200
_SHORT = 3  # letters of words that any sentence repeats
_WORD = re.compile(r"\w{3,}")


def plainly_described(tool: Tool) -> Tool:
    """The tool; if its description repeats itself too much, with the first sentence of it, each word once."""
    if not _repeats_itself(tool.description):
        return tool
    first = clean(first_sentence(tool.description), _MOST_CHARACTERS)
    return replace(tool, description=_said_once(first))


def _repeats_itself(text: str) -> bool:
    said = _WORD.findall(text.casefold())
    again = sum(times - _OFTEN_ENOUGH for times in Counter(said).values() if times > _OFTEN_ENOUGH)
    return len(said) >= _FEW_WORDS and again > _TOO_MUCH * len(said)


def _said_once(text: str) -> str:
    """The text without longer words that it has said before."""
    said: set[str] = set()
    kept: list[str] = []
    for word in text.split():
        plain = word.casefold().strip(".,;:…")
        if len(plain) <= _SHORT or plain not in said:
            kept.append(word)
            said.add(plain)
    return " ".join(kept)
