"""Pages: the site's tree of addresses. Their words stand in sections."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.editing import new_page, new_section, new_slug
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.rows import page_details, page_row
from toolcrib_cms.storage import lookup
from toolcrib_cms.storage.columns import Status, now
from toolcrib_cms.storage.models import HOME, NavigationItem, Page
from toolcrib_cms.storage.references import uses_of_page
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.arguments import (
    Cursor,
    IfVersion,
    Limit,
    MetaDescription,
    PageId,
    PageRef,
    Row,
    SectionContent,
    Slug,
    StatusName,
    TemplateKey,
    Title,
)


class NewSection(BaseModel):
    """A new section."""

    model_config = ConfigDict(extra="forbid")

    sectionDefId: TemplateKey
    content: SectionContent


class PageTools:
    """The tools of the category `pages`."""

    def __init__(self, store: SiteStore) -> None:
        self._store = store

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (
            self.cms_getPage,
            self.cms_createPage,
            self.cms_createPageWithContent,
            self.cms_updatePage,
            self.cms_deletePage,
            self.cms_listPages,
        )

    def cms_getPage(
        self,
        pageId: PageId,
        includeContent: Annotated[bool, Field(description="Also return the content of its sections")] = False,
    ) -> Row:
        """Get one page by id or slug: title, address, status and search-engine settings. Pass includeContent to have
        the texts of its sections as well.
        """
        with self._store.transaction() as session:
            return page_details(lookup.page(session, pageId), with_content=includeContent)

    def cms_createPage(
        self,
        title: Title,
        slug: Slug | None = None,
        parent: PageRef | None = None,
        metaDescription: MetaDescription = "",
        status: Annotated[StatusName, Field(description="published makes it public at once")] = "draft",
    ) -> Row:
        """Create a new, empty page on the site with a title and an address. Sections are added afterwards."""
        with self._store.transaction() as session:
            made = new_page(
                session, title, slug=slug, parent=parent, meta_description=metaDescription, status=Status(status)
            )
            return {**page_row(made), "summary": f"Created the {status} page {title!r}, still empty."}

    def cms_createPageWithContent(
        self,
        title: Title,
        sections: Annotated[list[NewSection], Field(description="The sections from top to bottom", min_length=1)],
        slug: Slug | None = None,
        parent: PageRef | None = None,
        metaDescription: MetaDescription = "",
        status: Annotated[StatusName, Field(description="published makes it public at once")] = "draft",
    ) -> Row:
        """Create a page together with its sections, texts and images in one step. If any section is invalid, nothing
        is created.
        """
        with self._store.transaction() as session:
            made = new_page(
                session, title, slug=slug, parent=parent, meta_description=metaDescription, status=Status(status)
            )
            for number, section in enumerate(sections):
                try:
                    new_section(session, made, lookup.template(session, section.sectionDefId), section.content)
                except RefusalError as error:
                    raise RefusalError(
                        f"No page was created. Section {number} ({section.sectionDefId}): {error}"
                    ) from error
            return {
                **page_details(made, with_content=False),
                "summary": f"Created the {status} page {title!r} with {len(sections)} sections.",
            }

    def cms_updatePage(
        self,
        pageId: PageId,
        title: Title | None = None,
        slug: Slug | None = None,
        parent: Annotated[str | None, Field(description="Id or slug of the page above it; empty for none")] = None,
        status: StatusName | None = None,
        metaDescription: MetaDescription | None = None,
        if_version: IfVersion | None = None,
    ) -> Row:
        """Change a page's own settings: title, address, parent, status or search-engine description. The sections on it
        stay as they are.
        """
        with self._store.transaction() as session:
            found = lookup.page(session, pageId)
            lookup.refuse_stale(found, if_version, reader="cms_getPage")
            if all(value is None for value in (title, slug, parent, status, metaDescription)):
                raise RefusalError(
                    "Nothing to change was given.", hint="Pass title, slug, parent, status or metaDescription."
                )
            if slug is not None and slug != found.slug:
                if found.slug == HOME:
                    raise RefusalError("The home page keeps its address.", hint="Change its title instead.")
                found.slug = new_slug(session, Page, found.title, slug)
            if title is not None:
                found.title = title
            if metaDescription is not None:
                found.meta_description = metaDescription
            if parent is not None:
                found.parent_id = _parent(session, found, parent)
            if status is not None:
                _set_status(found, Status(status))
            session.flush()
            session.refresh(found, ["parent"])
            return {**page_row(found), "summary": f"Updated the page {found.title!r}."}

    def cms_deletePage(
        self,
        pageId: PageId,
        dryRun: Annotated[bool, Field(description="Only say what would be deleted")] = False,
    ) -> Row:
        """Delete a whole page and everything on it. Menu links that point to it are removed as well and reported."""
        with self._store.transaction() as session:
            found = lookup.page(session, pageId)
            if found.slug == HOME:
                raise RefusalError("The home page cannot be deleted.", hint="Change its sections instead.")
            uses = uses_of_page(session, found)
            if below := [use.name for use in uses if use.kind == "page"]:
                raise RefusalError(
                    f"{found.title!r} has pages below it: {', '.join(below)}.",
                    hint="Nothing was deleted. Move them with cms_updatePage (parent), or delete them first.",
                )
            links = [use for use in uses if use.kind == "navigation item"]
            report = {
                "id": found.id,
                "title": found.title,
                "sections": len(found.sections),
                "menuLinks": [use.row() for use in links],
                "brokenButtons": [use.row() for use in uses if use.kind == "section"],
            }
            if dryRun:
                return {**report, "deleted": False, "summary": f"Would delete {found.title!r}. Nothing was deleted."}
            for use in links:
                session.delete(session.get_one(NavigationItem, use.id))
            session.flush()
            session.delete(found)
            return {**report, "deleted": True, "summary": f"Deleted the page {found.title!r}."}

    def cms_listPages(
        self,
        status: Annotated[StatusName | None, Field(description="Only pages with this status")] = None,
        parent: Annotated[str | None, Field(description="Only pages below this one")] = None,
        limit: Limit = 20,
        cursor: Cursor | None = None,
    ) -> Row:
        """List the pages of the site with title, address and status."""
        with self._store.transaction() as session:
            query = select(Page).order_by(Page.created_at, Page.id)
            if status:
                query = query.where(Page.status == status)
            if parent:
                query = query.where(Page.parent_id == lookup.page(session, parent).id)
            rows, after = lookup.paged(session, query, limit, cursor)
            return {"pages": [page_row(row) for row in rows], "nextCursor": after}


def _parent(session: Session, page: Page, reference: str) -> str | None:
    if not reference:
        return None
    parent = lookup.page(session, reference)
    above: Page | None = parent
    while above is not None:
        if above.id == page.id:
            raise RefusalError(
                f"{parent.title!r} is {page.title!r} itself or stands below it.", hint="Choose another parent."
            )
        above = above.parent
    return parent.id


def _set_status(page: Page, status: Status) -> None:
    if status is Status.PUBLISHED and page.status != Status.PUBLISHED:
        page.published_at = now()
    if page.slug == HOME and status is not Status.PUBLISHED:
        raise RefusalError("The home page stays published.", hint="Change its sections instead.")
    page.status = status
