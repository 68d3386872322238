"""A tool as the brain knows it: what its name says it does and to what; its arguments are in `parameters.py`."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from toolcrib.agent.offline.json_shapes import as_list, as_object
from toolcrib.agent.offline.parameters import SMALL_ENGLISH, Parameter, resolved, singular
from toolcrib.search.text import words


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
    Deed.READ: "get read show fetch open view describe retrieve load check tell download total sum compute calculate",
    Deed.LIST: "list browse enumerate all count index",
    Deed.FIND: "find search query lookup look locate grep glob match recall ask",
    Deed.CREATE: "create add new make write insert post upload send put build generate append start remember schedule",
    Deed.CHANGE: "update edit set change rename move replace toggle publish archive modify patch assign use restore",
    Deed.DELETE: "delete remove drop erase clear cancel forget destroy unset purge",
}
DEEDS = {verb: deed for deed, verbs in _VERBS.items() for verb in verbs.split()}
_TITLES = frozenset(["title", "name", "label", "headline", "subject"])
LOOKING = (Deed.FIND, Deed.LIST, Deed.READ)


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
            Parameter(key, resolved(value, schema, keep=True), required=key in needed, of=bare.nouns)
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
        own = [
            singular(word) for word in after if word not in SMALL_ENGLISH and word != "all"
        ]  # a "post" is no verb here
        return tuple(dict.fromkeys(own or [singular(word) for word in self.words if word not in DEEDS]))

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Where it does that: the nouns after a preposition, `page` of `add_section_to_page`."""
        small = [place for place, word in enumerate(self.words) if word in SMALL_ENGLISH and place]
        after = {singular(word) for word in self.words[small[0] :]} if small else set[str]()
        return tuple(noun for noun in self.nouns[1:] if noun in after)

    @cached_property
    def told_nouns(self) -> frozenset[str]:
        """Every word of its description, one of each."""
        return frozenset(singular(word) for word in words(self.description))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every word that it and its arguments are described with, one of each.

        What else happens when something is deleted is told as well, and is not what it is for.
        """
        deletes = self.deed is Deed.DELETE
        texts = [self.name, self.description.partition(". ")[0] if deletes else self.description]
        texts += ["name"] if any(set(one.words) & _TITLES for one in self.parameters) else []
        texts += [f"{one.name} {one.description} {' '.join(map(str, one.choices))}" for one in self.parameters]
        return frozenset(singular(word) for text in texts for word in words(text) if word not in SMALL_ENGLISH)

    def is_about(self, word: str) -> bool:
        """Whether a word is one of its name."""
        return singular(word) in {*self.nouns, *map(singular, self.words)}

    @property
    def is_bare(self) -> bool:
        """Whether its name is all that is known of it."""
        return not self.description and not self.parameters

    @property
    def looks(self) -> bool:
        """Whether it only looks."""
        return self.deed in LOOKING


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
