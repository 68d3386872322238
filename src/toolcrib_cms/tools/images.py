"""Images: the media library, and which sections show what."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.content.schema import IMAGE
from toolcrib_cms.content_index import ContentIndex
from toolcrib_cms.editing import checked_content
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.image_swap import swap_everywhere
from toolcrib_cms.rows import image_details, image_row, page_url, section_details
from toolcrib_cms.storage import lookup
from toolcrib_cms.storage.models import Image, Section
from toolcrib_cms.storage.references import uses_of_image, uses_of_images
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.arguments import AltText, Cursor, ImageField, ImageId, Limit, Row, SectionId


class ImageTools:
    """The tools of the category `images`."""

    def __init__(self, store: SiteStore, index: ContentIndex) -> None:
        self._store = store
        self._index = index

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (
            self.cms_findImage,
            self.cms_searchImages,
            self.cms_listAllImages,
            self.cms_addImageToSection,
            self.cms_updateSectionImage,
            self.cms_replaceImage,
            self.cms_deleteImage,
        )

    def cms_findImage(
        self, idOrName: Annotated[str, Field(description="Id or file name of the image", min_length=1)]
    ) -> Row:
        """Look up one image in the media library by its id or file name and return its details: size, alt text and
        where it is used.
        """
        with self._store.transaction() as session:
            return image_details(session, lookup.image(session, idOrName))

    def cms_searchImages(
        self,
        query: Annotated[str, Field(description="What the image should show, in any language", min_length=1)],
        limit: Annotated[int, Field(description="How many to return", ge=1, le=50)] = 5,
    ) -> Row:
        """Search the media library for images by what they show."""
        found = self._index.search(query, types={"image"}, limit=limit)
        with self._store.transaction() as session:
            rows = {one.id: one for one in session.scalars(select(Image))}
            return {
                "images": [
                    {**image_row(rows[one.piece.id]), "distance": one.distance} for one in found if one.piece.id in rows
                ]
            }

    def cms_listAllImages(
        self,
        unusedOnly: Annotated[bool, Field(description="Only images that no page or post uses")] = False,
        limit: Limit = 20,
        cursor: Cursor | None = None,
    ) -> Row:
        """List every image in the media library, newest first."""
        with self._store.transaction() as session:
            query = select(Image).order_by(Image.created_at.desc(), Image.id)
            if unusedOnly:
                query = query.where(Image.id.not_in({used for used, _ in uses_of_images(session)}))
            rows, after = lookup.paged(session, query, limit, cursor)
            return {"images": [image_row(row) for row in rows], "nextCursor": after}

    def cms_addImageToSection(
        self,
        pageSectionId: SectionId,
        imageId: ImageId,
        imageField: ImageField = None,
        alt: AltText | None = None,
    ) -> Row:
        """Put an image from the library into a section that has none yet, or add it to a gallery."""
        with self._store.transaction() as session:
            found, shown = lookup.section(session, pageSectionId), lookup.image(session, imageId)
            if imageField is None and (gallery := _list_field(found)):
                items = [*found.content.get(gallery, ()), {"image": _value(shown, alt)}]
                return _changed(session, found, {gallery: items}, shown)
            name = _image_field(found, imageField)
            if found.content.get(name):
                raise RefusalError(
                    f"{name!r} of {found.id} shows an image already.",
                    hint="Nothing was changed. Use cms_updateSectionImage to show another one instead.",
                )
            return _changed(session, found, {name: _value(shown, alt)}, shown)

    def cms_updateSectionImage(
        self,
        pageSectionId: SectionId,
        imageId: ImageId,
        imageField: ImageField = None,
        alt: AltText | None = None,
    ) -> Row:
        """Change which image a section shows, for instance its background or its portrait."""
        with self._store.transaction() as session:
            found, shown = lookup.section(session, pageSectionId), lookup.image(session, imageId)
            return _changed(session, found, {_image_field(found, imageField): _value(shown, alt)}, shown)

    def cms_replaceImage(
        self,
        imageId: ImageId,
        replacement: Annotated[str, Field(description="Id or file name of the image to use instead", min_length=1)],
    ) -> Row:
        """Replace an image everywhere it is used on the site with another one."""
        with self._store.transaction() as session:
            old, new = lookup.image(session, imageId), lookup.image(session, replacement)
            if old.id == new.id:
                raise RefusalError(f"Both are {old.id}.", hint="Give two different images. Nothing was changed.")
            uses = uses_of_image(session, old.id)
            if not uses:
                raise RefusalError(f"{old.file_name} is used nowhere, so nothing was replaced.")
            swap_everywhere(session, old.id, new.id)
            return {
                "id": new.id,
                "fileName": new.file_name,
                "replaced": old.id,
                "places": [use.row() for use in uses],
                "summary": f"{new.file_name} stands in {len(uses)} places where {old.file_name} was.",
            }

    def cms_deleteImage(
        self,
        imageId: ImageId,
        force: Annotated[bool, Field(description="Delete it although it is in use; those places lose it")] = False,
    ) -> Row:
        """Delete an image from the media library. Refused while a page or post still uses it, unless forced."""
        with self._store.transaction() as session:
            found = lookup.image(session, imageId)
            uses = uses_of_image(session, found.id)
            if uses and not force:
                raise RefusalError(
                    f"{found.file_name} is in use: {'; '.join(map(str, uses))}.",
                    hint="Nothing was deleted. Use cms_replaceImage first, or pass force: true if the user agrees.",
                )
            if uses:
                swap_everywhere(session, found.id, None)
                session.flush()
            session.delete(found)
            return {
                "id": found.id,
                "fileName": found.file_name,
                "deleted": True,
                "removedFrom": [use.row() for use in uses],
                "summary": f"Deleted {found.file_name}.",
            }


def _value(image: Image, alt: str | None) -> dict[str, str]:
    return {"id": image.id, **({"alt": alt} if alt else {})}


def _image_field(section: Section, wanted: str | None) -> str:
    fields = section.template.fields["properties"]
    names = [name for name, field in fields.items() if field.get("format") == IMAGE]
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    there = f"Its image fields: {', '.join(names)}." if names else "Its template has none of its own."
    what = f"no image field {wanted!r}" if wanted else f"{len(names) or 'no'} image fields"
    raise RefusalError(
        f"{section.id} ({section.template_key}) has {what}.",
        hint=f"Nothing was changed. {there} For pictures in a list, use cms_updateSectionContent.",
    )


def _list_field(section: Section) -> str | None:
    """The field that holds a list of images, as a gallery has one."""
    properties: Mapping[str, Any] = section.template.fields["properties"]
    for name, field in properties.items():
        item = cast("Mapping[str, Any]", field.get("items", {}))
        if item.get("required") == ["image"]:
            return name
    return None


def _changed(session: Session, section: Section, change: Mapping[str, Any], image: Image) -> Row:
    section.content = checked_content(session, section.template, {**section.content, **change})
    session.flush()
    where = f"{section.template.label} on {section.page.title}"
    return {
        **section_details(section),
        "image": image.id,
        "url": page_url(section.page),
        "summary": f"{where} shows {image.file_name} now.",
    }
