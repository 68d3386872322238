"""Words compared by meaning, in any language the built-in embedder knows: "stronę" is a page, "lösche" is to delete.

So the brain needs no dictionary: its own lists hold only what meaning cannot tell, such as articles and prepositions.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from toolcrib.agent.offline.known_tools import DEEDS, Deed
from toolcrib.agent.offline.vocabulary import VERBS
from toolcrib.search.text import is_unspaced

if TYPE_CHECKING:
    from toolcrib.search.embedders.builtin import BuiltinEmbedder

LIKE = 0.46  # from here on two single words mean the same; most unlike ones stay below 0.3, neighbours below 0.44
SAME = 0.68  # and from here on one says no more than the other: a "Preisseite" is like a page, but says more
RELATED = 0.33  # and from here on they speak of one matter: an article is a post, a hero is no page
NEAR = 0.29  # from here on a few words may mean a name
AHEAD = 0.1  # how far the best must be before the next to be the one that was meant

_PROTOTYPES = {
    Deed.DELETE: ("delete", "remove"),
    Deed.CREATE: ("create", "add", "write", "insert", "make", "put"),
    Deed.CHANGE: ("update", "change", "edit", "rename", "move", "replace", "publish", "archive", "hide", "use"),
    Deed.LIST: ("list", "show", "open", "give", "read"),
    Deed.FIND: ("find", "search"),
}
_MEANT = 0.45  # for verbs, which have more forms than nouns
_MOST_LETTERS = 200


@cache
def _embedder() -> "BuiltinEmbedder":
    from toolcrib.search.embedders.builtin import BuiltinEmbedder  # late: numpy, which small talk does not need

    return BuiltinEmbedder()


@lru_cache(maxsize=16_384)
def nearness(text: str, other: str) -> float:
    """How near two texts are in meaning, at most 1."""
    return float(_vector(text[:_MOST_LETTERS]) @ _vector(other[:_MOST_LETTERS]))


@lru_cache(maxsize=4_096)
def _vector(text: str) -> Any:
    (vector,) = _embedder().embed_queries([text])
    return vector


def is_like(word: str, other: str) -> bool:
    """Whether two words mean the same."""
    return word == other or nearness(word, other) >= LIKE


@lru_cache(maxsize=4_096)
def deed_of(word: str) -> Deed | None:
    """What a verb of any language asks for."""
    if word in DEEDS:
        return DEEDS[word]
    if word in VERBS:
        return Deed(VERBS[word])
    if is_unspaced(word):  # a whole sentence
        return next((Deed(deed) for verb, deed in VERBS.items() if is_unspaced(verb) and verb in word), None)
    near = {deed: max(nearness(word, said) for said in verbs) for deed, verbs in _PROTOTYPES.items()}
    best = max(near, key=lambda deed: near[deed])
    return best if near[best] >= _MEANT else None


def nearest(text: str, names: Sequence[str]) -> int | None:
    """Which of the names is meant, by its place; none if two are about as near, or none is."""
    ranked = sorted(((nearness(text, name), -place) for place, name in enumerate(names)), reverse=True)
    if not ranked or ranked[0][0] < NEAR or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < AHEAD):
        return None
    return -ranked[0][1]
