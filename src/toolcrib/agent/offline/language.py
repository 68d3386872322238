"""What the brain knows of languages: small words by list (`vocabulary.toml`), others by meaning, and its messages."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from toolcrib.search.text import is_unspaced

if TYPE_CHECKING:
    from toolcrib.search.embedders.builtin import BuiltinEmbedder


class Action(StrEnum):
    """What a tool does, or what a verb asks for."""

    READ = "read"
    LIST = "list"
    FIND = "find"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


READING = (Action.READ, Action.LIST, Action.FIND)


def _load(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files("toolcrib.agent.offline").joinpath(name).read_text("utf-8"))


_VOCABULARY = _load("vocabulary.toml")


def _word_sets(table: str) -> dict[str, frozenset[str]]:
    return {key: frozenset(text.split()) for key, text in _VOCABULARY[table].items()}


def any_of(alternatives: Sequence[str]) -> str:
    """A regular expression for one of several."""
    return "(?:" + "|".join(alternatives) + ")"


SMALL_BY_LANGUAGE = _word_sets("small")  # words that name nothing
SMALL = frozenset[str]().union(*SMALL_BY_LANGUAGE.values())
_HINTS = _word_sets("hints")
TELLTALE = {name: small | _HINTS.get(name, frozenset()) for name, small in SMALL_BY_LANGUAGE.items()}
ARTICLES = _word_sets("articles")
PRONOUNS = _word_sets("pronouns")
WORDS = _word_sets("words")  # lists for all languages, by use
PHRASES: Mapping[str, Sequence[str]] = _VOCABULARY["phrases"]
PATTERNS = {name: any_of(listed) for name, listed in _VOCABULARY["patterns"].items()}
NEW_VALUE = {
    name: re.compile(rf"(?i)(?:^|\s){any_of(listed.split())}\s+") for name, listed in _VOCABULARY["to"].items()
}
SMALL_TALK = {kind: re.compile(any_of(listed)) for kind, listed in _VOCABULARY["talk"].items()}
UNDO = {verb: re.compile(f"(?i){any_of(listed)}") for verb, listed in _VOCABULARY["undo"].items()}
TOOL_VERBS = {verb: Action(action) for action, listed in _word_sets("tool_verbs").items() for verb in listed}
VERBS = {verb: Action(action) for action, listed in _VOCABULARY["verbs"].items() for verb in listed.split()}
_PROTOTYPES = {Action(action): listed.split() for action, listed in _VOCABULARY["prototypes"].items()}

# Similarities of the built-in embedder between single words.
SAME = 0.68  # from here on one says no more than the other: a "Preisseite" is like a page, but says more
SIMILAR = 0.46  # from here on two words mean the same; most others stay below 0.3, related ones below 0.44
RELATED = 0.33  # from here on they belong to one subject: an article is a post, a hero is no page
CLOSE = 0.29  # from here on a few words may mean a name
_MARGIN = 0.1  # how far the best must be ahead of the next
_SIMILAR_VERBS = 0.45
_MOST_CHARACTERS = 200


@cache
def _embedder() -> "BuiltinEmbedder":
    from toolcrib.search.embedders.builtin import BuiltinEmbedder  # late: numpy, which small talk does not need

    return BuiltinEmbedder()


@lru_cache(maxsize=16_384)
def similarity(text: str, other: str) -> float:
    """How similar two texts are in meaning, in any language; at most 1."""
    return float(_vector(text[:_MOST_CHARACTERS]) @ _vector(other[:_MOST_CHARACTERS]))


@lru_cache(maxsize=4_096)
def _vector(text: str) -> Any:
    (vector,) = _embedder().embed_queries([text])
    return vector


def same_meaning(word: str, other: str) -> bool:
    """Whether two words mean the same."""
    return word == other or similarity(word, other) >= SIMILAR


@lru_cache(maxsize=4_096)
def action_of(verb: str) -> Action | None:
    """What a verb of any language asks for."""
    if known := TOOL_VERBS.get(verb) or VERBS.get(verb):
        return known
    if is_unspaced(verb):  # a whole sentence
        return next((action for part, action in VERBS.items() if is_unspaced(part) and part in verb), None)
    scores = {action: max(similarity(verb, listed) for listed in verbs) for action, verbs in _PROTOTYPES.items()}
    best = max(scores, key=lambda action: scores[action])
    return best if scores[best] >= _SIMILAR_VERBS else None


def most_similar(text: str, names: Sequence[str]) -> int | None:
    """Which of the names a text means, by its index; None if none stands out."""
    ranked = sorted(((similarity(text, name), -index) for index, name in enumerate(names)), reverse=True)
    if not ranked or ranked[0][0] < CLOSE or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _MARGIN):
        return None
    return -ranked[0][1]


def message(key: str, language: str, **values: object) -> str:
    """A text of the brain in a language, or in English."""
    texts = _messages()
    return str(texts.get(language, {}).get(key) or texts["en"][key]).format(**values).strip()


@cache
def _messages() -> Mapping[str, Mapping[str, str]]:
    return _load("messages.toml")
