"""A request, read by rules: its words and values, its language, and its tasks."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from toolcrib.agent.offline.language import (
    ARTICLES,
    NEW_VALUE,
    PATTERNS,
    PRONOUNS,
    SMALL,
    TELLTALE,
    WORDS,
    Action,
    action_of,
    same_meaning,
)
from toolcrib.search.text import JOINTS, SENTENCES, is_unspaced, normalise, words

MOST_CHARACTERS = 4_000  # of a request that are read; more says nothing new
EDGES = ".,;:!?… \"“”„«»。！？、，‘’'"  # what stands at the edges of a value, and is no part of it
OPENING_QUOTES = tuple("\"“„«‹「『`'‘")

QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^”“\"]+)[”“\"]|«\s*([^»]+?)\s*»|‹([^›]+)›|「([^」]+)」|『([^』]+)』|`([^`]+)`"
    r"|(?<!\w)'([^']+)'(?!\w)|(?<!\w)‘([^’]+)’(?!\w)"
)
_URL = re.compile(r"\bhttps?://[^\s<>\"'»”]+[^\s<>\"'»”.,;:!?)]", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"(?<![\w.,/:-])-?\d+(?:[.,]\d+)?(?![\w/:-]|[.,]\d)")
_WORD = re.compile(r"[^\s\"“”„«»‹›「」『』`()\[\]{}]+")
_IDENTIFIER = re.compile(r"(?=.*[A-Za-z])(?:\w+_[\w-]+|[\w-]*\d[\w-]*|[\w-]+\.[A-Za-z]\w{1,4}|/?[\w.-]+(?:/[\w.-]+)+)")
_AROUND = re.compile(r"(?i)^(?:l|d|qu|j|n|m|s|c|t|un|dell|nell|all|sull)['’](?=\w)|['’]s?$")
_NAMING = re.compile(rf"(?i)\b{PATTERNS['naming']}\b[\s:]*")
NAME = re.compile(rf"(?i)\b{PATTERNS['naming']}\b[^,;.?!]+")
_SAYING = re.compile(rf"(?i)\b{PATTERNS['saying']}\b[\s:]*")
_WITH = re.compile(rf"(?i)\s{PATTERNS['with']}\s")
# In a name without quotes, "with" goes on with the name unless an article or a quote follows: "Lavora con noi".
_A_THING = rf"(?=(?:{'|'.join(sorted(frozenset[str]().union(*ARTICLES.values())))})\s|\S*\s*[\"“„«'‘])"
_WITH_A_THING = re.compile(rf"(?i)\s{PATTERNS['with']}\s{_A_THING}")
AND = re.compile(rf"(?i)\s*,?\s+{PATTERNS['and']}\s+(?:also\s+|then\s+)?|\s*[,，、]\s*")
_NAME_END = re.compile(
    rf"(?i)[,;.!?\n]|\s(?:and|und|oraz|i|y|et|e|en|in|on|to|for|auf|für|na|do|w|dla)\s|\s{PATTERNS['with']}\s{_A_THING}"
)
_ENCLITIC = re.compile(r"(?:\w{3,}(?:ar|er|ir|a|e|i)(?:lo|la|los|las|li|le)|\w+-(?:le|la|les|o|a|os|as|lo))$")
_GERMAN_PARTICLE = re.compile(r"\s+(?:um|ab|an|auf|aus|ein)\W*$")  # of a verb: "benenne es in X um"
UPDATE_VERBS = ("rename", "change", "set", "update", "edit")
_LETTERS = (("pl", "ąęłńśźż"), ("de", "äöüß"), ("pt", "ãõ"), ("es", "ñ¿¡áíóú"), ("fr", "çèêœàùé"))


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written, and folded for comparing."""

    text: str
    folded: str
    start: int

    @property
    def is_small(self) -> bool:
        """Whether it names nothing."""
        return self.folded in SMALL or not self.folded


# "That" before one of these begins a clause, and stands for nothing.
_CLAUSE_STARTS = frozenset(["i", "we", "you", "he", "she", "they", "there", "my", "our", "the", "a", "an"])


@dataclass(frozen=True)
class Request:
    """The text of a request, or of a part of one."""

    text: str

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Every word in order; those inside quotes too."""
        found: list[Word] = []
        for match in _WORD.finditer(self.text[:MOST_CHARACTERS]):
            if bare := _AROUND.sub("", match[0].strip(EDGES)):
                folded = " ".join(words(bare)) if bare.isascii() else normalise(bare)
                found.append(Word(bare, folded, match.start() + match[0].index(bare[0])))
        return tuple(found)

    @cached_property
    def quoted(self) -> tuple[str, ...]:
        """What stands in quotation marks."""
        return tuple(piece for match in QUOTED.finditer(self.text) if (piece := _inside(match)))

    @cached_property
    def unquoted(self) -> "Request":
        """The request without quoted text and addresses, which are payload."""
        return Request(_EMAIL.sub(" ", _URL.sub(" ", QUOTED.sub(" ", self.text))))

    @cached_property
    def query(self) -> str:
        """What a search is asked: without quoted text, unless little else is there."""
        rest = QUOTED.sub(" ", self.text)
        return " ".join(rest.split()) if sum(not word.is_small for word in Request(rest).words) > 1 else self.text

    @cached_property
    def urls(self) -> tuple[str, ...]:
        """Web addresses."""
        return tuple(_URL.findall(self.text))

    @cached_property
    def emails(self) -> tuple[str, ...]:
        """Mail addresses."""
        return tuple(_EMAIL.findall(self.text))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numbers in figures; a decimal comma is a dot."""
        return tuple(found.replace(",", ".") for found in _NUMBER.findall(self.unquoted.text))

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """Words that look like an id, a file or a path: `img_3`, `logo.png`, `home/hero`."""
        bare = (word.text for word in self.unquoted.words)
        return tuple(word for word in bare if _IDENTIFIER.fullmatch(word) and not is_unspaced(word))

    @cached_property
    def name(self) -> str:
        """What follows "called", "namens", "o nazwie" and the like."""
        found = _NAMING.search(self.text)
        rest = self.text[found.end() :] if found else ""
        quote = QUOTED.match(rest)
        return _inside(quote) if quote else _NAME_END.split(rest, maxsplit=1)[0].strip(EDGES)

    @cached_property
    def without_names(self) -> "Request":
        """The request without quoted text, its name, and what says that they follow: "called", "with the text"."""
        rest = self.unquoted.text.replace(self.name, " ", 1) if self.name else self.unquoted.text
        return Request(_SAYING.sub(" ", _NAMING.sub(" ", rest)))

    @cached_property
    def body(self) -> str:
        """What follows "saying", "with the text" and the like, to the end."""
        found = _SAYING.search(self.text)
        return _unwrapped(self.text[found.end() :]) if found else ""

    @cached_property
    def after_colon(self) -> str:
        """What follows the first colon that is no part of an address or a time."""
        found = re.search(r"(?<=\w):\s+(.+)", self.text, re.DOTALL)
        return _unwrapped(found[1]) if found else ""

    @cached_property
    def verb(self) -> Word | None:
        """The word that says what to do, if it stands where commands begin: before any other telling word."""
        spoken = (word for word in self.unquoted.words if word.folded not in WORDS["greetings"])
        first = next((word for word in spoken if not word.is_small), None)
        return first if first and action_of(first.folded) else None

    @cached_property
    def action(self) -> Action | None:
        """What the verb asks for."""
        return action_of(self.verb.folded) if self.verb else None

    @cached_property
    def content(self) -> tuple[Word, ...]:
        """The words that name something, without the verb at the beginning."""
        verb = self.verb.folded if self.verb and not is_unspaced(self.verb.folded) else ""
        return tuple(word for word in self.unquoted.words if not word.is_small and word.folded != verb)

    @cached_property
    def new_value(self) -> str:
        """The new value in "change it to X"."""
        if self.verb is None:
            return ""
        found = list(NEW_VALUE.get(self.language, NEW_VALUE["en"]).finditer(self.text))
        quoted = [match for match in found if self.text[match.end() :][:1] in OPENING_QUOTES]
        if not found:
            return ""
        rest = self.text[(quoted or found)[0].end() :]
        # "Use it on the home page" has no new value; "rename it to Home" has one.
        if rest[:1] not in OPENING_QUOTES and not any(same_meaning(self.verb.folded, one) for one in UPDATE_VERBS):
            return ""
        return (_GERMAN_PARTICLE.sub("", rest) if self.language == "de" else rest).strip(EDGES)

    @cached_property
    def has_pronoun(self) -> bool:
        """Whether it speaks of something without its name: "it", "es", "ją", "bórrala"."""
        folded = [word.folded for word in self.unquoted.words]
        pronouns = PRONOUNS.get(self.language, frozenset())
        alone = any(
            word in pronouns and not (word == "that" and after in _CLAUSE_STARTS)
            for word, after in zip(folded, [*folded[1:], ""], strict=True)
        )
        return alone or any(_ENCLITIC.fullmatch(word) and action_of(word[:-2].rstrip("-")) for word in folded)

    @cached_property
    def language(self) -> str:
        """The language its small words are from; English if they do not tell."""
        if written := _language_by_script(self.text):
            return written
        folded = [word.folded for word in self.words]
        counts = {name: sum(word in telltale for word in folded) for name, telltale in TELLTALE.items()}
        best = [name for name, count in counts.items() if count == max(counts.values())]
        if len(best) == 1:
            return best[0]
        # Neighbours share their small words; letters may tell them apart, and else English is understood by most.
        cased = self.text.casefold()
        by_letters = next((name for name, letters in _LETTERS if any(one in cased for one in letters)), "en")
        return by_letters if by_letters in best or "en" in best else best[0]


def _inside(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group).strip()


def _unwrapped(text: str) -> str:
    quote = QUOTED.match(text.strip())
    return _inside(quote) if quote else text.strip()


def _language_by_script(text: str) -> str:
    """Japanese and Chinese, which have no spaces and so no small words; a name in them says nothing."""
    found = "ja" if re.search("[\u3040-\u30ff]", text) else "zh" if re.search("[\u4e00-\u9fff]", text) else ""
    foreign = sum(character.isascii() and character.isalpha() for character in text)
    return found if sum(not character.isascii() for character in text) >= foreign else ""


# The tasks of a request

MOST_TASKS = 5
_TOOLS = re.compile(rf"(?i)\b{PATTERNS['tools']}\b")
_DESCRIBE = re.compile(rf"(?i){PATTERNS['describe']}")
_TOOL_FOR = re.compile(rf"(?i)\b{PATTERNS['tools']}\b,?\s*{PATTERNS['tool_for']}")


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do, in the user's words; `extras` are things that what is created should come with."""

    request: Request
    extras: tuple[str, ...] = ()
    is_extra: bool = False  # the command is ours: "add" and the user's words

    @property
    def text(self) -> str:
        """Its words."""
        return self.request.text

    @property
    def action(self) -> Action | None:
        """What it asks for."""
        return self.request.action or (Action.CREATE if self.is_extra else None)


def split_tasks(text: str) -> list[Task]:
    """What a request asks for, in order: a part without a verb of its own belongs to the one before."""
    quotes: list[str] = []

    def mask(found: re.Match[str]) -> str:  # a quote is never taken apart
        quotes.append(found[0])
        return f"quote{len(quotes) - 1}"

    masked = QUOTED.sub(mask, text)
    found = sorted(chain(JOINTS.finditer(masked), SENTENCES.finditer(masked)), key=lambda match: match.start())
    starts = [0, *(match.end() for match in found)]
    ends = [*(match.start() for match in found), len(masked)]
    spans: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if spans and (not Request(masked[start:end]).verb or not Request(masked[slice(*spans[-1])]).verb):
            start = spans.pop()[0]
        if masked[start:end].strip():
            spans.append((start, end))
    parts = [
        re.sub(r"quote(\d+)", lambda one: quotes[int(one[1])] if int(one[1]) < len(quotes) else one[0], masked[a:b])
        for a, b in spans
    ]
    return [_with_extras(part.strip(" ,;")) for part in parts or [text]][:MOST_TASKS]


def extra_task(extra: str) -> Task:
    """The task of adding what something comes with."""
    request = Request(extra)
    if request.verb is not None and request.verb.start == 0:
        return Task(request)
    return Task(Request(f"add {extra}"), is_extra=True)


def _with_extras(part: str) -> Task:
    request = Request(part)
    if request.action is not Action.CREATE:
        return Task(request)
    masked = QUOTED.sub(lambda found: '"' + "x" * (len(found[0]) - 2) + '"', part)  # a quote is never taken apart
    found = (_WITH_A_THING if request.name and not request.quoted else _WITH).search(masked)
    if found is None:
        return Task(request)
    extras = [extra.strip(" .!?") for extra in AND.split(part[found.end() :])]
    return Task(Request(part[: found.start()]), extras=tuple(extra for extra in extras if extra))


def tool_to_describe(text: str) -> str:
    """What a tool should do that the user wants to know of, but not to run; empty if that is not what is asked."""
    if not (_TOOLS.search(text) and _DESCRIBE.search(text)):
        return ""
    found = _TOOL_FOR.search(text)
    return found[1].strip() if found else text
