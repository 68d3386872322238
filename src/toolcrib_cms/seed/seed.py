"""Writes the demo site into a database that has none."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from toolcrib_cms.content.schema import checked, refuse_unknown_keywords
from toolcrib_cms.media.library import MediaLibrary
from toolcrib_cms.seed.pictures import drawn
from toolcrib_cms.storage.columns import Status, now
from toolcrib_cms.storage.models import (
    Collection,
    Entry,
    Image,
    NavigationItem,
    Page,
    Post,
    Section,
    SectionTemplate,
)

_HERE = Path(__file__).parent


def is_seeded(session: Session) -> bool:
    """Whether a site is there; without section templates no page could be built."""
    return bool(session.scalar(select(func.count()).select_from(SectionTemplate)))


def seed(session: Session, media: MediaLibrary) -> None:
    """Write the whole demo site."""
    site = _read("site.yaml")
    _templates(session)
    _images(session, media)
    session.flush()
    _pages(session, site["pages"])
    _posts(session, site["posts"])
    _collections(session, site["collections"])
    session.flush()
    _navigation(session, site["navigation"])


def _templates(session: Session) -> None:
    for place, (key, entry_values) in enumerate(_read("templates.yaml").items()):
        if key.startswith("."):
            continue  # a part that others repeat
        refuse_unknown_keywords(entry_values["fields"], key)
        session.add(SectionTemplate(key=key, place=float(place), **entry_values))


def _images(session: Session, media: MediaLibrary) -> None:
    # One second apart, so that "newest first" has an order.
    began = now() - timedelta(days=30)
    for number, (name, entry_values) in enumerate(_read("images.yaml").items()):
        picture = drawn(name)
        media.keep(picture)
        session.add(
            Image(
                id=f"img_{name}",
                file_name=entry_values["file"],
                description=entry_values["description"],
                alt=entry_values["alt"],
                credit="Drawn for Verdant",
                mime=picture.mime,
                width=picture.width,
                height=picture.height,
                size_bytes=len(picture.data),
                sha256=picture.sha256,
                created_at=began + timedelta(seconds=number),
            )
        )


def _pages(session: Session, pages: Mapping[str, Any]) -> None:
    for slug, entry_values in pages.items():
        session.add(
            Page(
                id=f"page_{slug}",
                slug=slug,
                title=entry_values["title"],
                status=Status.PUBLISHED,
                meta_description=entry_values["meta"],
                published_at=now(),
            )
        )
        session.flush()
        for place, section in enumerate(entry_values["sections"]):
            template = session.get_one(SectionTemplate, section["template"])
            content = checked(template.fields, section["content"], what=section["id"], fields_tool="templates.yaml")
            session.add(
                Section(
                    id=f"sec_{section['id']}",
                    page_id=f"page_{slug}",
                    template_key=template.key,
                    place=float(place),
                    content=content,
                )
            )


def _posts(session: Session, posts: Mapping[str, Any]) -> None:
    for slug, entry_values in posts.items():
        published = entry_values.get("published")
        session.add(
            Post(
                id=f"post_{slug}",
                slug=slug,
                title=entry_values["title"],
                body=entry_values["body"],
                excerpt=entry_values["excerpt"],
                author=entry_values["author"],
                tags=entry_values["tags"],
                status=Status(entry_values["status"]),
                published_at=datetime.fromisoformat(published).replace(tzinfo=UTC) if published else None,
                feature_image_id=f"img_{entry_values['image']}" if "image" in entry_values else None,
            )
        )


def _collections(session: Session, collections: Mapping[str, Any]) -> None:
    for key, entry_values in collections.items():
        refuse_unknown_keywords(entry_values["fields"], key)
        session.add(Collection(key=key, label=entry_values["label"], fields=entry_values["fields"]))
        session.flush()
        for place, (slug, entry) in enumerate(entry_values["entries"].items()):
            data = {name: value for name, value in entry.items() if name != "title"}
            session.add(
                Entry(
                    id=f"entry_{slug}",
                    collection_key=key,
                    slug=slug,
                    title=entry["title"],
                    place=float(place),
                    data=checked(entry_values["fields"], data, what=slug, fields_tool="site.yaml"),
                )
            )


def _navigation(session: Session, menus: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    for menu, items in menus.items():
        for place, item in enumerate(items):
            page = item.get("page")
            session.add(
                NavigationItem(
                    id=item["id"],
                    menu=menu,
                    label=item["label"],
                    place=float(place),
                    page_id=f"page_{page}" if page else None,
                    url=item.get("url"),
                )
            )


def _read(name: str) -> dict[str, Any]:
    return deepcopy(_parsed(name))


@cache  # YAML is read slowly, and every reset writes the same site again
def _parsed(name: str) -> dict[str, Any]:
    loader = YAML(typ="safe", pure=True)
    loaded: Any = loader.load((_HERE / name).read_text(encoding="utf-8"))  # pyright: ignore[reportUnknownMemberType]  # ruamel has no types
    return cast("dict[str, Any]", loaded)
