"""From words to the terms of the lexical arm: stems, also without accents; pairs of characters for unspaced scripts."""

from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from toolcrib.search.fillers import FILLERS
from toolcrib.search.text import MAX_CHARACTERS, is_run, plain, words

MAX_LETTERS = 64  # no word of any language is longer
# One stemmer for every language written in words: it takes off what English adds and leaves the rest nearly alone.
_STEMMER: TextAnalyzer = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer("english")).build()


def content_words(text: str) -> tuple[str, ...]:
    """The different words of a request that can point at a tool, in order: "how are you?" has none."""
    return _content_words(text[:MAX_CHARACTERS])


@lru_cache(maxsize=256)  # one search asks for those of its request, and of each part, half a dozen times
def _content_words(text: str) -> tuple[str, ...]:
    return tuple([word for word in dict.fromkeys(words(text)) if word not in FILLERS])


def word_terms(word: str) -> tuple[str, ...]:
    """The terms of one word; the first is its own, the others are weaker."""
    # Runs are whole sentences: they seldom come again, and thousands of terms would be kept for each.
    return _run_terms(word) if is_run(word) else _spelled_terms(word[:MAX_LETTERS])


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
