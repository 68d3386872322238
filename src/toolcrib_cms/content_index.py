"""Finding content by meaning, with Toolcrib's own index: each piece of content stands in it as a tool would.

Before a search the index takes in what changed in the database since the last one, whoever changed it. Ids are also
names that a catalog accepts, so nothing has to be translated back.
"""

from collections.abc import Collection as Several, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from threading import Lock
from typing import Any, Literal, TypeAlias

from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib import Catalog, Tool, ToolIndex, ToolResult
from toolcrib.search import SearchOptions
from toolcrib_cms.content.markdown import excerpt_of
from toolcrib_cms.content.schema import texts
from toolcrib_cms.storage.models import Entry, Image, Page, Post, Section
from toolcrib_cms.store import SiteStore

ContentType: TypeAlias = Literal["page", "section", "post", "image", "entry"]

_OPTIONS = SearchOptions(abstain=False, decompose=False)
_FARTHEST = 0.98  # beyond the first: what is farther has nothing to do with the question
_MOST_LETTERS = 1_200  # of one piece; what it is about stands in front


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of content, as far as a search needs to know it."""

    id: str
    type: ContentType
    name: str
    text: str
    names: tuple[str, ...] = ()  # other names for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A piece that fits; `distance` is 0 for a perfect match and 1 for none."""

    piece: Piece
    distance: float


class ContentIndex:
    """Searches the content of one site."""

    def __init__(self, store: SiteStore) -> None:
        self._store = store
        self._catalog = Catalog()
        self._pieces: dict[str, Piece] = {}
        self._index: ToolIndex | None = None
        self._following = Lock()

    def search(self, query: str, *, types: Several[str] = (), limit: int = 10) -> list[Found]:
        """The pieces nearest in meaning, best first."""
        with self._following:
            self._follow()
            if self._index is None:
                self._index = ToolIndex(self._catalog)
            pieces = dict(self._pieces)
        found = self._index.search(
            query, limit=limit, where=lambda one: not types or one.category in types, options=_OPTIONS
        )
        near = [
            Found(piece=pieces[hit.name], distance=round(1 - min(1.0, hit.score), 3))
            for hit in found.hits
            if hit.name in pieces  # it may have gone meanwhile
        ]
        return [one for place, one in enumerate(near) if place == 0 or one.distance <= _FARTHEST]

    def pieces(self) -> list[Piece]:
        """Everything there is to find."""
        with self._following:
            self._follow()
            return list(self._pieces.values())

    def _follow(self) -> None:
        with self._store.transaction() as session:
            now = {piece.id: piece for piece in _pieces(session)}
        for gone in self._pieces.keys() - now.keys():
            self._catalog.remove(gone)
        for piece in now.values():
            held = self._pieces.get(piece.id)
            if held is None:
                self._catalog.add(_as_tool(piece))
            elif held != piece:
                self._catalog.replace(_as_tool(piece))
        self._pieces = now


def _pieces(session: Session) -> Iterator[Piece]:
    for page in session.scalars(select(Page)):
        yield Piece(
            id=page.id,
            type="page",
            name=page.title,
            names=(page.slug.replace("-", " "),),
            text=page.meta_description,
        )
    for section in session.scalars(select(Section)):
        yield Piece(
            id=section.id,
            type="section",
            name=f"{section.template.label} on {section.page.title}",
            text=" ".join(texts(section.content)),
        )
    for post in session.scalars(select(Post)):
        yield Piece(
            id=post.id,
            type="post",
            name=post.title,
            names=(post.slug.replace("-", " "),),
            text=" ".join([post.excerpt, *post.tags, excerpt_of(post.body, _MOST_LETTERS)]),
        )
    for image in session.scalars(select(Image)):
        yield Piece(
            id=image.id,
            type="image",
            name=image.file_name,
            names=tuple(filter(None, (_file_words(image.file_name), image.alt))),
            text=image.description,
        )
    for entry in session.scalars(select(Entry)):
        yield Piece(
            id=entry.id,
            type="entry",
            name=entry.title,
            text=" ".join([entry.collection_key, *texts(entry.data)]),
        )


def _as_tool(piece: Piece) -> Tool:
    # The words of a file's name say what it shows; its ending is the same for all, and near to many a word.
    title = _file_words(piece.name) if piece.type == "image" else piece.name
    return Tool(
        name=piece.id,
        description=f"{title}. {piece.text}"[:_MOST_LETTERS],
        phrases=(piece.name, *piece.names),
        category=piece.type,
        call=_not_to_be_called,
        source="content",
    )


def _file_words(file_name: str) -> str:
    """`hero-greenhouse.jpg` as it is spoken."""
    return PurePath(file_name).stem.replace("-", " ").replace("_", " ")


async def _not_to_be_called(_arguments: Mapping[str, Any], _context: object = None, /) -> ToolResult:
    return ToolResult.failure("This is a piece of content, not a tool.")
