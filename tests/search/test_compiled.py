"""The compiled kernels give what the plain ones give, and refuse what does not fit: they never end the process."""

import random
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.support.search import JUNK, cms_tools, in_python, office, rows
from toolcrib.catalog.catalog import Catalog
from toolcrib.search import kernels
from toolcrib.search.dense import ABSENT, DenseIndex, Similarity
from toolcrib.search.embedders.builtin import MODEL, BuiltinEmbedder, known_features
from toolcrib.search.fusion import Candidates, Fusion, collect_candidates
from toolcrib.search.index import ToolIndex
from toolcrib.search.kernels import Kernels, plain
from toolcrib.search.lexical import LexicalIndex, lexical_features
from toolcrib.search.query import SearchOptions
from toolcrib.search.rerank import Coverage, LateInteraction
from toolcrib.search.result import SearchResult
from toolcrib.search.typos import familiarity

loops: Kernels = pytest.importorskip(
    "toolcrib.search.kernels._loops", reason="There was no C compiler when Toolcrib was installed."
)

MANY_WORDS = [
    *("a", "of", "getting", "Weather", "wheather", "straße", "zdjęcia", "zażółć", "ısı", "naïve", "x\u0301y", "🙂"),
    *("создать", "страницу", "クラウド", "今日の天気はどうですか", "사진을", "ภาพถ่าย", "क्षेत्र", "شَجَرَة"),
    *("ab" * 40, "é" * 70, "天" * 90),
]
TEXT = st.text(max_size=30) | st.sampled_from(MANY_WORDS) | st.lists(st.sampled_from(MANY_WORDS)).map(" ".join)
SCORES = st.lists(st.floats(-1, 1, width=32) | st.sampled_from([0.0, 0.25, ABSENT]), max_size=80)


def both(ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What the compiled kernels give, and what the plain ones give."""
    compiled = ask()
    with in_python():
        return compiled, ask()


@given(st.lists(TEXT, max_size=5))
def test_vectors_are_the_same_to_the_last_bit(texts: Sequence[str]) -> None:
    fast, slow = both(lambda: BuiltinEmbedder().embed_queries([*texts, *MANY_WORDS]))
    assert np.array_equal(fast, slow)


@given(TEXT)
def test_words_are_as_familiar(word: str) -> None:
    fast, slow = both(lambda: familiarity.__wrapped__(word))
    assert fast == slow


def requests() -> list[str]:
    wanted = [
        "create an about page with a hero and a mountain photo",
        "delte the pgae",
        "cms_getPage",
        "写一篇关于山的文章",
    ]
    return [*wanted, *(row["text"] for row in rows(JUNK)[::3]), " ".join(["photo and page"] * 60)]


@pytest.mark.parametrize("tools", [1, 2, 45, 700])
def test_a_search_finds_the_same(tools: int) -> None:
    own = cms_tools()
    more = [replace(tool, name=f"{tool.name}_{turn}") for turn in range(20) for tool in own] if tools > len(own) else []
    catalog = Catalog([*own, *more][:tools])

    def ask() -> list[SearchResult]:
        index = ToolIndex(catalog, options=SearchOptions(abstain=False))
        return [index.search(query, limit=20) for query in requests()]

    fast, slow = both(ask)
    for one, other in zip(fast, slow, strict=True):
        assert (one.names, one.path) == (other.names, other.path)
        assert [hit.why for hit in one.hits] == [hit.why for hit in other.hits]
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-5)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-5)


POSTINGS = st.lists(st.sets(st.integers(0, 29)), min_size=1, max_size=5)


@given(POSTINGS, st.integers(-1, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_words_score_alike(holders: list[set[int]], limit: int, is_ordered: bool, seed: int) -> None:
    chance = random.Random(seed)
    postings = [array("I", [tool << 8 | chance.choice([1, 2, 255]) for tool in sorted(own)]) for own in holders]
    weights = [chance.choice([0.5, 1.0, 3.0]) for _ in holders]
    norms = np.array([chance.choice([1.0, 2.0]) for _ in range(30)])
    order = np.array(chance.sample(range(30), 30), dtype=np.int64) if is_ordered else None
    fast, slow = both(lambda: kernels.highest_by_words(postings, weights, norms, order, max(0, limit)))
    assert fast == slow
    assert len(fast[0]) == min(max(0, limit), len(set[int]().union(*holders)))


@given(SCORES)
def test_the_nearest_are_the_same(scores: list[float]) -> None:
    fast, slow = both(lambda: Similarity.of(np.array(scores, dtype=np.float32)))
    assert fast.nearest == slow.nearest
    assert (fast.mean, fast.spread) == pytest.approx((slow.mean, slow.spread))


@settings(max_examples=40)
@given(st.integers(1, 500), st.sets(st.integers(0, 40)), st.integers(0, 2**32 - 1))
def test_the_dense_arm_scores_alike(tools: int, gone: set[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    index = DenseIndex(24, exact_up_to=60, shortlist=20)
    blocks = [generator.normal(size=(generator.integers(1, 5), 24)).astype(np.float32) for _ in range(tools)]
    index.put(range(tools), blocks)
    for number in gone:
        index.remove(number)
    queries = generator.normal(size=(2, 24)).astype(np.float32)
    fast, slow = both(lambda: index.scores(queries))
    assert fast == pytest.approx(slow, abs=1e-5)


@given(TEXT, SCORES, st.integers(0, 60))
def test_both_arms_stand_side_by_side_alike(text: str, scores: list[float], depth: int) -> None:
    lexical, meanings = LexicalIndex(), LateInteraction(BuiltinEmbedder())
    lexical.add(list(enumerate(office())))
    meanings.put((number, lexical.words(number)) for number in range(0, len(lexical), 2))  # some have yet to come
    match = lexical.search(f"send {text} weather", 50)
    seen = Similarity.of(np.array([*scores, *[0.1] * 8], dtype=np.float32))

    def ask() -> Candidates:
        return collect_candidates(match, lexical_features(match, lexical), seen, meanings, text, depth)

    fast, slow = both(ask)
    assert fast.tool_ids.tolist() == slow.tool_ids.tolist()
    for one, other in zip(
        (*fast[1:3], *fast.close, fast.features), (*slow[1:3], *slow.close, slow.features), strict=True
    ):
        assert one == pytest.approx(other, abs=1e-5)


def case(generator: np.random.Generator, tools: int) -> Candidates:
    numbers = np.array(random.Random(int(generator.integers(1_000))).sample(range(60), tools), dtype=np.int64)
    lexical, dense, asked, told = generator.integers(0, 5, size=(4, tools)) / 4
    return Candidates(numbers, lexical, dense, Coverage(asked, told), generator.normal(size=21))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_shares_are_pooled_alike(sizes: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    whole, *parts = [case(generator, size) for size in sizes]
    fast, slow = both(lambda: Fusion().ranking(whole, parts))
    assert dict(fast) == pytest.approx(dict(slow))
    assert [share for _, share in fast] == pytest.approx([share for _, share in slow])


def floats(count: int) -> np.ndarray:
    return np.zeros(count)


KNOWN = known_features(MODEL)
FITS = (floats(3), floats(3), floats(3), floats(6), floats(2), floats(2), floats(1))  # a network of three signs
SMALL = np.zeros(4, dtype=np.float32)
BYTES, PLACES = np.zeros(4, dtype=np.int8), np.zeros(1, dtype=np.int64)
TEN = (0.0,) * 10
HELD = (PLACES, PLACES + 1, np.zeros(1, dtype=np.int32), np.zeros(64, dtype=np.float32), np.ones(1, dtype=np.float32))
NO_NUMBERS = np.zeros(0, dtype=np.int64)


MISUSES: list[tuple[str, tuple[Any, ...]]] = [
    ("add_features", ()),
    ("add_features", (["a"], [], *KNOWN, np.zeros(3, dtype=np.uint8), np.zeros(1, dtype=np.float16), SMALL)),
    ("add_features", (["a"], ["a"], *KNOWN, np.zeros(3, dtype=np.uint8), np.zeros(1, dtype=np.float16), SMALL)),
    ("add_features", (["a"], ["a"], KNOWN.numbers, KNOWN.numbers, BYTES, np.zeros(1, dtype=np.float16), SMALL)),
    ("known_share", ("a",)),
    ("known_share", ("a", "a", KNOWN.numbers, KNOWN.starts[:5].copy())),
    ("known_share", ("\ud800", None, *KNOWN)),
    ("known_share", (7, None, *KNOWN)),
    ("known_positions", ()),
    ("known_positions", ([1, -1], *KNOWN)),
    ("known_positions", ([1], KNOWN.numbers, KNOWN.numbers)),
    ("deletion_matches", ()),
    ("deletion_matches", ("word", np.zeros(2, dtype=np.uint32), PLACES)),
    ("add_words", ()),
    ("add_words", ([SMALL, SMALL[:2].copy()], SMALL)),
    ("add_words", ([], np.zeros(2_000, dtype=np.float32))),
    ("add_words", ([SMALL], b"1234")),
    ("highest_by_words", ()),
    ("highest_by_words", ([array("I", [1 << 8 | 1])], [1.0], floats(1), None, 5)),  # no tool has that number
    ("highest_by_words", ([array("I", [1])], [], floats(1), None, 5)),
    ("highest_by_words", ([array("d", [1.0])], [1.0], floats(1), None, 5)),
    ("highest_by_words", ([array("I", [1])], ["much"], floats(1), None, 5)),
    ("highest_by_words", ([array("I", [1])], [1.0], floats(2), PLACES, 5)),
    ("matched_words", ()),
    ("matched_words", ([1], [[array("d", [1.0])]])),
    ("matched_words", (["one"], [[array("I", [1])]])),
    ("matched_words", (1, [])),
    ("scores", ()),
    ("scores", (SMALL, BYTES, SMALL, BYTES, SMALL, PLACES, PLACES + 9, BYTES, 1, 0.5, ABSENT, SMALL)),
    (
        "scores",
        (SMALL, BYTES, SMALL[:1], BYTES, SMALL[:1], PLACES, PLACES + 9, BYTES, 1, 0.5, ABSENT, SMALL[:1].copy()),
    ),
    ("nearest", ()),
    ("nearest", (SMALL, "many", ABSENT, None)),
    ("nearest", (BYTES, 5, ABSENT, None)),
    ("nearest", (SMALL, 5, ABSENT, PLACES)),
    ("collect_candidates", ()),
    (
        "collect_candidates",
        ((9,), (1.0,), TEN, SMALL, (), 0.0, 1.0, ABSENT, 5, [BYTES], *HELD, PLACES, floats(4), floats(21)),
    ),
    (
        "collect_candidates",
        ((0,), (1.0,), TEN, SMALL, (9,), 0.0, 1.0, ABSENT, 5, [], *HELD, NO_NUMBERS, floats(0), floats(21)),
    ),
    (
        "collect_candidates",
        ((), (), TEN, SMALL, (9,), 0.0, 1.0, ABSENT, 5, [], *HELD, PLACES.copy(), floats(4), floats(21)),
    ),
    (
        "collect_candidates",
        ((-1,), (1.0,), TEN, SMALL, (), 0.0, 1.0, ABSENT, 5, [], *HELD, PLACES.copy(), floats(4), floats(21)),
    ),
    ("collect_candidates", ((), (), (), SMALL, (), 0.0, 1.0, ABSENT, 5, [], *HELD, NO_NUMBERS, floats(0), floats(21))),
    (
        "collect_candidates",
        ((), (), TEN, SMALL, (), 0.0, 1.0, ABSENT, 5, [SMALL], *HELD, NO_NUMBERS, floats(0), floats(21)),
    ),
    (
        "collect_candidates",
        ((), (), TEN, SMALL, (), 0.0, 1.0, ABSENT, 5, [SMALL] * 33, *HELD, NO_NUMBERS, floats(0), floats(21)),
    ),
    ("network", ()),
    ("network", (floats(2), floats(1), *FITS)),
    ("network", (floats(3), floats(1), *FITS[:-1], floats(2))),
    ("probabilities", ()),
    ("probabilities", (floats(3), floats(2), floats(2), floats(2), floats(2), floats(1), *FITS)),
    ("ranked", ()),
    ("ranked", ([PLACES], [], [], None, 5)),
    ("ranked", ([PLACES], [floats(2)], [1.0], None, 5)),
    ("ranked", ([PLACES], [floats(1)], ["much"], None, 5)),
    ("ranked", ([np.zeros((1, 200), dtype=np.int64)], [floats(200)], [1.0], None, 5)),
    ("ranked", ([PLACES + 1], [floats(1)], [1.0], PLACES, 5)),  # the order has no place for 1
    ("ranked", ([PLACES - 1], [floats(1)], [1.0], PLACES, 5)),
]


@pytest.mark.parametrize(("loop", "arguments"), MISUSES)
def test_what_does_not_fit_is_refused(loop: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError, BufferError, IndexError, OverflowError, SystemError)):
        getattr(loops, loop)(*arguments)


def test_both_forms_have_every_kernel() -> None:
    for name in kernels.__all__:
        assert getattr(kernels, name) is getattr(loops, name)
        assert callable(getattr(plain, name))


def test_without_a_compiler_the_plain_ones_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(kernels, "import_module", missing)
    assert kernels.load() is plain
