"""Text of packages, made plain: sentences without markup, names as words, and which of them are English."""

import re
from collections.abc import Iterable

from toolcrib.search.text import words

Pair = tuple[str, str]

TAG = re.compile(r"<[^>]+>")
SENTENCE_END = re.compile(r"(?<=[a-z0-9)][.!?])\s+(?=[A-Z])")
SHORTEST, LONGEST = 12, 300

# `[text](address)` and reStructuredText's `:role:`text`` keep their text; signs that only format are dropped.
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ROLE = re.compile(r":[\w:]+:`~?([^`<]*)[^`]*`")
FORMAT = re.compile(r"[`*#|]+|__|-{3,}|\s#\s*noqa.*")
CODE = re.compile(r"https?:|www\.|[{}<>\\=$]|->|::|\w+\(\)")  # what is left with one of these is not a sentence

FREQUENT = {
    "the", "of", "to", "for", "and", "with", "from", "by", "an", "is", "all", "this", "your", "that", "new", "are",
    "on", "get", "gets", "list", "lists", "create", "creates", "update", "updates", "delete", "deletes", "return",
    "returns", "retrieve", "retrieves", "search", "send", "sends", "add", "adds", "remove", "removes", "find", "show",
    "set", "fetch",
}  # fmt: skip
FOREIGN = {
    "de", "la", "el", "los", "las", "para", "por", "una", "del", "que", "der", "die", "das", "und", "ein", "eine",
    "mit", "von", "het", "een", "van", "voor", "les", "des", "une", "est", "dans", "sur", "il", "di", "che", "och",
    "att", "som", "ja", "nie", "jest", "na", "do", "w", "z", "dla", "pour", "os", "um", "uma", "e", "y", "o",
}  # fmt: skip


def sentences(text: str) -> list[str]:
    """The sentences of a text without its markup."""
    plain = " ".join(TAG.sub(" ", text).split())
    return [sentence for sentence in SENTENCE_END.split(plain) if SHORTEST < len(sentence) < LONGEST]


def english_sentences(text: str) -> list[str]:
    """The same for Markdown and reStructuredText, English only, and nothing that looks like code."""
    bare = FORMAT.sub("", LINK.sub(r"\1", ROLE.sub(r"\1", text)))
    return [sentence.strip() for sentence in sentences(bare) if is_english(sentence) and not CODE.search(sentence)]


def is_english(text: str) -> bool:
    """A cheap guess: plain letters, a word that English uses much, and hardly any that other languages do."""
    found = set(re.findall(r"[a-z]+", text.casefold()))
    plain = sum(character.isascii() for character in text)
    return plain >= 0.97 * len(text) and bool(found & FREQUENT) and len(found & FOREIGN) < 2


def spoken(name: str) -> str:
    """`CreateDBInstance` and `compute.instances.list` as words."""
    return " ".join(words(name.replace(".", " ").replace("/", " ")))


def says_more(told: str, name: str) -> bool:
    """Whether a sentence has a word that the name has not: `list users`, "Lists the users" teaches nothing."""
    known = {word.rstrip("s") for word in words(name)}
    return any(word.rstrip("s") not in known and word not in FREQUENT for word in words(told))


def distinct(pairs: Iterable[Pair], *, most: int | None = None) -> list[Pair]:
    """One pair for each explanation; evenly spread when there are too many."""
    kept = list({told.casefold(): (name, told) for name, told in pairs}.values())
    return kept[:: max(1, -(-len(kept) // most))] if most else kept
