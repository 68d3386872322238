"""All arguments of one call. Those that name a thing come from an id in the request, from the results of this turn,
from the working memory, or from a look-up by name; an id goes only where its kind fits. What was not said is missing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

from toolcrib.agent.offline.arguments import TaskWords, field_named, plain_value, repeats
from toolcrib.agent.offline.conversation import Call
from toolcrib.agent.offline.entities import Entity, choose_entity, entities_in, named_entities
from toolcrib.agent.offline.finder import Plan, ToolFinder, Wanted
from toolcrib.agent.offline.language import CLOSE, SIMILAR, WORDS, Action, similarity
from toolcrib.agent.offline.request import EDGES, Request, Word
from toolcrib.agent.offline.tools import Parameter, ToolInfo, singular
from toolcrib.search.text import is_unspaced, plain, words

_LEVELS = 2  # of looking up what a look-up needs
_MOST_LOOKUPS = 2  # tools tried for one thing
_KIND_LETTERS = 4  # of a kind in an id: the rest of `img_3` tells nothing
_NEEDS_CHANGE = ("update", "edit", "modify", "change", "set", "rename")
_PATH = re.compile(r"\b([a-z]+)/([a-z]+) such as ([\w-]+)/([\w-]+)", re.IGNORECASE)  # "page/template such as home/hero"


@dataclass(kw_only=True)
class Context:
    """What arguments can be taken from, besides the words of the task."""

    finder: ToolFinder
    results: Sequence[Entity] = ()  # of this turn, newest first
    memory: Sequence[Entity] = ()
    today: date
    answer: Request | None = None  # the user's answer to a question
    asked_for: str = ""  # the parameter it was about
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])  # arguments that are known already
    names: dict[str, str] = field(default_factory=dict[str, str])  # of things looked up, by id

    @property
    def entities(self) -> list[Entity]:
        """The things that can be spoken of, newest first."""
        return [*self.results, *self.memory]

    def spoken_of(self, values: Mapping[str, Any]) -> bool:
        """Whether one of the values is a thing that "it" can mean: of this turn, or remembered."""
        meant = {text for one in self.entities for text in (one.id, one.name, *map(str, one.row.values()))}
        return any(str(value) in meant for value in values.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The values found, what is missing, and what the first missing one could be."""

    values: dict[str, Any]
    missing: Sequence[Parameter] = ()
    options: Sequence[tuple[str, str]] = ()  # by name and value


def fill_arguments(tool: ToolInfo, request: Request, context: Context) -> Plan[Arguments]:
    """The arguments of a call of this tool for a task."""
    return (yield from _fill(tool, request, context, context.given, _LEVELS))


def _fill(tool: ToolInfo, request: Request, context: Context, given: Mapping[str, Any], levels: int) -> Plan[Arguments]:
    """With fewer levels, the call only looks up what another one needs: then only what is required is filled."""
    top = levels == _LEVELS
    spoken = TaskWords(request, tool, context.today)
    values: dict[str, Any] = {}
    missing: list[Parameter] = []
    options: list[tuple[str, str]] = []
    for parameter in sorted(tool.parameters, key=lambda one: (not one.required, not one.is_reference)):
        if not top and not parameter.required:
            continue
        if parameter.name in given:
            values[parameter.name] = given[parameter.name]
            continue
        source = spoken
        if context.answer is not None and parameter.name == context.asked_for and top:
            source = TaskWords(context.answer, tool, context.today, is_answer=True)
        if parameter.is_reference:
            value = yield from _reference(parameter, source, context, levels, options, values)
            kin = [one for one in tool.parameters if one.is_reference and set(one.nouns) & set(parameter.nouns)]
            if value in [values[one.name] for one in kin if one.name in values]:
                value = None  # "replace the old one with the new one": not with itself
        else:
            value = plain_value(parameter, source)
            if value is None and parameter.required and parameter.is_title and request.has_pronoun:
                value = _name_of_it(tool, context.entities)
        if isinstance(value, str) and parameter.type == "integer" and value.lstrip("-").isdigit():
            value = int(value)
        if value is not None:
            values[parameter.name] = value
        elif parameter.required:
            missing.append(parameter)
    if top and not missing and tool.verb in _NEEDS_CHANGE:  # "rename the page", and no word to what
        changes = [one for one in tool.parameters if not one.is_reference]
        if changes and len(values) == 1 and not any(one.name in values for one in changes):
            missing = sorted(changes, key=lambda one: not one.is_title)[:1]
    ordered = {one.name: values[one.name] for one in tool.parameters if one.name in values}
    return Arguments(values=ordered, missing=missing, options=options)


def _reference(
    parameter: Parameter,
    spoken: TaskWords,
    context: Context,
    levels: int,
    options: list[tuple[str, str]],
    found: Mapping[str, Any],
) -> Plan[Any]:
    if not parameter.required:
        return _it(parameter, spoken, context.entities)
    value = _known_value(parameter, spoken, context)
    if value is None and levels:
        value = yield from _looked_up(parameter, spoken, context, levels, options, found)
    if value is not None or options:
        return value
    last = [one for one in spoken.tool.required if one.is_reference][-1] is parameter
    value = _as_written(parameter, spoken) if levels == _LEVELS and (last or spoken.is_answer) else None
    if parameter.type == "integer" and not str(value).lstrip("-").isdigit():
        value = None
    options[:] = [] if value is not None else [(example, example) for example in parameter.examples]
    return value


def _it(parameter: Parameter, spoken: TaskWords, entities: Sequence[Entity]) -> Any:
    """What "it" is, for an argument that can be left out: where no required one takes it."""
    if not spoken.request.has_pronoun or spoken.tool.reads or any(one.is_reference for one in spoken.tool.required):
        return None
    return next((one.value_for(parameter.name) for one in entities if one.is_a(parameter.nouns)), None)


def _name_of_it(tool: ToolInfo, entities: Sequence[Entity]) -> str | None:
    """The name of what was last spoken of; of such as the tool takes, if it takes any."""
    kinds = [noun for one in tool.parameters if one.is_reference for noun in one.nouns]
    fitting = [one for one in entities if one.is_a(kinds)] or entities
    return fitting[0].name if fitting else None


def _known_value(parameter: Parameter, spoken: TaskWords, context: Context) -> Any:
    """The thing meant, if it is known without looking anything up."""
    fitting = [one for one in context.entities if one.is_a(parameter.nouns)]
    if spoken.is_answer:
        return _named_value(spoken.request.words, parameter, fitting) or _example(parameter, spoken.request.words)
    written = [one for one in spoken.request.identifiers if one not in spoken.used]
    if fits := next((one for one in written if not _is_of_another_kind(one, parameter)), None):
        return spoken.use(fits)
    name = _name_words(parameter, spoken)
    if (named := _named_value(name, parameter, fitting)) is not None:
        return named
    if here := next((one for one in context.results if one.is_a(parameter.nouns)), None):
        return here.value_for(parameter.name)
    if value := _composed(parameter, spoken) or _example(parameter, name):
        return value
    if fitting and (spoken.request.has_pronoun or (not name and (spoken.tool.reads or len(fitting) == 1))):
        return fitting[0].value_for(parameter.name)
    return None


def _named_value(name: Sequence[Word], parameter: Parameter, entities: Sequence[Entity]) -> Any:
    meant = {plain(part) for word in name for part in words(word.text)}
    return next((one.value_for(parameter.name) for one in entities if meant & one.name_words), None)


def _example(parameter: Parameter, name: Sequence[Word]) -> str | None:
    """One of the values the description gives as examples, if the user said it."""
    folded = {word.folded for word in name}
    return next((example for example in parameter.examples if example.casefold() in folded), None)


def _is_of_another_kind(identifier: str, parameter: Parameter) -> bool:
    """Whether an id says itself that it is of another kind: `post_7` is no page."""
    kind = identifier.partition("_")[0]
    if kind == identifier or len(kind) < _KIND_LETTERS or not kind.isalpha() or not parameter.nouns:
        return False
    return max(similarity(kind, noun) for noun in parameter.nouns) < SIMILAR


def _name_words(parameter: Parameter, spoken: TaskWords) -> list[Word]:
    """The words that could be the name of what is meant."""
    tool = spoken.tool
    about = {*tool.nouns, *parameter.nouns, tool.verb, *parameter.words}
    for one in tool.parameters:
        if one.is_reference:
            path = _PATH.search(one.description)
            about |= {*one.nouns, *(path.group(1, 2) if path else ())}
    request = spoken.before_new_value
    # What is quoted is a name, where the tool has no other use for it.
    writes_text = any(
        one.type in ("string", "object") and not one.is_reference and not one.choices for one in tool.parameters
    )
    content = request.content if writes_text else [word for word in request.words if not word.is_small]
    if tool.action is Action.DELETE:  # "the picture from the hero": the hero is where it is, and not its name
        place = next((word.start for word in request.words[1:] if word.folded in WORDS["from"]), len(request.text))
        content = [word for word in content if word.start < place]
    others = {noun for one in tool.parameters if one.is_reference for noun in one.nouns} - {*parameter.nouns}
    after = dict(pairwise(request.words))  # in "the contact page", "contact" names a page and nothing else
    return [
        word
        for word in content
        if not (word in after and singular(after[word].folded) in others)
        and (word != request.verb or is_unspaced(word.folded))
        and word.text not in spoken.used
        and not _is_of_another_kind(word.text, parameter)
        and not repeats(word, [noun for noun in about if noun])
    ]


def _composed(parameter: Parameter, spoken: TaskWords) -> str | None:
    """`home/hero` from "the hero on the home page", where the description shows that form; one part must be said."""
    found = _PATH.search(parameter.description)
    if not found:
        return None
    # The last part may go by what the parameter itself names: "the testimonials section" for page/template.
    place = _spoken_part([found[1]], found[3], spoken)
    thing = _spoken_part([found[2], *parameter.nouns], found[4], spoken)
    deletes = spoken.tool.action is Action.DELETE
    if not (place or thing) or (not spoken.tool.reads and not (thing and (place or not deletes))):
        return None  # to write, the thing itself must be said, and to delete also where
    return f"{place or found[3]}/{thing or found[4]}"


def _spoken_part(kinds: Sequence[str], example: str, spoken: TaskWords) -> str:
    request_words = spoken.request.words
    if word := next((word for word in request_words if word.folded == example), None):
        spoken.use(word.text)
        return example
    for before, word in pairwise(request_words):
        names = not before.is_small and before.folded not in WORDS["ordinals"] and before != spoken.request.verb
        if names and repeats(word, kinds):
            return "-".join(words(before.text))
    return ""


def _as_written(parameter: Parameter, spoken: TaskWords) -> str | None:
    """What the user called it, for a tool that may know the name; the last resort."""
    if spoken.is_answer:
        return next(iter(spoken.request.quoted), None) or spoken.request.text.strip(EDGES) or None
    if quoted := spoken.quoted():
        return spoken.use(quoted)
    own = [word.text for word in _name_words(parameter, spoken)]
    names = [word for word in own if word[:1].isupper()]
    if not names and parameter.examples:  # there are few, and it is none of them: better ask
        return None
    return " ".join(names or own) or None


# Look-ups


def _looked_up(
    parameter: Parameter,
    spoken: TaskWords,
    context: Context,
    levels: int,
    options: list[tuple[str, str]],
    found: Mapping[str, Any],
) -> Plan[Any]:
    request = spoken.before_new_value
    name = [*spoken.request.words] if spoken.is_answer else _name_words(parameter, spoken)
    around = spoken.request.words if spoken.is_answer else request.content
    around = [word for word in around if word.text not in spoken.used]
    tools = yield from _lookup_tools(parameter, spoken.tool, context.finder, named=bool(name))
    for bare in tools[:_MOST_LOOKUPS]:
        tool = yield from context.finder.describe(bare)
        arguments = yield from _fill(tool, spoken.request, context, found, levels - 1)
        if arguments.missing:
            continue
        (result,) = yield [Wanted(Call(tool=tool.name, arguments=arguments.values))]
        if result.failed or result.needs_yes:
            continue
        entities = entities_in(result.value, tool.nouns[0] if tool.nouns else "")
        fitting = [one for one in entities if one.is_a(parameter.nouns)]
        entities = fitting or [one for one in entities if not one.says_its_type]
        context.names.update((one.id, one.name) for one in entities)
        best_first = tool.action is Action.FIND and bool(name) and spoken.tool.reads
        entity = choose_entity(entities, name, around, best_first=best_first)
        if entity is None:
            places = [context.names[str(value)] for value in arguments.values.values() if str(value) in context.names]
            entity = _last_spoken_of(entities, name, spoken, context.memory, places)
        if entity is not None:
            spoken.used |= {word.text for word in name if plain(word.folded) in entity.name_words}
            return entity.value_for(parameter.name)
        options[:] = options or [
            (one.name, str(one.value_for(parameter.name))) for one in named_entities(entities, name) or entities
        ]
    return None


def _last_spoken_of(
    entities: Sequence[Entity], name: Sequence[Word], spoken: TaskWords, memory: Sequence[Entity], places: Sequence[str]
) -> Entity | None:
    """The newest remembered of them, unless a word is left that could name another: "the heading on the home page".

    `places` are the names of what the things belong to, such as their page.
    """
    changed = field_named(spoken)
    left = [one for one in name if one.text != changed and not any(similarity(one.text, at) >= CLOSE for at in places)]
    if left or spoken.is_answer or not entities:
        return None
    kinds = {one.type for one in entities}
    newest = next((one for one in memory if one.type in kinds), None)
    return next((one for one in entities if newest and one.id == newest.id), None)


def _lookup_tools(parameter: Parameter, tool: ToolInfo, finder: ToolFinder, *, named: bool) -> Plan[list[ToolInfo]]:
    """The tools that can tell which things there are: of those in sight, or else found for it."""
    tools = _lookups_among(parameter, tool, finder.visible, named=named)
    if about := _about(parameter, tools):
        return about
    listings = (f"list {parameter.noun}s", f"show the {parameter.noun}s")
    # A list may be long, and what has a name can be searched for.
    for task in (f"find {parameter.noun}s", *listings) if named else listings:
        found = yield from finder.find(task)
        sighted = {one.name: one for one in (*finder.visible, *found.tools)}
        tools = _lookups_among(parameter, tool, list(sighted.values()), named=named)
        if about := _about(parameter, tools):
            return about
        if task not in listings:
            continue  # it searches for anything, and a list of the very things is better
        if not tools:  # what a search only named must be seen before it can be judged
            seen: list[ToolInfo] = []
            for bare in [one for one in found.tools if one.is_bare and _may_list(one, parameter)][:_MOST_LOOKUPS]:
                described = yield from finder.describe(bare)
                seen.append(described)
            tools = _lookups_among(parameter, tool, seen, named=named)
        if tools:
            break
    return tools


def _lookups_among(parameter: Parameter, tool: ToolInfo, tools: Sequence[ToolInfo], *, named: bool) -> list[ToolInfo]:
    """Those that can tell which things there are, the likeliest first: those that search, if there is a name."""
    scored: list[tuple[int, int, ToolInfo]] = []
    nouns = set(parameter.nouns)
    for index, one in enumerate(tools):
        needs_such = any(need.is_nested or (need.is_reference and set(need.nouns) & nouns) for need in one.required)
        searches = one.action is Action.FIND and bool(one.required)
        if one.name == tool.name or not one.reads or needs_such or (searches and not named):
            continue
        if nouns & set(one.nouns):
            score = (4 if one.nouns[-1] in nouns else 2) + (
                1 if searches and any(not need.is_reference for need in one.required) else 0
            )
        else:
            score = 1 if one.described_nouns & nouns else 0  # it mentions them
        if score:
            scored.append((2 * sum(need.is_reference for need in one.required) - score, index, one))
    return [one for _, _, one in sorted(scored, key=lambda found: found[:2])]


def _about(parameter: Parameter, tools: Sequence[ToolInfo]) -> list[ToolInfo]:
    """The tools that are about such things by their names, if the likeliest is; the others only mention them."""
    about = [one for one in tools if set(one.nouns) & set(parameter.nouns)]
    return about if about[:1] == list(tools[:1]) else []


def _may_list(tool: ToolInfo, parameter: Parameter) -> bool:
    """Whether a tool of which only the name is known could tell which there are: `get_navigation` for a menu item."""
    return tool.reads and any(similarity(own, noun) >= CLOSE for own in tool.nouns for noun in parameter.nouns)
