"""WHO else is measured: the search code of other libraries, behind the one interface that retrieval and latency use.

Each arm runs the peer's own ranking on the same tools and the raw request. Where a peer offers only an async door, its
coroutine is driven directly, without an event loop, so no peer pays for ours.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.data import readable
from toolcrib.tools.tool import Tool

K = 10  # results asked for: the deepest cut that is reported
TIMED = 50  # queries an arm is timed on that otherwise takes its vectors from a file


class Arm(Protocol):
    """One way to rank tools. A missing package shows as `ImportError` when the arm is made."""

    def build(self, tools: Sequence[Tool]) -> None: ...

    def search(self, query: str, k: int = K) -> list[str]: ...


class BM25s:
    """Plain BM25 (bm25s, Lucene's formula, English stemmer and stop words): what a good hour of work gives."""

    def __init__(self) -> None:
        import bm25s
        import Stemmer

        self._library, self._stemmer = bm25s, Stemmer.Stemmer("english")

    def build(self, tools: Sequence[Tool]) -> None:
        self._names = [tool.name for tool in tools]
        self._index = self._library.BM25(method="lucene")
        self._index.index(self._tokens([full_text(tool) for tool in tools]), show_progress=False)

    def search(self, query: str, k: int = K) -> list[str]:
        tokens = self._tokens([query])
        if not tokens.vocab:
            return []
        found, scores = self._index.retrieve(tokens, k=min(k, len(self._names)), show_progress=False)
        return [self._names[i] for i, score in zip(found[0], scores[0], strict=True) if score > 0]

    def _tokens(self, texts: list[str]) -> Any:
        return self._library.tokenize(texts, stopwords="en_plus", stemmer=self._stemmer, show_progress=False)


class FastMCP:
    """FastMCP 4's `BM25SearchTransform`: its `_search`, without listing and rendering the tools."""

    def __init__(self) -> None:
        from fastmcp.server.transforms.search import BM25SearchTransform
        from fastmcp.tools.base import Tool as Theirs

        self._transform, self._make = BM25SearchTransform, Theirs

    def build(self, tools: Sequence[Tool]) -> None:
        self._search = self._transform(max_results=K)._search
        self._tools = [self._make(name=t.name, description=t.description, parameters=dict(t.parameters)) for t in tools]
        self.search("build now, not at the first request")

    def search(self, query: str, k: int = K) -> list[str]:
        return [tool.name for tool in finish(self._search(self._tools, query))][:k]


class PydanticAI:
    """Pydantic AI's local keyword search: the `search_tools` of its `ToolSearchToolset`, called as an agent would."""

    def __init__(self) -> None:
        from pydantic_ai import ModelRetry, RunContext, ToolDefinition
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.toolsets import ExternalToolset
        from pydantic_ai.toolsets._tool_search import ToolSearchToolset
        from pydantic_ai.usage import RunUsage

        self._retry, self._define = ModelRetry, ToolDefinition
        self._wrap = lambda tools: ToolSearchToolset(wrapped=ExternalToolset(tools), max_results=K)
        self._context = RunContext(deps=None, model=TestModel(), usage=RunUsage())

    def build(self, tools: Sequence[Tool]) -> None:
        definitions = [
            self._define(
                name=t.name, description=t.description, parameters_json_schema=dict(t.parameters), defer_loading=True
            )
            for t in tools
        ]
        self._toolset = self._wrap(definitions)
        self._door = finish(self._toolset.get_tools(self._context))["search_tools"]
        self.search("build now, not at the first request")

    def search(self, query: str, k: int = K) -> list[str]:
        try:
            call = self._toolset.call_tool("search_tools", {"queries": [query]}, self._context, self._door)
            return [match["name"] for match in finish(call)["discovered_tools"]][:k]
        except self._retry:  # what it says to a request without a Latin letter
            return []


class Ratel:
    """Ratel 0.12's `ToolCatalog` with its default method, BM25."""

    def __init__(self) -> None:
        from ratel_ai import ExecutableTool, ToolCatalog

        self._catalog, self._make = ToolCatalog, ExecutableTool

    def build(self, tools: Sequence[Tool]) -> None:
        self._tools = self._catalog()
        finish(
            self._tools.register(
                self._make(
                    id=t.name, name=t.name, description=t.description, input_schema=dict(t.parameters), execute=t.call
                )
                for t in tools
            )
        )

    def search(self, query: str, k: int = K) -> list[str]:
        return [hit.tool_id for hit in self._tools.search(query, k)]


class Dense:
    """Exact cosine over one vector a tool (its name's words and its description)."""

    def __init__(self, embed: Callable[[list[str]], Any]) -> None:
        self._embed = embed

    def build(self, tools: Sequence[Tool]) -> None:
        self._names = [tool.name for tool in tools]
        self._vectors = np.asarray(self._embed([short_text(tool) for tool in tools]), np.float32)

    def search(self, query: str, k: int = K) -> list[str]:
        scores = self._vectors @ np.asarray(self._embed([query]), np.float32)[0]
        return [self._names[i] for i in np.argsort(-scores, kind="stable")[:k]]


def word_llama() -> Dense:
    """wordllama, a static table like ours, for English."""
    import wordllama

    # Its wheel keeps the tokenizer where only a cache folder is looked for; without this it would download.
    model = wordllama.WordLlama.load(cache_dir=Path(str(wordllama.__file__)).parent, disable_download=True)
    return Dense(lambda texts: model.embed(texts, norm=True))


class MiniLMDense(Dense):
    """all-MiniLM-L6-v2, a transformer of 22 M parameters, for English."""

    def __init__(self) -> None:
        from benchmarks.minilm import MiniLM

        self._model = MiniLM()
        super().__init__(self._model.embed_documents)

    def search_uncached(self, query: str, k: int = K) -> list[str]:
        """The same search, its query embedded now: what may be timed."""
        scores = self._vectors @ self._model.forward([query])[0]
        return [self._names[i] for i in np.argsort(-scores, kind="stable")[:k]]


def full_text(tool: Tool) -> str:
    """All there is to match: name, description, category, parameters."""
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    words = [readable(tool.name), tool.description, tool.category]
    for name, schema in properties.items():
        words += [readable(name), str(schema.get("description", "")) if isinstance(schema, Mapping) else ""]
    return " ".join(words)


def short_text(tool: Tool) -> str:
    """What a sentence encoder does best with."""
    return f"{readable(tool.name)}: {tool.description}"


def finish(awaitable: Any) -> Any:
    """The result of a coroutine that never waits for anything."""
    steps = awaitable.__await__()
    try:
        steps.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("The coroutine waits for something; it needs an event loop.")


PEERS: Mapping[str, Callable[[], Arm]] = {
    "BM25": BM25s,
    "FastMCP 4": FastMCP,
    "Pydantic AI": PydanticAI,
    "Ratel 0.12": Ratel,
    "MiniLM": MiniLMDense,
    "wordllama": word_llama,
}
