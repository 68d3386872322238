"""Changes that more than one tool makes. Each checks before it writes; after a refusal the session rolls back."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.schema import checked, image_fields
from toolcrib_cms.content.slugs import checked_slug, free_slug
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.storage import lookup
from toolcrib_cms.storage.columns import Status, new_id, now
from toolcrib_cms.storage.models import NavigationItem, Page, Post, Section, SectionTemplate
from toolcrib_cms.storage.references import page_links

_LEAST_GAP = 1e-6  # between two places; below that they are numbered anew


def new_slug(session: Session, model: type[Page] | type[Post], title: str, slug: str | None) -> str:
    """The slug that was asked for, if it is free; else one made of the title."""

    def taken(candidate: str) -> bool:
        return session.scalar(select(model.id).where(model.slug == candidate)) is not None

    if slug is None:
        return free_slug(title, taken)
    if taken(checked_slug(slug)):
        raise RefusalError(
            f"The address {slug!r} is taken.", hint=f"Nothing was changed. {free_slug(slug, taken)!r} is free."
        )
    return slug


def new_page(
    session: Session,
    title: str,
    *,
    slug: str | None = None,
    parent: str | None = None,
    meta_description: str = "",
    status: Status = Status.DRAFT,
) -> Page:
    """A page without sections."""
    page = Page(
        id=new_id("page"),
        slug=new_slug(session, Page, title, slug),
        title=title,
        parent_id=lookup.page(session, parent).id if parent else None,
        status=status,
        meta_description=meta_description,
        published_at=now() if status is Status.PUBLISHED else None,
    )
    session.add(page)
    session.flush()
    return page


def new_section(
    session: Session,
    page: Page,
    template: SectionTemplate,
    content: Mapping[str, Any] | None,
    position: int | None = None,
) -> Section:
    """A section of a kind on a page, with its defaults where nothing is given."""
    section = Section(
        id=new_id("sec"),
        page_id=page.id,
        template_key=template.key,
        place=place_at(page.sections, position),
        content=checked_content(session, template, {**template.defaults, **(content or {})}),
    )
    session.add(section)
    session.flush()
    session.refresh(page, ["sections"])
    return section


def checked_content(session: Session, template: SectionTemplate, content: Mapping[str, Any]) -> dict[str, Any]:
    """Content that fits its template, and whose images and pages exist."""
    call = f'cms_getSectionFields(sectionDefId="{template.key}")'
    kept = checked(template.fields, content, what=f"the template {template.key!r}", fields_tool=call)
    for _, value in image_fields(template.fields, kept):
        value["id"] = lookup.image(session, str(value["id"])).id  # a file name becomes the id
    for _, link in page_links(kept):
        lookup.page(session, str(link["href"]))
    return kept


def place_at(others: Sequence[Section] | Sequence[NavigationItem], position: int | None) -> float:
    """A place before the one that stands at a position now, or behind all."""
    places = [other.place for other in others]
    if not places:
        return 0.0
    if position is None or position >= len(places):
        return places[-1] + 1
    after = places[position]
    before = places[position - 1] if position > 0 else after - 2
    if after - before < _LEAST_GAP:
        for number, other in enumerate(others):
            other.place = float(number)
        return position - 0.5
    return (before + after) / 2
