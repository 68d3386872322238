"""Tools, catalogs and embedders that the tests of the index share."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toolcrib_cms
from tests.support import ROOT
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import EmbedderError
from toolcrib.search import kernels, typos as spelling
from toolcrib.search.dense import Similarity
from toolcrib.search.kernels import plain
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.query import Strategy
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

DATA = ROOT / "tests" / "data"
JUNK = ROOT / "benchmarks" / "data" / "unanswerable.jsonl"


def sure_above(lexical_above: float, **changes: Any) -> tuple[Strategy]:
    """One strategy for all sizes: 0 believes the words whenever they match, 1 never does."""
    usual = Strategy(up_to=float("inf"), lexical_above=lexical_above, blended_above=0.3, answer_above=0.4)
    return (replace(usual, **changes),)


async def _call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of("done")


def make(name: str, description: str = "", *phrases: str, **more: Any) -> Tool:
    return Tool(name=name, description=description, phrases=phrases, call=_call, **more)


def near(*scores: float, gone: tuple[int, ...] = ()) -> Similarity:
    """How near tools are that have these scores; some of them are no more."""
    alive = np.array([number not in gone for number in range(len(scores))], dtype=np.bool_)
    return Similarity.of(np.array(scores, dtype=np.float32), alive)


@contextmanager
def in_python() -> Generator[None]:
    """Search with the plain kernels, as where there was no compiler."""
    with pytest.MonkeyPatch.context() as patch:
        for name in kernels.__all__:
            patch.setattr(kernels, name, getattr(plain, name))
        spelling.familiarity.cache_clear()
        yield


def office() -> Catalog:
    """Eight tools that nobody could confuse."""
    return Catalog(
        [
            make("send_mail", "Send an e-mail to somebody.", "write to a colleague", related=["find_contact"]),
            make("find_contact", "Look up a person's address and phone number."),
            make("get_weather", "Tell the weather forecast of a city.", "will it rain tomorrow"),
            make("book_flight", "Book a plane ticket between two airports."),
            make("convert_currency", "Convert an amount of money from one currency to another."),
            make("play_music", "Play a song or an album."),
            make("resize_image", "Make a picture smaller or larger."),
            make("translate_text", "Translate a text into another language."),
        ]
    )


def cms_tools() -> list[Tool]:
    """The 45 tools of the reference CMS, as it ships them."""
    return list(_built())


@cache
def _built() -> tuple[Tool, ...]:
    return tuple(toolcrib_cms.build(":memory:", seeded=False).catalog)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Concepts:
    """An embedder that knows what a few words mean: each list of words is one direction, unknown words are none.

    It counts as remote, writes down what it was asked, and fails while `down`. `before_queries` runs in every call.
    """

    remote = True

    def __init__(self, *concepts: str, id: str = "concepts:1") -> None:
        self.id = id
        self.dimensions = len(concepts) + 1
        self.down = False
        self.documents: list[str] = []
        self.queries: list[str] = []
        self.before_queries: Callable[[], object] = lambda: None
        self._axis = {word: axis for axis, words in enumerate(concepts) for word in words.split()}

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self._refuse()
        self.documents += texts
        return self._embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self._refuse()
        self.queries += texts
        self.before_queries()
        return self._embed(texts)

    def _refuse(self) -> None:
        if self.down:
            raise EmbedderError("The model server does not answer.")

    def _embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        vectors[:, -1] = 0.1  # all texts have a little in common
        for row, text in enumerate(texts):
            for word in text.lower().replace("_", " ").replace(".", " ").split():
                if word in self._axis:
                    vectors[row, self._axis[word]] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
