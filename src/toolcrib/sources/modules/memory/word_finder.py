"""Finds notes by their words, where no index was handed in."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolcrib.sources.modules.memory.note_shelf import NoteShelf

_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class WordHit:
    """A note that shares words with a question."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class WordHits:
    """Those that do, best first."""

    hits: Sequence[WordHit]


class WordFinder:
    """The notes that share the most words with a question."""

    def __init__(self, shelf: NoteShelf) -> None:
        self._shelf = shelf

    def search(self, query: str, *, limit: int = 5) -> WordHits:
        asked = set(_words(query))
        hits = [
            WordHit(label, len(shared) / len(asked))
            for label, note in self._shelf.notes.items()
            if (shared := asked & set(_words(f"{note.topic} {note.text}")))
        ]
        return WordHits(sorted(hits, key=lambda hit: -hit.score)[:limit])


def _words(text: str) -> Iterator[str]:
    """Without case and accents, and without the end, which is where words change most."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return (word[:5] for word in _WORD.findall(plain.casefold()))
