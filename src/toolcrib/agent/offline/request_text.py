"""What a request says, read by rules: quoted words, numbers, addresses, names after "called", words that tell."""

import re
from dataclasses import dataclass
from functools import cached_property

from toolcrib.agent.offline.meaning import deed_of
from toolcrib.agent.offline.vocabulary import ENCLITIC, GREETING_WORDS, NAMING, PRONOUNS, SAYING, SMALL, TELLTALE
from toolcrib.search.text import is_unspaced, normalise, words

MOST_CHARACTERS = 4_000  # of a request that are read; more says nothing new

QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^”“\"]+)[”“\"]|«\s*([^»]+?)\s*»|‹([^›]+)›|「([^」]+)」|『([^』]+)』|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)|(?<!\w)‘([^’]+)’(?!\w)"
)
_URL = re.compile(r"\bhttps?://[^\s<>\"'»”]+[^\s<>\"'»”.,;:!?)]", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"(?<![\w.,/:-])-?\d+(?:[.,]\d+)?(?![\w/:-]|[.,]\d)")
_WORD = re.compile(r"[^\s\"“”„«»‹›「」『』`()\[\]{}]+")
_EDGES = ".,;:!?…。！？、，‘’'"
_IDENTIFIER = re.compile(r"(?=.*[A-Za-z])(?:\w+_[\w-]+|[\w-]*\d[\w-]*|[\w-]+\.[A-Za-z]\w{1,4}|/?[\w.-]+(?:/[\w.-]+)+)")
_ELISION = re.compile(r"(?i)^(?:l|d|qu|j|n|m|s|c|t|un|dell|nell|all|sull)['’](?=\w)")
_POSSESSIVE = re.compile(r"['’]s?$")
_STOP = re.compile(
    r"[,;.!?\n]|\s(?:and|und|oraz|i|y|et|e|en|with|mit|z|con|avec|in|on|to|for|auf|für|na|do|w|dla|en)\s"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the request as written, and folded for comparing."""

    text: str
    folded: str
    start: int

    @property
    def is_small(self) -> bool:
        """Whether it names nothing."""
        return self.folded in SMALL or not self.folded


@dataclass(frozen=True)
class RequestText:
    """The text of a request, or of a part of one."""

    text: str

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Every word in order; those inside quotes too."""
        found: list[Word] = []
        for match in _WORD.finditer(self.text[:MOST_CHARACTERS]):
            bare = match[0].strip(_EDGES)
            bare = _POSSESSIVE.sub("", _ELISION.sub("", bare))
            if bare:
                folded = " ".join(words(bare)) if bare.isascii() else normalise(bare)
                found.append(Word(bare, folded, match.start() + match[0].index(bare[0])))
        return tuple(found)

    @cached_property
    def quoted(self) -> tuple[str, ...]:
        """What stands in quotation marks."""
        found = (next(group for group in match.groups() if group) for match in QUOTED.finditer(self.text))
        return tuple(piece.strip() for piece in found if piece.strip())

    @cached_property
    def unquoted(self) -> "RequestText":
        """The text without what is quoted and without addresses."""
        rest = QUOTED.sub(" ", self.text)
        return RequestText(_EMAIL.sub(" ", _URL.sub(" ", rest)))

    @cached_property
    def query(self) -> str:
        """What a search is asked: quoted text is what the user wants written or named, not what they want done."""
        rest = QUOTED.sub(" ", self.text)
        return " ".join(rest.split()) if sum(not word.is_small for word in RequestText(rest).words) > 1 else self.text

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
        """Numbers in figures that are no part of anything else; a decimal comma is a dot."""
        return tuple(found.replace(",", ".") for found in _NUMBER.findall(self.unquoted.text))

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """Words that look like an id, a file or a path: `img_3`, `logo.png`, `home/hero`."""
        bare = (word.text for word in self.unquoted.words)
        return tuple(word for word in bare if _IDENTIFIER.fullmatch(word) and not is_unspaced(word))

    @cached_property
    def named(self) -> str:
        """What follows "called", "namens", "o nazwie" and the like."""
        return self._after(NAMING)

    @cached_property
    def saying(self) -> str:
        """What follows "saying", "with the text" and the like, to the end."""
        found = SAYING.search(self.text)
        return _unquoted(self.text[found.end() :]) if found else ""

    @cached_property
    def after_colon(self) -> str:
        """What follows the first colon that is no part of an address or a time."""
        found = re.search(r"(?<=\w):\s+(.+)", self.text, re.DOTALL)
        return _unquoted(found[1]) if found else ""

    @cached_property
    def verb(self) -> Word | None:
        """The word that says what to do, if it stands where commands begin: before any other telling word."""
        words = (word for word in self.unquoted.words if word.folded not in GREETING_WORDS)
        first = next((word for word in words if not word.is_small), None)
        return first if first and deed_of(first.folded) else None

    @cached_property
    def telling(self) -> tuple[Word, ...]:
        """The words that name something, without the verb at the beginning."""
        return tuple(word for word in self.unquoted.words if not word.is_small and word.folded != self._verb)

    @cached_property
    def has_pronoun(self) -> bool:
        """Whether it speaks of something without its name: "it", "es", "ją", "bórrala"."""
        folded = [word.folded for word in self.words]
        alone = any(word in PRONOUNS.get(self.language, frozenset()) for word in folded)
        return alone or any(ENCLITIC.fullmatch(word) and deed_of(word[:-2].rstrip("-")) for word in folded)

    @cached_property
    def language(self) -> str:
        """The language its small words are from; English if they do not tell."""
        if written := _by_script(self.text):
            return written
        folded = [word.folded for word in self.words]
        counts = {name: sum(word in telltale for word in folded) for name, telltale in TELLTALE.items()}
        most = max(counts.values())
        best = [name for name, count in counts.items() if count == most]
        if len(best) == 1:
            return best[0]
        # Neighbours share their small words; letters may tell them apart, and else English is understood by most.
        by_letters = _by_letters(self.text)
        return by_letters if by_letters in best or "en" in best else best[0]

    @property
    def _verb(self) -> str:
        """The verb alone; a sentence without spaces begins with one, and is more than that."""
        return self.verb.folded if self.verb and not is_unspaced(self.verb.folded) else ""

    def _after(self, marker: re.Pattern[str]) -> str:
        found = marker.search(self.text)
        if not found:
            return ""
        rest = self.text[found.end() :]
        if quoted := QUOTED.match(rest):
            return next(group for group in quoted.groups() if group).strip()
        return _STOP.split(rest, maxsplit=1)[0].strip(_EDGES + ' "“”„«»')


def _unquoted(text: str) -> str:
    quoted = QUOTED.match(text.strip())
    return next(group for group in quoted.groups() if group).strip() if quoted else text.strip()


_LETTERS = (("pl", "ąęłńśźż"), ("de", "äöüß"), ("pt", "ãõ"), ("es", "ñ¿¡áíóú"), ("fr", "çèêœàùé"))
_KANA, _HAN = re.compile("[\u3040-\u30ff]"), re.compile("[\u4e00-\u9fff]")


def _by_script(text: str) -> str:
    """Japanese and Chinese, which have no spaces and so no small words; a name in them says nothing."""
    found = "ja" if _KANA.search(text) else "zh" if _HAN.search(text) else ""
    foreign = sum(character.isascii() and character.isalpha() for character in text)
    return found if sum(not character.isascii() for character in text) >= foreign else ""


def _by_letters(text: str) -> str:
    folded = text.casefold()
    return next((language for language, letters in _LETTERS if any(letter in folded for letter in letters)), "en")
