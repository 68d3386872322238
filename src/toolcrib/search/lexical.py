"""The lexical arm: which tools share words with the request. BM25 by Tantivy over all parts of a tool at once.

A part's weight is how often its words are counted, as in BM25F. Scoring each part as a field of its own and adding up
the scores was worse on every set: a word in two parts counted twice, and the shortest part decided.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import log
from sys import intern
from time import sleep
from typing import cast

from tantivy import (
    Document,
    Index,
    Occur,
    Query,
    SchemaBuilder,
    TextAnalyzerBuilder,
    Tokenizer,
)

from toolcrib.search.passages import parameter_texts
from toolcrib.search.terms import content_words, word_terms
from toolcrib.search.text import brands, is_run, words
from toolcrib.search.vocabulary import Vocabulary
from toolcrib.tools.tool import Tool

# How often a word counts by where it stands.
WEIGHTS = {"name": 2, "phrases": 1, "description": 1, "category": 1, "parameters": 1}
GUESS = 0.6  # a word that was only guessed (another ending, a typo) counts that much
HEAP_BYTES = 16_000_000
TIDY_SECONDS = 0.002
READ = 4_096  # words of requests that are kept at hand
MAX_WORDS = 64  # of a request
RECENT = 2_048  # tools whose terms are kept at hand


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWord:
    """One word of a request: the terms it stands for and how rare it is."""

    word: str
    terms: tuple[str, ...]
    rarity: float  # inverse document frequency
    known: bool
    guessed: bool = False
    queries: tuple[tuple[Occur, Query], ...] = field(default=(), compare=False, repr=False)

    @property
    def weight(self) -> float:
        """What it is worth to have it: a guess may be wrong."""
        return self.rarity * GUESS if self.guessed else self.rarity


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalMatch:
    """What the lexical arm found: tool numbers with their scores, best first, and how it read the request."""

    numbers: tuple[int, ...]
    scores: tuple[float, ...]
    asked: tuple[AskedWord, ...]

    @property
    def known_share(self) -> float:
        """How much of the request, by rarity, the catalogue has any word for."""
        whole = sum(word.rarity for word in self.asked)
        return sum(word.weight for word in self.asked if word.known) / whole if whole else 0.0


class LexicalIndex:
    """Follows a catalogue tool by tool; tools are numbers here, given by the caller."""

    def __init__(self) -> None:
        builder = SchemaBuilder()
        builder.add_integer_field("number", stored=False, indexed=True, fast=True)
        builder.add_text_field("text", stored=False, tokenizer_name="terms", index_option="freq")
        self._schema = builder.build()
        self._index = Index(self._schema)
        # Our own terms, kept apart by spaces: one way of reading for tools and requests.
        self._index.register_tokenizer("terms", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
        self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        self._searcher = self._index.searcher()
        self._vocabulary = Vocabulary()
        self._read: dict[str, AskedWord] = {}  # words of requests, as read since the last change
        self._words: dict[int, tuple[str, ...]] = {}  # of each tool, each word once
        self._recent: dict[int, frozenset[str]] = {}  # the terms of tools that were looked at lately
        self._frequency: dict[str, int] = {}  # in how many tools a term stands

    def __len__(self) -> int:
        return len(self._words)

    def add(self, tools: Sequence[tuple[int, Tool]]) -> None:
        """Hold more tools; seen by searches after `commit`."""
        self._read.clear()
        for number, tool in tools:
            parts = part_words(tool)
            # Interned: a catalogue says the same few thousand words over and over.
            terms = {intern(word): word_terms(word) for part in parts for word in part}
            self._words[number] = tuple(terms)
            for term in set(chain.from_iterable(terms.values())):
                self._frequency[term] = self._frequency.get(term, 0) + 1
            counted = (word for part, weight in zip(parts, WEIGHTS.values(), strict=True) for word in part * weight)
            document = Document()
            document.add_integer("number", number)
            document.add_text("text", " ".join(chain.from_iterable(terms[word] for word in counted)))
            self._writer.add_document(document)
        self._vocabulary.add_all(self._words[number] for number, _ in tools)

    def remove(self, number: int) -> None:
        """Forget a tool; searches stop seeing it after `commit`."""
        self._read.clear()
        self._writer.delete_documents_by_term("number", number)
        for term in self._terms(number):
            self._frequency[term] -= 1
            if not self._frequency[term]:
                del self._frequency[term]
        self._vocabulary.remove(self._words.pop(number))
        self._recent.pop(number, None)

    def commit(self) -> None:
        """Show what was added and removed to the searches that follow."""
        self._writer.commit()
        # Tantivy tidies up behind a commit for a moment; a reload that meets it waits a tenth of a second.
        sleep(TIDY_SECONDS)
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, text: str, limit: int) -> LexicalMatch:
        """The `limit` tools that share the most telling words with the text."""
        asked = self.read(text)
        parts = list(chain.from_iterable(word.queries for word in asked))
        # Tantivy sets memory aside for the whole limit, and ends the process where there is not enough.
        limit = min(limit, len(self))
        if not parts or limit <= 0:
            return LexicalMatch(numbers=(), scores=(), asked=asked)
        found = self._searcher.search(Query.boolean_query(parts), limit, count=False).hits
        # The field holds whole numbers; its reader is typed for every kind of field.
        numbers = self._searcher.fast_field_values("number", [address for _, address in found])
        return LexicalMatch(
            numbers=tuple(cast("list[int]", numbers)), scores=tuple(score for score, _ in found), asked=asked
        )

    def read(self, text: str) -> tuple[AskedWord, ...]:
        """How the request is understood: its telling words, unknown ones replaced by what they may stand for."""
        return tuple(self._remembered(word) for word in spoken_words(text, self._frequency))

    def matched(self, number: int, asked: Iterable[AskedWord]) -> list[AskedWord]:
        """The words of a request that a tool's texts contain."""
        held = self._recent.get(number)
        if held is None:
            if len(self._recent) >= RECENT:
                self._recent.clear()
            held = self._recent[number] = self._terms(number)
        return [word for word in asked if word.known and not held.isdisjoint(word.terms)]

    def _terms(self, number: int) -> frozenset[str]:
        return frozenset(term for word in self._words[number] for term in word_terms(word))

    def _remembered(self, word: str) -> AskedWord:
        """The parts of a request have the words of the whole, and people ask for the same things."""
        asked = self._read.get(word)
        if asked is None:
            if len(self._read) >= READ:
                self._read.clear()
            read = asked_word(word, self._frequency, self._vocabulary, tools=len(self._words))
            asked = self._read[word] = replace(read, queries=tuple(self._queries(read)))
        return asked

    def _queries(self, asked: AskedWord) -> Iterable[tuple[Occur, Query]]:
        strength = guess_strength(asked)
        for term in asked.terms:
            query = Query.term_query(self._schema, "text", term, "freq")
            yield Occur.Should, Query.boost_query(query, strength) if asked.guessed else query


def spoken_words(text: str, frequency: Mapping[str, int]) -> list[str]:
    """The telling words of a request, each once; `frequency` knows the terms of the tools."""
    spoken = content_words(text)
    for name, opened in brands(text).items():
        if any(term in frequency for term in word_terms(name)):  # tools know `GitHub` by its one word, too
            spoken = [*(word for word in spoken if word not in opened), name]
    return list(dict.fromkeys(spoken[:MAX_WORDS]))


def asked_word(word: str, frequency: Mapping[str, int], vocabulary: Vocabulary, *, tools: int) -> AskedWord:
    """How a word of a request is understood where terms stand in so many of the tools, by `frequency`."""
    own = tuple(term for term in word_terms(word) if term in frequency)
    if own:
        return AskedWord(word=word, terms=own, rarity=_rarity(own, frequency, tools), known=True)
    # A run of which no single character is known resembles nothing.
    guesses = [] if is_run(word) else vocabulary.guesses(word)
    found = tuple(dict.fromkeys(term for guess in guesses for term in word_terms(guess)[:1] if term in frequency))
    rarity = _rarity(found, frequency, tools)
    return AskedWord(word=word, terms=found, rarity=rarity, known=bool(found), guessed=bool(found))


def _rarity(found: Sequence[str], frequency: Mapping[str, int], tools: int) -> float:
    most = max((frequency[term] for term in found), default=0)
    return log(1 + (tools - most + 0.5) / (most + 0.5))


def guess_strength(asked: AskedWord) -> float:
    """What each term of a word counts: several guesses share what one is worth."""
    return GUESS / len(asked.terms) ** 0.5 if asked.guessed else 1.0


def part_words(tool: Tool) -> list[list[str]]:
    """The words of each part of a tool, in the order of `WEIGHTS`."""
    return [[*words(text), *brands(text)] for text in part_texts(tool).values()]


def part_texts(tool: Tool) -> dict[str, str]:
    """The tool's texts by part, in the order of `WEIGHTS`."""
    return {
        "name": tool.name,
        "phrases": " ".join(tool.phrases),
        "description": tool.description,
        "category": tool.category,
        "parameters": " ".join(parameter_texts(tool.parameters)),
    }
