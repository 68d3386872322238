"""Which of the tools found to take for an errand, and when none of them should be taken on these words alone.

To look is harmless, so the likeliest tool that looks will do. To write, the search must be sure of the tool, the user
must command it outright (`consent.py`), and no word of the command may be left that the call has nothing to do with.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolcrib.agent.offline.consent import Objection, objection_to
from toolcrib.agent.offline.errands import Errand
from toolcrib.agent.offline.json_shapes import is_list, is_object
from toolcrib.agent.offline.known_tools import LOOKING, Deed, KnownTool
from toolcrib.agent.offline.meaning import RELATED, deed_of, is_like, nearness
from toolcrib.agent.offline.parameters import singular
from toolcrib.agent.offline.request_text import RequestText, Word
from toolcrib.agent.offline.undoing import undoing_in
from toolcrib.agent.offline.vocabulary import ASKING, GREETING_WORDS, NAMED, NEW, SAYING, SMALL
from toolcrib.search.text import is_unspaced, plain, words

_BARE = 2  # words that are too few to act on without a verb
# Verbs that can be said of anything; "publish" or "send" tell more.
_ANYTHING = frozenset(("create", "add", "new", "make", "update", "edit", "set", "change", "delete", "remove", "put"))
_MAKING = frozenset({"create", "add", "update", "change", "edit", "set"})
_LETTERS = 3  # of a word that can be left over


def not_opposite(tools: Sequence[KnownTool], errand: Errand) -> list[KnownTool]:
    """The tools without those that do what the errand wants undone; to look is no way to undo anything, either.

    Of a tool that is only named, the name must say more than that it creates or changes something.
    """
    undo = undoing_in(errand.said)
    if undo is None:
        return list(tools)
    vague = [tool for tool in tools if tool.is_bare and tool.verb in _MAKING]
    return [tool for tool in tools if not tool.looks and tool not in vague and not undo.is_opposite(tool)]


def doable(tools: Sequence[KnownTool], errand: Errand) -> KnownTool:
    """The best tool for an errand: the search's first, unless that looks where something is to be done, or does
    something where the user only wants to look.
    """
    handed = [tool for tool in tools if not tool.is_bare] or list(tools)
    best, asked = handed[0], _asked(errand)
    if _only_asks(errand) or asked in LOOKING:
        if best.looks:
            return best
        alike = [tool for tool in tools if tool.looks and set(tool.nouns) & set(best.nouns)]
        looking = [tool for tool in (*handed, *tools) if tool.looks]
        return min(alike, key=lambda tool: len(tool.nouns), default=looking[0] if looking else best)
    if best.looks and asked is not None:  # who says "rename" does not want to look
        doing = [tool for tool in tools if tool.deed is asked]
        best = max(doing, key=lambda tool: len(set(tool.nouns) & set(best.nouns)), default=best)
    verb = errand.said.verb.folded if errand.said.verb else ""
    if verb and verb not in _ANYTHING and verb not in best.words and verb not in best.told_nouns:
        # "hide" is what another one says it does
        best = next((tool for tool in handed if verb in tool.told_nouns and not tool.looks), best)
    same = [tool for tool in tools if tool.deed is best.deed and set(tool.nouns) & set(best.nouns)]
    fillable = [tool for tool in same if not any(one.is_nested for one in tool.required) and not tool.is_bare]
    return best if best in fillable or best.is_bare else (fillable or [best])[0]


def is_doubtful(errand: Errand, tool: KnownTool, *, sure: bool) -> bool:
    """Whether it is better to ask than to call this tool."""
    if tool.looks:
        if _asked(errand) not in (None, *LOOKING) and not _only_asks(errand):
            return not any(_is_spoken(noun, errand) for noun in tool.nouns)  # a poem is no forecast
        return not sure and not any(_is_spoken(noun, errand) for noun in tool.nouns)
    return not sure or not does_what_is_asked(errand, tool) or _is_bare(errand, tool) or _is_groundless(errand, tool)


def does_what_is_asked(errand: Errand, tool: KnownTool) -> bool:
    """Whether a tool that writes does what the verb says: who says "change" wants nothing created or deleted."""
    asked = _asked(errand) or (Deed.CREATE if errand.derived else None)
    if tool.looks:
        return asked in (None, *LOOKING)
    if Deed.DELETE in (asked, tool.deed):
        return asked is tool.deed or (asked is Deed.DELETE and tool.deed is None)
    return tool.deed is not Deed.CREATE or asked is not Deed.CHANGE


def may_not(text: str, tool: KnownTool) -> Objection | None:
    """Why a tool must not be called for a text that forbids, supposes or asks; looking is free to who asks for it."""
    objection = objection_to(text)
    if objection is None or not tool.looks:
        return objection
    said = RequestText(text)
    looks = said.verb is not None and deed_of(said.verb.folded) in LOOKING
    return None if objection is Objection.QUESTION or looks or asks(said) else objection


def wants_all_said(errand: Errand, tool: KnownTool) -> bool:
    """Whether no word of an errand may be left over: not where it only asks, or plainly wants to look."""
    return not tool.looks or (_asked(errand) is None and not _only_asks(errand))


def left_over(errand: Errand, tool: KnownTool, arguments: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The words of a command that the call has nothing to do with; a call that leaves some out is not what was meant.

    `names` are those of the things that the arguments stand for.
    """
    said = RequestText(SAYING.sub(" ", NAMED.sub(" ", errand.said.unquoted.text)))
    verb = errand.said.verb
    held = [part for text in (*_texts(arguments), *names) for part in words(text)]
    used = {plain(part) for part in held}
    left = [quote for quote in errand.said.quoted if not {plain(part) for part in words(quote)} <= used]
    for word in said.words:
        if is_explained(word, tool) or (verb and word.text == verb.text) or is_unspaced(word.folded):
            continue
        parts = {plain(part) for part in words(word.text)}
        if parts and not parts <= used and not any(nearness(word.folded, other) >= RELATED for other in held):
            left.append(word.text)
    return left


def is_explained(word: Word, tool: KnownTool) -> bool:
    """Whether a word says something about a tool or its arguments, or nothing at all."""
    one = singular(word.folded)
    if (
        word.is_small
        or word.folded in NEW
        or word.folded in GREETING_WORDS
        or (len(word.text) < _LETTERS and word.text.islower())
        or deed_of(word.folded)
    ):
        return True
    return any(one == other or nearness(one, other) >= RELATED for other in tool.vocabulary)


def _texts(value: Any) -> list[str]:
    if is_object(value):
        return [text for key, inner in value.items() for text in (str(key), *_texts(inner))]
    if is_list(value):
        return [text for inner in value for text in _texts(inner)]
    return [str(value)]


def _asked(errand: Errand) -> Deed | None:
    return deed_of(errand.said.verb.folded) if errand.said.verb else None


def _only_asks(errand: Errand) -> bool:
    """Whether the user wants to know something."""
    return objection_to(errand.text) is Objection.QUESTION or asks(errand.said)


def asks(said: RequestText) -> bool:
    """Whether a text begins with a word that asks."""
    first = said.unquoted.words[:1]
    return bool(first) and first[0].folded in ASKING


def _is_spoken(noun: str, errand: Errand) -> bool:
    return any(is_like(singular(word.folded), noun) for word in errand.said.telling)


def _is_bare(errand: Errand, tool: KnownTool) -> bool:
    """Whether a word or two without a verb led to a tool that does something: too little to act on."""
    said = errand.said.words
    bare = len(said) <= _BARE and not any(is_unspaced(word.folded) for word in said)
    verb = tool.verb or next(iter(tool.words), "")  # "greet" is a verb as well, though not one that many names have
    return bare and not any(deed_of(word.folded) or word.folded == verb for word in said)


def _is_groundless(errand: Errand, tool: KnownTool) -> bool:
    """Whether not one word speaks of what the tool does: however near a search finds it, it must not act on that."""
    if errand.derived:
        return False
    verb = errand.said.verb
    written = bool(errand.said.identifiers) and verb is not None and deed_of(verb.folded) is tool.deed
    if errand.said.has_pronoun or written:
        return False
    own = [*tool.words, *tool.told_nouns] if tool.description else list(tool.words)
    about = [word for word in own if word not in SMALL and word not in _ANYTHING]
    spoken = [singular(word.folded) for word in errand.said.unquoted.words if not word.is_small]
    runs = any(is_unspaced(word) for word in spoken)  # whole sentences, which the search alone can read
    return not runs and not any(is_like(word, other) for word in spoken for other in about)
