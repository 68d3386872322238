"""The tables of the CMS."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from toolcrib_cms.storage.columns import Base, Content, Kept, Status, now

HOME = "home"  # the slug of the page at the root of the site
MENUS = ("header", "footer")


class Page(Kept, Base):
    """A page of the site; its words stand in its sections."""

    __tablename__ = "pages"

    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("pages.id"), index=True, default=None)
    status: Mapped[Status] = mapped_column(default=Status.DRAFT)
    meta_description: Mapped[str] = mapped_column(default="")
    published_at: Mapped[datetime | None] = mapped_column(default=None)

    sections: Mapped[list["Section"]] = relationship(
        back_populates="page", order_by="Section.place", cascade="all, delete-orphan", init=False, repr=False
    )
    parent: Mapped["Page | None"] = relationship(remote_side="Page.id", init=False, repr=False)


class SectionTemplate(Base):
    """A kind of section: its fields are a JSON Schema."""

    __tablename__ = "section_templates"

    key: Mapped[str] = mapped_column(primary_key=True)
    label: Mapped[str]
    category: Mapped[str]
    description: Mapped[str]
    fields: Mapped[Content]  # JSON Schema of an object
    defaults: Mapped[Content]
    place: Mapped[float]


class Section(Kept, Base):
    """A section on a page. `place` orders it; between two places there is room for a third, so none has to move."""

    __tablename__ = "sections"

    page_id: Mapped[str] = mapped_column(ForeignKey("pages.id"), index=True)
    template_key: Mapped[str] = mapped_column(ForeignKey("section_templates.key"))
    place: Mapped[float]
    content: Mapped[Content]

    page: Mapped[Page] = relationship(back_populates="sections", init=False, repr=False)
    template: Mapped[SectionTemplate] = relationship(init=False, repr=False)


class Image(Kept, Base):
    """An image in the media library; its file lies in the media folder under its hash."""

    __tablename__ = "images"

    file_name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str]  # what it shows: this is what a search by meaning reads
    mime: Mapped[str]
    width: Mapped[int]
    height: Mapped[int]
    size_bytes: Mapped[int]
    sha256: Mapped[str] = mapped_column(index=True)
    alt: Mapped[str] = mapped_column(default="")
    credit: Mapped[str] = mapped_column(default="")
    source_url: Mapped[str] = mapped_column(default="")


class Post(Kept, Base):
    """A post of the blog; the body is Markdown."""

    __tablename__ = "posts"

    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    body: Mapped[str]
    excerpt: Mapped[str] = mapped_column(default="")
    author: Mapped[str] = mapped_column(default="")
    tags: Mapped[list[str]] = mapped_column(default_factory=list)
    status: Mapped[Status] = mapped_column(default=Status.DRAFT)
    published_at: Mapped[datetime | None] = mapped_column(default=None)
    feature_image_id: Mapped[str | None] = mapped_column(ForeignKey("images.id"), default=None)


class NavigationItem(Kept, Base):
    """A link in a menu: to a page of the site, or to an address."""

    __tablename__ = "navigation_items"

    menu: Mapped[str]  # one of `MENUS`
    label: Mapped[str]
    place: Mapped[float]
    page_id: Mapped[str | None] = mapped_column(ForeignKey("pages.id"), index=True, default=None)
    url: Mapped[str | None] = mapped_column(default=None)
    visible: Mapped[bool] = mapped_column(default=True)

    page: Mapped[Page | None] = relationship(init=False, repr=False)


class Collection(Base):
    """A kind of entry, such as products; its fields are a JSON Schema."""

    __tablename__ = "collections"

    key: Mapped[str] = mapped_column(primary_key=True)
    label: Mapped[str]
    fields: Mapped[Content]


class Entry(Kept, Base):
    """One entry of a collection."""

    __tablename__ = "entries"
    __table_args__ = (UniqueConstraint("collection_key", "slug"),)

    collection_key: Mapped[str] = mapped_column(ForeignKey("collections.key"), index=True)
    slug: Mapped[str]
    title: Mapped[str]
    place: Mapped[float]
    data: Mapped[Content]


class Revision(Base):
    """What a row was after one change; for a deletion, what it was before. `change` counts transactions.

    `call` is the id of the agent's call that made it, where one did.
    """

    __tablename__ = "revisions"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    change: Mapped[int] = mapped_column(index=True)
    kind: Mapped[str]
    item_id: Mapped[str] = mapped_column(index=True)
    version: Mapped[int]
    action: Mapped[str]  # create, update, delete, restore
    data: Mapped[Content]
    call: Mapped[str] = mapped_column(index=True, default="")
    created_at: Mapped[datetime] = mapped_column(default_factory=now)


KINDS: dict[str, type[Kept]] = {
    "page": Page,
    "section": Section,
    "image": Image,
    "post": Post,
    "navigation item": NavigationItem,
    "entry": Entry,
}
