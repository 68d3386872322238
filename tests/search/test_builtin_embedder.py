"""The built-in embedder: its files, and that a text has one vector, always and everywhere.

The vectors in `tests/data/golden_vectors.json` change with every new model. To write them anew:
`python tests/search/test_builtin_embedder.py`
"""

import json
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from math import fsum, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from toolcrib.search.builtin_embedder import CACHED_WORDS, MODEL, BuiltinEmbedder
from toolcrib.search.embedder import Embedder, Vectors
from toolcrib.search.features import text_words, word_features

pytestmark = pytest.mark.usefixtures("either_way")

GOLDEN = Path(__file__).parents[1] / "data" / "golden_vectors.json"
RENEW_GOLDEN = f"if the model was trained anew: python tests/search/{Path(__file__).name}"
RENEW_SUMS = "if the model was trained anew: cd src/toolcrib/search/model && sha256sum *.npy > SHA256SUMS"
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
TEXTS = [
    "find hero image",
    "getWeatherByCity",
    "znajdź zdjęcie bohatera",
    "Erstelle eine About-Seite",
    "añadir enlace al menú",
    "删除博客文章",
    "天気を調べる",
    "मौसम की जानकारी",
    "ابحث عن صور مجانية",
    "найти картинку",
    "날씨를 알려줘",
    "ค้นหารูปภาพ",
]


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


# The files


def test_the_model_is_the_one_whose_sums_are_committed() -> None:
    lines = (MODEL / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    listed = {name: found for found, name in (line.split() for line in lines)}
    assert {path.name for path in MODEL.glob("*.npy")} <= listed.keys(), RENEW_SUMS
    found = {name: sha256((MODEL / name).read_bytes()).hexdigest() for name in listed}
    assert found == listed, RENEW_SUMS


def test_the_model_has_at_most_20_megabytes() -> None:
    assert sum(path.stat().st_size for path in MODEL.iterdir()) <= 20_000_000


def test_the_model_is_plain_numbers() -> None:
    arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in MODEL.glob("*.npy")}
    assert {name: array.dtype for name, array in arrays.items()} == {
        "features": np.dtype(np.uint32),
        "levels": np.dtype(np.uint8),
        "scales": np.dtype(np.float16),
    }
    features, levels, scales = arrays["features"], arrays["levels"], arrays["scales"]
    assert len(features) == len(levels) == len(scales)
    assert np.all(features[1:] > features[:-1]), "features are searched by halves: in order, each once"
    assert np.isfinite(scales).all()


# Reading them


def test_nothing_is_read_before_the_first_text(tmp_path: Path) -> None:
    embedder = BuiltinEmbedder(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        embedder.embed_queries(["find hero image"])


@pytest.mark.parametrize("file", ["features.npy", "levels.npy", "scales.npy"])
def test_a_pickle_in_place_of_a_table_is_refused(tmp_path: Path, file: str) -> None:
    folder = small_model(tmp_path, ["find"])
    np.save(folder / file, np.array([{"any": "object"}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"(?i)object"):
        BuiltinEmbedder(folder).embed_queries(["find"])


def test_the_id_names_the_version_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "VERSION").write_text("7\n", encoding="utf-8")
    assert BuiltinEmbedder(tmp_path).id == "toolcrib-7"


def test_it_is_an_embedder_that_is_never_remote(embedder: BuiltinEmbedder) -> None:
    seam: Embedder = embedder
    version = (MODEL / "VERSION").read_text(encoding="utf-8").strip()
    assert (seam.id, seam.dimensions, seam.remote) == (f"toolcrib-{version}", 256, False)


# What a vector is


def small_model(folder: Path, words: Sequence[str], seed: int = 1) -> Path:
    """A model of eight dimensions in two groups that knows the features of a few words."""
    generator = np.random.default_rng(seed)
    features = np.unique(np.array([feature for word in words for feature in word_features(word)], dtype=np.uint32))
    np.save(folder / "features.npy", features)
    np.save(folder / "levels.npy", generator.integers(0, 256, size=(len(features), 3), dtype=np.uint8))
    np.save(folder / "scales.npy", generator.uniform(0.01, 2, size=(len(features), 2)).astype(np.float16))
    return folder


def naive_vector(folder: Path, text: str) -> list[float]:
    """The sum of the rows of every feature of every word, one number at a time, cut to length one."""
    features, levels, scales = (np.load(folder / f"{name}.npy") for name in ("features", "levels", "scales"))
    row_of = {int(feature): row for row, feature in enumerate(features)}
    rows = [row_of[f] for word in text_words(text) for f in word_features(word) if f in row_of]
    summed: list[float] = []
    for dimension in range(8):
        shift, group = 3 * (dimension % 4), dimension // 4
        codes = [int(levels[row, group]) | (int(levels[row, 2]) >> 4 * group & 15) << 8 for row in rows]
        summed.append(
            fsum(((code >> shift & 7) - 4) * float(scales[row, group]) for code, row in zip(codes, rows, strict=True))
        )
    length = sqrt(fsum(value * value for value in summed))
    return [float(np.float32(value / length)) if length else 0.0 for value in summed]


@pytest.mark.parametrize(
    "text",
    ["find", "find images", "images find", "find find zdjęcie", "finding an imagery", "天气 find", "zebra", ""],
)
def test_a_vector_is_the_sum_of_the_rows_of_its_features(tmp_path: Path, text: str) -> None:
    folder = small_model(tmp_path, ["find", "images", "zdjęcie", "天气"])
    assert BuiltinEmbedder(folder).embed_documents([text])[0].tolist() == naive_vector(folder, text)


@pytest.mark.parametrize("text", ["", " \n", "😀", "\x00\ud800", "!?"], ids=["empty", "blank", "emoji", "odd", "signs"])
def test_a_text_without_words_is_the_zero_vector(embedder: BuiltinEmbedder, text: str) -> None:
    assert embedder.embed_queries([text]).tolist() == [[0.0] * 256]


def test_no_texts_give_no_vectors(embedder: BuiltinEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 256)


def test_requests_and_documents_are_read_alike(embedder: BuiltinEmbedder) -> None:
    np.testing.assert_array_equal(embedder.embed_queries(TEXTS), embedder.embed_documents(TEXTS))


@given(texts=st.lists(ANY_TEXT, max_size=5))
def test_any_text_has_a_finite_vector_of_length_one_or_zero(embedder: BuiltinEmbedder, texts: list[str]) -> None:
    vectors = embedder.embed_queries(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 256), np.dtype(np.float32))
    assert np.isfinite(vectors).all()
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert all(length == 0 or abs(length - 1) < 1e-6 for length in lengths)


@given(texts=st.lists(ANY_TEXT | st.sampled_from(TEXTS), max_size=6))
def test_a_text_has_the_same_vector_alone_and_in_company(embedder: BuiltinEmbedder, texts: list[str]) -> None:
    together = BuiltinEmbedder().embed_documents(texts)
    alone = [embedder.embed_documents([text])[0] for text in texts]
    assert together.tobytes() == b"".join(vector.tobytes() for vector in alone)


@pytest.mark.parametrize("letters", ["weather ", "天", "ﷺ"], ids=["words", "CJK", "a ligature"])
def test_a_text_of_100_kilobytes_has_a_vector(embedder: BuiltinEmbedder, letters: str) -> None:
    vectors = embedder.embed_queries([letters * (100_000 // len(letters))])
    assert np.linalg.norm(vectors) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("letter", ["x", "é"])
def test_an_endless_word_says_nothing_and_drowns_no_other(embedder: BuiltinEmbedder, letter: str) -> None:
    alone, beside, without = embedder.embed_queries([letter * 100_000, f"weather {letter * 65} today", "weather today"])
    assert not alone.any()
    assert beside.tobytes() == without.tobytes()


def test_threads_get_the_same_vectors() -> None:
    texts = [f"{one} {other} {number}" for number, one in enumerate(TEXTS) for other in TEXTS]
    expected = BuiltinEmbedder().embed_documents(texts)
    shared = BuiltinEmbedder()  # loads its files and fills its cache while eight threads ask
    batches = [[(7 * start + step) % len(texts) for step in range(start % 5 + 1)] for start in range(200)]

    def embed(batch: list[int]) -> Vectors:
        return shared.embed_documents([texts[number] for number in batch])

    with ThreadPoolExecutor(8) as pool:
        found = pool.map(embed, batches)
    for batch, vectors in zip(batches, found, strict=True):
        np.testing.assert_array_equal(vectors, expected[batch])


def test_vectors_stay_the_same_when_the_cache_runs_over(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(CACHED_WORDS + 100)]
    folder = small_model(tmp_path, words[:50])
    embedder = BuiltinEmbedder(folder)
    few = embedder.embed_documents(words[:20])
    embedder.embed_documents(words[: CACHED_WORDS - 10])  # fills it
    embedder.embed_documents(words[-40:])  # empties it
    embedder.embed_documents(words)  # more at once than it holds
    np.testing.assert_array_equal(embedder.embed_documents(words[:20]), few)
    np.testing.assert_array_equal(BuiltinEmbedder(folder).embed_documents(words[:20]), few)


def first_values(vectors: Vectors) -> list[str]:
    """The first eight values of each vector, bit for bit, as 32-bit numbers in hexadecimal."""
    return [" ".join(struct.pack(">f", value).hex() for value in vector[:8].tolist()) for vector in vectors]


def test_every_platform_has_the_same_vectors(embedder: BuiltinEmbedder) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["vectors"]
    assert dict(zip(TEXTS, first_values(embedder.embed_queries(TEXTS)), strict=True)) == golden, RENEW_GOLDEN


# What it knows


def test_texts_that_mean_the_same_are_near(embedder: BuiltinEmbedder) -> None:
    asked = embedder.embed_queries(["find hero image", "znajdź zdjęcie bohatera", "删除博客文章"])
    tools = embedder.embed_documents(["Search for images", "Delete a blog post", "Send an invoice"])
    assert (asked @ tools.T).argmax(axis=1).tolist() == [0, 0, 1]


if __name__ == "__main__":
    vectors = dict(zip(TEXTS, first_values(BuiltinEmbedder().embed_queries(TEXTS)), strict=True))
    comment = (
        f"The first 8 values of each text's vector, 32 bits each. To renew: python tests/search/{Path(__file__).name}"
    )
    text = json.dumps({"comment": comment, "vectors": vectors}, ensure_ascii=False, indent=1)
    GOLDEN.write_text(text + "\n", encoding="utf-8")
