"""A built index is stored, and the next one with the same tools is loaded: with the same answers, or not at all."""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.search.test_history import requests, tool
from tests.support import ROOT
from tests.support.search import make
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.main import main
from toolcrib.errors import EmbedderError
from toolcrib.search import cache
from toolcrib.search.cache import LEAST_TOOLS, MOST_FILES, text_digest
from toolcrib.search.corpus import Corpus
from toolcrib.search.dense import passages
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.index import ToolIndex, open_index
from toolcrib.search.interface import LazyIndex
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import part_texts
from toolcrib.search.query import SearchOptions
from toolcrib.search.saved import UnusableFileError, read_arrays, write_arrays
from toolcrib.settings import Settings
from toolcrib.tools.tool import Tool

COUNT = 600
EXTRA = [
    make("znajdz_zdjecie", "Znajdź zdjęcie gór.", "pokaż obraz"),
    make("tenki", "都市の天気予報を調べます。", "明日は雨ですか", category="weather"),
    make("empty_of_words", ""),
    make("sendMailGitHub", "Send a mail - to GitHub.", parameters={"type": "object", "properties": {"to": {}}}),
]


def tools(count: int = COUNT) -> list[Tool]:
    return [*map(tool, range(count - len(EXTRA))), *EXTRA]


class Counting:
    """The built-in embedder, which counts the texts of tools that it embeds."""

    remote = False

    def __init__(self, id: str = "counting") -> None:
        self.id = id
        self.embedded = 0
        self._own = BuiltinEmbedder()
        self.dimensions = self._own.dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        return self._own.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._own.embed_queries(texts)


def built(folder: Path, of: Sequence[Tool] | None = None, embedder: Counting | None = None) -> ToolIndex:
    """An index that was searched once, and so is stored if it is worth it."""
    index = ToolIndex(Catalog(tools() if of is None else of), embedder or Counting(), folder=folder)
    index.search("invoice")
    return index


def loaded(folder: Path, of: Sequence[Tool] | None = None, id: str = "counting") -> tuple[ToolIndex, int]:
    """The index of the next process, and how many texts it embedded."""
    embedder = Counting(id)
    return built(folder, of, embedder), embedder.embedded


def answers(index: ToolIndex) -> list[Any]:
    """All that an index says, to the last bit."""
    return [
        (found.hits, found.confidence, found.path, found.reason)
        for request in (*requests(), "zdjęcia gór", "will it rain tomorow?", "overdu invoise", "send mail github")
        for options in (SearchOptions(), SearchOptions(arms="lexical"))
        for found in [index.search(request, limit=20, options=options)]
    ]


def stored(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.index"))


@pytest.mark.parametrize("is_reversed", [False, True], ids=["same order", "reversed"])
def test_a_loaded_index_gives_the_answers_of_a_built_one_to_the_last_bit(tmp_path: Path, is_reversed: bool) -> None:
    one = built(tmp_path)
    given = tools()[::-1] if is_reversed else tools()
    names = [each.name for each in given]
    other, embedded = loaded(tmp_path, given)
    assert embedded == 0
    assert len(other) == COUNT
    assert answers(other) == answers(one) == answers(ToolIndex(Catalog(tools()), Counting()))
    assert [other.explain("pay an invoice", name) for name in names[:20]] == [
        one.explain("pay an invoice", name) for name in names[:20]
    ]
    assert other.similar(names[0], limit=9) == one.similar(names[0], limit=9)


@pytest.mark.process
def test_the_next_process_loads_it(tmp_path: Path) -> None:
    before = answers(built(tmp_path))
    code = (
        "import sys; from pathlib import Path; from tests.search import test_index_cache as t\n"
        "index, embedded = t.loaded(Path(sys.argv[1])); print(embedded); print(t.answers(index))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert said == f"0\n{before}\n"


def test_a_loaded_index_follows_its_catalog(tmp_path: Path) -> None:
    built(tmp_path)

    def changed(folder: Path | None) -> ToolIndex:
        catalog = Catalog(tools())
        index = ToolIndex(catalog, Counting(), folder=folder)
        index.search("invoice")
        chance = Random(4)
        for number in range(0, 200, 3):
            catalog.remove(tool(number).name)
        for turn in range(100):
            old = tool(chance.randrange(300, 500))
            catalog.replace(replace(old, description=f"{old.description} Then number {turn}."))
        catalog.add_all([tool(number) for number in range(1_000, 1_200)])
        return index

    for one, other in zip(answers(changed(tmp_path)), answers(changed(None)), strict=True):
        assert one == other


def test_only_what_changed_since_is_built(tmp_path: Path) -> None:
    built(tmp_path)
    other = [replace(one, description="Something new.") if one.name.endswith("7") else one for one in tools()[50:]]
    new = [one for one in other if one.description == "Something new."]
    index, embedded = loaded(tmp_path, other)
    assert embedded == sum(len(passages(one)) for one in new)
    for one, fresh in zip(answers(index), answers(ToolIndex(Catalog(other), Counting())), strict=True):
        assert [hit.name for hit in one[0]] == [hit.name for hit in fresh[0]]
        assert [hit.score for hit in one[0]] == pytest.approx([hit.score for hit in fresh[0]], abs=1e-9)
        assert one[1:] == (pytest.approx(fresh[1], abs=1e-9), *fresh[2:])


def test_what_was_learned_from_use_is_not_stored_and_still_counts(tmp_path: Path) -> None:
    def learned(folder: Path | None) -> ToolIndex:
        from toolcrib.search.usage import Usage

        usage = Usage()
        index = ToolIndex(Catalog(tools()), Counting(), usage=usage, folder=folder)
        for number in range(20):
            index.learn("settle what we owe", tool(number).name)
        return index

    before = answers(learned(None))
    assert answers(learned(tmp_path)) == before
    assert answers(learned(tmp_path)) == before  # loaded
    assert answers(loaded(tmp_path)[0]) == answers(ToolIndex(Catalog(tools()), Counting()))


def test_few_tools_are_not_stored(tmp_path: Path) -> None:
    built(tmp_path, tools(LEAST_TOOLS - 1))
    assert not stored(tmp_path)


def test_another_embedder_has_files_of_its_own(tmp_path: Path) -> None:
    built(tmp_path)
    assert loaded(tmp_path, id="another")[1] > 0
    assert len(stored(tmp_path)) == 2
    assert loaded(tmp_path, id="another")[1] == loaded(tmp_path)[1] == 0


def test_another_version_of_the_code_does_not_load_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path)
    monkeypatch.setattr(cache, "code_digest", lambda: "another")
    assert loaded(tmp_path)[1] > 0


def test_the_hash_of_a_tool_covers_all_that_an_index_reads_of_it() -> None:
    one = make("get_page", "Get a page. Then read it aloud.", "read a page", category="pages")
    one = replace(one, parameters={"type": "object", "properties": {"id": {"description": "Which page."}}})
    changes: dict[str, Any] = {
        "name": "get_pages",
        "description": "Get a page.",
        "phrases": ("read", "a page"),
        "category": "page",
        "parameters": {"type": "object", "properties": {"id": {"description": "Which."}}},
        "related": ("put_page",),
    }
    for field in fields(Tool):
        other = replace(one, **{field.name: changes[field.name]}) if field.name in changes else one
        read = [(part_texts(each), passages(each)) for each in (one, other)]
        assert (read[0] != read[1]) <= (text_digest(one) != text_digest(other)), field.name
    assert {field.name for field in fields(Tool)} >= changes.keys()


# Files that are not what they should be.


def damaged(path: Path) -> Iterator[tuple[str, bytes]]:
    """What a file may look like after an accident, or a stranger."""
    whole = path.read_bytes()
    for part in (0, 3, 12, 200, len(whole) // 2, len(whole) - 1):
        yield f"cut to {part}", whole[:part]
    for place in (0, 9, 40, 5_000, len(whole) // 3, len(whole) - 40, len(whole) - 1):
        yield f"flipped at {place}", whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]
    yield "longer", whole + b"x"
    yield "something else", b"PK\x03\x04" + os.urandom(5_000)
    yield "pickled", b"\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."
    yield "a large header", whole[:8] + (2**60).to_bytes(8, "little") + whole[16:]


def test_a_file_that_is_damaged_is_told_and_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = answers(built(tmp_path))
    (path,) = stored(tmp_path)
    for what, content in list(damaged(path)):
        path.write_bytes(content)
        caplog.clear()
        index, embedded = loaded(tmp_path)
        assert embedded > 0, what
        assert [record.message for record in caplog.records if "is not used" in record.message], what
        assert answers(index)[:10] == expected[:10], what
        assert loaded(tmp_path)[1] == 0, what  # it was put in order


def spoiled(arrays: dict[str, NDArray[Any]]) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
    """Files with a right checksum whose arrays do not fit each other: a stranger's, or a mistake of ours."""
    chance = np.random.default_rng(5)
    for name, array in arrays.items():
        yield f"no {name}", {other: one for other, one in arrays.items() if other != name}
        yield f"short {name}", {**arrays, name: array[:-1]}
        yield (
            f"{name} of another kind",
            {**arrays, name: array.astype("float32" if array.dtype != "float32" else "int8")},
        )
        yield f"{name} of another shape", {**arrays, name: array.reshape(1, *array.shape)[:, :, None][0]}
        if array.dtype.kind in "iu" and name not in ("dense.wholes", "dense.passages", "tools"):
            for wild in (2**31 - 1, -(2**31) if array.dtype.kind == "i" else 2**31 - 7):
                if wild <= np.iinfo(array.dtype).max and wild >= np.iinfo(array.dtype).min:
                    copy = array.copy()
                    copy.reshape(-1)[chance.integers(array.size)] = wild
                    yield f"{wild} in {name}", {**arrays, name: copy}


def test_a_file_whose_parts_do_not_fit_each_other_touches_no_memory(tmp_path: Path) -> None:
    built(tmp_path)
    (path,) = stored(tmp_path)
    key = path.name.split("-")[0]
    arrays = read_arrays(path, key)
    held = {own.tobytes(): tool_id for tool_id, own in enumerate(arrays["tools"])}
    found = {held[text_digest(one)]: one for one in tools()}
    tried = refused = 0
    for what, wrong in spoiled(arrays):
        tried += 1
        index = ToolIndex(Catalog(), Counting())
        corpus: Corpus = index._corpus  # pyright: ignore[reportPrivateUsage] - a file that we never write
        try:
            write_arrays(path, key, wrong)
            corpus.restore(read_arrays(path, key), found)
        except UnusableFileError:
            refused += 1
            assert len(corpus) == 0, what
        else:  # what could be used gives answers, if other ones
            for request in ("delete the old invoice", "znajdź obraz", "overdu invoise"):
                index.search(request)
    assert refused > tried * 0.8


def test_a_file_of_another_key_is_refused(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.index", "one", {"x": np.zeros(3, dtype=np.int32)})
    with pytest.raises(UnusableFileError, match="made by another version"):
        read_arrays(tmp_path / "a.index", "another")


# Where nothing can be stored.


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    index = built(tmp_path / "file")
    assert index.search("delete the old invoice").hits
    index.search("invoice")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "cannot be stored" in record.message
    assert "the next start builds it again" in record.message


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        expected = answers(built(tmp_path))
    assert list(tmp_path.iterdir()) == []
    index, embedded = loaded(tmp_path)
    assert embedded > 0
    assert answers(index) == expected


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="needs a disk that is full: /dev/full, or a small tmpfs")
def test_a_disk_that_is_really_full_leaves_no_half_file(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from tests.search import test_index_cache as t\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "index = t.built(Path(sys.argv[1])); print(len(index.search('delete the old invoice').hits))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "5\n"
    assert "cannot be stored" in said.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_processes_that_build_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.search import test_index_cache as t; t.built(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    for one in [subprocess.Popen(command, cwd=ROOT) for _ in range(3)]:
        assert one.wait() == 0
    assert len(list(tmp_path.iterdir())) == 1
    assert loaded(tmp_path)[1] == 0


def test_old_files_and_those_of_killed_processes_leave(tmp_path: Path) -> None:
    (abandoned := tmp_path / "killed.unfinished").write_bytes(b"x")
    (young := tmp_path / "at-work.unfinished").write_bytes(b"x")
    os.utime(abandoned, (1, 1))
    for number in range(MOST_FILES + 2):
        (other := tmp_path / f"other-{number}.index").write_bytes(b"x")
        os.utime(other, (number + 2, number + 2))
    built(tmp_path)
    kept = {path.name for path in stored(tmp_path)}
    assert len(kept) == MOST_FILES
    assert "other-0.index" not in kept
    assert not abandoned.exists()
    assert young.exists()


class Away(Counting):
    """An embedder that is away."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError("It is away.")


def test_an_index_without_its_vectors_is_not_stored(tmp_path: Path) -> None:
    lexical = SearchOptions(arms="lexical")
    assert built(tmp_path, embedder=Away()).search("delete the old invoice", options=lexical).hits
    assert not stored(tmp_path)


# Through the doors.


def test_every_way_to_an_index_takes_the_folder(tmp_path: Path) -> None:
    catalog = Catalog(tools())
    for number, index in enumerate(
        (LazyIndex(catalog, folder=tmp_path / "0"), open_index(catalog, folder=tmp_path / "1"))
    ):
        index.search("invoice")
        assert len(stored(tmp_path / str(number))) == 1


def test_a_role_that_sees_fewer_tools_has_an_index_of_its_own_on_disk(tmp_path: Path) -> None:
    many = tools(1_000)
    for embedded in (True, False):
        embedder = Counting()
        index = built(tmp_path, many, embedder)
        before = embedder.embedded
        assert index.only(lambda one: len(one.name) % 2 == 0).search("page").hits
        assert (embedder.embedded > before) == embedded
        assert len(stored(tmp_path)) == 2


def test_the_command_line_stores_indexes_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLCRIB_CACHE", str(tmp_path / "cache"))
    definitions: list[dict[str, Any]] = [
        {"name": one.name, "description": one.description, "inputSchema": {}} for one in tools()[:-4]
    ]
    (tmp_path / "tools.json").write_text(json.dumps(definitions))
    command = ["search", "overdue invoice", "--from", str(tmp_path / "tools.json"), "--json"]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(stored(Settings.from_environment().indexes)) == 1
    assert main(command) == 0
    again = json.loads(capsys.readouterr().out)
    assert [hit["name"] for hit in again["hits"]] == [hit["name"] for hit in said["hits"]]
    shutil.rmtree(tmp_path / "cache")
