"""How the words of a request are understood: what each stands for in this catalogue, and how telling it is."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

from toolcrib.search.slips import one_slip_apart
from toolcrib.search.spelling import mended
from toolcrib.search.terms import content_words, word_terms
from toolcrib.search.text import brands, is_run
from toolcrib.search.vocabulary import Vocabulary

GUESS = 0.6  # a word that was only guessed (another ending, a typo) counts that much
MAX_WORDS = 64  # of a request


class AskedWord(NamedTuple):
    """One word of a request: the terms it stands for and how rare it is. A tuple: each search makes a dozen."""

    word: str
    terms: tuple[str, ...]
    rarity: float  # inverse document frequency
    guessed: bool = False
    meant: str = ""  # the word it was surely meant to be, where fingers slipped

    @property
    def weight(self) -> float:
        """What it is worth to have it: a guess may be wrong."""
        return self.rarity * GUESS if self.guessed else self.rarity

    @property
    def known(self) -> bool:
        """Whether any tool has it, or a word it may stand for."""
        return bool(self.terms)


def spoken_words(text: str, frequency: Mapping[str, int]) -> list[str]:
    """The telling words of a request, each once; `frequency` knows the terms of the tools."""
    spoken = list(content_words(text))
    for name, opened in brands(text).items():
        if any(term in frequency for term in word_terms(name)):  # tools know `GitHub` by its one word, too
            spoken = list(dict.fromkeys([*(word for word in spoken if word not in opened), name]))
    return spoken[:MAX_WORDS]


def asked_word(word: str, frequency: Mapping[str, int], vocabulary: Vocabulary, *, tools: int) -> AskedWord:
    """How a word of a request is understood where terms stand in so many of the tools, by `frequency`."""
    own = tuple([term for term in word_terms(word) if term in frequency])
    if own:
        return AskedWord(word, own, _rarity(own, frequency, tools))
    taken = taken_for(word, vocabulary)
    terms = [term for guess in taken.words for term in word_terms(guess)[: None if taken.sure else 1]]
    found = tuple(dict.fromkeys([term for term in terms if term in frequency]))
    rarity = _rarity(found, frequency, tools)
    return AskedWord(word, found, rarity, bool(found) and not taken.sure, taken.words[0] if taken.sure else "")


class Taken(NamedTuple):
    """What an unknown word was taken for: a few words that it may stand for, or the one that was surely meant."""

    words: Sequence[str]
    sure: bool = False


def taken_for(word: str, vocabulary: Vocabulary) -> Taken:
    """What a word that no tool has may stand for."""
    if is_run(word):  # one of which no single character is known resembles nothing
        return Taken(())
    guesses = vocabulary.guesses(word)
    near = [guess for guess in guesses if one_slip_apart(word, guess)]
    if (near or not guesses) and (meant := mended(word, near)):
        return Taken((meant,), sure=True)
    return Taken(guesses)


def as_meant(text: str, asked: Iterable[AskedWord]) -> str:
    """The text with its slips of the fingers mended."""
    for word in asked:
        if word.meant:
            text = re.sub(rf"(?<!\w){re.escape(word.word)}(?!\w)", word.meant, text, flags=re.IGNORECASE)
    return text


def guess_strength(asked: AskedWord) -> float:
    """What each term of a word counts: several guesses share what one is worth."""
    return GUESS / len(asked.terms) ** 0.5 if asked.guessed else 1.0


def _rarity(found: Sequence[str], frequency: Mapping[str, int], tools: int) -> float:
    most = max([frequency[term] for term in found], default=0)
    return log(1 + (tools - most + 0.5) / (most + 0.5))
