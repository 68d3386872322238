"""Content as the model reads it: compact in lists, complete on request, always with id, version and address."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from toolcrib_cms.content.links import SITE, page_address
from toolcrib_cms.content.schema import texts
from toolcrib_cms.storage.models import HOME, Entry, Image, NavigationItem, Page, Post, Section, Status
from toolcrib_cms.storage.references import uses_of_image

_NAME_LETTERS = 60


def page_path(page: Page) -> str:
    """The slugs of a page and those above it, joined; nothing for the home page."""
    if page.slug == HOME:
        return ""
    above = page_path(page.parent) if page.parent else ""
    return f"{above}/{page.slug}".lstrip("/")


def page_url(page: Page) -> str:
    """Where to look at a page; what is not published has a preview."""
    return page_address(page_path(page), preview=page.status != Status.PUBLISHED)


def page_row(page: Page) -> dict[str, Any]:
    """A page in a list."""
    return {
        "id": page.id,
        "title": page.title,
        "slug": page.slug,
        "status": str(page.status),
        "url": page_url(page),
        "version": page.version,
    }


def page_details(page: Page, *, with_content: bool) -> dict[str, Any]:
    """A page with its settings, and its sections in short or in full."""
    sections = [section_details(one) if with_content else section_row(one) for one in page.sections]
    return {
        **page_row(page),
        "parent": page.parent.slug if page.parent else None,
        "metaDescription": page.meta_description,
        "updatedAt": _time(page.updated_at),
        "sections": sections,
    }


def section_row(section: Section) -> dict[str, Any]:
    """A section in a list: its kind and its first words."""
    first = next((text for text in texts(section.content) if text.strip()), "")
    words = first if len(first) <= _NAME_LETTERS else f"{first[: _NAME_LETTERS - 1]}…"
    return {
        "id": section.id,
        "template": section.template_key,
        "name": f"{section.template_key}: {words}" if words else section.template_key,
        "version": section.version,
    }


def section_details(section: Section) -> dict[str, Any]:
    """A section with all it holds."""
    return {**section_row(section), "page": section.page.slug, "content": section.content}


def image_row(image: Image) -> dict[str, Any]:
    """An image in a list."""
    return {
        "id": image.id,
        "fileName": image.file_name,
        "description": image.description,
        "size": f"{image.width}x{image.height}",
        "url": f"{SITE}/images/{image.file_name}",
    }


def image_details(session: Session, image: Image) -> dict[str, Any]:
    """An image with where it is used."""
    return {
        **image_row(image),
        "alt": image.alt,
        "mime": image.mime,
        "width": image.width,
        "height": image.height,
        "bytes": image.size_bytes,
        "sha256": image.sha256,
        "credit": image.credit,
        "sourceUrl": image.source_url or None,
        "version": image.version,
        "usedBy": [use.row() for use in uses_of_image(session, image.id)],
    }


def post_url(post: Post) -> str:
    """Where to look at a post."""
    return f"{SITE}/posts/{post.slug}" + ("" if post.status == Status.PUBLISHED else "?preview=1")


def post_row(post: Post) -> dict[str, Any]:
    """A post in a list."""
    return {
        "id": post.id,
        "title": post.title,
        "slug": post.slug,
        "status": str(post.status),
        "publishedAt": _time(post.published_at),
        "tags": post.tags,
        "url": post_url(post),
        "version": post.version,
    }


def post_details(post: Post) -> dict[str, Any]:
    """A post with its text."""
    return {
        **post_row(post),
        "author": post.author,
        "excerpt": post.excerpt,
        "featuredImage": post.feature_image_id,
        "content": post.body,
    }


def navigation_row(item: NavigationItem) -> dict[str, Any]:
    """A menu item and where it leads."""
    return {
        "id": item.id,
        "label": item.label,
        "menu": item.menu,
        "type": "page" if item.page else "url",
        "target": item.page.slug if item.page else item.url,
        "visible": item.visible,
        "version": item.version,
    }


def entry_row(entry: Entry) -> dict[str, Any]:
    """An entry in a list, with its short fields."""
    short = {key: value for key, value in entry.data.items() if isinstance(value, int | float | bool | str)}
    return {"id": entry.id, "title": entry.title, "slug": entry.slug, "fields": short}


def entry_details(entry: Entry) -> dict[str, Any]:
    """An entry with all its fields."""
    return {
        "id": entry.id,
        "title": entry.title,
        "slug": entry.slug,
        "collection": entry.collection_key,
        "fields": entry.data,
        "version": entry.version,
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
