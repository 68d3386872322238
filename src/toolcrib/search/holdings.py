"""The tools an index holds, in both arms under one number each."""

from collections.abc import Iterator, Sequence
from itertools import count, pairwise

from toolcrib.search.dense import DenseIndex
from toolcrib.search.embedder import Embedder
from toolcrib.search.lexical import LexicalIndex
from toolcrib.search.passages import passages
from toolcrib.search.text import words
from toolcrib.search.usage import Usage, pulled
from toolcrib.tools.tool import Tool


class Holdings:
    """Follows a catalogue step by step. Not safe under threads: its owner holds a lock."""

    def __init__(self, embedder: Embedder | None, usage: Usage) -> None:
        self._embedder = embedder
        self._usage = usage
        self.lexical = LexicalIndex()
        self.dense = DenseIndex(embedder.dimensions) if embedder and not embedder.remote else None
        self._tools: dict[int, Tool] = {}
        self._numbers: dict[str, int] = {}
        self._free: list[int] = []  # numbers of tools that left, to be used again
        self._fresh = count()
        self._size = 0
        self._spelled: dict[str, int] = {}  # names as words
        self._unread: dict[int, None] = {}  # tools whose vectors are still to be had
        self._committed = True

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[tuple[int, Tool]]:
        return iter(self._tools.items())

    def number(self, name: str) -> int | None:
        """The number of a tool, if it is held."""
        return self._numbers.get(name)

    def tool(self, number: int) -> Tool:
        return self._tools[number]

    @property
    def unread(self) -> int:
        """How many tools still lack their vectors."""
        return len(self._unread)

    @property
    def numbers(self) -> int:
        """One more than the largest number in use, or ever used."""
        return self._size

    def named_in(self, query: str) -> list[int]:
        """The tools a request calls by name: `cms_getPage`, `cms get page`, or names within a sentence."""
        whole = self._spelled.get(" ".join(words(query)))
        if whole is not None:
            return [whole]
        # Within a sentence only names that no ordinary word looks like: `weather` is a word, `get_weather` a name.
        tokens = {token.strip(".,;:!?()[]{}\"'`") for token in query.split() if "_" in token or "-" in token}
        tokens |= {token for token in query.split() if not token.islower() and token.isidentifier()}
        named = {self._numbers[token]: None for token in sorted(tokens) if token in self._numbers}
        return [number for number in named if len(words(self._tools[number].name)) > 1]

    def apply(self, removed: Sequence[str], added: Sequence[Tool]) -> None:
        """One step: some tools go, others come. Searches see it after `settle`."""
        for name in removed:
            if (number := self._numbers.pop(name, None)) is not None:
                tool = self._tools.pop(number)
                spelled = " ".join(words(tool.name))
                if self._spelled.get(spelled) == number:
                    del self._spelled[spelled]
                self._unread.pop(number, None)
                self._free.append(number)
                self.lexical.remove(number)
                if self.dense is not None:
                    self.dense.remove(number)
        numbered = [(self._free.pop() if self._free else next(self._fresh), tool) for tool in added]
        self._size = max([self._size, *(number + 1 for number, _ in numbered)])
        # Two names may read alike (`get_page`, `getPage`): the first keeps the spelling.
        for number, tool in numbered:
            self._spelled.setdefault(" ".join(words(tool.name)), number)
        self._tools.update(numbered)
        self._numbers.update((tool.name, number) for number, tool in numbered)
        self._unread.update((number, None) for number, _ in numbered)
        self.lexical.add(numbered)
        self._committed = False

    def settle_words(self) -> None:
        """Make the lexical arm current."""
        if not self._committed:
            self.lexical.commit()
            self._committed = True

    def settle_meaning(self) -> None:
        """Make the dense arm current. Raises `EmbedderError` when the embedder cannot answer; nothing is lost then."""
        if not self._unread or self._embedder is None:
            return
        numbers = list(self._unread)
        texts = [passages(self._tools[number]) for number in numbers]
        vectors = self._embedder.embed_documents([text for block in texts for text in block])
        if self.dense is None:
            self.dense = DenseIndex(vectors.shape[1])
        ends = [0]
        for block in texts:
            ends.append(ends[-1] + len(block))
        self.dense.put(numbers, [vectors[start:end] for start, end in pairwise(ends)])
        self._unread.clear()
        for number in numbers:
            if self._usage.requests(self._tools[number].name):
                self.move(number)

    def move(self, number: int) -> None:
        """Let a tool's vector follow its use."""
        if self._embedder is None or self.dense is None or number in self._unread:
            return
        own = self._embedder.embed_documents(passages(self._tools[number])[:1])[0]
        requests = self._usage.requests(self._tools[number].name)
        self.dense.move(number, pulled(own, self._embedder.embed_queries(requests)) if requests else own)
