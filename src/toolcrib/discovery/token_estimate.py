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
    | \s*[\r\n]+
    | \s+
    """,
    re.VERBOSE,
)
_LATIN = re.compile("[A-Za-zÀ-ɏ]")
# Vocabularies know languages that write only these (Spanish, French, Portuguese) far better than those with others.
_MILD_ACCENTS = re.compile("[áàâãéèêíîóôõúûñçÁÀÂÃÉÈÊÍÎÓÔÕÚÛÑÇ]")
_STRONG_ACCENTS = re.compile("[À-ɏ](?<![áàâãéèêíîóôõúûñçÁÀÂÃÉÈÊÍÎÓÔÕÚÛÑÇ])")

# Tokens a letter by script, up to the code point given.
_SCRIPTS = (
    (0x400, 0.42),  # Greek
    (0x530, 0.30),  # Cyrillic: 0.27 in Russian, 0.37 in Ukrainian
    (0x600, 0.46),  # Armenian, Hebrew
    (0x900, 0.37),  # Arabic
    (0x1100, 0.33),  # the scripts of India, Thai and their neighbours
    (0x1E00, 1.0),
    (0x2000, 0.39),  # Vietnamese, old Greek
    (0x3040, 1.0),
    (0x3100, 0.68),  # kana
    (0xA000, 0.79),  # Han: 0.76 in simplified, 0.99 in traditional letters
    (0xAC00, 1.0),
    (0xD7B0, 0.70),  # Hangul
)
_END_OF_LATIN = 0x250
_RARE = 2.5  # a character beyond them, such as an emoji

_WHOLLY_FOREIGN = 0.035  # share of accents from which no word is taken for English
_MILD = 0.3
_KNOWN_LETTERS = 3  # a word this long is one token
_ENGLISH_SLOPE, _FOREIGN_SLOPE = 0.014, 0.27  # tokens for each letter more
_ACCENTED_LETTER, _FOREIGN_LETTER = 0.18, 0.375  # tokens a letter in words with accents
_LONGEST_WORD = 14  # longer ones are no words: keys, hashes


def estimate(text: str) -> int:
    """About how many tokens an o200k model sees in a text."""
    strange = _strangeness(text)
    slope = _ENGLISH_SLOPE + strange * (_FOREIGN_SLOPE - _ENGLISH_SLOPE)
    accented = _ACCENTED_LETTER + strange * (_FOREIGN_LETTER - _ACCENTED_LETTER)
    return round(sum(_tokens_of(piece, slope, accented) for piece in _PIECE.finditer(text)))


def _strangeness(text: str) -> float:
    """How far the Latin letters of a text are from English, 0 to 1, judged by their accents."""
    latin = len(_LATIN.findall(text))
    if not latin:
        return 0.0
    accents = len(_STRONG_ACCENTS.findall(text)) + _MILD * len(_MILD_ACCENTS.findall(text))
    return min(1.0, accents / latin / _WHOLLY_FOREIGN)


def _tokens_of(piece: re.Match[str], slope: float, accented: float) -> float:
    if word := piece["plain"]:
        length = len(word)
        return length * 0.3 if length > _LONGEST_WORD else 1.01 + max(0, length - _KNOWN_LETTERS) * slope
    if word := piece["foreign"]:
        return max(1.0, sum(_tokens_of_letter(letter, accented) for letter in word))
    if marks := piece["marks"]:
        if not marks.isascii():
            return sum(_tokens_of_letter(mark, 1.0) for mark in marks)
        return 1.0 if len(marks) < 4 else len(marks) / 2.8
    return 1.0  # up to three digits, or white space


def _tokens_of_letter(letter: str, latin: float) -> float:
    code = ord(letter)
    if code < _END_OF_LATIN:
        return latin
    return next((tokens for end, tokens in _SCRIPTS if code < end), _RARE)
