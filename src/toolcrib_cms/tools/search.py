"""Search: content by meaning, and things by approximate names."""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Annotated, Any

from pydantic import Field

from toolcrib_cms.content.slugs import slug_of
from toolcrib_cms.content_index import ContentIndex, ContentType, Piece
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.tools.arguments import Row

_WORDS = ("page", "section", "post", "entry")  # images have their own search
_SURE, _LIKELY = 0.85, 0.5
_LEAD = 0.15  # how far the first must be ahead to be the one that was meant
_MOST_MATCHES = 5
_SHOWN_LETTERS = 160


class SearchTools:
    """The tools of the category `search`."""

    def __init__(self, index: ContentIndex) -> None:
        self._index = index

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.search_vector, self.cms_findResource)

    def search_vector(
        self,
        query: Annotated[
            str,
            Field(
                description="What the content should be about, in any language",
                min_length=1,
                examples=["opening hours"],
            ),
        ],
        types: Annotated[
            list[ContentType] | None, Field(description="Only these kinds of content; all but images when left out")
        ] = None,
        limit: Annotated[int, Field(description="How many to return", ge=1, le=50)] = 10,
    ) -> Row:
        """Search all content of the site by meaning, across pages, sections, posts and entries."""
        found = self._index.search(query, types=types or _WORDS, limit=limit)
        return {
            "results": [
                {
                    "type": one.piece.type,
                    "id": one.piece.id,
                    "name": one.piece.name,
                    "distance": one.distance,
                    "text": one.piece.text[:_SHOWN_LETTERS],
                }
                for one in found
            ]
        }

    def cms_findResource(
        self,
        name: Annotated[
            str, Field(description="Name, or part of it; small mistakes are fine", min_length=1, examples=["home"])
        ],
        type: Annotated[ContentType | None, Field(description="Only this kind of content")] = None,
    ) -> Row:
        """Find a page, post, section, image or entry by an approximate name and return its id."""
        scored = [(likeness(name, piece), piece) for piece in self._index.pieces() if type in (None, piece.type)]
        scored.sort(key=lambda one: (-one[0], _WORDS.index(one[1].type) if one[1].type in _WORDS else 9))
        likely = [(score, piece) for score, piece in scored[:_MOST_MATCHES] if score >= _LIKELY]
        if not likely:
            raise RefusalError(
                f"Nothing is called anything like {name!r}.",
                hint="Search by meaning with search_vector, or see cms_listPages, cms_listPosts, cms_listAllImages.",
            )
        ahead = likely[0][0] - (likely[1][0] if len(likely) > 1 else 0.0)
        return {
            "matches": [
                {"type": piece.type, "id": piece.id, "name": piece.name, "score": round(score, 2)}
                for score, piece in likely
            ],
            "sure": likely[0][0] >= _SURE and ahead >= _LEAD,
        }


def likeness(asked: str, piece: Piece) -> float:
    """How much a name is like the names of a piece, from 0 to 1; spelling, accents and order of words forgiven."""
    wanted = slug_of(asked)
    if wanted == slug_of(piece.id) or asked == piece.id:
        return 1.0
    return max(_similar(wanted, slug_of(known)) for known in (piece.name, *piece.names))


def _similar(wanted: str, known: str) -> float:
    if wanted == known:
        return 1.0
    whole = SequenceMatcher(None, wanted, known).ratio()
    asked, held = wanted.split("-"), known.split("-")
    by_word = [max(SequenceMatcher(None, word, other).ratio() for other in held) for word in asked]
    near = sum(score if score >= 0.75 else 0.0 for score in by_word) / len(asked)
    cover = min(1.0, len(wanted) / max(1, len(known)))  # one word of a long title says less
    return max(whole, near * (0.75 + 0.2 * cover))


def entities_of_search(result: Row) -> list[Row]:
    """What `search_vector` found; each row says its own type."""
    return result.get("results", [])


def entities_of_lookup(result: Row) -> list[Row]:
    """What `cms_findResource` found."""
    return result.get("matches", [])
