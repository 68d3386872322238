"""All arguments of one call: from the words, from what is known, and by looking things up; the rest is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from toolcrib.agent.offline.conversation import Call
from toolcrib.agent.offline.filling import plain_value
from toolcrib.agent.offline.finding import Finder, Plan, Wish
from toolcrib.agent.offline.known_tools import Deed, KnownTool
from toolcrib.agent.offline.meaning import NEAR, nearness
from toolcrib.agent.offline.parameters import Parameter
from toolcrib.agent.offline.references import (
    Known,
    called_that,
    chosen,
    distinguishing,
    examples_of,
    known_value,
    lookups_for,
    raw_value,
)
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.agent.offline.spoken import Words
from toolcrib.agent.offline.spoken_before import last_spoken_of
from toolcrib.agent.offline.text_values import names_something
from toolcrib.agent.offline.things import things_in
from toolcrib.search.text import plain

_MOST_LEVELS = 2  # of looking up what a look-up needs
_MOST_LOOKUPS = 2  # tools tried for one thing


@dataclass
class Asking:
    """What an errand's arguments can be taken from, besides its words."""

    finder: Finder
    known: Known
    today: date
    answer: RequestText | None = None  # the user's answer to a question, and which argument it was about
    asked_for: str = ""
    before: dict[str, Any] = field(default_factory=dict[str, Any])  # arguments known when it was asked
    names: dict[str, str] = field(default_factory=dict[str, str])  # of things looked up, by id


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The values found, what is missing, and what the first missing one could be."""

    values: dict[str, Any]
    missing: Sequence[Parameter] = ()
    options: Sequence[tuple[str, str]] = ()  # by name and value


def arguments_for(
    tool: KnownTool,
    said: RequestText,
    asking: Asking,
    levels: int = _MOST_LEVELS,
    shared: Mapping[str, Any] | None = None,
) -> Plan[Arguments]:
    """The arguments of a call of this tool for an errand; `shared` are those of the call it is a look-up for."""
    given = Words(said, tool, asking.today)
    values: dict[str, Any] = {}
    missing: list[Parameter] = []
    options: list[tuple[str, str]] = []
    ordered = sorted(tool.parameters, key=lambda one: (not one.required, not one.is_reference))
    top = levels == _MOST_LEVELS
    known = asking.before if top else shared or {}
    for parameter in ordered:
        if parameter.name in known and (top or parameter.required):
            values[parameter.name] = known[parameter.name]
            continue
        if not top and not parameter.required:
            continue  # the words are about the errand, not about looking up what it needs
        words = given
        if asking.answer is not None and parameter.name == asking.asked_for and top:
            words = Words(asking.answer, tool, asking.today, whole=True)
        if parameter.is_reference:
            value = yield from _reference(parameter, words, asking, levels, options, values)
            if value in _others(parameter, tool, values):  # "replace the old one with the new one": not with itself
                value = None
        else:
            value = plain_value(parameter, words)
            if value is None and parameter.required and names_something(parameter) and said.has_pronoun:
                value = _name_of_it(tool, asking.known)
        if value is not None:
            values[parameter.name] = _typed(value, parameter)
        elif parameter.required:
            missing.append(parameter)
    in_order = {one.name: values[one.name] for one in tool.parameters if one.name in values}
    return Arguments(values=in_order, missing=missing, options=options)


def _others(parameter: Parameter, tool: KnownTool, values: Mapping[str, Any]) -> list[Any]:
    """What other arguments name of the same kind."""
    kin = [one for one in tool.parameters if one.is_reference and set(one.nouns) & set(parameter.nouns)]
    return [values[one.name] for one in kin if one.name in values]


def _reference(
    parameter: Parameter,
    given: Words,
    asking: Asking,
    levels: int,
    options: list[tuple[str, str]],
    found: Mapping[str, Any],
) -> Plan[Any]:
    if not parameter.required:
        return _optional(parameter, given, asking.known)
    value = known_value(parameter, given, asking.known)
    if value is not None:
        return value
    if levels:
        value = yield from _looked_up(parameter, given, asking, levels, options, found)
    if value is None and not options:
        last = [one for one in given.tool.required if one.is_reference][-1] is parameter
        value = raw_value(parameter, given) if levels == _MOST_LEVELS and (last or given.whole) else None
        if parameter.type == "integer" and not str(value).lstrip("-").isdigit():
            value = None
        options[:] = [] if value is not None else [(example, example) for example in examples_of(parameter)]
    return value


def _optional(parameter: Parameter, given: Words, known: Known) -> Any:
    """Left out, unless the user speaks of "it" and it is such a thing."""
    if not given.said.has_pronoun or given.tool.looks:
        return None
    taken = any(one.required and one.is_reference for one in given.tool.parameters)
    fitting = [thing for thing in (*known.here, *known.remembered) if thing.is_a(parameter.nouns)]
    return fitting[0].value_for(parameter.name) if fitting and not taken else None


def _looked_up(
    parameter: Parameter,
    given: Words,
    asking: Asking,
    levels: int,
    options: list[tuple[str, str]],
    found: Mapping[str, Any],
) -> Plan[Any]:
    own = [*given.said.words] if given.whole else distinguishing(parameter, given)
    telling = given.said.words if given.whole else (given.head if given.tail else given.said).telling
    telling = [word for word in telling if word.text not in given.spent]
    tools = yield from _lookups(parameter, given.tool, asking.finder, named=bool(own))
    for bare in tools[:_MOST_LOOKUPS]:
        tool = yield from asking.finder.describe(bare)
        arguments = yield from arguments_for(tool, given.said, asking, levels - 1, found)
        if arguments.missing:
            continue
        (result,) = yield [Wish(Call(tool=tool.name, arguments=arguments.values))]
        if result.failed or result.needs_yes:
            continue
        things = things_in(result.value, tool.nouns[0] if tool.nouns else "")
        fitting = [thing for thing in things if thing.is_a(parameter.nouns)]
        things = fitting or [thing for thing in things if not thing.says_its_type]
        asking.names.update((thing.id, thing.name) for thing in things)
        thing = chosen(things, own, telling, ranked=tool.deed is Deed.FIND and bool(own) and given.tool.looks)
        if thing is None:
            whole = [asking.names[str(value)] for value in arguments.values.values() if str(value) in asking.names]
            thing = last_spoken_of(things, own, given, asking.known, whole)
        if thing is not None:
            for word in own:  # the name of the page is not the name of a section, too
                if plain(word.folded) in thing.called:
                    given.spend(word.text)
            return thing.value_for(parameter.name)
        near = called_that(things, own) or things
        options[:] = options or [(one.name, str(one.value_for(parameter.name))) for one in near]
    return None


def _lookups(parameter: Parameter, tool: KnownTool, finder: Finder, *, named: bool) -> Plan[list[KnownTool]]:
    """The tools that can tell which things there are: of those in sight, or else found for it."""
    tools = lookups_for(parameter, tool, finder.in_sight, named=named)
    if about := _about(parameter, tools):
        return about
    listings = (f"list {parameter.noun}s", f"show the {parameter.noun}s")
    # A list may be long, and what has a name can be searched for.
    for task in (f"find {parameter.noun}s", *listings) if named else listings:
        found = yield from finder.find(task)
        sighted = {one.name: one for one in (*finder.in_sight, *found.tools)}
        tools = lookups_for(parameter, tool, list(sighted.values()), named=named)
        if about := _about(parameter, tools):
            return about
        if task not in listings:
            continue  # it searches for anything, and a list of the very things is better
        if not tools:  # what a search only named must be seen before it can be judged
            looking = [one for one in found.tools if one.is_bare and _may_list(one, parameter)]
            seen = yield from finder.describe_all(looking[:_MOST_LOOKUPS])
            tools = lookups_for(parameter, tool, seen, named=named)
        if tools:
            break
    return tools


def _about(parameter: Parameter, tools: Sequence[KnownTool]) -> list[KnownTool]:
    """The tools that are about such things by their names, if the likeliest is; the others only mention them."""
    about = [one for one in tools if set(one.nouns) & set(parameter.nouns)]
    return about if about[:1] == list(tools[:1]) else []


def _may_list(tool: KnownTool, parameter: Parameter) -> bool:
    """Whether a tool of which only the name is known could tell which there are: `get_navigation` for a menu item."""
    return tool.looks and any(nearness(own, noun) >= NEAR for own in tool.nouns for noun in parameter.nouns)


def _name_of_it(tool: KnownTool, known: Known) -> str | None:
    """The name of what was last spoken of; of such as the tool takes, if it takes any."""
    things = [*known.here, *known.remembered]
    kinds = [noun for one in tool.parameters if one.is_reference for noun in one.nouns]
    fitting = [thing for thing in things if thing.is_a(kinds)] or things
    return fitting[0].name if fitting else None


def _typed(value: Any, parameter: Parameter) -> Any:
    """An id as the schema wants it."""
    if parameter.type == "integer" and isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return value
