"""Looking around: what is in a folder, and in everything below it, in one fixed order and without following links."""

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, TypeAlias

from toolcrib.errors import ToolRefusedError
from toolcrib.sources.modules.workdir.flags import FOLDER

Kind: TypeAlias = Literal["file", "folder", "link", "other"]

DEEPEST = 64
# Made by programs, large, and hardly ever what is looked for; a path that leads into one is still searched.
SKIPPED = (".git", ".hg", ".svn", ".toolcrib", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".tox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something in a folder; `folder` is open only until the next entry is asked for."""

    name: str
    path: str  # from where the walk began
    kind: Kind
    bytes: int = 0
    modified: float = 0.0
    folder: int = field(compare=False)


def entries(folder: int, prefix: str = "") -> list[Entry]:
    """What is in a folder, by name."""
    with os.scandir(folder) as found:
        names = sorted(one.name for one in found)
    return [entry for name in names if (entry := _entry(folder, prefix, name)) is not None]


class Tree:
    """Everything below a folder, depth first, by name."""

    def __init__(self, skipped: Collection[str] = SKIPPED, *, deadline: float) -> None:
        self._skipped = frozenset(skipped)
        self._deadline = deadline

    def walk(self, folder: int, prefix: str = "", depth: int = 0) -> Iterator[Entry]:
        """Files, folders and links; folders that are skipped are left out with all that is in them."""
        for entry in entries(folder, prefix):
            if monotonic() > self._deadline:
                raise too_slow()
            if entry.kind == "folder" and entry.name in self._skipped:
                continue
            yield entry
            if entry.kind == "folder" and depth < DEEPEST:
                yield from self._below(folder, entry, depth)

    def _below(self, folder: int, entry: Entry, depth: int) -> Iterator[Entry]:
        try:
            inner = os.open(entry.name, FOLDER, dir_fd=folder)
        except OSError:  # gone, swapped for a link, or closed to us: a search goes on without it
            return
        try:
            yield from self.walk(inner, f"{entry.path}/", depth + 1)
        finally:
            os.close(inner)

    def reaches(self, path: str) -> bool:
        """Whether the walk would come to a file at this path."""
        *folders, _ = path.split("/")
        return len(folders) <= DEEPEST and self._skipped.isdisjoint(folders)


def too_slow() -> ToolRefusedError:
    """The error for a search that takes too long."""
    return ToolRefusedError("The search took too long and was stopped.", hint="Give a `path` further down.")


def _entry(folder: int, prefix: str, name: str) -> Entry | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # gone meanwhile
        return None
    return Entry(
        name=name,
        path=f"{prefix}{name}",
        kind=_kind(status.st_mode),
        bytes=status.st_size,
        modified=status.st_mtime,
        folder=folder,
    )


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"
