"""What the HTML templates get: content with its images, links and Markdown resolved."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.links import SITE, is_safe_address
from toolcrib_cms.content.markdown import html_of
from toolcrib_cms.content.schema import IMAGE, LINK, MARKDOWN
from toolcrib_cms.rows import page_path, page_url, post_url
from toolcrib_cms.storage.models import (
    MENUS,
    Collection,
    Entry,
    Image,
    NavigationItem,
    Page,
    Post,
    Section,
    Status,
)

SITE_NAME = "Verdant"
_CARDS = 6


def frame(session: Session) -> dict[str, Any]:
    """What stands around every page: the menus."""
    items = session.scalars(select(NavigationItem).order_by(NavigationItem.place, NavigationItem.id)).all()
    menus = {
        menu: [
            {"label": item.label, "url": page_url(item.page) if item.page else item.url}
            for item in items
            if item.menu == menu and item.visible
        ]
        for menu in MENUS
    }
    return {"site_name": SITE_NAME, "menus": menus, "root": SITE}


def page_view(session: Session, page: Page) -> dict[str, Any]:
    """A page with its sections."""
    return {
        "page": {"id": page.id, "slug": page.slug, "status": str(page.status), "path": page_path(page)},
        "draft": page.status != Status.PUBLISHED,
        "description": page.meta_description,
        "sections": [section_view(session, section) for section in page.sections],
    }


def section_view(session: Session, section: Section) -> dict[str, Any]:
    """A section as its template shows it."""
    view = _resolved(session, section.template.fields, section.content)
    if section.template_key == "listing":
        limit = int(section.content.get("limit", _CARDS))
        view["cards"] = _cards(session, str(section.content.get("source", "")), limit)
    return {"id": section.id, "kind": section.template_key, "content": view}


def post_view(session: Session, post: Post) -> dict[str, Any]:
    """A post with its text as HTML."""
    return {
        "post": {
            "id": post.id,
            "author": post.author,
            "date": _date(post.published_at),
            "tags": post.tags,
            "image": _image(session, {"id": post.feature_image_id}) if post.feature_image_id else None,
            "body": _safe(html_of(post.body)),
            "status": str(post.status),
        },
        "draft": post.status != Status.PUBLISHED,
        "description": post.excerpt,
    }


def _resolved(session: Session, schema: Mapping[str, Any], value: Any) -> Any:
    form = schema.get("format")
    if form == IMAGE and isinstance(value, Mapping):
        return _image(session, cast("Mapping[str, Any]", value))
    if form == LINK and isinstance(value, Mapping):
        return _link(session, cast("Mapping[str, Any]", value))
    if form == MARKDOWN and isinstance(value, str):
        return _safe(html_of(value))
    if isinstance(value, Mapping):
        fields: Mapping[str, Any] = schema.get("properties", {})
        given = cast("Mapping[str, Any]", value)
        return {key: _resolved(session, fields.get(key, {}), inner) for key, inner in given.items()}
    if isinstance(value, list):
        return [_resolved(session, schema.get("items", {}), inner) for inner in cast("list[Any]", value)]
    return value


def _image(session: Session, value: Mapping[str, Any]) -> dict[str, Any] | None:
    image = session.get(Image, str(value.get("id")))
    if image is None:
        return None
    return {
        "id": image.id,
        "url": f"{SITE}/images/{image.file_name}",
        "alt": value.get("alt") or image.alt or image.description,
        "width": image.width,
        "height": image.height,
        "credit": image.credit,
    }


def _link(session: Session, value: Mapping[str, Any]) -> dict[str, Any] | None:
    href = str(value.get("href", ""))
    if value.get("type") == "page":
        page = session.scalars(select(Page).where((Page.slug == href) | (Page.id == href))).first()
        return {"label": value.get("label"), "url": page_url(page)} if page else None  # its page went: no button
    return {"label": value.get("label"), "url": href} if is_safe_address(href) else None


def _cards(session: Session, source: str, limit: int) -> list[dict[str, Any]]:
    if source == "posts":
        query = select(Post).where(Post.status == Status.PUBLISHED).order_by(Post.published_at.desc()).limit(limit)
        return [
            {
                "title": post.title,
                "text": post.excerpt,
                "note": _date(post.published_at),
                "url": post_url(post),
                "image": _image(session, {"id": post.feature_image_id}),
            }
            for post in session.scalars(query)
        ]
    collection = session.get(Collection, source)
    if collection is None:
        return []
    entries = select(Entry).where(Entry.collection_key == source).order_by(Entry.place).limit(limit)
    return [
        {
            "title": entry.title,
            "text": entry.data.get("summary") or entry.data.get("bio") or "",
            "note": f"€ {entry.data['price']:g}" if "price" in entry.data else entry.data.get("role", ""),
            "url": None,
            "image": _image(session, entry.data.get("image", {})),
        }
        for entry in session.scalars(entries)
    ]


def _date(moment: datetime | None) -> str:
    return f"{moment.day} {moment:%B %Y}" if moment else ""


def _safe(html: str) -> Any:
    """HTML that was sanitised, marked so that the template does not escape it again."""
    from minijinja import safe

    return safe(html)
