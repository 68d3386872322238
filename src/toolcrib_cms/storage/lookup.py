"""Finding one row by what a model calls it: an id, a slug, a file name. What is not there is refused with advice."""

from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session

from toolcrib_cms.errors import RefusalError, unknown
from toolcrib_cms.storage.columns import Kept
from toolcrib_cms.storage.models import Collection, Entry, Image, NavigationItem, Page, Post, Section, SectionTemplate

Row = TypeVar("Row")

_MOST_CURSOR_DIGITS = 9


def page(session: Session, reference: str) -> Page:
    """A page by id, slug, path or exact title."""
    name = reference.strip().strip("/").removeprefix("site/").rpartition("/")[2] or "home"
    found = _one(session, select(Page), or_(Page.id == name, Page.slug == name), func.lower(Page.title) == name.lower())
    if found is None:
        known = session.scalars(select(Page.slug)).all()
        raise unknown("page", reference, known, listing="cms_listPages")
    return found


def section(session: Session, reference: str) -> Section:
    """A section by id, or as `page/template` where the page has one of that kind."""
    if found := session.get(Section, reference.strip()):
        return found
    slug, slash, key = reference.strip().partition("/")
    if slash:
        owner = page(session, slug)
        of_kind = [one for one in owner.sections if one.template_key == key]
        if len(of_kind) == 1:
            return of_kind[0]
        there = ", ".join(f"{one.id} ({one.template_key})" for one in owner.sections) or "none"
        count = len(of_kind) or "no"
        raise RefusalError(
            f"{owner.title} has {count} sections of the kind {key!r}.", hint=f"Use an id. Its sections: {there}."
        )
    known = session.scalars(select(Section.id)).all()
    raise unknown("section", reference, known, listing="cms_getPageSections (give the page)")


def template(session: Session, reference: str) -> SectionTemplate:
    """A section template by key or label."""
    name = reference.strip().lower()
    found = _one(
        session, select(SectionTemplate), SectionTemplate.key == name, func.lower(SectionTemplate.label) == name
    )
    if found is None:
        known = session.scalars(select(SectionTemplate.key)).all()
        raise unknown("section template", reference, known, listing="cms_listSectionTemplates")
    return found


def image(session: Session, reference: str) -> Image:
    """An image by id or file name."""
    name = reference.strip().rpartition("/")[2]
    found = _one(session, select(Image), Image.id == name, Image.file_name == name)
    if found is None:
        known = [text for row in session.execute(select(Image.id, Image.file_name)) for text in row]
        raise unknown("image", reference, known, listing="cms_searchImages or cms_listAllImages")
    return found


def post(session: Session, reference: str) -> Post:
    """A post by id, slug, address or exact title."""
    name = reference.strip().rpartition("/")[2]
    found = _one(session, select(Post), or_(Post.id == name, Post.slug == name), func.lower(Post.title) == name.lower())
    if found is None:
        known = session.scalars(select(Post.slug)).all()
        raise unknown("post", reference, known, listing="cms_listPosts")
    return found


def navigation_item(session: Session, reference: str) -> NavigationItem:
    """A menu item by id, or by its label where only one has it."""
    name = reference.strip()
    if found := session.get(NavigationItem, name):
        return found
    labelled = session.scalars(select(NavigationItem).where(func.lower(NavigationItem.label) == name.lower())).all()
    if len(labelled) == 1:
        return labelled[0]
    if labelled:
        several = ", ".join(f"{one.id} ({one.menu})" for one in labelled)
        raise RefusalError(f"{len(labelled)} menu items are called {name!r}.", hint=f"Use an id: {several}.")
    known = [text for row in session.execute(select(NavigationItem.id, NavigationItem.label)) for text in row]
    raise unknown("menu item", reference, known, listing="cms_getNavigation")


def collection(session: Session, reference: str) -> Collection:
    """A collection by key or label."""
    name = reference.strip().lower()
    found = _one(session, select(Collection), Collection.key == name, func.lower(Collection.label) == name)
    if found is None:
        known = session.scalars(select(Collection.key)).all()
        raise RefusalError(f"There is no collection {reference!r}.", hint=f"There are: {', '.join(known) or 'none'}.")
    return found


def entry(session: Session, owner: Collection, reference: str) -> Entry:
    """An entry of a collection by id, slug or exact title."""
    name = reference.strip()
    mine = select(Entry).where(Entry.collection_key == owner.key)
    found = _one(session, mine, or_(Entry.id == name, Entry.slug == name), func.lower(Entry.title) == name.lower())
    if found is None:
        known = session.scalars(select(Entry.slug).where(Entry.collection_key == owner.key)).all()
        raise unknown(f"entry in {owner.key}", reference, known, listing=f"cms_getCollectionEntries({owner.key!r})")
    return found


def refuse_stale(row: Kept, if_version: int | None, *, reader: str) -> None:
    """Refuse a change that was thought out for another version of the row."""
    if if_version is not None and if_version != row.version:
        raise RefusalError(
            f"{row.id} is at version {row.version}, not {if_version}: somebody changed it since.",
            hint=f"Nothing was changed. Read it again with {reader}; if it still fits, give if_version {row.version}.",
        )


def paged(session: Session, query: Select[Row], limit: int, cursor: str | None) -> tuple[Sequence[Row], str | None]:
    """One page of a listing, and the cursor of the next, if there is one."""
    start = start_of(cursor)
    rows = session.scalars(query.offset(start).limit(limit + 1)).all()
    return rows[:limit], str(start + limit) if len(rows) > limit else None


def start_of(cursor: str | None) -> int:
    """How many rows the pages before had."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _MOST_CURSOR_DIGITS):
        raise RefusalError(
            f"{cursor!r} is no cursor.", hint="Pass the nextCursor of the previous answer, or leave it out."
        )
    return int(cursor or 0)


def _one(session: Session, query: Select[Row], exact: ColumnElement[Any], title: ColumnElement[Any]) -> Row | None:
    """The row with this id or slug; else the one with this title, unless several have it."""
    if found := session.scalars(query.where(exact).limit(1)).first():
        return found
    titled = session.scalars(query.where(title).limit(2)).all()
    return titled[0] if len(titled) == 1 else None
