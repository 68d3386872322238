"""What the tables share: the base, times, ids, and rows that keep their history."""

import secrets
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, MetaData, String
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column
from sqlalchemy.types import TypeDecorator

Content = dict[str, Any]  # JSON: only a template's schema knows its shape

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # no letter that reads like a digit: people and models copy ids
_ID_LETTERS = 8


def new_id(prefix: str) -> str:
    """An id that tells its kind, such as `page_k3v9x2ma`; also a name a `ToolIndex` can hold."""
    return f"{prefix}_{''.join(secrets.choice(_ALPHABET) for _ in range(_ID_LETTERS))}"


def now() -> datetime:
    """This moment, as it is kept: UTC, whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


class UtcTime(TypeDecorator[datetime]):
    """A moment with its zone; SQLite alone would forget that it is UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC).replace(tzinfo=None) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value else None


class Status(StrEnum):
    """How far a page or post is."""

    DRAFT = "draft"
    PUBLISHED = "published"
    ARCHIVED = "archived"


class Base(MappedAsDataclass, DeclarativeBase, kw_only=True):
    """Every table. Constraints are named, so that a later migration can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012  # read once by SQLAlchemy
        datetime: UtcTime,
        Content: JSON(none_as_null=True),
        list[str]: JSON(none_as_null=True),
        Status: String(16),
    }


class Kept(MappedAsDataclass, kw_only=True):
    """A row whose every change is kept as a revision; `version` counts them, for optimistic locking."""

    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime] = mapped_column(default_factory=now)
    updated_at: Mapped[datetime] = mapped_column(default_factory=now)
