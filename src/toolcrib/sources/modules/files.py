"""Whole files: read within a limit, written atomically."""

import errno
import os
import secrets
import stat
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, TypeAlias

from toolcrib.errors import ToolRefusedError
from toolcrib.sources.modules.workdir import CREATE, FOLDER, READ, Place

# Listing: what is in a folder, and in everything below it, in one fixed order and without following links.

Kind: TypeAlias = Literal["file", "folder", "link", "other"]

DEEPEST = 64
# Written by programs, large, and hardly ever searched for; a path that leads into one is still searched.
SKIPPED = (".git", ".hg", ".svn", ".toolcrib", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".tox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of a folder; `folder` is open only until the next entry is requested."""

    name: str
    path: str  # from where the walk began
    kind: Kind
    bytes: int = 0
    modified: float = 0.0
    folder: int = field(compare=False)


def entries(folder: int, prefix: str = "") -> list[Entry]:
    """The entries of a folder, by name."""
    with os.scandir(folder) as found:
        names = sorted(one.name for one in found)
    return [entry for name in names if (entry := _entry(folder, prefix, name)) is not None]


class Tree:
    """Everything below a folder, depth first, by name."""

    def __init__(self, skipped: Collection[str] = SKIPPED, *, deadline: float) -> None:
        self._skipped = frozenset(skipped)
        self._deadline = deadline

    def walk(self, folder: int, prefix: str = "", depth: int = 0) -> Iterator[Entry]:
        """Files, folders and links; skipped folders are left out with everything in them."""
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
        except OSError:  # removed, replaced by a link, or without permission: a search goes on without it
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
    except OSError:  # removed meanwhile
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


_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFile:
    """The content of a file, and its status when it was read."""

    path: str
    content: bytes = field(repr=False)
    status: os.stat_result = field(repr=False)


def read_whole(place: Place, label: str, most_bytes: int) -> WholeFile:
    """The content of a regular file; a larger one is refused."""
    try:
        opened = os.open(place.name, READ, dir_fd=place.folder)
    except FileNotFoundError:
        raise place.missing(label) from None
    try:
        status = os.fstat(opened)
        if stat.S_ISDIR(status.st_mode):
            raise ToolRefusedError(f"{label!r} is a folder.", hint="See what is in it with fs_list.")
        if not stat.S_ISREG(status.st_mode):
            raise ToolRefusedError(f"{label!r} is not a file but a device or a pipe.", hint="Use a path of a file.")
        with os.fdopen(opened, "rb", closefd=False) as file:
            content = file.read(most_bytes + 1)
    finally:
        os.close(opened)
    if len(content) > most_bytes:
        raise ToolRefusedError(
            f"{label!r} is larger than {most_bytes:,} bytes, the most that is read.",
            hint="Tell the user; a part of it may do.",
        )
    return WholeFile(path=place.path, content=content, status=status)


def write_whole(place: Place, content: bytes, *, overwrite: bool, known: WholeFile | None = None) -> bool:
    """Write a file atomically, so that nobody ever reads half of it; returns whether there was one before.

    Mode and owner of a file that is replaced are kept. `known` is the file that the writer has read: if it was changed
    since, nothing is written.
    """
    held = place.stat()
    if place.is_root or (held is not None and not stat.S_ISREG(held.st_mode)):
        raise ToolRefusedError(f"{place.path!r} is there, and is not a file.", hint="Choose another path.")
    if held is not None and not overwrite:
        raise _taken(place.path)
    with _temporary(place, content, held) as temporary:
        if known is not None and not _is_same(known.status, place.stat()):
            raise ToolRefusedError(
                f"{place.path!r} was changed by somebody else meanwhile; nothing was written.", hint="Read it again."
            )
        _put(temporary, place, overwrite)
    return held is not None


@contextmanager
def _temporary(place: Place, content: bytes, held: os.stat_result | None) -> Generator[str]:
    # A temporary name of fixed length; hidden, so that a crash leaves no visible file.
    name = f".toolcrib-{secrets.token_hex(8)}.tmp"
    opened = os.open(name, CREATE, 0o666, dir_fd=place.folder)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(content)
            file.flush()
            if held is not None:
                if (os.geteuid(), os.getegid()) != (held.st_uid, held.st_gid):
                    with suppress(PermissionError):  # it then belongs to us, as with any editor
                        os.fchown(file.fileno(), held.st_uid, held.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(held.st_mode))  # last: a change of owner clears bits
            os.fsync(file.fileno())
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.folder)


def _put(temporary: str, place: Place, overwrite: bool) -> None:
    both = {"src_dir_fd": place.folder, "dst_dir_fd": place.folder}
    if not overwrite:
        try:
            os.link(temporary, place.name, follow_symlinks=False, **both)  # unlike a rename, it never replaces
            return
        except FileExistsError:
            raise _taken(place.path) from None
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
    os.replace(temporary, place.name, **both)


def _is_same(before: os.stat_result, now: os.stat_result | None) -> bool:
    return now is not None and all(
        getattr(before, part) == getattr(now, part) for part in ("st_ino", "st_dev", "st_size", "st_mtime_ns")
    )


def _taken(path: str) -> ToolRefusedError:
    return ToolRefusedError(
        f"There is already a file {path!r}; nothing was written.",
        hint="Change a part of it with fs_edit, choose another path, or set `overwrite` to replace it.",
    )
