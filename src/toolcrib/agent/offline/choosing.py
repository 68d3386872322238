"""Which of the tools found to take for an errand, and when none of them should be taken on these words alone."""

from collections.abc import Sequence

from toolcrib.agent.offline.errands import Errand
from toolcrib.agent.offline.known_tools import LOOKING, Deed, KnownTool
from toolcrib.agent.offline.meaning import deed_of, is_like
from toolcrib.agent.offline.parameters import singular
from toolcrib.agent.offline.undoing import undoing_in
from toolcrib.agent.offline.vocabulary import ASKING, SMALL
from toolcrib.search.text import is_unspaced

_BARE = 2  # words that are too few to act on without a verb
# Verbs that can be said of anything; "publish" or "send" tell more.
_ANYTHING = frozenset(("create", "add", "new", "make", "update", "edit", "set", "change", "delete", "remove", "put"))
_VAGUE = frozenset(("put", "make", "do"))  # and these of anything at all: "put X as the heading" adds no section
_QUESTION_MARKS = ("?", "？", "؟")


_MAKING = frozenset({"create", "add", "update", "change", "edit", "set"})


def not_opposite(tools: Sequence[KnownTool], errand: Errand) -> list[KnownTool]:
    """The tools without those that do what the errand wants undone; to look is no way to undo anything, either.

    Of a tool that is only named, the name must say more than that it creates or changes something.
    """
    undo = undoing_in(errand.said)
    if undo is None:
        return list(tools)
    vague = [tool for tool in tools if tool.is_bare and tool.verb in _MAKING]
    return [tool for tool in tools if not tool.looks and tool not in vague and not undo.is_opposite(tool)]


def is_doubtful(errand: Errand, tool: KnownTool, *, sure: bool) -> bool:
    """Whether it is better to ask than to call this tool."""
    if not sure and not _is_plain(errand, tool):
        return True
    verb = errand.said.verb.folded if errand.said.verb else ""
    if verb in _VAGUE and (_puts_nothing(errand, tool) or (tool.looks and not _only_asks(errand))):
        return True
    return _is_bare(errand, tool) or _is_groundless(errand, tool) or _only_looks(errand, tool, verb)


def doable(tools: Sequence[KnownTool], errand: Errand, *, sure: bool = True) -> KnownTool:
    """The best tool whose arguments can be filled by rules; of those that do the same to the same."""
    handed = [tool for tool in tools if not tool.is_bare] or list(tools)
    best = handed[0]
    verb = errand.said.verb.folded if errand.said.verb else ""
    asked = deed_of(verb) if verb else None
    if _only_asks(errand):
        best = best if best.looks else next((tool for tool in (*handed, *tools) if tool.looks), best)
    elif best.looks and asked is not None and asked not in LOOKING and verb not in _VAGUE:
        best = _that_does(asked, tools, best)  # who says "rename" does not want to look
    elif _begins_to_look(errand) and (best.deed is Deed.DELETE or (not sure and _wants_no_change(errand, best))):
        alike = [tool for tool in tools if tool.looks and set(tool.nouns) & set(best.nouns)]
        # nor does who says "show" want to delete, nor who says "find" to change
        best = min(alike, key=lambda tool: len(tool.nouns), default=best)
    if not sure and best.deed is not Deed.CREATE and verb not in _VAGUE and is_like(verb, "create"):
        # nor who says "create" to publish
        best = _that_does(Deed.CREATE, tools, best)
    if verb and verb not in _ANYTHING and verb not in best.words and verb not in best.told_nouns:
        # "hide" is what another one says it does
        best = next((tool for tool in handed if verb in tool.told_nouns and not tool.looks), best)
    same = [tool for tool in tools if tool.deed is best.deed and set(tool.nouns) & set(best.nouns)]
    # Of one that is only named, the name must say the same: to replace an image is not to update one.
    same = [tool for tool in same if not tool.is_bare or tool.verb == best.verb]
    fillable = [tool for tool in same if not any(one.is_nested for one in tool.required)] or [best]
    # Who speaks of a page alone does not want its sections deleted.
    whole = [tool for tool in fillable if all(_is_spoken(noun, errand) for noun in tool.nouns)]
    if best in fillable and any(is_unspaced(word.folded) for word in errand.said.words):
        return best  # a sentence without spaces is near to some of its nouns only, and the search has read them all
    return best if best in whole or best.is_bare else (whole or fillable)[0]


def _that_does(asked: Deed, tools: Sequence[KnownTool], best: KnownTool) -> KnownTool:
    """The tool that does what was asked for to what the best one is about; the best one itself if there is none."""
    doing = [tool for tool in tools if tool.deed is asked]
    return max(doing, key=lambda tool: len(set(tool.nouns) & set(best.nouns)), default=best)


def _only_asks(errand: Errand) -> bool:
    """Whether the user wants to know something: a question without a verb that would change anything."""
    asked = errand.text.rstrip().endswith(_QUESTION_MARKS)
    if asked and errand.said.words and errand.said.words[0].folded in ASKING:  # "What's new?" makes nothing new
        return True
    return asked and not _deeds(errand) - {None, *LOOKING}


def _begins_to_look(errand: Errand) -> bool:
    """Whether the first word is one that looks, such as "show", and none deletes."""
    first = errand.said.words[0].folded if errand.said.words else ""
    return deed_of(first) in LOOKING and Deed.DELETE not in _deeds(errand)


def _wants_no_change(errand: Errand, tool: KnownTool) -> bool:
    """Whether a tool would change something, and no word asks for that."""
    return not tool.looks and not _deeds(errand) - {None, *LOOKING}


def _deeds(errand: Errand) -> set[Deed | None]:
    """What each word of an errand asks for."""
    return {deed_of(word.folded) for word in errand.said.words if not word.is_small}


def _is_spoken(noun: str, errand: Errand) -> bool:
    return any(is_like(singular(word.folded), noun) for word in errand.said.telling)


def _is_plain(errand: Errand, tool: KnownTool) -> bool:
    """Whether an unsure hit is still what the words say: the same verb and the same noun, and nothing it could harm."""
    return tool.deed in _deeds(errand) and any(_is_spoken(noun, errand) for noun in tool.nouns)


def _puts_nothing(errand: Errand, tool: KnownTool) -> bool:
    """Whether a text is to be put where the tool puts something else, and takes no text: a heading is no section."""
    taken = any(one.type == "string" and not one.is_reference for one in tool.required)
    if taken or not errand.said.quoted or not tool.places:
        return False
    put = [noun for noun in tool.nouns if noun not in tool.places]
    return any(_is_spoken(noun, errand) for noun in tool.places) and not any(_is_spoken(noun, errand) for noun in put)


def _is_bare(errand: Errand, tool: KnownTool) -> bool:
    """Whether a word or two without a verb led to a tool that does something: too little to act on."""
    said = errand.said.words
    bare = len(said) <= _BARE and not any(is_unspaced(word.folded) for word in said)
    verb = tool.verb or next(iter(tool.words), "")  # "greet" is a verb as well, though not one that many names have
    return bare and not tool.looks and not any(deed_of(word.folded) or word.folded == verb for word in said)


def _only_looks(errand: Errand, tool: KnownTool, verb: str) -> bool:
    """Whether something is to be made or changed, and the tool looks up what nobody spoke of: a poem is no forecast."""
    asked = deed_of(verb) if verb else None
    if not tool.looks or asked is None or asked in LOOKING or _only_asks(errand):
        return False
    return not any(_is_spoken(noun, errand) for noun in tool.nouns)


def _is_groundless(errand: Errand, tool: KnownTool) -> bool:
    """Whether not one word speaks of what the tool does: however near a search finds it, it must not act on that."""
    if tool.looks or errand.derived:
        return False
    if _only_asks(errand):
        return True
    verb = errand.said.verb
    written = bool(errand.said.identifiers) and verb is not None and deed_of(verb.folded) is tool.deed
    if errand.said.has_pronoun or written:
        return False
    own = [*tool.words, *tool.told_nouns] if tool.description else list(tool.words)
    about = [word for word in own if word not in SMALL and word not in _ANYTHING]
    spoken = [singular(word.folded) for word in errand.said.words if not word.is_small]
    runs = any(is_unspaced(word) for word in spoken)  # whole sentences, which the search alone can read
    return not runs and not any(is_like(word, other) for word in spoken for other in about)
