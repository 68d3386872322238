"""The lexical arm: which tools share words with the request. BM25 over all parts of a tool at once.

A part's weight is how often its words are counted, as in BM25F. Scoring each part as a field of its own and adding up
the scores was worse on every set: a word in two parts counted twice, and the shortest part decided.

The loop is ours because the same tools must give the same answer whatever was added or removed before. Tantivy counts
removed documents until it merges its segments, and puts equal scores in the order in which documents came.
"""

import re
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import chain
from math import log, log1p
from sys import intern
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolcrib.search import kernels
from toolcrib.search.dense import parameter_texts
from toolcrib.search.kernels.plain import leads
from toolcrib.search.kernels.rows import Floats64, GrowingRows, Places
from toolcrib.search.saved import Arrays, check, check_below, check_blocks, packed, pieces, taken, unpacked
from toolcrib.search.text import brands, content_words, is_unspaced, without_clitics, word_terms, words
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
    content = list(content_words(without_clitics(text)))
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
    return term_rarity(max([frequency[term] for term in found], default=0), tools)


def term_rarity(holders: int, tools: int) -> float:
    """The inverse document frequency of a term that `holders` of the tools contain."""
    return log(1 + (tools - holders + 0.5) / (holders + 0.5))


# How often a word is counted, by the part of the tool it stands in.
WEIGHTS = {"name": 2, "phrases": 1, "description": 1, "category": 1, "parameters": 1}
K1, B = 1.2, 0.75  # of BM25: how soon repetition stops to count, and how much the length of a text does
MOST_COUNTED = 255  # a posting is the id of a tool above 8 bits of the count
READ = 4_096  # query words that are cached

_Postings: TypeAlias = "array[int]"
_Read: TypeAlias = tuple[QueryTerm, list[_Postings], list[float]]  # a query word, and the postings of its terms


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
    """A BM25 index of tools, by ids that the caller gives.

    Of equal scores the tool with the lower `order` comes first; without an order, the lower id.
    """

    def __init__(self) -> None:
        self.order: Places | None = None
        self._vocabulary = Vocabulary()
        self._read: dict[str, _Read] = {}  # query words; cleared at each change
        self._words: dict[int, tuple[str, ...]] = {}  # of each tool, each word once
        self._frequency: dict[str, int] = {}  # document frequency of each term
        self._postings: dict[str, _Postings] = {}  # of each term, sorted
        self._lengths = GrowingRows(1, np.int32)  # of each tool's text, in terms; 0 without a tool
        self._norms: Floats64 | None = None  # what BM25 makes of the lengths; None after a change

    @classmethod
    def restored(cls, arrays: Arrays, alive: NDArray[np.bool_]) -> "LexicalIndex":
        """The lexical arm that gave these arrays, with a tool for each id that is alive."""
        own, postings = taken(arrays, "lexical.words", "int32", None), taken(arrays, "lexical.postings", "uint32", None)
        owned, held = (
            taken(arrays, "lexical.word_ends", "int64", len(alive)),
            taken(arrays, "lexical.posting_ends", "int64", None),
        )
        lengths = taken(arrays, "lexical.lengths", "int32", len(alive), 1)
        check((lengths >= 0).all(), "lengths")
        check_blocks(owned, len(own))
        check_blocks(held, len(postings))
        check_below(own, len(own))
        counts = np.bincount(own)
        words, terms = unpacked(arrays, "lexical.spelled", len(counts)), unpacked(arrays, "lexical.terms", len(held))
        check_below(postings >> 8, len(alive))
        # Of each term increasing: the first of a term may be lower than the last of the one before.
        rises = np.append(postings[1:] > postings[:-1], True)
        rises[held - 1] = True
        check(rises.all(), "postings")
        index = cls()
        spelled: list[str] = np.array([*map(intern, words)], dtype=object).take(own).tolist() if words else []
        index._words = {tool_id: tuple(block) for tool_id, block in enumerate(pieces(spelled, owned)) if alive[tool_id]}
        index._postings = {term: _postings(block) for term, block in zip(terms, pieces(postings, held), strict=True)}
        index._frequency = {term: len(block) for term, block in index._postings.items()}
        index._lengths.hold(lengths)
        index._vocabulary = Vocabulary.restored(words, counts.tolist(), arrays)
        return index

    def saved(self) -> dict[str, NDArray[Any]]:
        """What `restored` needs."""
        words = {word: place for place, word in enumerate(self._vocabulary)}
        owned = [self._words.get(tool_id, ()) for tool_id in range(len(self._lengths))]
        own = np.fromiter(map(words.__getitem__, chain.from_iterable(owned)), dtype=np.int32)
        postings = np.frombuffer(b"".join([block.tobytes() for block in self._postings.values()]), dtype=np.uint32)
        return {
            "lexical.words": own,
            "lexical.word_ends": _ends(owned),
            "lexical.postings": postings,
            "lexical.posting_ends": _ends(self._postings.values()),
            "lexical.lengths": self._lengths.view,
            "lexical.spelled": packed(words),
            "lexical.terms": packed(self._postings),
            **self._vocabulary.saved(),
        }

    def __len__(self) -> int:
        return len(self._words)

    def add(self, tools: Sequence[tuple[int, Tool]]) -> None:
        """Add tools under unused ids."""
        self._changed(max((tool_id + 1 for tool_id, _ in tools), default=0))
        fresh: defaultdict[str, list[int]] = defaultdict(list)  # new postings by term
        for tool_id, tool in tools:
            parts = part_words(tool)
            # Interned: the tools of a catalog share a few thousand words.
            terms = {intern(word): word_terms(word) for word in dict.fromkeys(chain.from_iterable(parts))}
            self._words[tool_id] = tuple(terms)
            counted = (word for part, weight in zip(parts, WEIGHTS.values(), strict=True) for word in part * weight)
            counts = Counter(chain.from_iterable([terms[word] for word in counted]))
            for term, count in counts.items():
                fresh[term].append(tool_id << 8 | min(count, MOST_COUNTED))
            self._lengths.view[tool_id] = counts.total()
        self._vocabulary.add_all(self._words[tool_id] for tool_id, _ in tools)
        for term, postings in fresh.items():
            self._hold(term, sorted(postings))

    def remove(self, tool_id: int) -> None:
        """Remove a tool."""
        self._changed()
        own = self._words.pop(tool_id)
        self._lengths.view[tool_id] = 0
        for term in set(chain.from_iterable(map(word_terms, own))):
            self._frequency[term] -= 1
            postings = self._postings[term]
            del postings[bisect_left(postings, tool_id << 8)]
            if not postings:
                del self._frequency[term], self._postings[term]
        self._vocabulary.remove(own)

    def search(self, text: str, limit: int) -> LexicalMatch:
        """The `limit` tools with the highest BM25 scores for a text."""
        read = [self._remembered(word) for word in query_words(text, self._frequency)]
        terms = tuple([word for word, _, _ in read])
        postings = list(chain.from_iterable([own for _, own, _ in read]))
        limit = min(limit, len(self))
        if not postings or limit <= 0:
            return LexicalMatch(tool_ids=(), scores=(), terms=terms)
        weights = list(chain.from_iterable([own for _, _, own in read]))
        return LexicalMatch(*kernels.highest_by_words(postings, weights, self._text_norms(), self.order, limit), terms)

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

    def _hold(self, term: str, fresh: Sequence[int]) -> None:
        postings = self._postings.setdefault(term, array("I"))
        in_order = not postings or postings[-1] < fresh[0]
        postings.extend(fresh)
        if not in_order:  # reused ids of removed tools
            self._postings[term] = array("I", sorted(postings))
        self._frequency[term] = len(postings)

    def _changed(self, size: int = 0) -> None:
        self._read.clear()
        self._norms = None
        if size > len(self._lengths):
            self._lengths.extend(np.zeros((size - len(self._lengths), 1), dtype=np.int32))

    def _text_norms(self) -> Floats64:
        if self._norms is None:
            lengths = self._lengths.view.ravel()
            self._norms = length_norms(lengths, int(lengths.sum(dtype=np.int64)) / len(self))
        return self._norms

    def _remembered(self, word: str) -> "_Read":
        """Cached: the parts of a query have the words of the whole, and words repeat between queries."""
        read = self._read.get(word)
        if read is None:
            if len(self._read) >= READ:
                self._read.clear()
            term = query_term(word, self._frequency, self._vocabulary, tools=len(self._words))
            weights = [term_weight(term, self._frequency[own], len(self._words)) for own in term.terms]
            read = self._read[word] = (term, [self._postings[own] for own in term.terms], weights)
        return read


def _postings(block: NDArray[np.uint32]) -> _Postings:
    own = array("I")
    own.frombytes(block.tobytes())
    return own


def _ends(blocks: Iterable[Sized]) -> Places:
    return np.cumsum([len(block) for block in blocks], dtype=np.int64)


def term_weight(word: QueryTerm, holders: int, tools: int) -> float:
    """What BM25 multiplies the count of one term of a query word by; `holders` of the tools contain the term."""
    return (1 + K1) * guess_strength(word) * term_rarity(holders, tools)


def length_norms(lengths: NDArray[np.signedinteger[Any]], mean: float) -> Floats64:
    """What BM25 adds to the count of a term, for texts of these lengths."""
    return K1 * (1 - B + B * lengths.astype(np.float64) / mean)


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
