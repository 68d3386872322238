"""Values that are texts: a query, a title, a body, an address, or whatever stands after the parameter's own name."""

import re
from collections.abc import Collection

from toolcrib.agent.offline.dates import day_in, moment_in
from toolcrib.agent.offline.known_tools import Deed
from toolcrib.agent.offline.meaning import is_like
from toolcrib.agent.offline.parameters import Parameter, singular
from toolcrib.agent.offline.request_text import RequestText, Word
from toolcrib.agent.offline.spoken import END, OPENING, Words, is_about
from toolcrib.agent.offline.vocabulary import ARTICLES, NEW, PREPOSITIONS, SMALL
from toolcrib.search.text import words

_THAT = re.compile(r"(?i)^(?:that|this)\b[\s:,]*")


def _set(said: str) -> frozenset[str]:
    return frozenset(said.split())


_QUERIES = _set("query q search keyword keywords term terms question prompt topic phrase")
TITLES = _set("title name label subject headline heading caption")
BODIES = _set("body content text message description note comment markdown fact value data")
_ADDRESSES = _set("url uri link href address website endpoint webhook")
MAILS = _set("email mail recipient recipients to cc sender")
_PATHS = _set("path file filename folder directory filepath dir")


def names_something(parameter: Parameter) -> bool:
    """Whether it is the name, title or label of what is made."""
    return bool(set(parameter.words) & TITLES)


def is_dated(given: Words) -> bool:
    """Whether the words name a day: their numbers are then no amounts."""
    return day_in(given.said.text, given.today) is not None


def text_value(parameter: Parameter, given: Words) -> str | None:
    names, said = set(parameter.words), given.said
    form = parameter.schema.get("format")
    if form == "date":
        day = day_in(said.text, given.today)
        return day.isoformat() if day else None
    if form in ("date-time", "datetime") or (names & {"date", "day", "due", "deadline", "when"} and is_dated(given)):
        return moment_in(said.text, given.today) if form else str(day_in(said.text, given.today))
    if form in ("uri", "url") or names & _ADDRESSES:
        return said.urls[0] if said.urls else (after_name(parameter, given) if given.whole else None)
    if form == "email" or (names & MAILS and said.emails):
        return said.emails[0] if said.emails else None
    if given.whole:
        return said.quoted[0] if said.quoted else said.text.strip(END) or None
    if named := after_name(parameter, given):
        return given.spend(named)
    if names & _QUERIES:
        return _query(parameter, given)
    if names & _PATHS:
        found = next((one for one in said.identifiers if one not in given.spent), said.named)
        if found:
            return given.spend(found)
    if names & TITLES:
        return _title(parameter, given)
    if names & BODIES:
        return _body(parameter, given)
    return _other(parameter, given) if parameter.required else None


def after_name(parameter: Parameter, given: Words, *, whole: bool = False) -> str:
    """What stands after the parameter's own name: "title: X", "with limit 5", "the label to X"."""
    name = r"\s*[_-]?".join(map(re.escape, parameter.words))
    found = re.search(rf"(?i)(?<!\w){name}(?:\s*[:=]\s*|\s+(?:is|to|as|of|ist|auf|na|a|à)\s+|\s+)(.+)", given.said.text)
    if not found or not parameter.words:
        return ""
    rest = found[1].strip()
    if quoted := RequestText(rest).quoted:
        return quoted[0] if rest.startswith(OPENING) else ""
    strong = re.search(rf"(?i)(?<!\w){name}(?:\s*[:=]|\s+(?:is|to|as|ist|auf|na|à)\s)", given.said.text)
    if whole:
        return rest.strip(END)
    first = rest.split()[0].strip(END) if rest.split() else ""
    if strong:
        return re.split(r"[,;\n]|\s(?:and|und|oraz|y|et)\s", rest)[0].strip(END)
    # "the title page" speaks of no title: a bare word counts only as a number, or as the value of a long name.
    return first if first.replace(".", "").isdigit() else ""


def _query(parameter: Parameter, given: Words) -> str | None:
    if quoted := given.quoted():
        return given.spend(quoted)
    if not (parameter.required or given.tool.deed is Deed.FIND):
        return None
    telling = given.said.telling
    about = [word for word in telling if not is_about(word, given.tool.nouns)]
    # "find an image of a mountain" looks for a mountain; "find images" for images.
    kept = about or telling
    return " ".join(word.text for word in kept) or None


def _title(parameter: Parameter, given: Words) -> str | None:
    said = given.said
    if said.named and said.named not in given.spent:
        return given.spend(said.named)
    if given.tail and given.tool.deed is Deed.CHANGE:
        return given.spend(given.quoted() or given.tail) if _is_meant(parameter, given) else None
    if quoted := given.quoted():
        return given.spend(quoted) if parameter.required or given.tool.deed is Deed.CREATE else None
    if not parameter.required:
        return None
    found = _object_phrase(given) or given.spend(said.after_colon).split("\n")[0]
    # With a pronoun, what follows a preposition is where it goes, and the name is the thing's own.
    return found or (None if said.has_pronoun else _after_preposition(given)) or None


def _is_meant(parameter: Parameter, given: Words) -> bool:
    """Whether a change is one of this field: it is named before the new value, or no other field is.

    Who renames a link gives it a label, though "link" means an address as well: to rename is about names alone.
    """
    texts = [one for one in given.tool.parameters if not one.is_reference and one.type == "string"]
    others = [one for one in texts if one is not parameter and (names_something(one) or not given.renames)]
    named = [word.folded for word in given.head.words]
    if any(is_like(word, parameter.words[-1]) for word in named):
        return True
    telling = [singular(word) for word in named if word not in SMALL and not given.tool.is_about(word)]
    about = {singular(word) for other in others for word in (*other.words, *words(other.description))}
    return not any(word in about or is_like(word, other.words[-1]) for word in telling for other in others)


def _object_phrase(given: Words) -> str:
    """The name between the verb and the next small word: "add Blog to ...", "create an About page"."""
    found: list[str] = []
    own = [word for word in given.said.words[:1] if word.folded in given.tool.words]
    verb = next(iter(own), None) if given.said.verb is None else given.said.verb
    if verb is None:  # then it may be what the first word says to do, and no name
        return ""
    articles = ARTICLES.get(given.said.language, frozenset())
    nouns = {*given.tool.nouns, *(singular(word) for word in given.tool.words)}
    nouns |= {noun for one in given.tool.parameters if one.is_reference for noun in one.nouns}  # "the page Blog"
    before_colon = RequestText(given.said.text.removesuffix(given.said.after_colon))
    for word in before_colon.unquoted.words:
        named = word.text[:1].isupper() and not found  # "About" is a name here, whatever it is elsewhere
        if word.start <= verb.start or word.folded in articles or word.folded in NEW:
            if found:
                break  # "der Seite Contact eine Galerie" are two things
            continue
        if word.folded in PREPOSITIONS and not named and not _is_before_noun(word, before_colon, nouns):
            break
        if is_about(word, nouns) or (
            word.folded in given.tool.told_nouns and not named
        ):  # a "blog post" has no title yet
            if found:
                break
        elif named or not word.is_small or _is_before_noun(word, before_colon, nouns):
            found.append(word.text)
    return " ".join(found)


def _is_before_noun(word: Word, said: RequestText, nouns: Collection[str]) -> bool:
    """Whether the very next word is what the tool makes: "about" in "create about page"."""
    after = next((one for one in said.unquoted.words if one.start > word.start), None)
    before = next((one for one in reversed(said.unquoted.words) if one.start < word.start), None)
    return word.folded == "about" and before == said.verb and after is not None and is_about(after, nouns)


def _body(parameter: Parameter, given: Words) -> str | None:
    said = given.said
    if said.saying:
        return given.spend(said.saying)
    if given.tail:
        named = any(is_like(word.folded, parameter.words[-1]) for word in given.head.words)
        return given.spend(given.quoted() or given.tail) if named else None
    if said.after_colon and said.after_colon not in given.spent:
        return given.spend(said.after_colon)
    if quoted := given.quoted():
        return given.spend(quoted) if parameter.required else None
    titled = any(set(one.words) & TITLES and one.required for one in given.tool.parameters)
    if parameter.required and not titled:  # the only place for what the user wants kept
        if kept := _after_own_verb(given):
            return kept
        phrase = _object_phrase(given)
        return phrase if phrase and not given.spent & set(phrase.split()) else None
    return None


def _after_own_verb(given: Words) -> str:
    """All that follows the tool's own verb, where that is all there is to it: "remember that I like tea"."""
    verb, tool = given.said.verb, given.tool
    if verb is None or not tool.verb or verb.folded != tool.verb or tool.words[-1] != tool.verb:
        return ""
    if given.spent or any(singular(word.folded) in tool.nouns for word in given.said.telling):
        return ""
    rest = given.said.text[verb.start + len(verb.text) :].strip(END)
    return _THAT.sub("", rest, count=1)


def _other(parameter: Parameter, given: Words) -> str | None:
    """A text of no known kind: quoted, after a preposition, written like a name, or all that is left."""
    if quoted := given.quoted():
        return given.spend(quoted)
    if after := _after_preposition(given):
        return given.spend(after)
    rest = [word for word in given.telling() if word.text not in given.spent]
    names = [word.text for word in rest if word.text[:1].isupper()]
    found = " ".join(names or [word.text for word in rest])
    return given.spend(found) if found else None


def _after_preposition(given: Words) -> str:
    found: list[str] = []
    seen = False
    for word in given.said.unquoted.words:
        if word.folded in PREPOSITIONS:
            if found:
                break
            seen = True
        elif seen and (word.text[:1].isupper() or not word.is_small) and word.text not in given.spent:
            found += [] if is_about(word, given.tool.nouns) else [word.text]
    return " ".join(found)
