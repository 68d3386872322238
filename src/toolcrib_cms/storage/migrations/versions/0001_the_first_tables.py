"""The first tables. Frozen: what changes later is a migration of its own."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("collections", _text("key", primary_key=True), _text("label"), _json("fields"))
    op.create_table(
        "section_templates",
        _text("key", primary_key=True),
        *map(_text, ("label", "category", "description")),
        _json("fields"),
        _json("defaults"),
        _number("place"),
    )
    op.create_table(
        "images",
        *_kept(),
        _text("file_name", unique=True),
        *map(_text, ("description", "alt", "credit", "source_url", "mime")),
        *map(_count, ("width", "height", "size_bytes")),
        _text("sha256", index=True),
    )
    op.create_table(
        "pages",
        *_kept(),
        _text("slug", unique=True),
        _text("title"),
        _reference("parent_id", "pages.id", nullable=True, index=True),
        sa.Column("status", sa.String(16), nullable=False),
        _text("meta_description"),
        _time("published_at", nullable=True),
    )
    op.create_table(
        "sections",
        *_kept(),
        _reference("page_id", "pages.id", index=True),
        _reference("template_key", "section_templates.key"),
        _number("place"),
        _json("content"),
    )
    op.create_table(
        "posts",
        *_kept(),
        _text("slug", unique=True),
        *map(_text, ("title", "body", "excerpt", "author")),
        _json("tags"),
        sa.Column("status", sa.String(16), nullable=False),
        _time("published_at", nullable=True),
        _reference("feature_image_id", "images.id", nullable=True),
    )
    op.create_table(
        "navigation_items",
        *_kept(),
        _text("menu"),
        _text("label"),
        _number("place"),
        _reference("page_id", "pages.id", nullable=True, index=True),
        _text("url", nullable=True),
        sa.Column("visible", sa.Boolean, nullable=False),
    )
    op.create_table(
        "entries",
        *_kept(),
        _reference("collection_key", "collections.key", index=True),
        _text("slug"),
        _text("title"),
        _number("place"),
        _json("data"),
        sa.UniqueConstraint("collection_key", "slug"),
    )
    op.create_table(
        "revisions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("change", sa.Integer, nullable=False, index=True),
        _text("kind"),
        _text("item_id", index=True),
        _count("version"),
        _text("action"),
        _json("data"),
        _time("created_at"),
    )


def downgrade() -> None:
    tables = ("revisions", "entries", "navigation_items", "posts", "sections", "pages", "images")
    for table in (*tables, "section_templates", "collections"):
        op.drop_table(table)


def _kept() -> tuple[sa.Column[Any], ...]:
    return _text("id", primary_key=True), _count("version"), _time("created_at"), _time("updated_at")


def _text(
    name: str, *, primary_key: bool = False, unique: bool = False, index: bool = False, nullable: bool = False
) -> sa.Column[str]:
    marks: dict[str, Any] = {"unique": unique or None, "index": index or None}
    return sa.Column(name, sa.String, primary_key=primary_key, nullable=nullable, **marks)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _number(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Double, nullable=False)


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.JSON(none_as_null=True), nullable=False)


def _time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime, nullable=nullable)


def _reference(name: str, target: str, *, nullable: bool = False, index: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String, sa.ForeignKey(target), nullable=nullable, index=index or None)
