"""Which tool to take for a task, and when none may be called on these words alone.

Reading is harmless, so the likeliest tool that reads will do. To write, the search must be sure of the tool, the user
must command it outright, and no word of the command may be left that the call has nothing to do with.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolcrib.agent.offline.intent import Objection, asks, objection_to, undone_by
from toolcrib.agent.offline.language import (
    ARTICLES,
    READING,
    RELATED,
    SMALL,
    WORDS,
    Action,
    action_of,
    same_meaning,
    similarity,
)
from toolcrib.agent.offline.request import Request, Task, Word
from toolcrib.agent.offline.tools import ToolInfo, is_list, is_object, singular, word_set
from toolcrib.search.text import is_unspaced, plain, words

_BARE = 2  # words that are too few to act on without a verb
_LETTERS = 3  # of a word that can be left over
# Verbs that can be spoken of anything; "publish" or "send" tell more.
ANYTHING = word_set("create add new make update edit set change delete remove put")
_VAGUE = word_set("create add update change edit set")  # of a tool of which only the name is known


def without_opposites(tools: Sequence[ToolInfo], task: Task) -> list[ToolInfo]:
    """The tools without those that do, or delete, what the task takes back; reading takes nothing back, either."""
    undone = undone_by(task.request)
    if not undone:
        return list(tools)

    def may_undo(tool: ToolInfo) -> bool:
        does_it = any(same_meaning(tool.verb, verb) for verb in undone) if tool.verb else False
        vague = tool.is_bare and tool.verb in _VAGUE
        return not (does_it or vague or tool.reads or tool.action is Action.DELETE)

    return [tool for tool in tools if may_undo(tool)]


def best_tool(tools: Sequence[ToolInfo], task: Task) -> ToolInfo:
    """The search's first tool, unless that reads where something is to be done, or writes where the user asks."""
    known = [tool for tool in tools if not tool.is_bare] or list(tools)
    best, action = known[0], task.request.action
    if action in READING or asks(task.request):
        alike = [tool for tool in tools if tool.reads and set(tool.nouns) & set(best.nouns)]
        reading = [tool for tool in (*known, *tools) if tool.reads] or [best]
        return best if best.reads else min(alike, key=lambda tool: len(tool.nouns), default=reading[0])
    if best.reads and action is not None:  # who says "rename" does not want to read
        doing = [tool for tool in tools if tool.action is action]
        best = max(doing, key=lambda tool: len(set(tool.nouns) & set(best.nouns)), default=best)
    verb = task.request.verb.folded if task.request.verb else ""
    if verb and verb not in ANYTHING and verb not in best.words and verb not in best.described_nouns:
        # "hide" is what another one says it does
        best = next((tool for tool in known if verb in tool.described_nouns and not tool.reads), best)
    if best.action is Action.DELETE:  # who says "the page" does not mean its sections
        spoken = [singular(word.folded) for word in task.request.unquoted.words if not word.is_small]
        deleting = [tool for tool in tools if tool.action is Action.DELETE]
        named_in_full = [
            tool for tool in deleting if all(any(same_meaning(word, noun) for word in spoken) for noun in tool.nouns)
        ]
        best = best if best in named_in_full or not named_in_full else named_in_full[0]
    same = [tool for tool in tools if tool.action is best.action and set(tool.nouns) & set(best.nouns)]
    fillable = [tool for tool in same if not any(one.is_nested for one in tool.required) and not tool.is_bare]
    return best if best in fillable or best.is_bare else (fillable or [best])[0]


def is_doubtful(task: Task, tool: ToolInfo, *, sure: bool) -> bool:
    """Whether it is better to offer choices than to call this tool."""
    if not tool.reads:
        return not sure or not does_what_is_asked(task, tool) or _is_bare(task, tool) or _is_groundless(task, tool)
    content = [singular(word.folded) for word in task.request.content]
    spoken = any(same_meaning(word, noun) for word in content for noun in tool.nouns)
    writes = task.request.action not in (None, *READING) and not asks(task.request)
    return not spoken and (writes or not sure)  # a poem is no forecast


def does_what_is_asked(task: Task, tool: ToolInfo) -> bool:
    """Whether a tool does what the verb says: who says "change" wants nothing created or deleted."""
    action = task.action
    if tool.reads:
        return action in (None, *READING)
    if Action.DELETE in (action, tool.action):
        return action is tool.action or (action is Action.DELETE and tool.action is None)
    return tool.action is not Action.CREATE or (action is not Action.UPDATE and not _is_only_a_place(task, tool))


def _is_only_a_place(task: Task, tool: ToolInfo) -> bool:
    """Whether what a tool makes is only where something else is to be made: "a quote on the home page" is no page."""
    created = tool.created_nouns[-1:]
    spoken = task.request.unquoted.words
    place = next(
        (i for i, word in enumerate(spoken) if any(same_meaning(singular(word.folded), n) for n in created)), 0
    )
    small = WORDS["prepositions"] - ARTICLES.get(task.request.language, frozenset())
    before = spoken[1:place]
    return any(word.folded in small and word.text[0].islower() and word.folded != "about" for word in before)


def forbids(text: str, tool: ToolInfo) -> bool:
    """Whether a text forbids, supposes, asks or tells, so that this tool must not be called; to read is mostly free."""
    objection = objection_to(text)
    if objection is None or not tool.reads:
        return objection is not None
    request = Request(text)
    free = objection in (Objection.QUESTION, Objection.STATEMENT)
    return not free and request.action not in READING and not asks(request)


def must_use_every_word(task: Task, tool: ToolInfo) -> bool:
    """Whether no word of a task may be left over: not where it only asks, or plainly wants to read."""
    return not task.is_extra and (not tool.reads or (task.request.action is None and not asks(task.request)))


def left_over(task: Task, tool: ToolInfo, arguments: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The words of a command that the call has nothing to do with; a call that leaves some out is not what was meant.

    `names` are those of the things that the arguments stand for.
    """
    held = [part for text in (*_texts(arguments), *names) for part in words(text)]
    used = {plain(part) for part in held}
    left = [quote for quote in task.request.quoted if not {plain(part) for part in words(quote)} <= used]
    verb = task.request.verb
    for word in task.request.without_names.words:
        if is_explained(word, tool) or (verb and word.text == verb.text) or is_unspaced(word.folded):
            continue
        parts = {plain(part) for part in words(word.text)}
        if not parts <= used and not any(similarity(word.folded, other) >= RELATED for other in held):
            left.append(word.text)
    return left


def is_explained(word: Word, tool: ToolInfo) -> bool:
    """Whether a word says something about a tool or its arguments, or nothing at all."""
    if word.is_small or word.folded in WORDS["new"] | WORDS["greetings"] or action_of(word.folded):
        return True
    one = singular(word.folded)
    short = len(word.text) < _LETTERS and word.text.islower()
    return short or any(one == other or similarity(one, other) >= RELATED for other in tool.vocabulary)


def _texts(value: Any) -> list[str]:
    if is_object(value):
        return [text for key, inner in value.items() for text in (str(key), *_texts(inner))]
    if is_list(value):
        return [text for inner in value for text in _texts(inner)]
    return [str(value)]


def _is_bare(task: Task, tool: ToolInfo) -> bool:
    """Whether a word or two without a verb led to a tool that does something: too little to act on."""
    spoken = task.request.words
    if len(spoken) > _BARE or any(is_unspaced(word.folded) for word in spoken):
        return False
    verb = tool.verb or next(iter(tool.words), "")  # "greet" is a verb as well, though not one that many names have
    return not any(action_of(word.folded) or word.folded == verb for word in spoken)


def _is_groundless(task: Task, tool: ToolInfo) -> bool:
    """Whether not one word speaks of what the tool does: however sure a search is, it must not act on that."""
    request = task.request
    if task.is_extra or request.has_pronoun or (request.identifiers and request.action is tool.action):
        return False
    own = {*tool.words, *(tool.described_nouns if tool.description else ())} - SMALL - ANYTHING
    spoken = [singular(word.folded) for word in request.unquoted.words if not word.is_small]
    runs = any(is_unspaced(word) for word in spoken)  # whole sentences, which the search alone can read
    return not runs and not any(same_meaning(word, other) for word in spoken for other in own)
