"""Who points at whom: asked before something goes, so that nothing on the site breaks behind the user's back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.schema import image_fields
from toolcrib_cms.storage.models import Collection, Entry, NavigationItem, Page, Post, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One place that points at something."""

    kind: str  # of the row that points
    id: str
    name: str  # as people know it
    place: str  # the field

    def __str__(self) -> str:
        return f"{self.name} ({self.kind} {self.id}, {self.place})"

    def row(self) -> dict[str, str]:
        """For a result."""
        return {"type": self.kind, "id": self.id, "name": self.name, "field": self.place}


def uses_of_images(session: Session) -> Iterator[tuple[str, Use]]:
    """Every use of every image, by its id. Read from the content itself, so it cannot be out of step with it."""
    for section in session.scalars(select(Section)):
        for place, value in image_fields(section.template.fields, section.content):
            name = f"{section.template.label} on {section.page.title}"
            yield str(value.get("id")), Use(kind="section", id=section.id, name=name, place=place)
    for post in session.scalars(select(Post).where(Post.feature_image_id.is_not(None))):
        yield str(post.feature_image_id), Use(kind="post", id=post.id, name=post.title, place="featuredImage")
    for entry, collection in session.execute(select(Entry, Collection).join(Collection)):
        for place, value in image_fields(collection.fields, entry.data):
            yield str(value.get("id")), Use(kind="entry", id=entry.id, name=entry.title, place=place)


def uses_of_image(session: Session, image_id: str) -> list[Use]:
    """Where one image is used."""
    return [use for used, use in uses_of_images(session) if used == image_id]


def uses_of_page(session: Session, page: Page) -> list[Use]:
    """Menu items, buttons and pages below that point at a page."""
    items = session.scalars(select(NavigationItem).where(NavigationItem.page_id == page.id))
    found = [Use(kind="navigation item", id=one.id, name=one.label, place=f"{one.menu} menu") for one in items]
    children = session.scalars(select(Page).where(Page.parent_id == page.id))
    found += [Use(kind="page", id=child.id, name=child.title, place="parent") for child in children]
    for section in session.scalars(select(Section).where(Section.page_id != page.id)):
        for place, link in page_links(section.content):
            if link.get("href") in (page.slug, page.id):
                name = f"{section.template.label} on {section.page.title}"
                found.append(Use(kind="section", id=section.id, name=name, place=place))
    return found


def page_links(value: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every link to a page in a content, with its place."""
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        if given.get("type") == "page" and "href" in given:
            yield place, given
        for key, inner in given.items():
            yield from page_links(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            yield from page_links(inner, f"{place}[{number}]")
