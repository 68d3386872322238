"""Arguments that several tools take: same word, same meaning, same limits."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AliasChoices, Field

Row: TypeAlias = dict[str, Any]  # what a tool gives back, as JSON

# What each argument was called before; calls that still say so are understood.
PAGE = AliasChoices("pageId", "page")
SECTION = AliasChoices("pageSectionId", "section")
TEMPLATE = AliasChoices("sectionDefId", "template")
IMAGE = AliasChoices("imageId", "image")
IMAGE_FIELD = AliasChoices("imageField", "field")
POST = AliasChoices("postId", "post")

PageRef: TypeAlias = Annotated[str, Field(description="Id or slug of the page, such as home", min_length=1)]
PageId: TypeAlias = Annotated[PageRef, Field(validation_alias=PAGE)]
SectionId: TypeAlias = Annotated[
    str,
    Field(description="Id of the section, or page/template such as home/hero", min_length=1, validation_alias=SECTION),
]
TemplateKey: TypeAlias = Annotated[
    str, Field(description="Key of the section template, such as hero", min_length=1, validation_alias=TEMPLATE)
]
ImageId: TypeAlias = Annotated[
    str, Field(description="Id or file name of the image in the library", min_length=1, validation_alias=IMAGE)
]
PostId: TypeAlias = Annotated[str, Field(description="Id or slug of the post", min_length=1, validation_alias=POST)]
ItemRef: TypeAlias = Annotated[
    str, Field(description="Id of the menu item, or its label if only one has it", min_length=1)
]
CollectionKey: TypeAlias = Annotated[
    str, Field(description="Key of the collection, such as products or team", min_length=1)
]

Title: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Slug: TypeAlias = Annotated[
    str, Field(description="Address: small letters, digits and dashes; made from the title when left out", min_length=1)
]
MetaDescription: TypeAlias = Annotated[str, Field(description="Summary for search engines", max_length=160)]
SectionContent: TypeAlias = Annotated[dict[str, Any], Field(description="Values by field name")]
Position: TypeAlias = Annotated[int, Field(description="Place counted from 0; the end when left out", ge=0)]
ImageField: TypeAlias = Annotated[
    str | None,
    Field(
        description="Name of the image field, such as backgroundImage; needed where a section has several",
        validation_alias=IMAGE_FIELD,
    ),
]
AltText: TypeAlias = Annotated[str, Field(description="What the image shows, for this place", max_length=200)]

StatusName: TypeAlias = Literal["draft", "published", "archived"]
Menu: TypeAlias = Annotated[Literal["header", "footer"], Field(description="Which menu")]
IfVersion: TypeAlias = Annotated[
    int, Field(description="Refuse the change unless this is still the current version", ge=1)
]
Limit: TypeAlias = Annotated[int, Field(description="How many to return", ge=1, le=100)]
Cursor: TypeAlias = Annotated[str, Field(description="nextCursor of the previous answer")]
