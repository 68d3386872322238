"""Finding files by name and by content: the same answer with ripgrep and without."""

import asyncio
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.calls import Calls
from toolcrib.sources.modules.filesystem import grep as grep_room, line_matcher
from toolcrib.sources.modules.filesystem.globs import Glob, split
from toolcrib.sources.modules.filesystem.ripgrep import files_with, find_ripgrep

needs_ripgrep = pytest.mark.skipif(
    shutil.which("rg") is None, reason="ripgrep is not installed: its path is not tested"
)


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


TREE = {
    "a.py": b"def hello():\n    return 'TODO'\n",
    "b.txt": b"todo: buy milk\r\nTODO: sell it\r\n",
    "src/c.py": "# TODO zażółć\nprint(1)\n".encode(),
    "src/deep/d.py": b"nothing here\n",
    "node_modules/x/index.js": b"// TODO in a package\n",
    ".git/HEAD": b"TODO\n",
    ".hidden": b"TODO hidden\n",
    "bin.dat": b"TODO\0\1\2",
    "latin.txt": b"TODO caf\xe9\n",
}


def places(found: dict[str, Any]) -> list[str]:
    return [f"{match['path']}:{match['line']}" for match in found["matches"]]


@pytest.mark.process
@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs_ripgrep), False])
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"pattern": "TODO"}, [".hidden:1", "a.py:2", "b.txt:2", "src/c.py:1"]),
        ({"pattern": "todo", "ignore_case": True}, [".hidden:1", "a.py:2", "b.txt:1", "b.txt:2", "src/c.py:1"]),
        ({"pattern": "ZAŻÓŁĆ", "ignore_case": True}, ["src/c.py:1"]),
        ({"pattern": "TODO", "glob": "*.py"}, ["a.py:2", "src/c.py:1"]),
        ({"pattern": "TODO", "glob": "src/**/*.py"}, ["src/c.py:1"]),
        ({"pattern": "TODO", "path": "src"}, ["src/c.py:1"]),
        ({"pattern": "TODO", "path": "b.txt"}, ["b.txt:2"]),
        ({"pattern": "TODO", "path": "node_modules"}, ["node_modules/x/index.js:1"]),
        ({"pattern": "milk$"}, ["b.txt:1"]),
        ({"pattern": r"^\w+\(\d\)$"}, ["src/c.py:2"]),
        ({"pattern": r"hello\(\)|milk"}, ["a.py:1", "b.txt:1"]),
        ({"pattern": r"(?i)TODO(?=:)"}, ["b.txt:1", "b.txt:2"]),
        ({"pattern": "hello()", "literal": True}, ["a.py:1"]),
        ({"pattern": "nowhere to be found"}, []),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
async def test_lines_are_found(tmp_path: Path, ripgrep: bool, arguments: dict[str, Any], found: list[str]) -> None:
    write(tmp_path, TREE)
    files = Calls("filesystem", tmp_path, ripgrep=ripgrep)
    assert places(await files.done("fs_grep", **arguments)) == found


@pytest.mark.process
async def test_a_match_tells_file_line_and_text(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"x" * 400 + b"\nneedle\r\n"})
    files = Calls("filesystem", tmp_path)
    assert await files.done("fs_grep", pattern="needle") == {
        "matches": [{"path": "a.txt", "line": 2, "text": "needle"}],
        "cut": False,
    }
    [long] = (await files.done("fs_grep", pattern="x+"))["matches"]
    assert long["text"] == "x" * 300 + "..."


@pytest.mark.process
async def test_only_so_many_matches_are_given(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"x\n" * 5, "b": b"x\n" * 5})
    found = await Calls("filesystem", tmp_path).done("fs_grep", pattern="x", limit=7)
    assert (len(found["matches"]), found["cut"]) == (7, True)


@pytest.mark.process
async def test_large_files_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"large": b"needle\n" * 1000, "small": b"needle\n"})
    for ripgrep in (True, False):
        files = Calls("filesystem", tmp_path, ripgrep=ripgrep, max_file_bytes=1000)
        assert places(await files.done("fs_grep", pattern="needle")) == ["small:1"]
    assert "larger than 1,000 bytes" in await files.refused("fs_grep", pattern="needle", path="large")


@pytest.mark.process
async def test_an_expression_that_is_none_is_explained(tmp_path: Path) -> None:
    said = await Calls("filesystem", tmp_path).refused("fs_grep", pattern="foo(")
    assert said == (
        "'foo(' is not a regular expression: missing ), unterminated subpattern at position 3. "
        "Write \\ before characters such as ( [ { * + ? . or set `literal`."
    )


@pytest.mark.process
async def test_an_expression_that_never_ends_is_stopped(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"a" * 60 + b"!\n"})
    files = Calls("filesystem", tmp_path, search_seconds=0.5)
    said = await files.refused("fs_grep", pattern="(a+)+$", path="a.txt")
    assert said.startswith("The search took too long and was stopped. Use a simpler `pattern`")
    at_once = Calls("filesystem", tmp_path, search_seconds=1e-6)
    assert "took too long" in await at_once.refused("fs_grep", pattern="a")


@pytest.mark.process
@pytest.mark.parametrize("ripgrep", [pytest.param(True, marks=needs_ripgrep), False])
async def test_a_walk_that_takes_too_long_is_stopped(
    tmp_path: Path, ripgrep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": b"needle"})
    times = iter([0.0, *[1000.0] * 10])
    monkeypatch.setattr(grep_room, "monotonic", lambda: next(times))
    monkeypatch.setattr("toolcrib.sources.modules.workdir.tree.monotonic", lambda: 1000.0)
    files = Calls("filesystem", tmp_path, ripgrep=ripgrep)
    assert "Give a `path` further down." in await files.refused("fs_grep", pattern="needle")


@pytest.mark.process
async def test_a_file_that_cannot_be_read_does_not_stop_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": b"needle", "b.txt": b"needle", "c/d.txt": b"needle"})
    read = grep_room.read_whole

    def reads_only_b(place: Any, label: str, most_bytes: int) -> Any:
        if place.name != "b.txt":
            raise PermissionError(13, "Permission denied")
        return read(place, label, most_bytes)

    monkeypatch.setattr(grep_room, "read_whole", reads_only_b)
    for ripgrep in (True, False):
        files = Calls("filesystem", tmp_path, ripgrep=ripgrep)
        assert places(await files.done("fs_grep", pattern="needle")) == ["b.txt:1"]


@pytest.mark.process
def test_a_ripgrep_that_fails_is_not_believed(tmp_path: Path) -> None:
    for program in ("/nowhere/rg", shutil.which("false") or "false"):
        options: Any = {"ignore_case": False, "skipped": [], "most_bytes": 10, "seconds": 5}
        # `false` ends with 1, which is ripgrep's word for "nothing"; anything else is a failure.
        assert files_with(["x"], tmp_path, program=program, **options) in (None, [])
    script = tmp_path / "rg"
    script.write_text("#!/bin/sh\nexit 2\n")
    script.chmod(0o755)
    assert files_with(["x"], tmp_path, program=str(script), **options) is None


# The same with and without

names = st.sampled_from(["a", "b.py", "C.txt", "é.md", "node_modules", "x[1]", ".h", "-f"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
words = st.sampled_from(
    ["foo", "Foo", "bar", "ſ", "İ", "ı", "K", "k", "é", "É", "ß", "हिन्दी", "x1", "_", " ", "\t", "\r", "."]
)
lines = st.lists(words, max_size=5).map("".join)
contents = st.lists(lines, max_size=4).map(lambda some: "\n".join(some).encode()) | st.binary(max_size=20)
trees = st.dictionaries(paths, contents, max_size=5)
pieces = st.sampled_from(
    [
        *(
            "foo",
            "Foo",
            "bar",
            "o",
            "é",
            "ß",
            "K",
            "i",
            r"\w",
            r"\b",
            r"\d",
            ".",
            "^",
            "$",
            "[fb]",
            "[^o]",
            "[]f]",
            r"\.",
        ),
        *(
            "a*",
            "o+",
            "r?",
            "x{1}",
            "(foo)",
            "(bar)?",
            "(?:foo|bar)",
            "|",
            "(?=o)",
            r"\x66",
            "(?i:FOO)",
            " ",
            "_",
            r"\-",
        ),
    ]
)
patterns = st.lists(pieces, min_size=1, max_size=4).map("".join)


@pytest.mark.process
@needs_ripgrep
def test_ripgrep_changes_nothing_but_the_time(tmp_path: Path) -> None:
    with_it, without = (Calls("filesystem", tmp_path, ripgrep=ripgrep) for ripgrep in (True, False))

    @settings(max_examples=80)
    @given(tree=trees, pattern=patterns, ignore_case=st.booleans(), glob=st.sampled_from(["", "*.py", "**/a", "a/*"]))
    def both_find_the_same(tree: dict[str, bytes], pattern: str, ignore_case: bool, glob: str) -> None:
        for left in tmp_path.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        for name, content in tree.items():
            try:
                write(tmp_path, {name: content})
            except OSError:  # a file where another one wants a folder
                continue

        async def both() -> list[str]:
            arguments = {"pattern": pattern, "ignore_case": ignore_case, "glob": glob}
            found = await asyncio.gather(*(files.run("fs_grep", **arguments) for files in (with_it, without)))
            return [one.text for one in found]

        one, other = asyncio.run(both())
        assert one == other

    both_find_the_same()


@settings(max_examples=1000)
@given(pattern=patterns, line=lines, ignore_case=st.booleans())
def test_a_line_that_fits_holds_one_of_the_required_texts(pattern: str, line: str, ignore_case: bool) -> None:
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error:
        return
    required = line_matcher.required(pattern, ignore_case=ignore_case)
    if required and compiled.search(line):
        # Ripgrep knows more letters as the same without case than `lower` does; ASCII is what counts here.
        folded = line.replace("ſ", "s").replace("K", "k").lower() if ignore_case else line
        assert any((text.lower() if ignore_case else text) in folded for text in required)


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        (r"def \w+\(self", ["(self"]),
        (r"foo|bar+x", ["foo", "bar"]),
        (r"colou?r", ["colo"]),
        (r"a{2}bc", ["bc"]),
        (r"(abc)+d", ["d"]),
        (r"\.py$", [".py"]),
        (r"[abc]]x", ["x"]),
        ("|", []),
        (r"\d+", []),
        (r"foo|\w", []),
        (r"(?i)foo", []),
        ("a\nb", []),
    ],
)
def test_what_has_to_stand_in_a_line(pattern: str, required: list[str]) -> None:
    assert line_matcher.required(pattern, ignore_case=False) == required


def test_the_matcher_speaks_lines() -> None:
    asked = io.BytesIO(b'{"pattern": "b+", "ignore_case": true}\n6 1\na\nB\nb\n4 9\nb\0b\n3 9\nb\xff\n')
    answers = io.BytesIO()
    line_matcher.serve(asked, answers)
    assert answers.getvalue() == b'{"literals": ["b"]}\n[[2, "B"]]\n[]\n[]\n'
    answers = io.BytesIO()
    line_matcher.serve(io.BytesIO(b'{"pattern": "(", "ignore_case": false}\n'), answers)
    assert b"unterminated subpattern" in answers.getvalue()


# By name


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("src/**/test_*.py", "src/test_a.py", True),
        ("a/**/b/**/c", "a/x/b/y/z/c", True),
        ("a/**/b/**/c", "a/x/c", False),
        ("*.{ts,tsx}", "a.tsx", True),
        ("{a,b}/{c,d}.x", "b/d.x", True),
        ("file?.txt", "file12.txt", False),
        ("[ab].txt", "b.txt", True),
        ("*.PY", "a.py", False),
        ("./docs//*", "docs/a", True),
        ("{lonely", "{lonely", True),
    ],
)
def test_patterns_for_paths(pattern: str, path: str, fits: bool) -> None:
    assert Glob(pattern)(path) is fits


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "a/../b", "x" * 301, "{a,b}" * 8])
async def test_patterns_that_are_none_are_refused(tmp_path: Path, pattern: str) -> None:
    await Calls("filesystem", tmp_path).refused("fs_glob", pattern=pattern)
    await Calls("filesystem", tmp_path).refused("fs_grep", pattern="x", glob=pattern + "/x")


def test_no_pattern_is_slow() -> None:
    assert not Glob("*a" * 100 + "b")("a" * 250)
    assert not Glob("**/" * 90 + "b")("a/" * 90 + "a")


@settings(max_examples=200)
@given(st.lists(st.sampled_from(["a", "*", "**", "?", "b.c"]), min_size=1, max_size=4))
def test_a_pattern_taken_apart_means_the_same(parts: list[str]) -> None:
    base, rest = split("/".join(parts))
    assert "/".join(filter(None, [base, rest])) == "/".join(parts)


async def test_files_are_found_by_name(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    (tmp_path / "link.py").symlink_to("a.py")
    files = Calls("filesystem", tmp_path)

    async def paths(**arguments: Any) -> list[str]:
        return (await files.done("fs_glob", **arguments))["paths"]

    assert await paths(pattern="**/*.py") == ["a.py", "link.py", "src/c.py", "src/deep/d.py"]
    assert await paths(pattern="src/*") == ["src/c.py", "src/deep/"]
    assert await paths(pattern="src/deep/d.py") == ["src/deep/d.py"]
    assert await paths(pattern="*.py", path="src") == ["src/c.py"]
    assert await paths(pattern="node_modules/**/*.js") == ["node_modules/x/index.js"]
    assert (await files.done("fs_glob", pattern="**/*", limit=2)) == {"paths": [".hidden", "a.py"], "cut": True}
    assert (await files.done("fs_glob", pattern="d.py"))["note"].endswith("To look in all folders, use **/d.py.")


@pytest.mark.process
async def test_a_folder_deeper_than_anybody_needs_ends_the_walk(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 70)
    deep.mkdir(parents=True)
    write(deep, {"x": b"needle"})
    write(tmp_path, {"d/d/x": b"needle"})
    for ripgrep in (True, False):
        found = await Calls("filesystem", tmp_path, ripgrep=ripgrep).done("fs_grep", pattern="needle")
        assert places(found) == ["d/d/x:1"]


def test_ripgrep_is_looked_for_where_programs_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ripgrep() is None
    (tmp_path / "rg").touch()
    os.chmod(tmp_path / "rg", 0o755)
    assert find_ripgrep() == str(tmp_path / "rg")
