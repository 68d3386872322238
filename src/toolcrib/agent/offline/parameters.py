"""One argument of a tool, as the brain reads it: its type, its values, and what kind of thing it names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolcrib.agent.offline.json_shapes import as_list, as_object
from toolcrib.search.text import words

_MOST_REFERENCES = 5  # followed in a schema before giving up


def _set(said: str) -> frozenset[str]:
    return frozenset(said.split())


SMALL_ENGLISH = _set("a an and by for from in into of on or the to with id ids at it its one")
_REFERENCE = re.compile(r"\b(?:id|ids|identifier|slug|key|uuid|handle)\b", re.IGNORECASE)
_OF_WHAT = re.compile(
    r"\b(?:id|ids|identifier|slug|key|uuid|handle|name)\b[^.;,]*? of (?:the|an?|one|this)\s+([a-z]+(?: [a-z]+)?)",
    re.IGNORECASE,
)
_IDENTITY = _set("id ids uuid ref reference key slug name or number code handle identifier title")


@dataclass(frozen=True)
class Parameter:
    """One argument a tool takes."""

    name: str
    schema: Mapping[str, Any]
    required: bool = False
    of: tuple[str, ...] = ()  # what its tool is about: a bare `id` is the id of that

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return tuple(words(self.name))

    @property
    def description(self) -> str:
        """What is said about it."""
        return str(self.schema.get("description") or "")

    @property
    def type(self) -> str:
        """Its JSON type; a text if nothing is said."""
        kind = self.schema.get("type")
        if isinstance(kind, list | tuple):
            kind = next((one for one in as_list(self.schema["type"]) if one != "null"), None)
        if kind is None:
            return "object" if "properties" in self.schema else "string"
        return str(kind)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values it can have, if they are few."""
        if "const" in self.schema:
            return (self.schema["const"],)
        return tuple(value for value in as_list(self.schema.get("enum")) if value is not None)

    @cached_property
    def is_reference(self) -> bool:
        """Whether it names a thing that exists: by an id, a slug or a key."""
        if self.type not in ("string", "integer") or self.choices or self.schema.get("format"):
            return False
        if {"id", "ids", "uuid"} & set(self.words):
            return True
        said = re.split(r"[;:.]", self.description)[0]
        return bool(_REFERENCE.search(said))

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """What kind of thing it names: `page_id`, or `page` that is an "Id or slug of the page", gives `page`."""
        own = [singular(word) for word in self.words if word not in _IDENTITY]
        told = _OF_WHAT.search(self.description)
        described = [singular(word) for word in words(told[1]) if word not in SMALL_ENGLISH] if told else []
        if own and own[-1] in described:  # `pageSectionId`, an "Id of the section", names no page
            own = [word for word in own if word in described]
        return tuple(dict.fromkeys([*own, *described])) or self.of

    @property
    def noun(self) -> str:
        """The same in words: `menu item`."""
        told = _OF_WHAT.search(self.description)
        described = [word for word in words(told[1]) if word not in SMALL_ENGLISH] if told else []
        own = [word for word in self.words if word not in _IDENTITY]
        return " ".join(described if not own or own[-1] in described else own) or " ".join(self.of)

    @property
    def is_nested(self) -> bool:
        """Whether it wants objects of a shape of their own, which rules cannot write."""
        if self.type == "array":
            items = resolved(self.schema.get("items"), self.schema)
            return "properties" in items or items.get("type") in ("object", "array")
        return self.type == "object" and bool(self.schema.get("required"))


def singular(word: str) -> str:
    """One of them, as far as English endings tell."""
    if word == "menus":  # what else ends so is no plural: status, bonus, bus
        return "menu"
    if len(word) > 3 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def resolved(schema: object, whole: Mapping[str, Any], *, keep: bool = False) -> dict[str, Any]:
    """A schema with its reference followed and its one real branch taken; `$defs` go along for what is inside."""
    found = dict(as_object(schema))
    for _ in range(_MOST_REFERENCES):
        outer = {key: value for key, value in found.items() if key in ("description", "default", "title")}
        if isinstance(reference := found.get("$ref"), str):
            found = {**_at(reference, whole), **outer}
            continue
        branches = next((found[key] for key in ("anyOf", "oneOf", "allOf") if as_list(found.get(key))), None)
        real = [one for one in as_list(branches) if as_object(one).get("type") != "null"]
        if not real:
            break
        found = {**as_object(real[0]), **outer}
    if keep and "$defs" in whole:
        found["$defs"] = whole["$defs"]
    return found


def _at(reference: str, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    target: object = whole
    for step in reference.removeprefix("#/").split("/"):
        target = as_object(target).get(step)
    return as_object(target)
