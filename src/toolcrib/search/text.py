"""Normalization and tokenization, the same for tools and queries, in every script.

`getWeatherByCity`, `get_weather_by_city` and `GET /weather/{city}` give the same words. Scripts that put no space
between words (Chinese, Japanese, Thai, ...) give *runs*, which each arm splits in its own way; Korean has spaces, but
its particles are attached to the nouns, so it is treated the same. A request for several things is split here, too.
"""

import re
import unicodedata
from functools import cache, lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

# English request words that say nothing about the tool. Other languages' are rare in tool texts, so they match nothing.
_STOP_WORDS = """
    a an and any are as at be been but by can could did do does for from give had has have help how i if in into
    is it its let like make me my need of on or our please should so some tell that the their them then there these
    they this to us want was we were what when where which who will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


# Longer texts say nothing more about what is wanted, and a request may be anything, also 100 kB of it.
MAX_CHARACTERS = 8_000

# A capital that begins a word within a word. It stands first: looking back at every letter takes three times as long.
_ASCII_CAMEL = re.compile(r"[A-Z](?:(?<=[a-z][A-Z])|(?=[a-z])(?<=[A-Z0-9][A-Z]))")
_OPENED = r" \g<0>"
_ASCII_WORD = re.compile(r"[a-z0-9]+")
# `\w` leaves out vowel signs and other marks, which would cut Hindi, Thai and pointed Arabic words to pieces.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0971-\u0a75\u0a81-\u0b77\u0b80-\u0df3"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"
)
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_RUN = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
_BRAND = re.compile(r"\b[A-Z][a-z]+(?:[A-Z]+[a-z]*)+\b")
# Written with a hyphen or without: e-mail, Wi-Fi, check-in, follow-up.
_HYPHEN = re.compile(r"\b(?:[A-Za-z]{1,2}-[A-Za-z]{2,}|[A-Za-z]{3,}-(?:in|out|up|off|down))\b(?!-)")
# "the client's" is about the client, and "isn't" about nothing.
_CLITIC = re.compile(r"\b[a-z]+n['’]t\b|(?<=[a-z])['’](?:s|ll|re|ve|d|m)\b", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z0-9]*")
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670\u0640]")
# Letters that no decomposition turns into their plain form.
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"})
_NOISE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u0640]")


def words(text: str) -> list[str]:
    """The words of a text, case folded, accents kept; a run of an unspaced script is one word."""
    return list(_tokenize(text[:MAX_CHARACTERS]))


@lru_cache(maxsize=256)  # one search reads its request half a dozen times
def _tokenize(text: str) -> tuple[str, ...]:
    folded = normalise(text)
    if folded.isascii():
        return tuple(_ASCII_WORD.findall(folded))
    return tuple(part for word in _WORD.findall(folded) for part in _split_runs(word))


def normalise(text: str) -> str:
    """One spelling for one text: compatible forms joined, camelCase opened, case folded."""
    text = text[:MAX_CHARACTERS]
    if text.isascii():
        # Most tools and many requests; the same as below, several times as fast.
        return text if text.islower() else _ASCII_CAMEL.sub(_OPENED, text).lower()
    text = _NOISE.sub("", unicodedata.normalize("NFKC", text))
    opened = _camel().sub(_OPENED, text)
    if opened.isascii():
        return opened.lower()
    # Case folding `İ` leaves a dot behind, and other letters decompose: compose again.
    return unicodedata.normalize("NFC", opened.casefold()).replace("i\u0307", "i")


@cache  # late: compiling it takes as long as fifty searches, and English alone never needs it
def _camel() -> re.Pattern[str]:
    """`_ASCII_CAMEL` for Latin, Greek and Cyrillic, the scripts that have two cases and are used in names."""
    letters = [chr(code) for code in range(0x41, 0x530)]
    small = "".join(letter for letter in letters if letter.islower())
    large = "".join(letter for letter in letters if letter.isupper())
    return re.compile(f"[{large}](?:(?<=[{small}][{large}])|(?=[{small}])(?<=[{large}\\d][{large}]))")


def plain(word: str) -> str:
    """The word without accents and vowel points, as people type it in a hurry."""
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_PLAIN)
    return unicodedata.normalize("NFC", bare)


def brands(text: str) -> dict[str, tuple[str, ...]]:
    """Names such as `GitHub` and words such as `e-mail`, joined as some write them, with the words they consist of."""
    text = text[:MAX_CHARACTERS]
    found = _BRAND.findall(text)
    if "-" in text:
        found += _HYPHEN.findall(text)
    return {name.replace("-", "").lower(): _tokenize(name) for name in found}


def is_identifier(token: str) -> bool:
    """Whether a token is spelled as names of code are: `git_log`, `getPage`."""
    return _IDENTIFIER.fullmatch(token) is not None


def without_clitics(text: str) -> str:
    """The text without `'s` and its like, which are no words."""
    return _CLITIC.sub(" ", text) if "'" in text or "’" in text else text


def is_unspaced(word: str) -> bool:
    """Whether the word is a run of a script that puts no spaces between words."""
    return not word.isascii() and _RUN.fullmatch(word) is not None


def _split_runs(word: str) -> list[str]:
    if word.isascii() or _RUN.search(word) is None:
        return [word]
    return [part for part in re.split(f"({_RUN.pattern})", word) if part]


# From words to the terms of the lexical arm: stems, also without accents; pairs of characters for unspaced scripts.

MAX_LETTERS = 64  # no word of any language is longer
# One stemmer for every language written in words: it takes off what English adds and leaves the rest nearly alone.
_STEMMER: TextAnalyzer = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer("english")).build()


def content_words(text: str) -> tuple[str, ...]:
    """The different words of a request that can point at a tool, in order: "how are you?" has none."""
    return _content_words(text[:MAX_CHARACTERS])


@lru_cache(maxsize=256)  # one search asks for those of its request, and of each part, half a dozen times
def _content_words(text: str) -> tuple[str, ...]:
    return tuple([word for word in dict.fromkeys(words(text)) if word not in STOP_WORDS])


def word_terms(word: str) -> tuple[str, ...]:
    """The terms of one word; the first is its own, the others are weaker."""
    # Runs are whole sentences: they seldom come again, and thousands of terms would be kept for each.
    return _run_terms(word) if is_unspaced(word) else _spelled_terms(word[:MAX_LETTERS])


def _run_terms(run: str) -> tuple[str, ...]:
    pairs = tuple(run[start : start + 2] for start in range(len(run) - 1))
    return (*pairs, *run) if pairs else (run,)


@lru_cache(maxsize=65_536)
def _spelled_terms(word: str) -> tuple[str, ...]:
    stem = _stem(word)
    bare = plain(word)
    # A stray accent is a word without a plain form.
    return (stem,) if bare in (word, "") else (stem, _stem(bare))


def _stem(word: str) -> str:
    found = _STEMMER.analyze(word)
    return found[0] if found else word


# A request for several things is split by rules: "create a page and add a mountain photo" wants two tools.

MAX_PARTS = 6
MIN_WORDS = 2  # content words of a part; with fewer it is near everything

# A dot after a single letter or a title ends no sentence: "at 10 a.m. with Dr. Smith".
SENTENCES = re.compile(
    r"(?<=[.!?…])(?<!\b[^\W\d]\.)(?<!\b(?:Dr|Mr|Ms|St|Nr|vs)\.)(?<!\bMrs\.)\s+|[;\n\r]+\s*|[。！？；]+\s*"
)
# Words that join one errand to the next, in the languages that have a short unmistakable one. What nearly all of them
# begin with stands once, in front: four times as fast as trying every joint behind every space.
# "And the check-out date to May 5", "and 2 rooms" go on with an errand; "and a photo" brings up something new. So in
# English alone: where the verb may stand last, "und die Bilder hochladen" is an errand. Chinese `并` and `另外` stand
# within other words, too: `合并` is to merge, `另外一个` another one.
JOINTS = re.compile(
    r"""
      ,?\s+(?:
          (?: and\s++(?!\d|(?:the|my|your|his|its|our|their|this|that|these|those|it|which|who|whose)\b)
            | (?:then|also|plus|afterwards|finally|additionally)\s+
          )(?:then\s+|also\s+)?
        | (?:und|sowie|danach|anschließend)\s+(?:dann\s+)? | (?:a\s+)?(?:oraz|potem|następnie)\s+ | (?-i:i)\s+(?=\w{4})
        | (?:y|luego|además)\s+(?=\w{3}) | (?:et|puis|ensuite)\s+ | (?:poi|inoltre|e)\s+(?=\w{3}) | (?:depois|também)\s+
        | (?:en\s+)?(?:daarna|vervolgens)\s+ | (?:ve|sonra|ayrıca)\s+ | (?:и|затем|потом|та|і|потім)\s+
        | (?:och|og|sedan|derefter|deretter)\s+ | (?:ja|sitten)\s+ | (?:és|majd|aztán)\s+
        | (?:a\s+potom|pak|și|apoi|και|μετά|dan|lalu|và|sau\s+đó)\s+ | (?:ثم|و)\s+ | (?:और|फिर)\s+
      )
    | ,\s+as\s+well\s+as\s+
    | [，、]?(?:然后|并且|(?<![合一兼])并(?![不非没无行])|以及|接着|另外(?![一两几])|そして|それから|および
        |그리고|그런\ 다음|แล้ว|และ)[，、]?\s*
    """,
    re.IGNORECASE | re.VERBOSE,
)


def split_request(text: str) -> list[str]:
    """The parts of a query, in order; empty when it asks for one thing."""
    if len([word for word in words(text) if word not in STOP_WORDS]) < 2 * MIN_WORDS and not _is_dense(text):
        return []
    sentences = [piece for piece in SENTENCES.split(text[:4_000]) if piece.strip()]
    found: list[str] = []
    for sentence in sentences:
        found.extend(_split(sentence))
    if len(found) < 2:
        return []
    substantial = [piece for piece in found if len(content_words(piece)) >= MIN_WORDS or _is_dense(piece)]
    return substantial[:MAX_PARTS] if len(substantial) > 1 else []


def _split(sentence: str) -> list[str]:
    """Split at conjunctions, but only where both sides can stand alone: "search and replace" stays one."""
    kept: list[str] = []
    for piece in (piece.strip() for piece in JOINTS.split(sentence)):
        if kept and (_is_short(piece) or _is_short(kept[-1])):
            kept[-1] = f"{kept[-1]} {piece}"
        elif piece:
            kept.append(piece)
    return kept


def _is_short(piece: str) -> bool:
    return len(content_words(piece)) < MIN_WORDS and not _is_dense(piece)


def _is_dense(piece: str) -> bool:
    """Whether a piece of an unspaced script is long enough: four characters of Chinese are two words."""
    return any(len(word) >= 4 and is_unspaced(word) for word in words(piece))
