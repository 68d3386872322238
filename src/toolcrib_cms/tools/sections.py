"""Sections: the blocks a page is built from, each after a template."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import select

from toolcrib_cms.content.merge_patch import changed_places, merged
from toolcrib_cms.content.schema import image_fields, normalised
from toolcrib_cms.editing import checked_content, new_section
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.rows import page_url, section_details, section_row
from toolcrib_cms.storage import lookup
from toolcrib_cms.storage.models import SectionTemplate
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.arguments import (
    IfVersion,
    PageId,
    Position,
    Row,
    SectionContent,
    SectionId,
    TemplateKey,
)


class SectionTools:
    """The tools of the category `sections`."""

    def __init__(self, store: SiteStore) -> None:
        self._store = store

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (
            self.cms_listSectionTemplates,
            self.cms_getSectionFields,
            self.cms_addSectionToPage,
            self.cms_updateSectionContent,
            self.cms_deletePageSection,
            self.cms_deletePageSections,
            self.cms_getPageSections,
            self.cms_getSectionContent,
        )

    def cms_listSectionTemplates(
        self,
        category: Annotated[str | None, Field(description="Only templates of this kind, such as media or text")] = None,
    ) -> Row:
        """List the kinds of section a page can be built from, such as hero, gallery, testimonials or FAQ."""
        with self._store.transaction() as session:
            rows = session.scalars(select(SectionTemplate).order_by(SectionTemplate.place)).all()
            kinds = list(dict.fromkeys(row.category for row in rows))
            if category is not None and category not in kinds:
                raise RefusalError(
                    f"No template has the category {category!r}.", hint=f"There are: {', '.join(kinds)}."
                )
            return {
                "templates": [
                    {"id": row.key, "name": row.label, "category": row.category, "description": row.description}
                    for row in rows
                    if category in (None, row.category)
                ]
            }

    def cms_getSectionFields(self, sectionDefId: TemplateKey) -> Row:
        """Describe the fields of a section template: their names, types, limits and which are required."""
        with self._store.transaction() as session:
            found = lookup.template(session, sectionDefId)
            fields = found.fields["properties"]
            return {
                "id": found.key,
                "name": found.label,
                "required": found.fields.get("required", []),
                "imageFields": [name for name, field in fields.items() if field.get("format") == "image"],
                "fields": fields,
                "defaults": found.defaults,
            }

    def cms_addSectionToPage(
        self,
        pageId: PageId,
        sectionDefId: TemplateKey,
        content: SectionContent | None = None,
        position: Position | None = None,
    ) -> Row:
        """Add a new section to a page from a template, at the end or at a given position."""
        with self._store.transaction() as session:
            owner = lookup.page(session, pageId)
            made = new_section(session, owner, lookup.template(session, sectionDefId), content, position)
            return {
                **section_details(made),
                "position": owner.sections.index(made),
                "url": page_url(owner),
                "summary": f"Added a section {sectionDefId!r} to {owner.title!r}.",
            }

    def cms_updateSectionContent(
        self,
        pageSectionId: SectionId,
        content: Annotated[
            dict[str, Any], Field(description="Fields to change; null clears a field, lists are replaced whole")
        ],
        if_version: IfVersion | None = None,
    ) -> Row:
        """Change the texts and values of a section on a page. Only the fields given are changed, and the result is
        checked against the template.
        """
        with self._store.transaction() as session:
            found = lookup.section(session, pageSectionId)
            lookup.refuse_stale(found, if_version, reader="cms_getSectionContent")
            before = found.content
            patch = _without_old_words(found.template.fields, normalised(found.template.fields, content))
            found.content = checked_content(session, found.template, merged(before, patch))
            changed = list(changed_places(before, found.content))
            session.flush()
            return {
                **section_details(found),
                "changed": changed,
                "url": page_url(found.page),
                "summary": f"Changed {', '.join(changed)}." if changed else "It was like that already.",
            }

    def cms_deletePageSection(self, pageSectionId: SectionId) -> Row:
        """Remove one section from a page."""
        with self._store.transaction() as session:
            found = lookup.section(session, pageSectionId)
            row, owner = section_row(found), found.page
            session.delete(found)
            return {**row, "deleted": True, "summary": f"Removed {row['name']!r} from {owner.title!r}."}

    def cms_deletePageSections(
        self,
        pageId: PageId,
        sections: Annotated[list[str] | None, Field(description="Ids of the sections to remove")] = None,
        all: Annotated[bool, Field(description="Remove every section of the page")] = False,
    ) -> Row:
        """Remove several sections from a page at once, or clear the page of all of them."""
        with self._store.transaction() as session:
            owner = lookup.page(session, pageId)
            if bool(sections) == all:
                raise RefusalError("Say which sections go.", hint="Pass either their ids as sections, or all: true.")
            there = {one.id: one for one in owner.sections}
            if strange := [one for one in sections or () if one not in there]:
                raise RefusalError(
                    f"{owner.title!r} has no section {strange[0]!r}.",
                    hint=f"Nothing was removed. Its sections: {', '.join(there) or 'none'}.",
                )
            gone = [section_row(there[one]) for one in sections or there]
            for one in gone:
                session.delete(there[one["id"]])
            return {
                "page": owner.slug,
                "deleted": gone,
                "summary": f"Removed {len(gone)} sections from {owner.title!r}.",
            }

    def cms_getPageSections(self, pageId: PageId) -> Row:
        """List the sections on a page in their order, with id and template."""
        with self._store.transaction() as session:
            owner = lookup.page(session, pageId)
            rows = [{"position": place, **section_row(one)} for place, one in enumerate(owner.sections)]
            return {"page": owner.slug, "title": owner.title, "sections": rows}

    def cms_getSectionContent(self, pageSectionId: SectionId) -> Row:
        """Read the content of one section on a page: its headings, texts, links and images."""
        with self._store.transaction() as session:
            return section_details(lookup.section(session, pageSectionId))


def _without_old_words(fields: Mapping[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A patch that brings another image also clears the alternative text, which described the old one."""
    for place, image in image_fields(fields, patch):
        if "id" in image and "[" not in place:  # lists are replaced whole, so nothing old is left in them
            image.setdefault("alt", None)
    return patch
