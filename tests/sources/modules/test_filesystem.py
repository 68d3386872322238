"""The module `filesystem`: what its tools do, and what they say when they do not."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Calls
from toolcrib.errors import ModuleError
from toolcrib.sources.modules.registry import module
from toolcrib.sources.modules.workdir import files as whole_files

FIVE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def files(tmp_path: Path) -> Calls:
    return Calls("filesystem", tmp_path)


# Reading


async def test_a_file_is_read_with_a_note_on_top(files: Calls, tmp_path: Path) -> None:
    (tmp_path / "five.txt").write_text(FIVE)
    result = await files.run("fs_read", path="five.txt")
    assert result.text == "[five.txt: lines 1-5 of 5]\none\ntwo\nthree\nfour\nfive"


async def test_a_range_of_lines_is_read(files: Calls, tmp_path: Path) -> None:
    (tmp_path / "five.txt").write_text(FIVE)
    read = await files.done("fs_read", path="five.txt", start_line=2, lines=3)
    assert read == {
        "path": "five.txt",
        "first_line": 2,
        "last_line": 4,
        "total_lines": 5,
        "cut": False,
        "text": "two\nthree\nfour",
    }
    assert "has only 5 lines" in await files.refused("fs_read", path="five.txt", start_line=6)


async def test_a_long_file_is_cut_between_lines(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("word\n" * 100)
    result = await Calls("filesystem", tmp_path, max_result_characters=100).run("fs_read", path="long.txt")
    assert result.text.splitlines()[0] == "[long.txt: lines 1-20 of 100; cut: read on with start_line]"
    (tmp_path / "line.txt").write_text("x" * 300)
    result = await Calls("filesystem", tmp_path, max_result_characters=100).run("fs_read", path="line.txt")
    assert result.text == "[line.txt: lines 1-1 of 1; cut]\n" + "x" * 100


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "file is empty."),
        (b"\xef\xbb\xbfhello\r\n", "[file: lines 1-1 of 1]\nhello\r"),
        (b"caf\xe9", "[file: lines 1-1 of 1; not UTF-8: some letters are missing]\ncaf�"),
        ("Łódź\n".encode(), "[file: lines 1-1 of 1]\nŁódź"),
    ],
)
async def test_texts_of_many_kinds_are_read(files: Calls, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "file").write_bytes(content)
    assert (await files.run("fs_read", path="file")).text == said


def _pipe(path: Path) -> None:
    os.mkfifo(path)


UNREADABLE: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.write_bytes(b"\x89PNG\0\0"), "'thing' is not text (6 bytes). It cannot be shown"),
    (lambda path: path.write_bytes(b"x" * 2001), "'thing' is larger than 2,000 bytes"),
    (lambda path: path.mkdir(), "'thing' is a folder. See what is in it with fs_list."),
    (_pipe, "'thing' is not a file but a device or a pipe."),
    (lambda path: path.with_name("things").touch(), "There is no 'thing'. Did you mean 'things'?"),
    (lambda path: None, "There is no 'thing'. See what is there with fs_list or fs_glob."),
]


@pytest.mark.parametrize(
    ("make", "said"),
    UNREADABLE,
    ids=["binary", "large", "folder", "pipe", "misspelt", "missing"],
)
async def test_what_cannot_be_read_is_refused_with_advice(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    make(tmp_path / "thing")
    files = Calls("filesystem", tmp_path, max_file_bytes=2000)
    assert (await files.refused("fs_read", path="thing")).startswith(said)
    assert (await files.refused("fs_edit", path="thing", old="a", new="b")).startswith(said.split(". ")[0])


async def test_a_name_with_another_unicode_form_is_suggested(files: Calls, tmp_path: Path) -> None:
    (tmp_path / "Cafe\u0301.txt").write_text("coffee")
    said = await files.refused("fs_read", path="Caf\u00e9.txt")
    assert "Did you mean 'Cafe\u0301.txt'?" in said
    said = await files.refused("fs_read", path="missing/x.txt")
    assert said == "There is no 'missing/x.txt'. See what is there with fs_list or fs_glob."


# Writing


async def test_a_file_is_written_with_its_folders_and_never_by_accident_over_another(
    files: Calls, tmp_path: Path
) -> None:
    written = await files.done("fs_write", path="notes/2026/today.md", content="Łódź\n")
    assert written == {"path": "notes/2026/today.md", "bytes": 8, "created": True}
    said = await files.refused("fs_write", path="notes/2026/today.md", content="other")
    assert "already a file 'notes/2026/today.md'" in said
    assert "`overwrite`" in said
    await files.done("fs_write", path="notes/2026/today.md", content="other", overwrite=True)
    assert (tmp_path / "notes/2026/today.md").read_text() == "other"
    assert os.listdir(tmp_path / "notes/2026") == ["today.md"]


async def test_a_replaced_file_keeps_its_mode_and_links_to_it(files: Calls, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("echo one")
    script.chmod(0o750)
    (tmp_path / "link").symlink_to("run.sh")
    await files.done("fs_edit", path="link", old="one", new="two")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert ((tmp_path / "link").is_symlink(), script.read_text()) == (True, "echo two")


async def test_a_new_file_has_the_mode_that_the_user_wants(files: Calls, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        await files.done("fs_write", path="new.txt", content="")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


async def test_a_write_that_fails_leaves_the_old_file_and_no_rest(
    files: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept.txt").write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_files.os, "fsync", full)
    said = await files.refused("fs_write", path="kept.txt", content="new", overwrite=True)
    assert said == "'kept.txt' could not be written: the disk is full. Tell the user."
    assert ((tmp_path / "kept.txt").read_text(), os.listdir(tmp_path)) == ("old", ["kept.txt"])


async def test_a_file_system_without_hard_links_can_be_written_too(
    files: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(whole_files.os, "link", refuse)
    await files.done("fs_write", path="new.txt", content="new")
    assert (tmp_path / "new.txt").read_text() == "new"


async def test_a_file_made_by_somebody_else_at_the_same_moment_is_kept(
    files: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def meanwhile(opened: int) -> None:
        (tmp_path / "both.txt").write_text("theirs")
        fsync(opened)

    monkeypatch.setattr(whole_files.os, "fsync", meanwhile)
    assert "already a file" in await files.refused("fs_write", path="both.txt", content="ours")
    assert "changed by somebody else" in await files.refused("fs_edit", path="both.txt", old="theirs", new="ours")
    assert ((tmp_path / "both.txt").read_text(), os.listdir(tmp_path)) == ("theirs", ["both.txt"])


async def test_too_much_text_is_not_written(tmp_path: Path) -> None:
    files = Calls("filesystem", tmp_path, max_file_bytes=10)
    assert "at most 10 are written" in await files.refused("fs_write", path="a.txt", content="x" * 11)
    (tmp_path / "folder").mkdir()
    assert "is not a file" in await files.refused("fs_write", path="folder", content="x", overwrite=True)
    assert "is not a file" in await files.refused("fs_write", path=".", content="x", overwrite=True)


UNPORTABLE = ["nul", "CON.txt", "aux.c", "com1", "LPT9.log", "COM¹", "name.", "name ", "ab:c", "what?", "a|b", "star*"]


@pytest.mark.parametrize("name", UNPORTABLE)
async def test_new_names_that_another_system_cannot_hold_are_refused(files: Calls, tmp_path: Path, name: str) -> None:
    (tmp_path / "old").write_text("x")
    for tool, arguments in [
        ("fs_write", {"path": name, "content": ""}),
        ("fs_write", {"path": f"{name}/file", "content": ""}),
        ("fs_mkdir", {"path": name}),
        ("fs_move", {"source": "old", "destination": name}),
    ]:
        assert "every system can hold" in await files.refused(tool, **arguments)
    assert os.listdir(tmp_path) == ["old"]
    (tmp_path / name).write_text("already there")
    assert (await files.done("fs_read", path=name))["text"] == "already there"


PROTECTED = [
    *(".git/config", ".git", ".GIT/hooks/post-checkout", ".Git/x", ".git./x", ".git /x", "git~1/x", "GIT~1/config"),
    *(".g\u200cit/x", ".toolcrib/memory.db", "sub/.git/hooks/x", "sub/../.git/config", "link/config", "．git/x"),
]


@pytest.mark.parametrize("path", PROTECTED)
async def test_protected_folders_are_read_but_never_changed(files: Calls, tmp_path: Path, path: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]")
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(".git")
    (tmp_path / "old").write_text("x")
    for tool, arguments in [
        ("fs_write", {"path": path, "content": "x", "overwrite": True}),
        ("fs_mkdir", {"path": path}),
        ("fs_delete", {"path": path, "recursive": True}),
        ("fs_edit", {"path": path, "old": "core", "new": "x"}),
        ("fs_move", {"source": "old", "destination": path}),
    ]:
        await files.refused(tool, **arguments)
    assert (await files.done("fs_read", path=".git/config"))["text"] == "[core]"
    assert sorted(os.listdir(tmp_path)) == [".git", "link", "old", "sub"]
    assert (os.listdir(tmp_path / ".git"), os.listdir(tmp_path / "sub")) == (["config"], [])


# Editing


@pytest.mark.parametrize(
    ("content", "arguments", "result"),
    [
        ("a b c", {"old": "b", "new": "x"}, "a x c"),
        ("a b c", {"old": " b", "new": ""}, "a c"),
        ("x x x", {"old": "x", "new": "y", "replace_all": True}, "y y y"),
        ("one\r\ntwo\r\n", {"old": "one\ntwo", "new": "1\n2"}, "1\r\n2\r\n"),
        ("\ufeffhead", {"old": "head", "new": "tail"}, "\ufefftail"),
        ("日本語", {"old": "本", "new": "米"}, "日米語"),
    ],
)
async def test_an_exact_text_is_replaced(
    files: Calls, tmp_path: Path, content: str, arguments: dict[str, object], result: str
) -> None:
    (tmp_path / "f").write_bytes(content.encode())
    await files.done("fs_edit", path="f", **arguments)
    assert (tmp_path / "f").read_bytes().decode() == result


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("four", "x", "'f' does not hold the text in `old`; nothing was changed. Read the file with fs_read"),
        ("one  two", "x", "(but a text that differs only in blanks)"),
        ("o", "x", "The text in `old` stands 8 times in 'f' (lines 1, 1, 1, 1, 2, ...); nothing was changed."),
        ("three", "three", "`old` and `new` are the same"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(
    files: Calls, tmp_path: Path, old: str, new: str, said: str
) -> None:
    (tmp_path / "f").write_text("one two foo\noo three\no one\n")
    assert said in await files.refused("fs_edit", path="f", old=old, new=new)
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    assert "is not UTF-8" in await files.refused("fs_edit", path="latin", old="c", new="d")


# Folders


async def test_a_folder_is_listed_by_name(files: Calls, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("12345")
    os.utime(tmp_path / "b.txt", (0, 0))
    (tmp_path / "a").mkdir()
    (tmp_path / "c").symlink_to("a")
    os.mkfifo(tmp_path / "d")
    listed = await files.done("fs_list")
    assert listed == {
        "folder": ".",
        "entries": [
            {"path": "a", "kind": "folder"},
            {"path": "b.txt", "kind": "file", "bytes": 5, "changed": "1970-01-01T00:00:00+00:00"},
            {"path": "c", "kind": "link"},
            {"path": "d", "kind": "other"},
        ],
        "more": 0,
    }
    assert (await files.done("fs_list", limit=1))["more"] == 3
    assert "goes through something that is not a folder" in await files.refused("fs_list", path="b.txt")


@pytest.mark.process
async def test_file_names_in_every_script_go_in_and_out(files: Calls, tmp_path: Path) -> None:
    names = ["żółć.txt", "日本語.md", "🦄.json", "مرحبا.txt", "a b 'c' \"d\".txt".replace('"', "_"), "-rf", "#x%20.txt"]
    for name in names:
        await files.done("fs_write", path=f"ünïcode/{name}", content=name)
        assert (await files.done("fs_read", path=f"ünïcode/{name}"))["text"] == name
    assert sorted(os.listdir(tmp_path / "ünïcode")) == sorted(names)
    assert len((await files.done("fs_glob", pattern="ünïcode/*"))["paths"]) == len(names)
    for ripgrep in (True, False):
        found = await Calls("filesystem", tmp_path, ripgrep=ripgrep).done("fs_grep", pattern="日本語")
        assert found["matches"] == [{"path": "ünïcode/日本語.md", "line": 1, "text": "日本語.md"}]


@pytest.mark.process
async def test_names_that_are_no_text_are_shown_and_searched(files: Calls, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"odd\xff.txt")).write_text("needle")
    assert [row["path"] for row in (await files.done("fs_list"))["entries"]] == ["odd\\xff.txt"]
    for ripgrep in (True, False):
        found = await Calls("filesystem", tmp_path, ripgrep=ripgrep).done("fs_grep", pattern="needle")
        assert found["matches"] == [{"path": "odd\\xff.txt", "line": 1, "text": "needle"}]


async def test_folders_are_made_moved_and_deleted(files: Calls, tmp_path: Path) -> None:
    assert await files.done("fs_mkdir", path="a/b/c") == {"path": "a/b/c", "created": True}
    assert await files.done("fs_mkdir", path="a/b/c/.") == {"path": "a/b/c", "created": False}
    await files.done("fs_write", path="a/b/c/f.txt", content="x")
    assert "is not a folder" in await files.refused("fs_mkdir", path="a/b/c/f.txt")
    assert await files.done("fs_move", source="a/b", destination="new/place") == {
        "path": "new/place",
        "moved_from": "a/b",
    }
    assert (tmp_path / "new/place/c/f.txt").read_text() == "x"
    assert "with something in it. Set `recursive`" in await files.refused("fs_delete", path="new")
    assert await files.done("fs_delete", path="a") == {"deleted": "a"}
    assert await files.done("fs_delete", path="new/place/..", recursive=True) == {"deleted": "new"}
    assert os.listdir(tmp_path) == []


async def test_a_move_never_replaces_by_accident(files: Calls, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder").mkdir()
    assert "already something at 'b'" in await files.refused("fs_move", source="a", destination="b")
    assert "Give the full new path" in await files.refused("fs_move", source="a", destination="folder", overwrite=True)
    assert "There is no 'aa'. Did you mean 'a'?" in await files.refused("fs_move", source="aa", destination="c")
    assert "cannot move into itself" in await files.refused("fs_move", source="folder", destination="folder/in")
    await files.done("fs_move", source="a", destination="b", overwrite=True)
    await files.done("fs_move", source="b", destination="b")
    assert ((tmp_path / "b").read_text(), sorted(os.listdir(tmp_path))) == ("a", ["b", "folder"])


@pytest.mark.parametrize("path", [".", "./", "folder/..", "{root}"])
async def test_the_work_folder_itself_stays(files: Calls, tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    given = path.format(root=tmp_path)
    assert "stays where it is" in await files.refused("fs_delete", path=given, recursive=True)
    assert "stays where it is" in await files.refused("fs_move", source=given, destination="other")
    assert "There is no 'gone'" in await files.refused("fs_delete", path="gone")


# What is offered


def test_a_read_only_module_has_nothing_that_changes_anything(tmp_path: Path) -> None:
    assert [tool.name for tool in module("filesystem", workdir=tmp_path, read_only=True)] == [
        *("fs_read", "fs_list", "fs_glob", "fs_grep")
    ]


def test_a_work_folder_has_to_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, said in [("none", "There is no work folder"), ("file", "is not a folder")]:
        with pytest.raises(ModuleError, match=said):
            module("filesystem", workdir=tmp_path / path)


async def test_a_work_folder_that_is_itself_behind_a_link_is_known_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    files = Calls("filesystem", tmp_path / "alias")
    await files.done("fs_write", path=f"{tmp_path}/alias/a.txt", content="x")
    assert (await files.done("fs_read", path=f"{tmp_path}/real/a.txt"))["path"] == "a.txt"
