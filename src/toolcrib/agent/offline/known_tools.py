"""A tool as the brain knows it: what its name says it does and to what, and each of its parameters."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from toolcrib.agent.offline.json_shapes import as_list, as_object
from toolcrib.search.text import words

_MOST_REFERENCES = 5  # followed in a schema before giving up


class Deed(StrEnum):
    """What a tool does with its things."""

    READ = "read"
    LIST = "list"
    FIND = "find"
    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"


# The verbs that tool names are made of.
_VERBS = {
    Deed.READ: "get read show fetch open view describe retrieve load check tell download",
    Deed.LIST: "list browse enumerate all count index",
    Deed.FIND: "find search query lookup look locate grep glob match recall",
    Deed.CREATE: "create add new make write insert post upload send put build generate append start remember schedule",
    Deed.CHANGE: "update edit set change rename move replace toggle publish archive modify patch assign use restore",
    Deed.DELETE: "delete remove drop erase clear cancel forget destroy unset purge",
}
DEEDS = {verb: deed for deed, verbs in _VERBS.items() for verb in verbs.split()}
LOOKING = (Deed.FIND, Deed.LIST, Deed.READ)


def _set(said: str) -> frozenset[str]:
    return frozenset(said.split())


_SMALL = _set("a an and by for from in into of on or the to with id ids at it its one")
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
        described = [singular(word) for word in words(told[1]) if word not in _SMALL] if told else []
        return tuple(dict.fromkeys([*own, *described])) or self.of

    @property
    def noun(self) -> str:
        """The same in words: `menu item`."""
        told = _OF_WHAT.search(self.description)
        described = [word for word in words(told[1]) if word not in _SMALL] if told else []
        own = [word for word in self.words if word not in _IDENTITY]
        return " ".join(described if not own or own[-1] in described else own) or " ".join(self.of)

    @property
    def is_nested(self) -> bool:
        """Whether it wants objects of a shape of their own, which rules cannot write."""
        if self.type == "array":
            items = _resolved(self.schema.get("items"), self.schema)
            return "properties" in items or items.get("type") in ("object", "array")
        return self.type == "object" and bool(self.schema.get("required"))


@dataclass(frozen=True)
class KnownTool:
    """A tool, read."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()

    @classmethod
    def of(cls, name: str, description: str, schema: Mapping[str, Any]) -> "KnownTool":
        """The tool of a definition."""
        needed = as_list(schema.get("required"))
        bare = cls(name, description)
        parameters = tuple(
            Parameter(key, _resolved(value, schema, keep=True), required=key in needed, of=bare.nouns)
            for key, value in as_object(schema.get("properties")).items()
        )
        return cls(name, description, parameters)

    @property
    def required(self) -> tuple[Parameter, ...]:
        """What it cannot do without."""
        return tuple(one for one in self.parameters if one.required)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return tuple(words(self.name))

    @cached_property
    def deed(self) -> Deed | None:
        """What it does, by the verb in its name."""
        return DEEDS.get(self.verb)

    @cached_property
    def verb(self) -> str:
        """The verb in its name, if there is one."""
        return next((word for word in self.words if word in DEEDS), "")

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """What it does that to: the words after the verb, one of each."""
        after = self.words[self.words.index(self.verb) + 1 :] if self.verb else self.words
        own = [singular(word) for word in after if word not in _SMALL and word != "all"]  # a "post" is no verb here
        return tuple(dict.fromkeys(own or [singular(word) for word in self.words if word not in DEEDS]))

    @cached_property
    def told_nouns(self) -> frozenset[str]:
        """Every word of its description, one of each."""
        return frozenset(singular(word) for word in words(self.description))

    @property
    def is_bare(self) -> bool:
        """Whether its name is all that is known of it."""
        return not self.description and not self.parameters

    @property
    def looks(self) -> bool:
        """Whether it only looks."""
        return self.deed in LOOKING


def singular(word: str) -> str:
    """One of them, as far as English endings tell."""
    if word == "menus":  # what else ends so is no plural: status, bonus, bus
        return "menu"
    if len(word) > 3 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _resolved(schema: object, whole: Mapping[str, Any], *, keep: bool = False) -> dict[str, Any]:
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


# Tools that are not among the definitions, but described in a result

_SPECIFIED = re.compile(r"^([A-Za-z_][\w-]{0,63})(?: \[([^\]]*)\])?(?:: (.*))?\nArguments: (.*)$", re.MULTILINE)
_LISTED = re.compile(r"^- ([A-Za-z_][\w-]{0,63})(\(.*?\))?(?: \[([^\]]*)\])?(?:: (.*))?$", re.MULTILINE)


def specified_in(text: str) -> KnownTool | None:
    """The tool that `get_tool` described."""
    found = _SPECIFIED.search(text)
    if found is None:
        return None
    try:
        schema: Any = json.loads(found[4])
    except ValueError:  # "none", or too long to stand there in full
        schema = {}
    return KnownTool.of(found[1], found[3] or "", schema)


def listed_in(text: str) -> list[KnownTool]:
    """The tools in a list of lines, in their order: names and one line each, their parameters unknown."""
    return [KnownTool(found[1], found[4] or "") for found in _LISTED.finditer(text)]
