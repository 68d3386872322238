"""Things a conversation speaks of: those remembered, and those in the results of this turn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from toolcrib.agent.offline.json_shapes import as_list, as_object, is_list, is_object
from toolcrib.agent.offline.parameters import singular
from toolcrib.search.text import plain, words

MOST_THINGS = 200  # of one result; a list may be a whole catalog
_NAMES = ("title", "name", "label", "fileName", "file_name", "filename", "subject", "headline", "heading", "path")
_IDS = ("id", "_id", "uuid", "slug", "key", "path", "name", "title")
_MIXED = ("result", "matche", "match", "hit", "found", "resource")  # lists whose rows say their own type
_GENERAL = ("item", "row", "record", "data", "value", "element")  # names that say nothing of what is listed
_WRAPPERS = ("data", "result", "response", "payload", "page")
_MOST_LEVELS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A page, an image, a customer: its kind, its id, its name, and the row it stood in."""

    type: str
    id: str
    name: str
    row: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def is_a(self, nouns: Sequence[str]) -> bool:
        """Whether it is of one of these kinds."""
        own = {singular(word) for word in words(self.type)}
        return any(noun in own for noun in nouns)

    @property
    def says_its_type(self) -> bool:
        """Whether its own row says what it is: an image among pages and posts is no page."""
        return self.row.get("type") == self.type

    def value_for(self, parameter: str) -> Any:
        """What stands for it in an argument of this name."""
        held = self.row.get(parameter)
        return held if isinstance(held, str | int) and not isinstance(held, bool) else self.id

    @property
    def said(self) -> frozenset[str]:
        """Every word by which it could be meant."""
        texts = [self.name, self.id, *(value for value in self.row.values() if isinstance(value, str))]
        texts += [one for value in self.row.values() for one in as_list(value) if isinstance(one, str)]
        return frozenset(plain(word) for text in texts for word in words(text))

    @property
    def called(self) -> frozenset[str]:
        """The words of its name alone."""
        return frozenset(plain(word) for word in words(self.name))


def things_in(value: object, kind: str) -> list[Thing]:
    """The things in a result, in order; `kind` is what they are if nothing says otherwise."""
    return list(islice(_found(value, kind, _MOST_LEVELS), MOST_THINGS))


def _found(value: object, kind: str, levels: int, *, mixed: bool = False) -> Iterator[Thing]:
    for item in as_list(value):
        yield from _found(item, kind, levels, mixed=mixed)
    if row := as_object(value):
        listed = any(is_list(inner) for inner in row.values())
        identity = next((row[key] for key in _IDS if _is_plain(row.get(key))), None)
        # A page of a listing has a name too at times, but what is listed are the things.
        if identity is not None and ("id" in row or not listed):
            said = row.get("type") if mixed and isinstance(row.get("type"), str) else kind
            name = next((str(row[key]) for key in _NAMES if _is_plain(row.get(key))), str(identity))
            yield Thing(type=str(said), id=str(identity), name=name, row=row)
        if levels:
            for key, inner in row.items():
                yield from _inside(key, inner, kind, levels - 1)


def _inside(key: str, inner: object, kind: str, levels: int) -> Iterator[Thing]:
    own = singular(key.casefold())
    if is_list(inner):
        if own in _MIXED:
            yield from _found(inner, kind, levels, mixed=True)
        else:
            yield from _found(inner, f"{kind} {own}" if own in _GENERAL else own, levels)
    elif is_object(inner) and own in _WRAPPERS:
        yield from _found(inner, kind, levels)


def _is_plain(value: object) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))
