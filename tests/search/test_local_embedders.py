"""The embedders of this machine, with small encoders that have the methods of the real models.

No weights can be downloaded where tests run. The encoders below count letters: vectors one can check by hand.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.support import PATIENCE
from toolcrib.errors import EmbedderError, MissingExtraError
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.embedders.local import MULTILINGUAL_MODEL, FastembedEmbedder, SentenceTransformersEmbedder
from toolcrib.search.kernels.rows import Vectors


def letters(text: str) -> Vectors:
    return np.array([text.count("a"), text.count("b"), 0.0], dtype=np.float32)


@dataclass
class LetterTextEmbedding:
    """As `fastembed.TextEmbedding`: generators, one vector per text."""

    model_name: str = "letters"
    calls: list[tuple[str, list[str], int]] = field(default_factory=list[tuple[str, list[str], int]])

    def passage_embed(self, texts: list[str], /, *, batch_size: int) -> Iterator[Vectors]:
        self.calls.append(("passage", texts, batch_size))
        yield from map(letters, texts)

    def query_embed(self, query: list[str], /, *, batch_size: int) -> Iterator[Vectors]:
        self.calls.append(("query", query, batch_size))
        yield from map(letters, query)


@dataclass
class LetterTransformer:
    """As `sentence_transformers.SentenceTransformer`: one array per call."""

    name: str = "letters"
    calls: list[tuple[str, list[str], str | None]] = field(default_factory=list[tuple[str, list[str], str | None]])

    def encode_document(
        self, texts: list[str], /, *, prompt: str | None, batch_size: int, show_progress_bar: bool
    ) -> Vectors:
        assert not show_progress_bar
        self.calls.append(("document", texts, prompt))
        return np.stack([letters((prompt or "") + text) for text in texts])

    def encode_query(
        self, texts: list[str], /, *, prompt: str | None, batch_size: int, show_progress_bar: bool
    ) -> Vectors:
        assert not show_progress_bar
        self.calls.append(("query", texts, prompt))
        return np.stack([letters((prompt or "") + text) for text in texts])


class Silent:
    """A model that fails whatever it is asked."""

    def passage_embed(self, texts: list[str], /, *, batch_size: int) -> Iterator[Vectors]:
        raise RuntimeError("out of memory")

    query_embed = passage_embed


MAKERS: dict[str, Callable[[], Embedder]] = {
    "fastembed": lambda: FastembedEmbedder("letters", loaded=LetterTextEmbedding()),
    "sentence-transformers": lambda: SentenceTransformersEmbedder("letters", loaded=LetterTransformer()),
}
both = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@both
def test_a_loaded_model_gives_unit_vectors(make: Callable[[], Embedder]) -> None:
    embedder = make()
    documents = embedder.embed_documents(["aab", "b"])
    assert documents.dtype == np.float32
    np.testing.assert_allclose(documents, [[2 / 5**0.5, 1 / 5**0.5, 0], [0, 1, 0]], rtol=1e-6)
    assert embedder.embed_queries(["aa"]).tolist() == [[1, 0, 0]]
    assert embedder.remote  # may take long: kept off the event loop


@both
def test_dimensions_are_learned_from_the_model(make: Callable[[], Embedder]) -> None:
    embedder = make()
    assert embedder.embed_documents([]).shape == (0, 0)
    assert embedder.dimensions == 3
    assert embedder.embed_documents([]).shape == (0, 3)
    assert embedder.dimensions == 3


@both
def test_a_broken_character_does_not_stop_a_batch(make: Callable[[], Embedder]) -> None:
    assert make().embed_documents(["a\ud83d", "b"]).shape == (2, 3)


@both
def test_threads_may_share_a_model(make: Callable[[], Embedder]) -> None:
    embedder = make()
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(embedder.embed_queries, [["a"], ["b"]] * 8, timeout=PATIENCE))
    assert [vector.tolist() for vector in vectors] == [[[1, 0, 0]], [[0, 1, 0]]] * 8


def test_fastembed_tells_queries_from_passages_and_keeps_the_batch_size() -> None:
    model = LetterTextEmbedding()
    embedder = FastembedEmbedder("letters", loaded=model, batch_size=7)
    embedder.embed_documents(["a"])
    embedder.embed_queries(["b"])
    assert model.calls == [("passage", ["a"], 7), ("query", ["b"], 7)]
    assert (embedder.id, repr(embedder)) == ("fastembed:letters", "FastembedEmbedder('letters')")


def test_prompts_reach_the_model_and_change_the_id() -> None:
    model = LetterTransformer()
    plain = SentenceTransformersEmbedder("letters", loaded=model)
    prompted = SentenceTransformersEmbedder("letters", query_prompt="query: ", document_prompt="doc: ", loaded=model)
    plain.embed_queries(["b"])
    prompted.embed_queries(["b"])
    prompted.embed_documents(["b"])
    assert model.calls == [("query", ["b"], None), ("query", ["b"], "query: "), ("document", ["b"], "doc: ")]
    assert plain.id == "sentence-transformers:letters"
    assert prompted.id.startswith("sentence-transformers:letters+")
    assert prompted.id != SentenceTransformersEmbedder("letters", query_prompt="q: ", loaded=model).id


def test_a_model_is_loaded_once_and_only_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []

    @dataclass
    class Counted(LetterTransformer):
        def __post_init__(self) -> None:
            loads.append(self.name)

    install(monkeypatch, "sentence_transformers", SentenceTransformer=Counted)
    embedder = SentenceTransformersEmbedder()
    assert loads == []
    embedder.embed_queries(["a"])
    embedder.embed_documents(["a"])
    assert loads == [MULTILINGUAL_MODEL]


def test_fastembed_loads_the_model_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "fastembed", TextEmbedding=LetterTextEmbedding)
    assert FastembedEmbedder().embed_queries(["b"]).tolist() == [[0, 1, 0]]


def test_a_model_that_fails_is_an_embedder_error_with_its_words() -> None:
    with pytest.raises(EmbedderError, match="'letters' cannot embed: out of memory") as caught:
        FastembedEmbedder("letters", loaded=Silent()).embed_documents(["a"])
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_model_that_gives_too_few_vectors_is_an_error() -> None:
    class Lazy(LetterTextEmbedding):
        def passage_embed(self, texts: list[str], /, *, batch_size: int) -> Iterator[Vectors]:
            yield letters(texts[0])

    with pytest.raises(EmbedderError, match="'letters' gave 1 vectors for 2 texts"):
        FastembedEmbedder("letters", loaded=Lazy()).embed_documents(["a", "b"])


@pytest.mark.parametrize(
    ("package", "make", "extra"),
    [
        ("fastembed", FastembedEmbedder, "fastembed"),
        ("sentence_transformers", SentenceTransformersEmbedder, "sentence-transformers"),
    ],
)
def test_without_the_extra_the_error_names_it(
    package: str, make: Callable[[], Embedder], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        make()
    assert caught.value.hint == f"pip install 'toolcrib[{extra}]'"


def install(monkeypatch: pytest.MonkeyPatch, package: str, **names: object) -> None:
    """Lets the process find a package with these names, as if it were installed."""
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    module = ModuleType(package)
    module.__spec__ = ModuleSpec(package, None)
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, package, module)
