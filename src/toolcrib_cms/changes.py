"""What a change is to people: which thing, with a picture and an address, and what is different about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.links import SITE
from toolcrib_cms.content.schema import texts
from toolcrib_cms.rows import page_url, post_url
from toolcrib_cms.storage import revisions
from toolcrib_cms.storage.columns import Content
from toolcrib_cms.storage.models import KINDS, Image, NavigationItem, Page, Post, Revision, Section

_UNTOLD = frozenset({"id", "version", "created_at", "updated_at", "place", "page_id", "template_key", "collection_key"})
_MOST_CHARACTERS = 400  # of a value
_MAIN_FIRST = ("page", "post", "entry", "image", "section", "navigation item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value that a change makes different; empty where there was or will be none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that a call changes, or would change."""

    kind: str
    id: str
    title: str
    action: str  # create, update, delete, restore
    path: str | None  # of the site, where it can be looked at
    picture: str | None
    fields: tuple[Field, ...]


def changes_of(session: Session, made: Sequence[Revision]) -> list[Change]:
    """The changes that revisions stand for, what matters most first; a thing that was changed twice counts once."""
    last = {one.item_id: one for one in made}
    first = {one.item_id: one for one in reversed(made)}
    changed = [_change(session, first[item], last[item]) for item in last]
    return sorted(changed, key=lambda one: _MAIN_FIRST.index(one.kind))


def _change(session: Session, first: Revision, last: Revision) -> Change:
    gone = last.action == "delete"
    old, new = revisions.before(session, first), None if gone else last.data
    data = cast("Content", old if new is None else new)
    action = "create" if old is None else "delete" if gone else "update"
    fields = tuple(_fields(old, new)) if action == "update" else ()
    return Change(
        kind=last.kind,
        id=last.item_id,
        title=_title(last.kind, data),
        action=action,
        path=_path(session, last.kind, last.item_id, data),
        picture=_picture(session, last.kind, last.item_id, data),
        fields=fields,
    )


def as_it_is(session: Session, change: Change) -> Change:
    """A change that only would be made, with the address and the picture that its thing has now."""
    row = session.get(KINDS[change.kind], change.id)
    if row is None:
        return change
    data = revisions.snapshot(row)
    path, picture = (look(session, change.kind, change.id, data) for look in (_path, _picture))
    return replace(change, path=path, picture=change.picture or picture)


def _title(kind: str, data: Content) -> str:
    match kind:
        case "image":
            return str(data["file_name"])
        case "navigation item":
            return f"{data['label']} ({data['menu']} menu)"
        case "section":
            words = next((text for text in texts(data["content"]) if text.strip()), "")
            return f"{data['template_key']}: {words}"[:80] if words else str(data["template_key"])
        case _:
            return str(data["title"])


def _path(session: Session, kind: str, item_id: str, data: Content) -> str | None:
    """Where to look at it now: what was deleted or is not made yet has no address."""
    if kind == "page" and (page := session.get(Page, item_id)) is not None:
        return page_url(page)
    if kind == "section" and (page := session.get(Page, data["page_id"])) is not None:
        return page_url(page)
    if kind == "post" and (post := session.get(Post, item_id)) is not None:
        return post_url(post)
    return f"{SITE}/" if kind == "navigation item" and session.get(NavigationItem, item_id) is not None else None


def _picture(session: Session, kind: str, item_id: str, data: Content) -> str | None:
    """The picture of a thing: its own, or the first that it shows."""
    if kind == "image":
        return f"{SITE}/images/{data['file_name']}"
    ids: list[str] = [str(data.get("feature_image_id") or "")] if kind == "post" else []
    if kind == "section":
        ids = _image_ids(data["content"])
    if kind == "page":
        sections = session.scalars(select(Section).where(Section.page_id == item_id).order_by(Section.place))
        ids = [id for section in sections for id in _image_ids(section.content)]
    found = next((image for id in ids if (image := session.get(Image, id)) is not None), None)
    return None if found is None else f"{SITE}/images/{found.file_name}"


def _image_ids(value: object) -> list[str]:
    if isinstance(value, Mapping):
        held = cast("Mapping[str, object]", value)
        own = [str(held["id"])] if str(held.get("id", "")).startswith("img_") else []
        return own + [id for inner in held.values() for id in _image_ids(inner)]
    if isinstance(value, list):
        return [id for inner in cast("list[object]", value) for id in _image_ids(inner)]
    return []


def _fields(old: Content | None, new: Content | None) -> list[Field]:
    before, after = _flat(old or {}), _flat(new or {})
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return [_field(name, before.get(name), after.get(name)) for name in names]


def _field(name: str, before: object, after: object) -> Field:
    old, new = _shown(before), _shown(after)
    if old == new:  # only an id differs, such as that of an image
        old, new = ", ".join(_image_ids(before)) or old, ", ".join(_image_ids(after)) or new
    return Field(name=name, before=old, after=new)


def _flat(data: Content) -> dict[str, Any]:
    """The values that people know, those of a section's or entry's content by their own names."""
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if name in ("content", "data") and isinstance(value, dict):
            flat |= cast("dict[str, Any]", value)
        elif name not in _UNTOLD:
            flat[name] = value
    return flat


def _shown(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else ", ".join(texts(value)) or str(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
