"""The values that the words of a task give to plain arguments: texts, numbers, choices, lists; never an id.

A value must have been spoken: quoted, named, in figures, or as the object of the command. Nothing is made up.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from toolcrib.agent.offline.language import (
    ARTICLES,
    NEW_VALUE,
    SAME,
    SIMILAR,
    SMALL,
    WORDS,
    Action,
    same_meaning,
    similarity,
)
from toolcrib.agent.offline.request import AND, EDGES, OPENING_QUOTES, UPDATE_VERBS, Request, Word
from toolcrib.agent.offline.tools import TITLES, Parameter, ToolInfo, as_object, singular, word_set
from toolcrib.search.text import words

_QUERIES = word_set("query q search keyword keywords term terms question prompt topic phrase")
BODIES = word_set("body content text message description note comment markdown fact value data")
_WRITTEN = word_set("body content text message markdown")  # what "with the text" may mean
_ADDRESSES = word_set("url uri link href address website endpoint webhook")
_MAILS = word_set("email mail recipient recipients to cc sender")
_PATHS = word_set("path file filename folder directory filepath dir")
_DATES = word_set("date day due deadline when")
_AMOUNTS = word_set("limit count max maximum top size number amount")
_SWITCHES = word_set("include includes with is only has show allow enable enabled")  # before what is switched
_CONFIRMED = "confirmed"  # the user's to say, through the agent
_LONG = 7  # letters of a word that may be a compound
_IS = r"(?:\s*[:=]\s*|\s+(?:is|to|as|ist|auf|na|à)\s+)"


@dataclass
class TaskWords:
    """The words of one task on their way into the arguments of one tool: what is used once is not used again."""

    request: Request
    tool: ToolInfo
    today: date
    used: set[str] = field(default_factory=set[str])
    is_answer: bool = False  # the text answers a question: all of it is the value

    def use(self, value: str) -> str:
        """Use a piece of text up."""
        self.used.add(value)
        return value

    def quoted(self) -> str | None:
        """The next quoted text that is still free."""
        return self._free(self.request.quoted)

    def number(self) -> str | None:
        """The next number that is still free."""
        return self._free(self.request.numbers)

    def _free(self, values: Sequence[str]) -> str | None:
        return next((value for value in values if value not in self.used), None)

    @property
    def new_value(self) -> str:
        """The new value in "change it to X", where the tool changes something and it is plain where the value ends."""
        value = self.request.new_value if self.tool.action is Action.UPDATE else ""
        if not value or any(quote in value for quote in self.request.quoted):
            return value
        spoken = Request(value).words
        places = [index for index, word in enumerate(spoken) if index and word.folded in WORDS["prepositions"]]
        place = bool(places) and any(singular(word.folded) in self.tool.vocabulary for word in spoken[places[0] :])
        to = NEW_VALUE.get(self.request.language, NEW_VALUE["en"])
        second = AND.search(value) and to.search(value)  # "the title to A and the heading to B"
        return "" if place or second else value

    @property
    def before_new_value(self) -> Request:
        """The request before it."""
        value = self.new_value
        return Request(self.request.text[: self.request.text.rfind(value)]) if value else self.request

    @property
    def is_dated(self) -> bool:
        """Whether the words name a day: their numbers are then no amounts."""
        return day_in(self.request.text, self.today) is not None

    def content(self) -> list[Word]:
        """The words that name something, without what the tool itself is about."""
        about = {*self.tool.nouns, *(singular(word) for word in self.tool.words)}
        return [word for word in self.request.content if not repeats(word, about)]


def repeats(word: Word, nouns: Iterable[str]) -> bool:
    """Whether a word says no more than one of these, in whatever language."""
    one = singular(word.folded)
    # A long word that is only similar may be a compound, and hold the very name: "Kontaktseite".
    enough = SAME if len(one) > _LONG else SIMILAR
    return any(one == noun or similarity(one, noun) >= enough for noun in nouns)


def plain_value(parameter: Parameter, given: TaskWords) -> Any:
    """The value the words give a parameter; None if they say nothing about it."""
    if parameter.name == _CONFIRMED:
        return None
    if parameter.choices:
        return _choice(parameter, given)
    match parameter.type:
        case "boolean":
            return _switch(parameter, given)
        case "integer" | "number":
            return _amount(parameter, given)
        case "array":
            return _list(parameter, given)
        case "object":
            return _fields(parameter, given)
        case _:
            return _text(parameter, given)


def _choice(parameter: Parameter, given: TaskWords) -> Any:
    values = {value: words(str(value)) for value in parameter.choices}
    own = {word for parts in values.values() for word in parts}
    spoken = [singular(word.folded) for word in given.request.words if not word.is_small or word.folded in own]
    for value, parts in values.items():
        if parts and all(singular(part) in spoken for part in parts):
            return value
    for clause in re.split(r"[;,.]", parameter.description):  # "published makes it visible at once"
        named = [value for value in values if str(value).casefold() in words(clause)]
        hints = {singular(word) for word in words(clause)} - SMALL - {"make", "once", "default", "only"}
        if len(named) == 1 and hints & set(spoken) - {str(named[0])}:
            return named[0]
    similar = [value for value in values for word in given.content() if same_meaning(word.folded, str(value))]
    if similar:
        return similar[0]
    return parameter.choices[0] if parameter.required and len(parameter.choices) == 1 else None


def _switch(parameter: Parameter, given: TaskWords) -> bool | None:
    names = [singular(word) for word in parameter.words if word not in _SWITCHES]
    spoken = [singular(word.folded) for word in given.request.words]
    if len(names) == 1 and names[0].startswith("un") and WORDS["not"] & set(spoken):
        return True if names[0].removeprefix("un") in spoken else None  # "not used" is unused
    if not names or not set(names) <= set(spoken):
        return None
    index = spoken.index(names[0])
    return not WORDS["not"] & set(spoken[max(0, index - 2) : index])


def _amount(parameter: Parameter, given: TaskWords) -> int | float | None:
    named = _after_name(parameter, given)
    found = named if re.fullmatch(r"-?\d+(?:[.,]\d+)?", named) else None
    if found is None and (parameter.required or (set(parameter.words) & _AMOUNTS and not given.is_dated)):
        found = given.number()
    if found is None:
        return None
    given.use(found)
    value = float(found.replace(",", "."))
    low, high = parameter.schema.get("minimum", value), parameter.schema.get("maximum", value)
    if not low <= value <= high or (parameter.type == "integer" and value != int(value)):
        return None
    return int(value) if parameter.type == "integer" else value


def _list(parameter: Parameter, given: TaskWords) -> list[str] | None:
    if parameter.is_nested or as_object(parameter.schema.get("items")).get("type", "string") != "string":
        return None
    whose = r"of|on|in|from|von|auf|aus|der|des|del|de|du|da|van|z|ze|na"
    of_something = re.search(rf"(?i)(?<!\w){_pattern(parameter)}\s+(?:{whose})\s", given.request.text)
    named = "" if of_something else _after_name(parameter, given, whole=True)  # "all sections of the page" lists none
    if not named and set(parameter.words) & _MAILS and given.request.emails:
        return list(given.request.emails)
    if not named and not given.is_answer and not (parameter.required and given.request.quoted):
        return None
    pieces = AND.split(named) if named else given.request.quoted or AND.split(given.request.text)
    return [bare for piece in pieces if (bare := piece.strip(EDGES))] or None


def _fields(parameter: Parameter, given: TaskWords) -> dict[str, Any] | None:
    """ "Change the heading to X" as `{"heading": "X"}`, where a tool takes any fields."""
    name = field_named(given) if parameter.required and not parameter.is_nested else ""
    return {name.casefold() if name.istitle() else name: given.quoted() or given.new_value} if name else None


def field_named(given: TaskWords) -> str:
    """The word before the new value that says which field gets it: "the heading of the page", "the hero heading"."""
    if not given.new_value:
        return ""
    before, verb = given.before_new_value, given.request.verb
    named = [word for word in before.words if word.folded not in SMALL or word.folded in TITLES]
    named = [word for word in named if verb is None or word.folded != verb.folded]
    whose = r"of|on|in|des|der|von|auf|im|del|de|du|della|van|w|na|en|sur|sul|sulla"
    of = re.search(rf"(?i)\b([\w-]+)\s+(?:{whose})\s", before.text)
    return next((word.text for word in named if of and word.text == of[1]), named[-1].text if named else "")


# Texts


def _text(parameter: Parameter, given: TaskWords) -> str | None:
    names, request = set(parameter.words), given.request
    kind = parameter.schema.get("format")
    if kind == "date" or (kind is None and names & _DATES and given.is_dated):
        day = day_in(request.text, given.today)
        return day.isoformat() if day else None
    if kind in ("date-time", "datetime"):
        return moment_in(request.text, given.today)
    if kind in ("uri", "url") or names & _ADDRESSES:
        return request.urls[0] if request.urls else (_after_name(parameter, given) or None if given.is_answer else None)
    if kind == "email" or (names & _MAILS and request.emails):
        return request.emails[0] if request.emails else None
    if given.is_answer:
        return request.quoted[0] if request.quoted else request.text.strip(EDGES) or None
    if named := _after_name(parameter, given):
        return given.use(named)
    if names & _QUERIES:
        return _query(parameter, given)
    if names & _PATHS:
        found = next((one for one in request.identifiers if one not in given.used), request.name)
        if found:
            return given.use(found)
    if names & TITLES:
        return _title(parameter, given)
    if names & BODIES:
        return _body(parameter, given)
    return _other_text(given) if parameter.required else None


def _pattern(parameter: Parameter) -> str:
    return r"\s*[_-]?".join(map(re.escape, parameter.words))


def _after_name(parameter: Parameter, given: TaskWords, *, whole: bool = False) -> str:
    """What stands after the parameter's own name: "title: X", "with limit 5", "the label to X"."""
    found = re.search(rf"(?i)(?<!\w){_pattern(parameter)}({_IS}|\s+(?:of\s+)?)(.+)", given.request.text)
    if not found or not parameter.words:
        return ""
    rest = found[2].strip()
    if quoted := Request(rest).quoted:
        return quoted[0] if rest.startswith(OPENING_QUOTES) else ""
    if whole:
        return rest.strip(EDGES)
    if re.fullmatch(f"(?i){_IS}", found[1]):
        return re.split(r"[,;\n]|\s(?:and|und|oraz|y|et)\s", rest)[0].strip(EDGES)
    # "the title page" speaks of no title: a bare word counts only as a number.
    first = rest.split()[0].strip(EDGES) if rest else ""
    return first if first.replace(".", "").isdigit() else ""


def _query(parameter: Parameter, given: TaskWords) -> str | None:
    if quoted := given.quoted():
        return given.use(quoted)
    if not (parameter.required or given.tool.action is Action.FIND):
        return None
    content = given.request.content
    # "find an image of a mountain" looks for a mountain; "find images" for images.
    kept = [word for word in content if not repeats(word, given.tool.nouns)] or content
    return " ".join(word.text for word in kept) or None


def _title(parameter: Parameter, given: TaskWords) -> str | None:
    request = given.request
    if request.name and request.name not in given.used:
        return given.use(request.name)
    if given.new_value:
        return given.use(given.quoted() or given.new_value) if _is_changed(parameter, given) else None
    if quoted := given.quoted():
        return given.use(quoted) if parameter.required or given.tool.action is Action.CREATE else None
    if not parameter.required:
        return None
    if found := _object_phrase(given) or given.use(request.after_colon).split("\n")[0]:
        return found
    # What "a post about plants" is about may be its title, where a text has to be asked for anyway; never what "it" is.
    texts = [one for one in given.tool.required if one is not parameter and set(one.words) & BODIES]
    return _after_preposition(given) or None if texts and not request.has_pronoun else None


def _is_changed(parameter: Parameter, given: TaskWords) -> bool:
    """Whether a change is one of this field: it is named before the new value, or no other field is.

    Who renames a link gives it a label, though "link" means an address as well: to rename is about names alone.
    """
    verb = given.request.verb.folded if given.request.verb else ""
    closest = max(UPDATE_VERBS, key=lambda one: similarity(verb, one))
    renames = closest == "rename" and same_meaning(verb, closest)
    texts = [one for one in given.tool.parameters if not one.is_reference and one.type == "string"]
    others = [one for one in texts if one is not parameter and (one.is_title or not renames)]
    named = [word.folded for word in given.before_new_value.words]
    if any(same_meaning(word, parameter.words[-1]) for word in named):
        return True
    content = [singular(word) for word in named if word not in SMALL and not given.tool.is_about(word)]
    about = {singular(word) for other in others for word in (*other.words, *words(other.description))}
    return not any(word in about or same_meaning(word, other.words[-1]) for word in content for other in others)


def _object_phrase(given: TaskWords) -> str:
    """The name between the verb and the next small word: "add Blog to ...", "create an About page"."""
    request, tool = given.request, given.tool
    own = next((word for word in request.words[:1] if word.folded in tool.words), None)
    verb = request.verb or own
    if verb is None:  # then it may be what the first word says to do, and no name
        return ""
    articles = ARTICLES.get(request.language, frozenset())
    nouns = {*tool.nouns, *(singular(word) for word in tool.words)}
    nouns |= {noun for one in tool.parameters if one.is_reference for noun in one.nouns}  # "the page Blog"
    spoken = Request(request.text.removesuffix(request.after_colon)).unquoted.words
    found: list[str] = []
    for index, word in enumerate(spoken):
        named = word.text[:1].isupper() and not found  # "About" is a name here, whatever it is elsewhere
        if word.start <= verb.start or word.folded in articles or word.folded in WORDS["new"]:
            if found:
                break  # "der Seite Contact eine Galerie" are two things
            continue
        named = named or _is_about_page(spoken, index, verb, nouns)
        if word.folded in WORDS["prepositions"] and not named:
            break
        if repeats(word, nouns) or (word.folded in tool.described_nouns and not named):
            if found:
                break  # a "blog post" has no title yet
        elif named or not word.is_small:
            found.append(word.text)
    return "" if all(word.isdigit() for word in found) else " ".join(found)  # "create 3 pages" names none


def _is_about_page(spoken: Sequence[Word], index: int, verb: Word, nouns: Collection[str]) -> bool:
    """Whether "about" stands between the verb and what the tool makes: "create about page"."""
    between = 0 < index < len(spoken) - 1 and spoken[index - 1].folded == verb.folded
    return spoken[index].folded == "about" and between and repeats(spoken[index + 1], nouns)


def _body(parameter: Parameter, given: TaskWords) -> str | None:
    request = given.request
    if request.body and (parameter.required or set(parameter.words) & _WRITTEN):
        return given.use(request.body)
    if given.new_value:
        named = any(same_meaning(word.folded, parameter.words[-1]) for word in given.before_new_value.words)
        return given.use(given.quoted() or given.new_value) if named else None
    if request.after_colon and request.after_colon not in given.used:
        return given.use(request.after_colon)
    if quoted := given.quoted():
        return given.use(quoted) if parameter.required else None
    if not parameter.required or any(one.is_title and one.required for one in given.tool.parameters):
        return None
    phrase = _after_own_verb(given) or _object_phrase(given)  # the only place for what the user wants kept
    return phrase if phrase and not given.used & set(phrase.split()) else None


def _after_own_verb(given: TaskWords) -> str:
    """All that follows the tool's own verb, where that is all there is to it: "remember that I like tea"."""
    verb, tool = given.request.verb, given.tool
    if verb is None or not tool.verb or verb.folded != tool.verb or tool.words[-1] != tool.verb:
        return ""
    if given.used or any(singular(word.folded) in tool.nouns for word in given.request.content):
        return ""
    rest = given.request.text[verb.start + len(verb.text) :].strip(EDGES)
    return re.sub(r"(?i)^(?:that|this)\b[\s:,]*", "", rest, count=1)


def _other_text(given: TaskWords) -> str | None:
    """A text of no known kind: quoted; the only one also after a preposition, like a name, or all that is left."""
    alike = [one for one in given.tool.required if not one.is_reference and one.type == "string" and not one.choices]
    if len(alike) > 1:  # which of them is meant was not said
        return given.use(quoted) if (quoted := given.quoted()) else None
    if found := given.quoted() or _after_preposition(given):
        return given.use(found)
    rest = [word.text for word in given.content() if word.text not in given.used]
    found = " ".join([word for word in rest if word[:1].isupper()] or rest)
    return given.use(found) if found else None


def _after_preposition(given: TaskWords) -> str:
    found: list[str] = []
    seen = False
    for word in given.request.unquoted.words:
        if word.folded in WORDS["prepositions"]:
            if found:
                break
            seen = True
        elif seen and (word.text[:1].isupper() or not word.is_small) and word.text not in given.used:
            found += [] if repeats(word, given.tool.nouns) else [word.text]
    return " ".join(found)


# Days

_SHIFTS = {
    0: "today heute dziś dzisiaj hoy aujourd hui oggi hoje vandaag idag dnes bugün сегодня сьогодні 今日 今天 오늘",
    1: "tomorrow morgen jutro mañana demain domani amanhã imorgon zítra yarın завтра 明日 明天 내일",
    -1: "yesterday gestern wczoraj ayer hier ieri ontem gisteren igår včera dün вчера вчора 昨日 昨天 어제",
    2: "übermorgen pojutrze overmorgen послезавтра",
}
_DAYS = {word: days for days, spoken in _SHIFTS.items() for word in spoken.split()}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ISO = re.compile(r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b")
_DAY_FIRST = re.compile(r"\b(?P<d>\d{1,2})[./](?P<m>\d{1,2})[./](?P<y>\d{4})\b")
_TIME = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")


def day_in(text: str, today: date) -> date | None:
    """The first day a text names: `2026-05-03`, "03.05.2026", "tomorrow" in many languages, "on Friday" in English."""
    if found := _ISO.search(text) or _DAY_FIRST.search(text):
        try:
            return date(int(found["y"]), int(found["m"]), int(found["d"]))
        except ValueError:
            return None
    for word in words(text):
        if word in _DAYS:
            return today + timedelta(days=_DAYS[word])
        if word in _WEEKDAYS:
            return today + timedelta(days=(_WEEKDAYS.index(word) - today.weekday() - 1) % 7 + 1)
    return None


def moment_in(text: str, today: date) -> str | None:
    """The first day with its time, midnight if none is said, as ISO 8601."""
    day, clock = day_in(text, today), _TIME.search(text)
    if day is None and clock is None:
        return None
    hours = f"{int(clock[1]):02}:{clock[2]}:00" if clock else "00:00:00"
    return f"{(day or today).isoformat()}T{hours}"
