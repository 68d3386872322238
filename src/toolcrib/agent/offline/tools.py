"""A tool as the brain reads it: what its name and schema say it does, to what kind of thing, and what it needs."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

from toolcrib.agent.offline.language import READING, TOOL_VERBS, Action
from toolcrib.search.text import words


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is a list."""
    return isinstance(value, list | tuple)


def as_object(value: object) -> Mapping[str, Any]:
    """The object a value is; empty if it is none."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """The list a value is; empty if it is none."""
    return list(value) if is_list(value) else []


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as a text."""
    return frozenset(text.split())


def singular(word: str) -> str:
    """One of them, as far as English endings tell."""
    if word == "menus":  # what else ends so is no plural: status, bonus, bus
        return "menu"
    if len(word) > 3 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


_SMALL = word_set("a an and by for from in into of on or the to with id ids at it its one")
_IDENTITY = word_set("id ids uuid ref reference key slug name or number code handle identifier title")
_REFERENCE = re.compile(r"\b(?:id|ids|identifier|slug|key|uuid|handle)\b", re.IGNORECASE)
_OF_WHAT = re.compile(
    r"\b(?:id|ids|identifier|slug|key|uuid|handle|name)\b[^.;,]*? of (?:the|an?|one|this)\s+([a-z]+(?: [a-z]+)?)",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(r"\b(?:such as|for example|e\.g\.|like)\s+([^.;()]+)", re.IGNORECASE)
TITLES = word_set("title name label subject headline heading caption")


@dataclass(frozen=True)
class Parameter:
    """One argument a tool takes."""

    name: str
    schema: Mapping[str, Any]
    required: bool = False
    tool_nouns: tuple[str, ...] = ()  # a bare `id` is the id of what the tool is about

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
        """Its JSON type, `string` if none is told."""
        kind = self.schema.get("type")
        if is_list(kind):
            kind = next((one for one in kind if one != "null"), "string")
        return str(kind or ("object" if "properties" in self.schema else "string"))

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
        named = bool({"id", "ids", "uuid"} & set(self.words))
        return named or bool(_REFERENCE.search(re.split(r"[;:.]", self.description)[0]))

    @cached_property
    def _described_nouns(self) -> tuple[str, ...]:
        found = _OF_WHAT.search(self.description)
        return tuple(word for word in words(found[1]) if word not in _SMALL) if found else ()

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """What kind of thing it names: `page_id`, or `page` that is an "Id or slug of the page", gives `page`."""
        own = [singular(word) for word in self.words if word not in _IDENTITY]
        described = [singular(word) for word in self._described_nouns]
        if own and own[-1] in described:  # `pageSectionId`, an "Id of the section", names no page
            own = [word for word in own if word in described]
        return tuple(dict.fromkeys([*own, *described])) or self.tool_nouns

    @property
    def noun(self) -> str:
        """The same in words: `menu item`."""
        own = [word for word in self.words if word not in _IDENTITY]
        described = not own or own[-1] in self._described_nouns
        return " ".join(self._described_nouns if described else own) or " ".join(self.tool_nouns)

    @property
    def is_nested(self) -> bool:
        """Whether it wants objects of a shape of their own, which rules cannot write."""
        if self.type == "array":
            items = resolved(self.schema.get("items"), self.schema)
            return "properties" in items or items.get("type") in ("object", "array")
        return self.type == "object" and bool(self.schema.get("required"))

    @property
    def is_title(self) -> bool:
        """Whether it is the name, title or label of something."""
        return bool(set(self.words) & TITLES)

    @cached_property
    def examples(self) -> tuple[str, ...]:
        """The values that the description gives as examples."""
        found = _EXAMPLES.search(self.description)
        pieces = re.split(r",|\bor\b|\band\b", found[1]) if found else []
        return tuple(stripped for piece in pieces if (stripped := piece.strip(" '\"")))


@dataclass(frozen=True)
class ToolInfo:
    """A tool: its name, its description and its parameters, if they are known."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()

    @classmethod
    def from_schema(cls, name: str, description: str, schema: Mapping[str, Any]) -> "ToolInfo":
        """The tool of a definition."""
        required = as_list(schema.get("required"))
        nouns = cls(name, description).nouns
        parameters = tuple(
            Parameter(key, resolved(value, schema, keep=True), key in required, nouns)
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
    def verb(self) -> str:
        """The verb in its name, if there is one."""
        return next((word for word in self.words if word in TOOL_VERBS), "")

    @cached_property
    def action(self) -> Action | None:
        """What it does, by that verb."""
        return TOOL_VERBS.get(self.verb)

    @property
    def reads(self) -> bool:
        """Whether it only reads."""
        return self.action in READING

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """What it does that to: the words after the verb, one of each; a "post" is no verb here."""
        after = self.words[self.words.index(self.verb) + 1 :] if self.verb else self.words
        own = [singular(word) for word in after if word not in _SMALL and word != "all"]
        return tuple(dict.fromkeys(own or [singular(word) for word in self.words if word not in TOOL_VERBS]))

    @cached_property
    def created_nouns(self) -> tuple[str, ...]:
        """What it creates, without the place: `section` of `add_section_to_page`."""
        small = [index for index, word in enumerate(self.words) if word in _SMALL and index]
        after = {singular(word) for word in self.words[small[0] :]} if small else set[str]()
        return self.nouns[:1] + tuple(noun for noun in self.nouns[1:] if noun not in after)

    @cached_property
    def described_nouns(self) -> frozenset[str]:
        """Every word of its description, one of each."""
        return frozenset(singular(word) for word in words(self.description))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every word that it and its parameters are described with.

        What else happens when something is deleted is told as well, and is not what it is for.
        """
        deletes = self.action is Action.DELETE
        texts = [self.name, self.description.partition(". ")[0] if deletes else self.description]
        texts += ["name"] if any(one.is_title for one in self.parameters) else []
        texts += [f"{one.name} {one.description} {' '.join(map(str, one.choices))}" for one in self.parameters]
        return frozenset(singular(word) for text in texts for word in words(text) if word not in _SMALL)

    def is_about(self, word: str) -> bool:
        """Whether a word is one of its name."""
        return singular(word) in {*self.nouns, *map(singular, self.words)}

    @property
    def is_bare(self) -> bool:
        """Whether its name is all that is known of it."""
        return not self.description and not self.parameters


_MOST_REFERENCES = 5  # followed in a schema


def resolved(schema: object, whole: Mapping[str, Any], *, keep: bool = False) -> dict[str, Any]:
    """A schema with its reference followed and its one real branch taken; `$defs` go along for what is inside."""
    found = dict(as_object(schema))
    for _ in range(_MOST_REFERENCES):
        outer = {key: value for key, value in found.items() if key in ("description", "default", "title")}
        if isinstance(reference := found.get("$ref"), str):
            target: object = whole
            for step in reference.removeprefix("#/").split("/"):
                target = as_object(target).get(step)
            found = {**as_object(target), **outer}
            continue
        branches = next((found[key] for key in ("anyOf", "oneOf", "allOf") if as_list(found.get(key))), None)
        real = [one for one in as_list(branches) if as_object(one).get("type") != "null"]
        if not real:
            break
        found = {**as_object(real[0]), **outer}
    if keep and "$defs" in whole:
        found["$defs"] = whole["$defs"]
    return found


# Tools that are not among the definitions, but described in a result

_SPECIFIED = re.compile(r"^([A-Za-z_][\w-]{0,63})(?: \[([^\]]*)\])?(?:: (.*))?\nArguments: (.*)$", re.MULTILINE)
_LISTED = re.compile(r"^- ([A-Za-z_][\w-]{0,63})(\(.*?\))?(?: \[([^\]]*)\])?(?:: (.*))?$", re.MULTILINE)


def specified_in(text: str) -> ToolInfo | None:
    """The tool that `get_tool` described."""
    found = _SPECIFIED.search(text)
    if found is None:
        return None
    try:
        schema: Any = json.loads(found[4])
    except ValueError:  # "none", or too long to stand there in full
        schema = {}
    return ToolInfo.from_schema(found[1], found[3] or "", schema)


def listed_in(text: str) -> list[ToolInfo]:
    """The tools in a list of lines, in their order: names and one line each, their parameters unknown."""
    return [ToolInfo(found[1], found[4] or "") for found in _LISTED.finditer(text)]
