"""HOW people really type: the same request without accents, with slips, shouted, or half in English. Deterministic."""

import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.data import Query

LETTERS_TO_SLIP = 4  # shorter words are rarely mistyped, and too little of them would be left


def no_diacritics(query: Query) -> str:
    """As typed on a keyboard without accents: 'znajdź zdjęcie' becomes 'znajdz zdjecie'."""
    special = query.text.translate(str.maketrans("łŁøØđĐıß", "lLoOdDis"))
    plain = (c for c in unicodedata.normalize("NFD", special) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", "".join(plain))


def typos(query: Query) -> str:
    """One slip in every second longer word, from the first on: two letters swapped, or one left out."""
    dice = random.Random(query.text)
    words = re.split(r"(\s+)", query.text)
    longer = [place for place, word in enumerate(words) if len(word) > LETTERS_TO_SLIP]
    for place in longer[::2]:
        words[place] = slip(words[place], dice)
    return "".join(words)


def slip(word: str, dice: random.Random) -> str:
    place = dice.randrange(1, len(word) - 2)
    if dice.random() < 0.5:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word[:place] + word[place + 1 :]


def caps(query: Query) -> str:
    """ALL CAPS."""
    return query.text.upper()


def mixed(query: Query) -> str:
    """The first half as it is, the second half in English, where the set has the English."""
    words, english = query.text.split(), query.english.split()
    return " ".join(words[: (len(words) + 1) // 2] + english[len(english) // 2 :]) if english else query.text


DAMAGE: Mapping[str, Callable[[Query], str]] = {
    "as written": lambda query: query.text,
    "no diacritics": no_diacritics,
    "typos": typos,
    "ALL CAPS": caps,
    "half in English": mixed,
}


def damaged(query: Query, kind: str) -> Query:
    """The same request, typed that way."""
    return replace(query, text=DAMAGE[kind](query))
