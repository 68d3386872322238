"""What a registration changes in the shared catalog: pure rules, no database."""

from collections.abc import Mapping
from dataclasses import dataclass

from toolcrib.errors import DuplicateToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a registration changed, by name; nothing when the catalog had it all."""

    revision: int
    changed: tuple[str, ...] = ()  # that came, or came anew
    removed: tuple[str, ...] = ()  # that can no longer be found
    waiting: tuple[str, ...] = ()  # that somebody has to approve first
    refused: tuple[str, ...] = ()  # a sentence for each that another source has


@dataclass(frozen=True, slots=True)
class Row:
    """What is kept of one name."""

    source: str
    definition: str | None = None
    approved: str | None = None
    waiting: str | None = None

    @property
    def is_free(self) -> bool:
        """Whether another source may have the name."""
        return self.definition is None and self.waiting is None


def changes(source: str, given: Mapping[str, str], held: Mapping[str, Row], *, review: bool) -> dict[str, Row]:
    """The rows that change when a source has these definitions, as they have to become."""
    own = {name: row for name, row in held.items() if row.source == source}
    rows = {name: Row(source, None, row.approved) for name, row in own.items() if name not in given and not row.is_free}
    for name, text in given.items():
        before = held.get(name, Row(source))
        if before.source != source and not before.is_free:
            continue
        trusted = not review or not own or (before.source == source and before.approved == text)
        approved = before.approved if before.source == source else None
        after = Row(source, text, text) if trusted else Row(source, None, approved, text)
        if after != before:
            rows[name] = after
    return rows


def registration(
    revision: int, source: str, given: Mapping[str, str], held: Mapping[str, Row], rows: Mapping[str, Row]
) -> Registration:
    """What a registration comes to, in names."""
    others = {name: held[name].source for name in given if name in held and name not in rows}
    refused = [str(DuplicateToolError(name, other, source)) for name, other in others.items() if other != source]
    return Registration(
        revision=revision,
        changed=tuple(name for name, row in rows.items() if row.definition is not None),
        removed=tuple(
            name for name, row in rows.items() if row.definition is None and name in held and held[name].definition
        ),
        waiting=tuple(name for name, row in rows.items() if row.waiting is not None),
        refused=tuple(refused),
    )
