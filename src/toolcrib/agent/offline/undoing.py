"""Requests that undo something: "unpublish" is not to publish, and "undelete" not to delete.

A search finds the tool that does a thing as the nearest one to undoing it, for they share all their words but one. So
the words that undo are read here, and the tools that do the opposite are left out.
"""

from dataclasses import dataclass

from toolcrib.agent.offline.known_tools import DEEDS, Deed, KnownTool
from toolcrib.agent.offline.meaning import deed_of, is_like, nearness
from toolcrib.agent.offline.request_text import RequestText, Word
from toolcrib.agent.offline.vocabulary import UNDOING, UNDOING_BEGINNINGS, VERBS
from toolcrib.search.text import is_unspaced

# What can be undone by a beginning: "unpublish", "déverrouille", "dezaktywuj".
_UNDOABLE = ("publish", "activate", "enable", "archive", "delete", "hide", "lock", "link", "install")
_PUBLIC = ("publish", "activate", "enable", "release", "launch")  # what is undone by taking something offline
_MEANT = 0.38  # nearness of the rest of such a word to the verb it undoes; of other words it stays below 0.32
_SHORTEST = 4  # letters of that rest


@dataclass(frozen=True, slots=True)
class Undoing:
    """What a request wants undone: verbs in any language, and the words that say so."""

    verbs: tuple[str, ...]
    by: frozenset[str]

    def is_opposite(self, tool: KnownTool) -> bool:
        """Whether a tool does what should be undone, or deletes: to take something back is to keep it."""
        if self.by & set(tool.words):  # `unpublish_post` is the one
            return False
        return tool.deed is Deed.DELETE or (bool(tool.verb) and any(is_like(verb, tool.verb) for verb in self.verbs))


def undoing_in(said: RequestText) -> Undoing | None:
    """What the request wants undone, if it is such a request."""
    told = said.unquoted
    undone = {word.folded: verbs for word in told.words if not word.is_small and (verbs := _undone_by(word))}
    if undone:
        return Undoing(tuple(verb for verbs in undone.values() for verb in verbs), frozenset(undone))
    if found := UNDOING.search(told.text):
        # "cofnij publikację", "undo the deletion": what is undone is said beside; else it is that people see it.
        beside = [word.folded for word in told.telling if deed_of(word.folded) and not is_unspaced(word.folded)]
        matched = found[0].casefold().split()
        return Undoing((*_PUBLIC, *beside), frozenset((matched[0], matched[-1])))
    return None


def _undone_by(word: Word) -> tuple[str, ...]:
    """The verb that a word undoes, as written and in English; none for "under" and "describe"."""
    folded = word.folded
    if folded in DEEDS or folded in VERBS:
        return ()
    for beginning in UNDOING_BEGINNINGS:
        rest = folded.removeprefix(beginning)
        if rest != folded and len(rest) >= _SHORTEST:
            meant = max(_UNDOABLE, key=lambda verb: nearness(rest, verb))
            if nearness(rest, meant) >= _MEANT:
                return (rest, meant)
    return ()
