"""Where a tool's result holds entities: declared by the tool, never guessed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias, cast

ROOT = "$root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing that a result mentions: an image, a page, a customer."""

    type: str
    id: str
    name: str
    seen_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Where entities stand in a result: `path` is `"$root"` or dotted, such as `"data.images"`."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # as in `Protocol`

    path: str
    type: str
    name_field: str
    id_field: str = "id"
    is_array: bool = False

    def __call__(self, result: Any) -> list[Entity]:
        """The entities in `result`; items without an id are skipped."""
        found = at_path(result, self.path)
        items = _items(found) if self.is_array else [found]
        return [entity for item in items if (entity := self._entity(item)) is not None]

    def _entity(self, item: object) -> Entity | None:
        identity = at_path(item, self.id_field)
        if identity is None:
            return None
        name = at_path(item, self.name_field)
        return Entity(type=self.type, id=str(identity), name=str(identity if name is None else name))


# Entities, or rows with `id`, `name` and `type`: rows without an id or a name are skipped.
CustomExtractor: TypeAlias = Callable[[Any], Sequence[Entity | Mapping[str, Any]]]
Extractor: TypeAlias = Extraction | CustomExtractor


def at_path(value: Any, path: str) -> Any:
    """The value at a dotted path in mappings and objects; None if there is none."""
    if path == ROOT:
        return value
    for step in path.split("."):
        value = cast("Mapping[str, Any]", value).get(step) if isinstance(value, Mapping) else getattr(value, step, None)
        if value is None:
            return None
    return value


def _items(found: object) -> Sequence[object]:
    if isinstance(found, Sequence) and not isinstance(found, str | bytes):
        return cast("Sequence[object]", found)
    return []
