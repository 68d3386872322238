"""The lexical arm: which tools share words with the request. BM25 by Tantivy over all parts of a tool at once.

A part's weight is how often its words are counted, as in BM25F. Scoring each part as a field of its own and adding up
the scores was worse on every set: a word in two parts counted twice, and the shortest part decided.
"""

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import log, log1p
from sys import intern
from time import sleep
from typing import NamedTuple, Protocol, TypeAlias, cast

from tantivy import Document, Index, Occur, Query, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from toolcrib.search import kernels
from toolcrib.search.dense import parameter_texts
from toolcrib.search.kernels.plain import leads
from toolcrib.search.text import brands, content_words, is_unspaced, word_terms, words
from toolcrib.search.typos import Vocabulary, corrected, is_one_edit_apart
from toolcrib.tools.tool import Tool

# The terms of a query: what each word matches in this catalog, and how rare it is.

GUESS = 0.6  # the weight of a guess (another ending, a typo) against an exact match
MAX_WORDS = 64  # of a request


class QueryTerm(NamedTuple):
    """One word of a query, the terms it matches, and its rarity. A tuple: each search makes a dozen."""

    word: str
    terms: tuple[str, ...]
    rarity: float  # inverse document frequency
    guessed: bool = False
    meant: str = ""  # the correction, where the word is certainly a typo

    @property
    def weight(self) -> float:
        """What a match of this word counts; less for a guess."""
        return self.rarity * GUESS if self.guessed else self.rarity

    @property
    def known(self) -> bool:
        """Whether any tool contains one of its terms."""
        return bool(self.terms)


def query_words(text: str, frequency: Mapping[str, int]) -> list[str]:
    """The content words of a query, each once; `frequency` holds the terms of the tools."""
    content = list(content_words(text))
    for name, opened in brands(text).items():
        if any(term in frequency for term in word_terms(name)):  # tools are indexed with `github` as one word, too
            content = list(dict.fromkeys([*(word for word in content if word not in opened), name]))
    return content[:MAX_WORDS]


def query_term(word: str, frequency: Mapping[str, int], vocabulary: Vocabulary, *, tools: int) -> QueryTerm:
    """Turns a query word into a term; `frequency` counts the tools that contain each term."""
    own = tuple([term for term in word_terms(word) if term in frequency])
    if own:
        return QueryTerm(word, own, _rarity(own, frequency, tools))
    taken = guess_meaning(word, vocabulary)
    terms = [term for guess in taken.words for term in word_terms(guess)[: None if taken.sure else 1]]
    found = tuple(dict.fromkeys([term for term in terms if term in frequency]))
    rarity = _rarity(found, frequency, tools)
    return QueryTerm(word, found, rarity, bool(found) and not taken.sure, taken.words[0] if taken.sure else "")


class Guess(NamedTuple):
    """What an unknown word was taken for: a few words that it may stand for, or the one that was surely meant."""

    words: Sequence[str]
    sure: bool = False


def guess_meaning(word: str, vocabulary: Vocabulary) -> Guess:
    """The known words that an unknown word may stand for."""
    if is_unspaced(word):  # no character of it is known, so nothing is similar
        return Guess(())
    guesses = vocabulary.guesses(word)
    near = [guess for guess in guesses if is_one_edit_apart(word, guess)]
    if (near or not guesses) and (meant := corrected(word, near)):
        return Guess((meant,), sure=True)
    return Guess(guesses)


def with_typos_fixed(text: str, terms: Iterable[QueryTerm]) -> str:
    """The text with its typos corrected."""
    for term in terms:
        if term.meant:
            text = re.sub(rf"(?<!\w){re.escape(term.word)}(?!\w)", term.meant, text, flags=re.IGNORECASE)
    return text


def guess_strength(term: QueryTerm) -> float:
    """The boost of each term of a word: several guesses share the weight of one."""
    return GUESS / len(term.terms) ** 0.5 if term.guessed else 1.0


def _rarity(found: Sequence[str], frequency: Mapping[str, int], tools: int) -> float:
    most = max([frequency[term] for term in found], default=0)
    return log(1 + (tools - most + 0.5) / (most + 0.5))


# How often a word is counted, by the part of the tool it stands in.
WEIGHTS = {"name": 2, "phrases": 1, "description": 1, "category": 1, "parameters": 1}
HEAP_BYTES = 16_000_000
TIDY_SECONDS = 0.002
READ = 4_096  # query words that are cached

_Read: TypeAlias = tuple[QueryTerm, list[tuple[Occur, Query]]]  # a query word, and its Tantivy queries


class LexicalMatch(NamedTuple):
    """What the lexical arm found: tool ids with their scores, best first, and the terms of the query."""

    tool_ids: tuple[int, ...]
    scores: tuple[float, ...]
    terms: tuple[QueryTerm, ...]

    @property
    def known_share(self) -> float:
        """The share of the query, weighted by rarity, that the catalog has any word for."""
        whole = sum([word.rarity for word in self.terms])
        return sum([word.weight for word in self.terms if word.known]) / whole if whole else 0.0


class LexicalIndex:
    """A BM25 index of tools, by ids that the caller gives."""

    def __init__(self) -> None:
        builder = SchemaBuilder()
        builder.add_integer_field("number", stored=False, indexed=True, fast=True)
        builder.add_text_field("text", stored=False, tokenizer_name="terms", index_option="freq")
        self._schema = builder.build()
        self._index = Index(self._schema)
        # We tokenize: our terms, separated by spaces, are the same for tools and queries.
        self._index.register_tokenizer("terms", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
        self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        self._searcher = self._index.searcher()
        self._vocabulary = Vocabulary()
        self._read: dict[str, _Read] = {}  # query words; cleared at each change
        self._words: dict[int, tuple[str, ...]] = {}  # of each tool, each word once
        self._frequency: dict[str, int] = {}  # document frequency of each term
        self._postings: dict[
            str, array[int]
        ] = {}  # postings of each term, sorted: Tantivy does not say which terms one tool has

    def __len__(self) -> int:
        return len(self._words)

    def add(self, tools: Sequence[tuple[int, Tool]]) -> None:
        """Add tools; searches see them after `commit`."""
        self._read.clear()
        fresh: defaultdict[str, list[int]] = defaultdict(list)  # new postings by term
        for tool_id, tool in tools:
            parts = part_words(tool)
            # Interned: the tools of a catalog share a few thousand words.
            terms = {intern(word): word_terms(word) for word in dict.fromkeys(chain.from_iterable(parts))}
            self._words[tool_id] = tuple(terms)
            for term in set(chain.from_iterable(terms.values())):
                fresh[term].append(tool_id)
            counted = (word for part, weight in zip(parts, WEIGHTS.values(), strict=True) for word in part * weight)
            document = Document()
            document.add_integer("number", tool_id)
            document.add_text("text", " ".join(chain.from_iterable(terms[word] for word in counted)))
            self._writer.add_document(document)
        self._vocabulary.add_all(self._words[tool_id] for tool_id, _ in tools)
        for term, tool_ids in fresh.items():
            self._hold(term, sorted(tool_ids))

    def remove(self, tool_id: int) -> None:
        """Remove a tool; searches stop seeing it after `commit`."""
        self._read.clear()
        self._writer.delete_documents_by_term("number", tool_id)
        own = self._words.pop(tool_id)
        for term in set(chain.from_iterable(map(word_terms, own))):
            self._frequency[term] -= 1
            postings = self._postings[term]
            del postings[bisect_left(postings, tool_id)]
            if not postings:
                del self._frequency[term], self._postings[term]
        self._vocabulary.remove(own)

    def commit(self) -> None:
        """Make additions and removals visible to searches."""
        self._writer.commit()
        # Tantivy cleans up for a moment after a commit; a reload during that waits a tenth of a second.
        sleep(TIDY_SECONDS)
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, text: str, limit: int) -> LexicalMatch:
        """The `limit` tools with the highest BM25 scores for a text."""
        read = [self._remembered(word) for word in query_words(text, self._frequency)]
        terms = tuple([word for word, _ in read])
        parts = list(chain.from_iterable([queries for _, queries in read]))
        # Tantivy allocates memory for the whole limit, and aborts the process when there is not enough.
        limit = min(limit, len(self))
        if not parts or limit <= 0:
            return LexicalMatch(tool_ids=(), scores=(), terms=terms)
        found = self._searcher.search(Query.boolean_query(parts), limit, count=False).hits
        # The field holds whole numbers; its reader is typed for every kind of field.
        tool_ids = self._searcher.fast_field_values("number", [address for _, address in found])
        scores = tuple([score for score, _ in found])
        return LexicalMatch(tool_ids=tuple(cast("list[int]", tool_ids)), scores=scores, terms=terms)

    def read(self, text: str) -> tuple[QueryTerm, ...]:
        """The terms of a query: its content words, unknown ones with the known words they may stand for."""
        return tuple(self._remembered(word)[0] for word in query_words(text, self._frequency))

    def matched(self, tool_ids: Sequence[int], terms: Sequence[QueryTerm]) -> list[list[QueryTerm]]:
        """The terms of a query that each of these tools contains."""
        # A term has no postings when its tools were removed since.
        postings = [[self._postings[term] for term in word.terms if term in self._postings] for word in terms]
        found = kernels.matched_words(list(tool_ids), postings)
        return [[terms[place] for place in places] for places in found]

    def words(self, tool_id: int) -> tuple[str, ...]:
        """The words of a tool, each once."""
        return self._words[tool_id]

    def _hold(self, term: str, tool_ids: Sequence[int]) -> None:
        postings = self._postings.setdefault(term, array("I"))
        in_order = not postings or postings[-1] < tool_ids[0]
        postings.extend(tool_ids)
        if not in_order:  # reused ids of removed tools
            self._postings[term] = array("I", sorted(postings))
        self._frequency[term] = len(postings)

    def _remembered(self, word: str) -> "_Read":
        """Cached: the parts of a query have the words of the whole, and words repeat between queries."""
        read = self._read.get(word)
        if read is None:
            if len(self._read) >= READ:
                self._read.clear()
            term = query_term(word, self._frequency, self._vocabulary, tools=len(self._words))
            read = self._read[word] = (term, [(Occur.Should, query) for query in self._queries(term)])
        return read

    def _queries(self, query_term: QueryTerm) -> list[Query]:
        queries = [Query.term_query(self._schema, "text", term, "freq") for term in query_term.terms]
        if not query_term.guessed:
            return queries
        strength = guess_strength(query_term)
        return [Query.boost_query(query, strength) for query in queries]


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


# Features of the matches, from which the confidence of the lexical arm is computed.

NEARLY = 0.7  # of the best lexical score


class LexicalFeatures(NamedTuple):
    """The features of the lexical arm, with the names and in the order of `fusion.FEATURES`."""

    coverage: float
    known: float
    lexical_margin: float
    lexical_lead: float
    length: float
    foreign: float
    size: float
    matched: float
    spelled: float
    ties: float


class WordsOfTools(Protocol):
    """What `lexical_features` needs of a lexical arm."""

    def __len__(self) -> int: ...

    def matched(self, tool_ids: Sequence[int], terms: Sequence[QueryTerm]) -> list[list[QueryTerm]]:
        """The terms of a query that each of these tools contains."""
        ...


def lexical_features(match: LexicalMatch, lexical_index: WordsOfTools) -> LexicalFeatures:
    """The features from which the confidence of the lexical arm is computed."""
    # The lists are short, and this runs several times a search: plain Python is faster than arrays.
    best_score = match.scores[0] if match.scores else 1.0
    terms = match.terms
    best = lexical_index.matched(match.tool_ids[:3], terms)
    matched = best[0] if best else []
    whole = sum([word.rarity for word in terms]) or 1.0
    nearly = NEARLY * best_score
    return LexicalFeatures(
        max([sum([word.weight for word in shared]) for shared in best], default=0.0) / whole,
        match.known_share,
        *leads(match.scores, best_score),
        log1p(len(terms)) / 3,
        sum([not word.word.isascii() for word in terms]) / max(1, len(terms)),
        log1p(len(lexical_index)) / 10,
        min(len(matched), 4) / 4,
        sum([not word.guessed for word in matched]) / max(1, len(matched)),
        len([score for score in match.scores if score > nearly]) / 10,
    )
