"""Finds the entities in a tool's result, as the tool's extraction describes them. An extraction is foreign code on
foreign data: whatever it does, the run goes on, and the log names the tool.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Entity, Extraction, Tool, at_path

MOST_FROM_ONE_RESULT = 5
MOST_ID_CHARACTERS = 256  # a longer one fills the prompt, and one cut short names nothing
MOST_NAME_CHARACTERS = 200
UNTYPED = "resource"  # the type of a row that names none

logger = logging.getLogger(__name__)


class Reading(StrEnum):
    """How a result was read."""

    SKIPPED = "skipped"  # nothing to read: the tool names no entities, or it failed
    READ = "read"  # as the tool says; there may still have been no entity in it
    MISSED = "missed"  # the result does not look as the tool's extraction says
    FAILED = "failed"  # the extraction raised, or returned something other than entities

    @property
    def processed(self) -> bool | None:
        """Whether the result was made use of; None when there was nothing to read."""
        return None if self is Reading.SKIPPED else self is Reading.READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The entities of one result."""

    reading: Reading
    entities: tuple[Entity, ...] = ()


def find_entities(tool: Tool, result: ToolResult, *, at: datetime) -> Found:
    """The first few entities in a result, all seen at the moment given; never raises."""
    if tool.extraction is None or result.failed:
        return Found(reading=Reading.SKIPPED)
    try:
        given = tool.extraction(result.value)
        entities = tuple(_first_few(_checked(given), at))
        missed = not entities and isinstance(tool.extraction, Extraction) and _looks_different(tool.extraction, result)
    except Exception:  # foreign code on foreign data
        logger.warning("The extraction of %s failed; its result was not read.", tool.name, exc_info=True)
        return Found(reading=Reading.FAILED)
    if missed:
        logger.warning("The result of %s does not look as its extraction says; nothing was read.", tool.name)
        return Found(reading=Reading.MISSED)
    return Found(reading=Reading.READ, entities=entities)


def _checked(given: object) -> list[Entity]:
    """The entities of what an extraction gave. Rows that are none are left out, as long as there are others."""
    items = cast("Sequence[object]", given) if isinstance(given, list | tuple) else [given]
    rows = [cast("Entity | Mapping[str, object]", item) for item in items if isinstance(item, Entity | Mapping)]
    if items and not rows:
        raise TypeError(f"An extraction gives a list of Entity or of rows, not of {type(items[0]).__name__}.")
    return [entity for row in rows if (entity := _entity(row)) is not None]


def _entity(row: "Entity | Mapping[str, object]") -> Entity | None:
    """The entity of a row, whatever types its values have; a row without an id or a name gives none."""
    kind, identity, name = (
        "" if value is None else str(value)
        for value in ((row.type, row.id, row.name) if isinstance(row, Entity) else map(row.get, ("type", "id", "name")))
    )
    if not identity or not (name or isinstance(row, Entity)):  # an entity without a name is shown by its id
        return None
    return Entity(type=kind or UNTYPED, id=identity, name=name)


def _first_few(entities: Sequence[Entity], at: datetime) -> Iterator[Entity]:
    taken: set[tuple[str, str]] = set()
    for entity in entities:
        key = entity.type, entity.id
        if key in taken or not _can_be_written(entity.id) or not 0 < len(entity.id) <= MOST_ID_CHARACTERS:
            continue  # a model could not repeat such an id, so it could do nothing with the entity
        taken.add(key)
        name = clean(entity.name, MOST_NAME_CHARACTERS) or entity.id
        yield replace(entity, type=clean(entity.type, MOST_NAME_CHARACTERS).lower(), name=name, seen_at=at)
        if len(taken) == MOST_FROM_ONE_RESULT:
            return


def _looks_different(extraction: Extraction, result: ToolResult) -> bool:
    """Whether there was something, but not what the extraction says. An empty list is as it should be."""
    found: Any = at_path(result.value, extraction.path)
    if extraction.is_array and isinstance(found, Sequence) and not isinstance(found, str | bytes):
        return len(cast("Sequence[object]", found)) > 0
    return True


def _can_be_written(text: str) -> bool:
    """Whether the text can be sent and stored: half a surrogate pair is legal in a Python string, but not in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
