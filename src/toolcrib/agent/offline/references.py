"""Arguments that name a thing: an id from what the user wrote, from this turn's results or from the working memory."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from toolcrib.agent.offline.known_tools import Deed, KnownTool
from toolcrib.agent.offline.meaning import LIKE, is_like, nearest, nearness
from toolcrib.agent.offline.parameters import Parameter
from toolcrib.agent.offline.request_text import Word
from toolcrib.agent.offline.spoken import Words, is_about
from toolcrib.agent.offline.things import Thing
from toolcrib.search.text import is_unspaced, plain, words

_PATTERN = re.compile(r"\b([a-z]+)/([a-z]+) such as ([\w-]+)/([\w-]+)", re.IGNORECASE)
_EXAMPLES = re.compile(r"\b(?:such as|for example|e\.g\.|like)\s+([^.;()]+)", re.IGNORECASE)
_IN_PASSING = 1  # how well a tool fits that only mentions what is looked for
_KIND_LETTERS = 4  # of a kind in an id: the rest of `img_3` tells nothing
_TELLING_LETTERS = 3  # of a word in a name that may be meant by a word of another language


@dataclass(frozen=True)
class Known:
    """The things that can be spoken of: those of this turn, then those remembered, each newest first."""

    here: Sequence[Thing] = ()
    remembered: Sequence[Thing] = ()


def distinguishing(parameter: Parameter, given: Words) -> list[Word]:
    """The words that could be the name of what is meant."""
    about = {*given.tool.nouns, *parameter.nouns, given.tool.verb, *parameter.words}
    about |= {noun for one in given.tool.parameters if one.is_reference for noun in (*one.nouns, *_parts_of(one))}
    said = given.head if given.tail else given.said
    # What is quoted is a name, where the tool has no other use for it.
    telling = said.telling if _writes_text(given.tool) else [word for word in said.words if not word.is_small]
    return [
        word
        for word in telling
        if (word != said.verb or is_unspaced(word.folded))
        and word.text not in given.spent
        and not _is_of_another_kind(word.text, parameter)
        and not is_about(word, [noun for noun in about if noun])
    ]


def _parts_of(parameter: Parameter) -> tuple[str, ...]:
    """The kinds of things whose names make up an id such as page/template."""
    found = _PATTERN.search(parameter.description)
    return (found[1], found[2]) if found else ()


def _writes_text(tool: KnownTool) -> bool:
    """Whether it takes a text of the user's, and not only names of things."""
    return any(one.type in ("string", "object") and not one.is_reference and not one.choices for one in tool.parameters)


def examples_of(parameter: Parameter) -> list[str]:
    """The values that the description gives as examples."""
    found = _EXAMPLES.search(parameter.description)
    pieces = re.split(r",|\bor\b|\band\b", found[1]) if found else []
    return [piece.strip(" '\"") for piece in pieces if piece.strip(" '\"")]


def known_value(parameter: Parameter, given: Words, known: Known) -> Any:
    """The thing meant, if it is known without looking anything up."""
    if given.whole:
        return _named(given.said.words, parameter, [*known.here, *known.remembered]) or _example(
            parameter, given.said.words
        )
    if written := _written(given, parameter):
        return given.spend(written)
    own = distinguishing(parameter, given)
    fitting = [thing for thing in (*known.here, *known.remembered) if thing.is_a(parameter.nouns)]
    if (named := _named(own, parameter, fitting)) is not None:
        return named
    here = [thing for thing in known.here if thing.is_a(parameter.nouns)]
    if here:
        return here[0].value_for(parameter.name)
    if composed := _composed(parameter, given):
        return composed
    if example := _example(parameter, own):
        return example
    if fitting and (given.said.has_pronoun or (not own and (given.tool.looks or len(fitting) == 1))):
        return fitting[0].value_for(parameter.name)
    return None


def raw_value(parameter: Parameter, given: Words) -> str | None:
    """What the user called it, for a tool that may know the name; the last resort."""
    if given.whole:
        return given.said.quoted[0] if given.said.quoted else given.said.text.strip(" .,;:!?") or None
    if quoted := given.quoted():
        return given.spend(quoted)
    own = [word.text for word in distinguishing(parameter, given)]
    names = [word for word in own if word[:1].isupper()]
    if not names and examples_of(parameter):  # there are few, and it is none of them: better ask
        return None
    return " ".join(names or own) or None


def chosen(things: Sequence[Thing], own: Sequence[Word], telling: Sequence[Word], *, ranked: bool) -> Thing | None:
    """The one of the things found that the words mean; the first where they come best first.

    `own` are the words that could be its name; `telling` also those that may hold it, such as "Kontaktseite".
    """
    if not things:
        return None
    if named := called_that(things, own):
        return named[0] if len(named) == 1 or ranked else None
    alike = [_alike(own, thing) for thing in things]  # "Kakteen" for "What happens to a cactus"
    if max(alike) and alike.count(max(alike)) == 1:
        return things[alike.index(max(alike))]
    said = " ".join(word.text for word in telling)
    place = nearest(said, [thing.name for thing in things]) if said and own else None
    if place is not None:
        return things[place]
    return things[0] if ranked else None


def called_that(things: Sequence[Thing], own: Sequence[Word]) -> list[Thing]:
    """The things that the words name best, as they are written; none if no word is in any."""
    meant = {plain(part) for word in own for part in words(word.text)}
    scores = [3 * len(meant & thing.called) + len(meant & thing.said) for thing in things]
    best = max(scores, default=0)
    return [thing for thing, score in zip(things, scores, strict=True) if best and score == best]


def _alike(own: Sequence[Word], thing: Thing) -> int:
    """How many of the words mean the same as a word of its name, in whatever language."""
    called = [word for word in thing.called if len(word) >= _TELLING_LETTERS]
    return sum(any(is_like(word.folded, other) for other in called) for word in own)


def _written(given: Words, parameter: Parameter) -> str | None:
    """An id in plain sight, unless it says itself that it is of another kind: `post_7` is no page."""
    free = (one for one in given.said.identifiers if one not in given.spent)
    return next((one for one in free if not _is_of_another_kind(one, parameter)), None)


def _is_of_another_kind(identifier: str, parameter: Parameter) -> bool:
    kind = identifier.partition("_")[0]
    if kind == identifier or len(kind) < _KIND_LETTERS or not kind.isalpha() or not parameter.nouns:
        return False
    return max(nearness(kind, noun) for noun in parameter.nouns) < LIKE


def _named(own: Sequence[Word], parameter: Parameter, things: Sequence[Thing]) -> Any:
    meant = {plain(part) for word in own for part in words(word.text)}
    for thing in things:
        if thing.is_a(parameter.nouns) and meant & thing.called:
            return thing.value_for(parameter.name)
    return None


def _composed(parameter: Parameter, given: Words) -> str | None:
    """`home/hero` from "the hero on the home page", where the description shows that form; one part must be said."""
    found = _PATTERN.search(parameter.description)
    if not found:
        return None
    kinds, examples = (found[1], found[2]), (found[3], found[4])
    # The last part may go by what the parameter itself names: "the testimonials section" for page/template.
    meanings = ([kinds[0]], [kinds[1], *parameter.nouns])
    said = [_part_said(meant, example, given) for meant, example in zip(meanings, examples, strict=True)]
    if not any(said) or (not given.tool.looks and not (said[-1] and (said[0] or given.tool.deed is not Deed.DELETE))):
        return None  # to write, the thing itself must be said, and to delete also where
    return "/".join(part or example for part, example in zip(said, examples, strict=True))


def _part_said(kinds: Sequence[str], example: str, given: Words) -> str:
    spoken = given.said.words
    if said := next((word for word in spoken if word.folded == example), None):
        given.spend(said.text)
        return example
    for before, word in pairwise(spoken):
        if is_about(word, kinds) and not before.is_small and before != given.said.verb:
            return "-".join(words(before.text))
    return ""


def _example(parameter: Parameter, own: Sequence[Word]) -> str | None:
    """One of the values the description gives as examples, if the user said it."""
    said = {word.folded for word in own}
    return next((example for example in examples_of(parameter) if example.casefold() in said), None)


def lookups_for(parameter: Parameter, tool: KnownTool, tools: Sequence[KnownTool], *, named: bool) -> list[KnownTool]:
    """The tools that can tell which things there are, the likeliest first: those that search, if there is a name."""
    scored: list[tuple[int, int, KnownTool]] = []
    for place, one in enumerate(tools):
        if one.name == tool.name or not one.looks or any(need.is_nested for need in one.required):
            continue
        score = _fit(one, parameter)
        if not score or any(need.is_reference and set(need.nouns) & set(parameter.nouns) for need in one.required):
            continue
        searches = one.deed is Deed.FIND and any(not need.is_reference for need in one.required)
        # A search for anything comes after a list of the very things.
        score += 1 if searches and named and score > _IN_PASSING else 0
        score -= len([need for need in one.required if need.is_reference]) * 2
        if one.deed is Deed.FIND and one.required and not named:
            continue  # nothing to search by
        scored.append((-score, place, one))
    return [one for _, _, one in sorted(scored, key=lambda found: found[:2])]


def _fit(tool: KnownTool, parameter: Parameter) -> int:
    if set(tool.nouns) & set(parameter.nouns):
        return 4 if tool.nouns[-1] in parameter.nouns else 2
    return _IN_PASSING if tool.told_nouns & set(parameter.nouns) else 0
