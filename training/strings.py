"""Strings of interfaces as plain text, and whether one is a translation worth learning from."""

import html
import re
import unicodedata
from collections.abc import Container
from functools import lru_cache

ACCELERATOR = re.compile(r"\s*\([&_~]\w\)|[&_~](?=\w)")
PLACEHOLDER = re.compile(
    r"%\(\w+\)[a-z]|%\d+\$[-\w]|%[-+0#']*\d*(?:\.\d+)?l*[a-zA-Z](?![a-zA-Z])|%\{\w+\}|%\d+|\$?\{[^{}]*\}|\$\w+"
)
EMPTY = re.compile(r"\"\s*\"|'\s*'|“\s*”|«\s*»|„\s*[“”]|”\s*”|‘\s*’|\(\s*\)|\[\s*\]")
EDGES = " \t\n.…:;,-–—*•·|/"
NOT_PLAIN = re.compile(r"[<>\\=|^]|\{\{|\[\[|\]\(|''|https?:|www\.|\w\(\)|--\w|\w_\w+_|\w@\w|/\w+/")
CREDITS = re.compile(r"^(your names|your emails?|translat(or|ion)[-_ ]credits)", re.IGNORECASE)
LONGEST, MOSTLY, MOST_PLACEHOLDERS = 160, 0.6, 2


def bare(text: str) -> str:
    """The string without accelerators and placeholders; empty where it has markup, or is code."""
    text = html.unescape(text)
    if NOT_PLAIN.search(text) or len(PLACEHOLDER.findall(text)) > MOST_PLACEHOLDERS:
        return ""
    text = ACCELERATOR.sub("", PLACEHOLDER.sub(" ", text)).replace(";", " ")
    return " ".join(EMPTY.sub(" ", text).split()).strip(EDGES)


def is_translation(text: str, english: str, scripts: Container[str]) -> bool:
    """Whether both sides say something, differ, and the text is mostly in the language's scripts."""
    if not 2 <= len(text) <= LONGEST or not 2 <= len(english) <= LONGEST or CREDITS.search(english):
        return False
    letters = [character for character in text if character.isalpha()]
    native = sum(script(character) in scripts for character in letters)
    return (
        len(letters) >= 2
        and native >= MOSTLY * len(letters)
        and text.casefold() != english.casefold()
        and any(character.isalpha() for character in english)
    )


@lru_cache(maxsize=65_536)
def script(character: str) -> str:
    """The script of a letter, as Unicode's names begin."""
    return unicodedata.name(character, "").partition(" ")[0]
