"""The work folder at its edges: owners, odd failures of the disk, and things that vanish while one looks."""

import errno
import os
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.support.calls import Calls
from toolcrib.errors import PathRefusedError, ToolRefusedError
from toolcrib.sources.modules import files as tree_room, files as whole_files
from toolcrib.sources.modules.files import Tree, entries
from toolcrib.sources.modules.workdir import Workdir


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
async def test_a_replaced_file_stays_with_its_owner(tmp_path: Path) -> None:
    (tmp_path / "theirs.txt").write_text("old")
    os.chown(tmp_path / "theirs.txt", 12345, 23456)
    await Calls("filesystem", tmp_path).done("fs_edit", path="theirs.txt", old="old", new="new")
    status = os.stat(tmp_path / "theirs.txt")
    assert (status.st_uid, status.st_gid) == (12345, 23456)


async def test_a_file_that_cannot_be_given_back_becomes_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs.txt").write_text("old")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(whole_files.os, "fchown", refuse)
    monkeypatch.setattr(whole_files.os, "geteuid", lambda: 12345)
    await Calls("filesystem", tmp_path).done("fs_edit", path="theirs.txt", old="old", new="new")
    assert (tmp_path / "theirs.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EROFS, "'new.txt' could not be written: the disk is read-only. Tell the user."),
        (errno.EIO, "'new.txt': Input/output error. Use another path."),
    ],
)
async def test_what_the_disk_refuses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(whole_files.os, "link", refuse)
    assert await Calls("filesystem", tmp_path).refused("fs_write", path="new.txt", content="x") == said
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["", "  ", "\n"])
def test_an_empty_path_leads_nowhere(tmp_path: Path, path: str) -> None:
    with pytest.raises(PathRefusedError), Workdir(tmp_path).place(path):
        pass


def test_a_walk_goes_on_without_what_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    found: list[str] = []
    with Workdir(tmp_path).open_folder(".") as (folder, _):
        for entry in Tree(deadline=monotonic() + 60).walk(folder):
            found.append(entry.path)
            if entry.path == "b":  # gone between being seen and being opened
                (tmp_path / "b" / "file").unlink()
                (tmp_path / "b").rmdir()
                (tmp_path / "b").symlink_to("c")
        assert found == ["a", "a/file", "b", "c", "c/file"]

        stat = os.stat

        def vanished(name: Any, **options: Any) -> os.stat_result:
            if name == "a":
                raise FileNotFoundError(errno.ENOENT, "gone")
            return stat(name, **options)

        monkeypatch.setattr(tree_room.os, "stat", vanished)
        assert [entry.name for entry in entries(folder)] == ["b", "c"]


def test_a_link_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "readlink", refuse)
    with pytest.raises(ToolRefusedError, match="'a/b' may not be opened"), Workdir(tmp_path).place("a/b"):
        pass


def test_links_from_link_to_link_end(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"l{number}").symlink_to(f"l{number + 1}")
    with pytest.raises(PathRefusedError, match="from link to link"), Workdir(tmp_path).place("l0"):
        pass
    with Workdir(tmp_path).place("l20") as place:
        assert place.path == "l50"


def test_no_walk_leaves_a_folder_open(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    folder = Workdir(tmp_path)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for path in ("a/b/c", "a/../a/b", "../x", "a/x/y", ".", "a/b/.."):
        for _ in range(20):
            try:
                with folder.open_folder(path):
                    pass
            except ToolRefusedError:
                pass
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before
