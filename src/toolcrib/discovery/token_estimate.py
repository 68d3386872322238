"""About how many tokens a text has, without a vocabulary: what we say when `bpe-openai` is not installed.

The text is cut as o200k cuts it before it merges bytes, and each piece counts what pieces of its kind and length have
on average.
"""

import re

_PIECE = re.compile(
    r"""
    (?:[^\w\r\n]|_)?(?P<plain>[A-Z]*[a-z]+|[A-Z]+)(?![^\W\d_])  # a word, or a part of camelCase, in ASCII
    | (?:[^\w\r\n]|_)?(?P<foreign>[^\W\d_]+)                    # a word with other letters
    | (?P<number>\d{1,3})
    | [ ]?(?P<marks>(?:[^\s\w]|_)+)[\r\n/]*
    | \s+
    """,
    re.VERBOSE,
)
_ACCENTED = re.compile("[À-ɏ]")
_LATIN = re.compile("[A-Za-zÀ-ɏ]")

# Tokens a letter by script, up to the code point given; vocabularies know some scripts better than others.
_SCRIPTS = (
    (0x250, 0.29),  # Latin
    (0x530, 0.28),  # Greek, Cyrillic
    (0x900, 0.37),  # Armenian, Hebrew, Arabic
    (0x1100, 0.33),  # the scripts of India, Thai and their neighbours
    (0x1200, 0.9),
    (0x1F00, 1.0),
    (0x2000, 0.28),  # Vietnamese, old Greek
    (0x3040, 1.0),
    (0x3100, 0.67),  # kana
    (0xA000, 0.78),  # Han
    (0xAC00, 1.0),
    (0xD7B0, 0.54),  # Hangul
)
_RARE = 2.5  # a character beyond them, such as an emoji

_WHOLLY_FOREIGN = 0.06  # share of accented letters from which no word is taken for English; Polish has about as many
_KNOWN_LETTERS = 5  # a word this long is one token in English
_ENGLISH_SLOPE, _FOREIGN_SLOPE = 0.025, 0.22  # tokens a letter more, in an English and in a wholly foreign text
_LONGEST_WORD = 14  # longer ones are no words: keys, hashes


def estimate(text: str) -> int:
    """About how many tokens an o200k model sees in a text."""
    latin = len(_LATIN.findall(text))
    strangeness = min(1.0, len(_ACCENTED.findall(text)) / latin / _WHOLLY_FOREIGN) if latin else 0.0
    slope = _ENGLISH_SLOPE + strangeness * (_FOREIGN_SLOPE - _ENGLISH_SLOPE)
    known = _KNOWN_LETTERS - 2 * strangeness
    return round(sum(_tokens_of(piece, known, slope) for piece in _PIECE.finditer(text)))


def _tokens_of(piece: re.Match[str], known: float, slope: float) -> float:
    kind, text = piece.lastgroup, piece[0]
    if kind == "plain":
        length = len(piece["plain"])
        return max(1.0, length * 0.3) if length > _LONGEST_WORD else 1.02 + max(0.0, length - known) * slope
    if kind == "foreign":
        return max(1.0, sum(map(_tokens_of_letter, piece["foreign"])))
    if kind == "marks":
        length = len(piece["marks"])
        if piece["marks"].isascii():
            return 1.0 if length < 4 else length / 2.8
        return sum(map(_tokens_of_letter, piece["marks"]))
    return 1.0 if text else 0.0


def _tokens_of_letter(letter: str) -> float:
    code = ord(letter)
    return next((tokens for end, tokens in _SCRIPTS if code < end), _RARE)
