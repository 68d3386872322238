"""One image for another, or for none, in everything that shows it."""

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.schema import IMAGE
from toolcrib_cms.storage.models import Collection, Entry, Post, Section

_GONE = object()


def swap_everywhere(session: Session, old: str, new: str | None) -> None:
    """Show `new` wherever `old` was; with None, show nothing there."""
    for section in session.scalars(select(Section)):
        if (content := swapped(section.template.fields, section.content, old, new)) != section.content:
            section.content = content
    for entry, collection in session.execute(select(Entry, Collection).join(Collection)):
        if (data := swapped(collection.fields, entry.data, old, new)) != entry.data:
            entry.data = data
    for post in session.scalars(select(Post).where(Post.feature_image_id == old)):
        post.feature_image_id = new


def swapped(schema: Mapping[str, Any], content: Mapping[str, Any], old: str, new: str | None) -> dict[str, Any]:
    """A content with one image for another. Where it goes without one, a list item that needs it goes too."""
    return cast("dict[str, Any]", _swap(schema, content, old, new))


def _swap(schema: Mapping[str, Any], value: Any, old: str, new: str | None) -> Any:
    if schema.get("format") == IMAGE and isinstance(value, dict):
        image = cast("dict[str, Any]", value)
        if image.get("id") != old:
            return image
        return _GONE if new is None else {"id": new}  # the old words for it do not fit the new one
    if isinstance(value, Mapping):
        fields: Mapping[str, Any] = schema.get("properties", {})
        given = cast("Mapping[str, Any]", value)
        inner = {key: _swap(fields.get(key, {}), one, old, new) for key, one in given.items()}
        if any(inner.get(key) is _GONE for key in schema.get("required", ())):
            return _GONE
        return {key: one for key, one in inner.items() if one is not _GONE}
    if isinstance(value, list):
        items = [_swap(schema.get("items", {}), one, old, new) for one in cast("list[Any]", value)]
        return [one for one in items if one is not _GONE]
    return value
