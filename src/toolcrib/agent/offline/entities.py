"""The things a conversation speaks of (a page, an image, a customer), and which of them the words mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from toolcrib.agent.offline.language import most_similar, same_meaning
from toolcrib.agent.offline.request import Word
from toolcrib.agent.offline.tools import as_list, as_object, is_list, is_object, singular
from toolcrib.search.text import plain, words

_MOST_ENTITIES = 200  # of one result; a list may be a whole catalog
_MOST_LEVELS = 3
_NAMES = ("title", "name", "label", "fileName", "file_name", "filename", "subject", "headline", "heading", "path")
_IDS = ("id", "_id", "uuid", "slug", "key", "path", "name", "title")
_MIXED = ("result", "matche", "match", "hit", "found", "resource")  # lists whose rows say their own type
_GENERAL = ("item", "row", "record", "data", "value", "element")  # names that say nothing of what is listed
_WRAPPERS = ("data", "result", "response", "payload", "page")
_MIN_LETTERS = 3  # of a word in a name that may be meant by a word of another language


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing: its type, its id, its name, and the row it stood in."""

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
    def name_words(self) -> frozenset[str]:
        """The words of its name alone."""
        return frozenset(plain(word) for word in words(self.name))

    @property
    def all_words(self) -> frozenset[str]:
        """Every word by which it could be meant."""
        texts = [self.name, self.id, *(value for value in self.row.values() if isinstance(value, str))]
        texts += [one for value in self.row.values() for one in as_list(value) if isinstance(one, str)]
        return frozenset(plain(word) for text in texts for word in words(text))


def entities_in(value: object, kind: str) -> list[Entity]:
    """The entities in a result, in order; `kind` is what they are if nothing says otherwise."""
    return list(islice(_found(value, kind, _MOST_LEVELS), _MOST_ENTITIES))


def _found(value: object, kind: str, levels: int, *, mixed: bool = False) -> Iterator[Entity]:
    for item in as_list(value):
        yield from _found(item, kind, levels, mixed=mixed)
    if row := as_object(value):
        listed = any(is_list(inner) for inner in row.values())
        identity = next((row[key] for key in _IDS if _is_scalar(row.get(key))), None)
        # A page of a listing has a name too at times, but what is listed are the entities.
        if identity is not None and ("id" in row or not listed):
            own = row.get("type") if mixed and isinstance(row.get("type"), str) else kind
            name = next((str(row[key]) for key in _NAMES if _is_scalar(row.get(key))), str(identity))
            yield Entity(type=str(own), id=str(identity), name=name, row=row)
        for key, inner in row.items() if levels else ():
            own = singular(key.casefold())
            if is_list(inner) and own in _MIXED:
                yield from _found(inner, kind, levels - 1, mixed=True)
            elif is_list(inner):
                yield from _found(inner, f"{kind} {own}" if own in _GENERAL else own, levels - 1)
            elif is_object(inner) and own in _WRAPPERS:
                yield from _found(inner, kind, levels - 1)


def _is_scalar(value: object) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))


def choose_entity(
    entities: Sequence[Entity], name: Sequence[Word], around: Sequence[Word], *, best_first: bool = False
) -> Entity | None:
    """The one that the words mean; the first where they come best first.

    `name` are the words that could be its name; `around` also those that may hold it, such as "Kontaktseite".
    """
    if not entities:
        return None
    if named := named_entities(entities, name):
        return named[0] if len(named) == 1 or best_first else None
    alike = [_same_words(name, entity) for entity in entities]  # "Kakteen" for "What happens to a cactus"
    if max(alike) and alike.count(max(alike)) == 1:
        return entities[alike.index(max(alike))]
    text = " ".join(word.text for word in around)
    index = most_similar(text, [entity.name for entity in entities]) if text and name else None
    if index is not None:
        return entities[index]
    return entities[0] if best_first else None


def named_entities(entities: Sequence[Entity], name: Sequence[Word]) -> list[Entity]:
    """Those that the words name best, as they are written; none if no word is in any."""
    meant = {plain(part) for word in name for part in words(word.text)}
    scores = [3 * len(meant & entity.name_words) + len(meant & entity.all_words) for entity in entities]
    best = max(scores, default=0)
    return [entity for entity, score in zip(entities, scores, strict=True) if best and score == best]


def _same_words(name: Sequence[Word], entity: Entity) -> int:
    """How many of the words mean the same as a word of its name, in whatever language."""
    called = [word for word in entity.name_words if len(word) >= _MIN_LETTERS]
    return sum(any(same_meaning(word.folded, other) for other in called) for word in name)
