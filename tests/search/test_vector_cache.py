"""CachedEmbedder: what reaches the embedder, and what survives a bad file."""

import logging
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import PATIENCE
from tests.support.embeddings_server import DIMENSIONS, model_vector, serve_model
from toolcrib.errors import EmbedderError
from toolcrib.search.embedders import cache as vector_cache, cache as vector_file
from toolcrib.search.embedders.cache import CachedEmbedder
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.embedders.openai import OpenAIEmbedder
from toolcrib.search.kernels.rows import Vectors


class CountingEmbedder:
    """A deterministic model that writes down what it was asked."""

    remote = True

    def __init__(self, id: str = "counting:1", dimensions: int = 4) -> None:
        self.id = id
        self.dimensions = dimensions
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return self._vectors(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return -self._vectors(texts)  # told apart from documents

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        vectors = np.stack([model_vector(f"{self.id} {text}", self.dimensions) for text in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def right(self, *texts: str) -> Vectors:
        return self._vectors(texts)


def cache_file(folder: Path) -> Path:
    (found,) = folder.glob("*.vectors")
    return found


def test_a_text_is_embedded_once_and_for_all(tmp_path: Path) -> None:
    first, second = CountingEmbedder(), CountingEmbedder()
    fresh = CachedEmbedder(first, tmp_path).embed_documents(["a", "b", "a"])
    kept = CachedEmbedder(second, tmp_path).embed_documents(["b", "a"])
    assert (first.asked, second.asked) == (["a", "b"], [])
    np.testing.assert_array_equal(fresh, fresh[[0, 1, 0]])
    np.testing.assert_array_equal(kept, fresh[[1, 0]])
    np.testing.assert_allclose(fresh, first.right("a", "b", "a"), rtol=1e-6)
    assert kept.dtype == np.float32


def test_a_changed_text_is_embedded_alone(tmp_path: Path) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a", "b", "c"])
    model = CountingEmbedder()
    vectors = CachedEmbedder(model, tmp_path).embed_documents(["a", "b, changed", "c"])
    assert model.asked == ["b, changed"]
    np.testing.assert_allclose(vectors, model.right("a", "b, changed", "c"), rtol=1e-6)


def test_it_is_an_embedder_like_the_one_it_wraps(tmp_path: Path) -> None:
    cached: Embedder = CachedEmbedder(CountingEmbedder(), tmp_path)
    assert (cached.id, cached.dimensions, cached.remote) == ("counting:1", 4, True)
    assert cached.embed_documents([]).shape == (0, 0)
    assert cached.embed_queries([]).shape == (0, 0)
    cached.embed_documents(["a"])
    assert cached.embed_documents([]).shape == cached.embed_queries([]).shape == (0, 4)
    assert repr(cached).startswith("CachedEmbedder(<")


def test_the_cache_knows_the_dimensions_without_asking(tmp_path: Path) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a"])
    assert CachedEmbedder(CountingEmbedder(dimensions=99), tmp_path).dimensions == 4


def test_another_model_never_sees_these_vectors(tmp_path: Path) -> None:
    one, two = CountingEmbedder("model:1"), CountingEmbedder("model:2")
    CachedEmbedder(one, tmp_path).embed_documents(["a"])
    vectors = CachedEmbedder(two, tmp_path).embed_documents(["a"])
    assert two.asked == ["a"]
    np.testing.assert_allclose(vectors, two.right("a"), rtol=1e-6)
    assert len(list(tmp_path.glob("*.vectors"))) == 2


@pytest.mark.parametrize("id", ["CON", "a/b\\c:d*e?<f>|g", "../../up", "x" * 500, "модель 🦊", "half \ud83d", ""])
def test_any_id_makes_a_file_name_that_every_system_takes(id: str, tmp_path: Path) -> None:
    class Named(CountingEmbedder):
        def _vectors(self, texts: Sequence[str]) -> Vectors:
            return np.ones((len(texts), 1), dtype=np.float32)

    CachedEmbedder(Named(id), tmp_path).embed_documents(["a"])
    name = cache_file(tmp_path).name
    assert len(name) < 100
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


def test_queries_are_remembered_in_memory_only(tmp_path: Path) -> None:
    model = CountingEmbedder()
    cached = CachedEmbedder(model, tmp_path, queries_in_memory=2)
    vectors = cached.embed_queries(["a", "b", "a"])
    np.testing.assert_allclose(vectors, -model.right("a", "b", "a"), rtol=1e-6)
    np.testing.assert_array_equal(cached.embed_queries(["b", "a"]), vectors[[1, 0]])
    assert model.asked == ["a", "b"]
    cached.embed_queries(["c"])  # `b` was not asked for longest
    cached.embed_queries(["a", "b"])
    assert model.asked == ["a", "b", "c", "b"]
    CachedEmbedder(model, tmp_path).embed_queries(["c"])
    assert model.asked[4:] == ["c"]


def test_queries_are_kept_on_disk_if_asked_and_apart_from_documents(tmp_path: Path) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path, queries_on_disk=True).embed_queries(["a"])
    model = CountingEmbedder()
    cached = CachedEmbedder(model, tmp_path, queries_on_disk=True)
    np.testing.assert_allclose(cached.embed_queries(["a"]), -model.right("a"), rtol=1e-6)
    assert model.asked == []
    np.testing.assert_allclose(cached.embed_documents(["a"]), model.right("a"), rtol=1e-6)
    assert model.asked == ["a"]


def test_pruning_keeps_only_the_texts_named(tmp_path: Path) -> None:
    cached = CachedEmbedder(CountingEmbedder(), tmp_path)
    cached.embed_documents([f"text {number}" for number in range(2000)])
    before = cache_file(tmp_path).stat().st_size
    assert cached.prune(["text 1", "text 7", "never seen"]) == 1998
    assert cache_file(tmp_path).stat().st_size < before / 4
    model = CountingEmbedder()
    CachedEmbedder(model, tmp_path).embed_documents(["text 1", "text 2", "text 7"])
    assert model.asked == ["text 2"]


def test_what_was_embedded_before_a_failure_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "STORED_AT_ONCE", 2)

    class FailingAtC(CountingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            if "c" in texts:
                raise EmbedderError("gone")
            return super().embed_documents(texts)

    with pytest.raises(EmbedderError, match="gone"):
        CachedEmbedder(FailingAtC(), tmp_path).embed_documents(["a", "b", "c"])
    model = CountingEmbedder()
    CachedEmbedder(model, tmp_path).embed_documents(["a", "b", "c"])
    assert model.asked == ["c"]


def test_an_embedder_that_gives_nonsense_is_an_error_and_nothing_is_kept(tmp_path: Path) -> None:
    class Nonsense(CountingEmbedder):
        def _vectors(self, texts: Sequence[str]) -> Vectors:
            return np.full((len(texts), 4), np.nan, dtype=np.float32)

    with pytest.raises(EmbedderError, match="counting:1 gave vectors"):
        CachedEmbedder(Nonsense(), tmp_path).embed_documents(["a"])
    model = CountingEmbedder()
    CachedEmbedder(model, tmp_path).embed_documents(["a"])
    assert model.asked == ["a"]


def test_a_model_that_changed_its_length_is_embedded_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    CachedEmbedder(CountingEmbedder(dimensions=4), tmp_path).embed_documents(["a", "b"])
    model = CountingEmbedder(dimensions=6)
    cached = CachedEmbedder(model, tmp_path)
    np.testing.assert_allclose(cached.embed_documents(["a", "c"]), model.right("a", "c"), rtol=1e-6)
    assert "changed the length of its vectors" in caplog.text
    np.testing.assert_allclose(cached.embed_documents(["b"]), model.right("b"), rtol=1e-6)
    assert cached.dimensions == 6


def test_a_query_of_another_length_than_the_documents_is_an_error(tmp_path: Path) -> None:
    CachedEmbedder(CountingEmbedder(dimensions=4), tmp_path).embed_documents(["a"])
    model = CountingEmbedder(dimensions=6)
    cached = CachedEmbedder(model, tmp_path)
    with pytest.raises(EmbedderError, match="6 dimensions, but its documents have 4") as caught:
        cached.embed_queries(["a"])
    assert caught.value.hint == "Build the index again; the cached vectors were dropped."
    assert cached.embed_documents(["a"]).shape == cached.embed_queries(["a"]).shape == (1, 6)


def write_garbage(path: Path) -> None:
    path.write_bytes(b"this is no database " * 500)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def damage_the_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)


def put_another_database_there(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE diary(day TEXT)")
        connection.commit()


def put_tables_of_the_same_name_there(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE about(words TEXT)")
        connection.commit()


def claim_it_for_another_model(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE about SET embedder = 'other:1'")
        connection.commit()


@pytest.mark.parametrize(
    "spoil",
    [
        write_garbage,
        truncate,
        damage_the_middle,
        put_another_database_there,
        put_tables_of_the_same_name_there,
        claim_it_for_another_model,
    ],
)
def test_a_spoiled_file_is_set_aside_and_begun_anew(
    spoil: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [f"text {number}" for number in range(300)]
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(texts)
    spoil(cache_file(tmp_path))
    spoiled = cache_file(tmp_path).read_bytes()
    model = CountingEmbedder()
    np.testing.assert_allclose(
        CachedEmbedder(model, tmp_path).embed_documents(texts), model.right(*texts), rtol=1e-5, atol=1e-6
    )
    assert model.asked == texts
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "is begun anew" in caplog.text
    (aside,) = tmp_path.glob("*.broken")
    assert aside.read_bytes() == spoiled  # nobody's data is deleted
    again = CountingEmbedder()
    CachedEmbedder(again, tmp_path).embed_documents(texts)
    assert again.asked == []


def test_an_empty_file_is_begun_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a"])
    cache_file(tmp_path).write_bytes(b"")
    model = CountingEmbedder()
    CachedEmbedder(model, tmp_path).embed_documents(["a"])
    assert (model.asked, caplog.text) == (["a"], "")


def test_a_single_damaged_vector_is_embedded_again(tmp_path: Path) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a", "b", "c"])
    with closing(sqlite3.connect(cache_file(tmp_path))) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(16) WHERE rowid = 1")
        connection.execute("UPDATE vectors SET vector = 'text' WHERE rowid = 3")
        connection.commit()
    model = CountingEmbedder()
    vectors = CachedEmbedder(model, tmp_path).embed_documents(["a", "b", "c"])
    np.testing.assert_allclose(vectors, model.right("a", "b", "c"), rtol=1e-6)
    assert model.asked == ["a", "c"]


def test_a_folder_that_cannot_be_used_is_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    model = CountingEmbedder()
    cached = CachedEmbedder(model, tmp_path / "file" / "cache")
    for _ in range(2):
        np.testing.assert_allclose(cached.embed_documents(["a"]), model.right("a"), rtol=1e-6)
    assert cached.prune([]) == 0
    assert cached.dimensions == 4
    assert model.asked == ["a", "a"]
    (record,) = caplog.records
    assert "cannot be used" in record.getMessage()


def test_a_broken_file_that_cannot_be_moved_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a"])
    write_garbage(cache_file(tmp_path))

    def refuse(*_: object) -> None:
        raise PermissionError("in use by another process")

    monkeypatch.setattr(vector_file.os, "replace", refuse)
    model = CountingEmbedder()
    np.testing.assert_allclose(CachedEmbedder(model, tmp_path).embed_documents(["a"]), model.right("a"), rtol=1e-6)
    assert "cannot be moved (in use by another process)" in caplog.text


@pytest.mark.parametrize("error", [None, sqlite3.OperationalError("disk I/O error")], ids=["garbage", "lost"])
def test_a_file_that_another_process_began_anew_is_left_alone(
    error: sqlite3.Error | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a"])
    path = cache_file(tmp_path)
    sound, elsewhere = path.read_bytes(), path.with_suffix(".elsewhere")
    write_garbage(path)
    connect = sqlite3.connect

    def connect_while_another_is_faster(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        if not elsewhere.exists():
            path.rename(elsewhere)
            path.write_bytes(sound)
            if error is not None:
                connection.close()
                raise error
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_while_another_is_faster)
    model = CountingEmbedder()
    CachedEmbedder(model, tmp_path).embed_documents(["a"])
    assert (model.asked, caplog.text) == ([], "")
    assert not list(tmp_path.glob("*.broken"))


def test_a_file_that_stays_locked_is_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vector_file, "BUSY_SECONDS", 0.01)
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a"])
    model = CountingEmbedder()
    with closing(sqlite3.connect(cache_file(tmp_path), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        np.testing.assert_allclose(CachedEmbedder(model, tmp_path).embed_documents(["a"]), model.right("a"), rtol=1e-6)
    assert caplog.text == ""
    CachedEmbedder(model, tmp_path).embed_documents(["a"])
    assert model.asked == ["a"]


def test_a_read_only_file_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    CachedEmbedder(CountingEmbedder(), tmp_path).embed_documents(["a"])
    connect = sqlite3.connect

    def connect_read_only(path: Path, **options: Any) -> sqlite3.Connection:
        return connect(f"{path.as_uri()}?mode=ro", uri=True, **options)  # root may write everywhere else

    monkeypatch.setattr(sqlite3, "connect", connect_read_only)
    model = CountingEmbedder()
    cached = CachedEmbedder(model, tmp_path)
    for _ in range(2):
        np.testing.assert_allclose(cached.embed_documents(["a", "b"]), model.right("a", "b"), rtol=1e-6)
    assert model.asked == ["b", "b"]
    assert len(caplog.records) == 1


def test_many_threads_share_one_cache(tmp_path: Path) -> None:
    model = CountingEmbedder()
    cached = CachedEmbedder(model, tmp_path)
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait(PATIENCE)
        texts = [f"text {(number * 7 + step) % 50}" for step in range(25)]
        np.testing.assert_allclose(cached.embed_queries(texts), -model.right(*texts), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(cached.embed_documents(texts), model.right(*texts), rtol=1e-5, atol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8), timeout=PATIENCE))
    later = CountingEmbedder()
    CachedEmbedder(later, tmp_path).embed_documents([f"text {number}" for number in range(50)])
    assert later.asked == []


WRITER = """
import sys
import numpy as np
from toolcrib.search.embedders.cache import CachedEmbedder

class Letters:
    id, dimensions, remote = "letters:1", 2, True
    def embed_documents(self, texts):
        return np.array([[1.0, 0.0] for _ in texts], dtype=np.float32)
    embed_queries = embed_documents

cached = CachedEmbedder(Letters(), sys.argv[1])
for number in range(20):
    cached.embed_documents([f"{sys.argv[2]} {number}", f"shared {number}"])
"""


@pytest.mark.process
def test_several_processes_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in "abcd"]
    said = [writer.communicate(timeout=PATIENCE)[1] for writer in writers]
    assert ([writer.returncode for writer in writers], said) == ([0] * 4, [""] * 4)
    with closing(sqlite3.connect(cache_file(tmp_path))) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (5 * 20,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.process
def test_an_endpoint_sees_each_text_once_over_two_runs(tmp_path: Path) -> None:
    with serve_model() as server:
        for _ in range(2):
            with OpenAIEmbedder("m", base_url=server.url, cache=None) as embedder:
                assert CachedEmbedder(embedder, tmp_path).embed_documents(["a", "b"]).shape == (2, DIMENSIONS)
        assert [request["input"] for request in server.requests] == [["a", "b"]]


@pytest.mark.process
def test_an_endpoint_embedder_keeps_its_documents_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_CACHE", str(tmp_path))
    with serve_model() as server:
        for _ in range(2):
            with OpenAIEmbedder("m", base_url=server.url) as embedder:
                assert embedder.embed_documents(["a", "b"]).shape == (2, DIMENSIONS)
                assert embedder.dimensions == DIMENSIONS
        with OpenAIEmbedder("m", base_url=server.url, cache=None) as embedder:
            embedder.embed_documents(["b"])
        assert [request["input"] for request in server.requests] == [["a", "b"], ["b"]]
    assert list((tmp_path / "vectors").iterdir())
