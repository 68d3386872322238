"""The tools of an index: both arms know a tool by the same id."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.dense import DenseIndex, Similarity, passages
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.kernels.rows import Places, Vectors
from toolcrib.search.lexical import LexicalIndex, QueryTerm
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.result import (
    MAX_COMPANIONS,
    Hit,
    companion_reason,
    likely_hits,
    match_reason,
    safe_first,
    with_companions,
)
from toolcrib.search.saved import Arrays, check, packed, taken, unpacked
from toolcrib.search.text import is_identifier, words
from toolcrib.search.usage import Usage, moved_toward
from toolcrib.tools.tool import Risk, Tool

# What an index follows: a catalog, or a filtered part of it.

ToolFilter: TypeAlias = Callable[[Tool], bool]


class CatalogChange(Protocol):
    """A change of a catalog: the removals come first, then the additions."""

    @property
    def added(self) -> Sequence[Tool]: ...

    @property
    def removed(self) -> Sequence[str]: ...


class ToolFeed(Protocol):
    """The part of a catalog that an index uses."""

    def subscribe(self, listener: Callable[[CatalogChange], object], *, replay: bool = False) -> Callable[[], None]: ...


@dataclass(frozen=True, slots=True)
class FilteredFeed:
    """The tools of a catalog that pass a filter, as a feed of its own."""

    catalog: ToolFeed
    where: ToolFilter

    def subscribe(self, listener: Callable[[CatalogChange], object], *, replay: bool = False) -> Callable[[], None]:
        def pass_on(change: CatalogChange) -> None:
            listener(_FilteredChange([tool for tool in change.added if self.where(tool)], change.removed))

        return self.catalog.subscribe(pass_on, replay=replay)


@dataclass(frozen=True, slots=True)
class _FilteredChange:
    added: Sequence[Tool]
    removed: Sequence[str]


_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # anything that can be the name of a tool, in a text of any script


TOOLS_AT_ONCE = 500
GAP = 1 << 32  # between the places of two names
ONE_BY_ONE = 64  # names; more are sorted together with all others


class Corpus:
    """The indexed tools. Not thread-safe: the owner holds a lock."""

    def __init__(self, embedder: Embedder, usage: Usage) -> None:
        self._embedder = embedder
        self._usage = usage
        self.lexical = LexicalIndex()
        self.dense: DenseIndex | None = None  # until vectors are needed
        self.embedded = 0  # tools, so far
        self.meanings = LateInteraction(embedder if isinstance(embedder, BuiltinEmbedder) else BuiltinEmbedder())
        self._tools: dict[int, Tool] = {}
        self._ids: dict[str, int] = {}
        self._free: list[int] = []  # ids of removed tools, to be reused
        self._fresh = count()
        self._size = 0
        self._spelled: dict[
            str, dict[int, None]
        ] = {}  # ids by the words of the name: `get_page` and `getPage` are the same
        self._unembedded: dict[int, None] = {}  # tools that are not embedded yet
        self._outdated: dict[int, None] = {}  # tools whose vectors do not reflect their usage yet
        self._order = NameOrder()

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[tuple[int, Tool]]:
        return iter(self._tools.items())

    def tool_id(self, name: str) -> int | None:
        """The id of a tool, if it is in the corpus."""
        return self._ids.get(name)

    def tool(self, tool_id: int) -> Tool:
        """The tool with this id."""
        return self._tools[tool_id]

    def read(self, tool_ids: Sequence[int]) -> str:
        """The name of the first of these tools; their words are read."""
        return self._tools[tool_ids[0]].name

    @property
    def order(self) -> Places:
        """The place of each id among tools with equal scores: that of its name, whatever was added first."""
        return self._order.places

    @property
    def has_pending(self) -> bool:
        """Whether tools wait to be embedded."""
        return bool(self._unembedded or self._outdated)

    @property
    def id_count(self) -> int:
        """The size of an array indexed by tool id; ids of removed tools included."""
        return self._size

    def ids_named_in(self, query: str) -> list[int]:
        """The tools that a query names: `cms_getPage`, `cms get page`, or a name within a sentence."""
        whole = " ".join(words(query))
        if alike := self._spelled.get(whole):
            exact = self._ids.get(query.strip())
            return sorted(alike, key=lambda tool_id: (tool_id != exact, self._tools[tool_id].name))
        named = dict.fromkeys(tool_id for token in names_in(query) for tool_id in self._called(token))
        return [tool_id for tool_id in named if len(words(self._tools[tool_id].name)) > 1]

    def _called(self, token: str) -> list[int]:
        """The tools that an identifier names: `get_page` also names `getPage`, where nothing has just that name."""
        if token in self._ids:
            return [self._ids[token]]
        return list(self._spelled.get(" ".join(words(token)), ())) if is_identifier(token) else []

    def apply(self, removed: Sequence[str], added: Sequence[Tool]) -> None:
        """Remove and add tools: many at a time cost little more than one."""
        for name in removed:
            if (tool_id := self._ids.pop(name, None)) is not None:
                tool = self._tools.pop(tool_id)
                spelled = " ".join(words(tool.name))
                del self._spelled[spelled][tool_id]
                if not self._spelled[spelled]:
                    del self._spelled[spelled]
                self._unembedded.pop(tool_id, None)
                self._outdated.pop(tool_id, None)
                self._free.append(tool_id)
                self._order.remove(name)
                self.lexical.remove(tool_id)
                self.meanings.remove(tool_id)
                if self.dense is not None:
                    self.dense.remove(tool_id)
        with_ids = [(self._free.pop() if self._free else next(self._fresh), tool) for tool in added]
        self._size = max([self._size, *(tool_id + 1 for tool_id, _ in with_ids)])
        for tool_id, tool in with_ids:
            self._spelled.setdefault(" ".join(words(tool.name)), {})[tool_id] = None
        self._tools.update(with_ids)
        self._ids.update((tool.name, tool_id) for tool_id, tool in with_ids)
        self._unembedded.update((tool_id, None) for tool_id, _ in with_ids)
        if self.dense is not None:
            self.dense.make_room(self._size)
        self.lexical.add(with_ids)
        self._order.add([tool.name for tool in added], self._ids)
        self.lexical.order = self.order

    def restore(self, arrays: Arrays, found: Mapping[int, Tool]) -> None:
        """Take over what `saved` gave, in an empty corpus; `found` are the tools of its ids that are still there.

        Raises `UnusableFileError`, and changes nothing, if the arrays do not fit each other.
        """
        alive = taken(arrays, "corpus.alive", "uint8", None) > 0
        size = len(alive)
        spelled = unpacked(arrays, "corpus.spelled", size)
        check(bool(alive.any()) and all(alive[tool_id] for tool_id in found), "tools")
        lexical, dense = LexicalIndex.restored(arrays, alive), DenseIndex.restored(arrays, alive)
        meanings = LateInteraction.restored(self.meanings.embedder, arrays, size)
        self.lexical, self.dense, self.meanings = lexical, dense, meanings
        self._fresh, self._size = count(size), size
        for tool_id in range(size):
            if tool_id not in found:
                self._free.append(tool_id)
                if alive[tool_id]:
                    for arm in (lexical, dense, meanings):
                        arm.remove(tool_id)
        self._tools.update(found)
        self._ids.update((tool.name, tool_id) for tool_id, tool in found.items())
        for tool_id in found:
            self._spelled.setdefault(spelled[tool_id], {})[tool_id] = None
        self._outdated.update((tool_id, None) for tool_id, tool in found.items() if self._usage.requests(tool.name))
        self._order.add(list(self._ids), self._ids)
        self.lexical.order = self.order

    def saved(self) -> dict[str, NDArray[Any]]:
        """What `restore` needs, in arrays, as if nothing had been learned from use."""
        assert self.dense is not None
        spelled = {tool_id: text for text, ids in self._spelled.items() for tool_id in ids}
        arrays = self.dense.saved()
        if used := [tool_id for tool_id, tool in self if self._usage.requests(tool.name)]:
            own = self._embedder.embed_documents([passages(self._tools[tool_id])[0] for tool_id in used])
            arrays |= self.dense.saved_with(used, own)
        return {
            "corpus.alive": np.array([tool_id in self._tools for tool_id in range(self._size)], dtype=np.uint8),
            "corpus.spelled": packed(spelled.get(tool_id, "") for tool_id in range(self._size)),
            **arrays,
            **self.lexical.saved(),
            **self.meanings.saved(),
        }

    def embed_pending(self) -> None:
        """Make the dense arm current. Raises `EmbedderError` when the embedder cannot answer; nothing is lost then."""
        if self._unembedded:
            self._embed_new(self._embedder)
        if self._outdated and self.dense is not None:
            self._apply_usage(self._embedder, self.dense)

    def similarities(self, vectors: Vectors, allowed: NDArray[np.bool_] | None) -> list[Similarity]:
        """The similarity of the allowed tools to each vector; empty when there is no dense arm yet."""
        if self.dense is None:
            return []
        return self.dense.similarities(vectors, allowed, self.order)

    def queue_update(self, tool_id: int) -> None:
        """Update the vector of a tool from its usage at the next `embed_pending`."""
        self._outdated[tool_id] = None

    def _embed_new(self, embedder: Embedder) -> None:
        # In batches: what is embedded stays when the embedder fails later, and memory never holds everything twice.
        for start in range(0, len(waiting := list(self._unembedded)), TOOLS_AT_ONCE):
            tool_ids = waiting[start : start + TOOLS_AT_ONCE]
            blocks = _embedded(embedder.embed_documents, [passages(self._tools[tool_id]) for tool_id in tool_ids])
            if self.dense is None:
                self.dense = DenseIndex(blocks[0].shape[1])
                self.dense.make_room(self._size)
            self.dense.put(tool_ids, blocks)
            self.embedded += len(tool_ids)
            self.meanings.put((tool_id, self.lexical.words(tool_id)) for tool_id in tool_ids)
            for tool_id in tool_ids:
                del self._unembedded[tool_id]
                if self._usage.requests(self._tools[tool_id].name):
                    self._outdated[tool_id] = None

    def _apply_usage(self, embedder: Embedder, dense: DenseIndex) -> None:
        tool_ids = list(self._outdated)
        tools = [self._tools[tool_id] for tool_id in tool_ids]
        owns = embedder.embed_documents([passages(tool)[0] for tool in tools])
        queries = _embedded(embedder.embed_queries, [self._usage.requests(tool.name) for tool in tools])
        for tool_id, own, requests in zip(tool_ids, owns, queries, strict=True):
            dense.replace_vector(tool_id, moved_toward(own, requests) if len(requests) else own)
        self._outdated.clear()


class NameOrder:
    """Where the name of each tool stands among all names, by id."""

    def __init__(self) -> None:
        self.places: Places = np.zeros(0, dtype=np.int64)  # increasing, with gaps for names to come
        self._names: list[str] = []  # sorted

    def remove(self, name: str) -> None:
        """Remove a name."""
        del self._names[bisect_left(self._names, name)]

    def add(self, names: Sequence[str], ids: Mapping[str, int]) -> None:
        """Add names; `ids` has all that there are."""
        missing = max((ids[name] for name in names), default=-1) + 1 - len(self.places)
        if missing > 0:
            self.places = np.concatenate([self.places, np.zeros(missing, dtype=np.int64)])
        if len(names) > ONE_BY_ONE:
            self._names = sorted([*self._names, *names])
            self._spread(ids)
            return
        for name in names:
            at = bisect_left(self._names, name)
            before = int(self.places[ids[self._names[at - 1]]]) if at else 0
            after = int(self.places[ids[self._names[at]]]) if at < len(self._names) else before + 2 * GAP
            self._names.insert(at, name)
            self.places[ids[name]] = (before + after) // 2
            if after - before < 2:
                self._spread(ids)

    def _spread(self, ids: Mapping[str, int]) -> None:
        self.places[[ids[name] for name in self._names]] = np.arange(1, len(self._names) + 1) * GAP


def names_in(query: str) -> list[str]:
    """Tokens of a sentence that can be tool names: `get_weather`, but not `weather`, which is an ordinary word."""
    return [token.rstrip("-") for token in _NAMES.findall(query) if not (token.isalpha() and token.islower())]


def _embedded(embed: Callable[[Sequence[str]], Vectors], blocks: Sequence[Sequence[str]]) -> list[Vectors]:
    """The vectors of each block of texts, embedded in one call."""
    texts = [text for block in blocks for text in block]
    vectors = embed(texts) if texts else np.zeros((0, 0), dtype=np.float32)
    ends = accumulate((len(block) for block in blocks), initial=0)
    return [vectors[start:end] for start, end in pairwise(ends)]


# From a ranking to hits: names, reasons, and the companions of the best tools.


def hits_of(
    corpus: Corpus,
    usage: Usage,
    terms: Sequence[QueryTerm],
    ranking: Sequence[tuple[int, float]],
    limit: int,
    where: ToolFilter | None,
) -> tuple[Hit, ...]:
    """The hits, with the companions of the best of them."""
    best = ranking[: limit + MAX_COMPANIONS]  # companions may be among them
    best = safe_first(best, {n for n, _ in best if corpus.tool(n).risk is Risk.DESTRUCTIVE}, limit)
    tools = {corpus.tool(tool_id).name: tool_id for tool_id, _ in best}
    scored = list(zip(tools, [score for _, score in best], strict=True))
    companions = {
        name: [
            other
            for other in (*corpus.tool(tools[name]).related, *usage.used_with(name))
            if _may_come(corpus, other, where)
        ]
        for name, _ in likely_hits(scored, limit)
    }
    found = with_companions(scored, companions, limit)
    own = [name for name, _, owner in found if not owner]
    matched = corpus.lexical.matched([tools[name] for name in own], terms)
    shown = {name: [term.meant or term.word for term in terms] for name, terms in zip(own, matched, strict=True)}
    return tuple(
        [
            Hit(name=name, score=score, why=companion_reason(owner) if owner else match_reason(shown[name]))
            for name, score, owner in found
        ]
    )


def _may_come(corpus: Corpus, name: str, where: ToolFilter | None) -> bool:
    tool_id = corpus.tool_id(name)
    return tool_id is not None and (where is None or where(corpus.tool(tool_id)))


def similar(corpus: Corpus, tool_id: int, limit: int, *, is_lexical: bool = False) -> tuple[Hit, ...]:
    """The tools nearest in meaning to one tool; without a dense arm, those that score its words."""
    dense = corpus.dense
    if is_lexical or dense is None or not dense.alive[tool_id]:
        return _similar_words(corpus, tool_id, limit)
    scores = dense.scores(dense.vector(tool_id)[None])[0]
    others = [other for other, _ in corpus if other != tool_id and dense.alive[other]]
    others.sort(key=lambda other: (-scores[other], corpus.tool(other).name))
    return tuple(
        Hit(name=corpus.tool(other).name, score=float(scores[other]), why=match_reason(())) for other in others[:limit]
    )


def _similar_words(corpus: Corpus, tool_id: int, limit: int) -> tuple[Hit, ...]:
    tool = corpus.tool(tool_id)
    match = corpus.lexical.search(f"{tool.name} {tool.description}", limit + 1)
    return tuple(
        Hit(name=corpus.tool(other).name, score=score / match.scores[0], why="similar words")
        for other, score in zip(match.tool_ids, match.scores, strict=True)
        if other != tool_id
    )[:limit]
