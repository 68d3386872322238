"""The walk into the work folder: name by name, each opened relative to the folder before, never through a link unseen.

A path checked as text and opened later can be swapped in between. So nothing is opened by its whole path: every folder
on the way is opened from its parent with `O_NOFOLLOW`; a link is read and its text walked in the same way; `..` goes
back to the folder we came from, not to whatever the disk now calls its parent. A walk that would leave ends with an
error. What this does not stop: a hard link or a mount inside the folder, made by somebody who may do that anyway.
"""

import errno
import os
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import ModuleError, PathRefusedError, ToolRefusedError
from toolcrib.sources.modules.workdir.flags import FOLDER
from toolcrib.sources.modules.workdir.paths import below, is_protected, outside, parts_of, refuse_unportable, shown
from toolcrib.sources.modules.workdir.refusals import missing, told

PROTECTED = (".git", ".toolcrib")  # what is written there runs, or is believed, later

_MOST_LINKS = 40  # on one walk, as in Linux


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A name in an open folder. The folder is open as long as the block that gave the place."""

    folder: int
    name: str  # "." for the work folder itself
    path: str  # from the work folder, links resolved

    @property
    def is_root(self) -> bool:
        return self.name == "."

    def stat(self) -> os.stat_result | None:
        """What is there now, without following a link; None if nothing is."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def missing(self, label: str) -> ToolRefusedError:
        """The error when nothing is there."""
        return missing(label, self.folder, self.path.split("/")[:-1], self.name)


class Workdir:
    """One folder on disk. Paths are texts of a model, or sequences of names that were found by walking."""

    def __init__(self, root: Path, *, protected: Sequence[str] = PROTECTED) -> None:
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):  # pragma: no cover  # not POSIX
            raise ModuleError("This system cannot confine files to a folder.", hint="Use Linux, macOS or WSL.")
        try:
            self.root = root.expanduser().resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise ModuleError(f"There is no work folder {str(root)!r}.", hint="Make it first.") from error
        if not self.root.is_dir():
            raise ModuleError(f"{str(root)!r} is not a folder.", hint="Give a folder to work in.")
        self._roots = (self.root, Path(os.path.abspath(root.expanduser())))
        self._protected = tuple(protected)

    @contextmanager
    def place(
        self, path: str | Sequence[str], *, writing: bool = False, make_folders: bool = False, follow: bool = True
    ) -> Generator[Place]:
        """Where a path leads: the folder it is in, opened, and its name there, which need not exist.

        With `writing` protected folders and unportable new names are refused; with `make_folders` missing folders are
        made. Without `follow` a link at the end stays a link.
        """
        label = path if isinstance(path, str) else shown("/".join(path))
        parts = parts_of(path, self._roots) if isinstance(path, str) else path
        walk = _Walk(label, self._roots, writing, make_folders, self._protected)
        try:
            with told(label):
                yield walk.place(parts, follow)
        finally:
            walk.close()

    @contextmanager
    def open_folder(self, path: str | Sequence[str]) -> Generator[tuple[int, Place]]:
        """A folder, opened."""
        with self.place(path) as place:
            folder = os.open(place.name, FOLDER, dir_fd=place.folder)
            try:
                yield folder, place
            finally:
                os.close(folder)


class _Walk:
    """One walk: the open folders from the root to where it stands."""

    def __init__(
        self, label: str, roots: Sequence[Path], writing: bool, make_folders: bool, protected: Sequence[str]
    ) -> None:
        self._label, self._roots = label, roots
        self._writing, self._make_folders, self._protected = writing, make_folders, protected
        self._folders: list[int] = []
        self._names: list[str] = []
        self._links = 0

    def place(self, parts: Sequence[str], follow: bool) -> Place:
        with told(self._label):
            self._folders.append(os.open(self._roots[0], FOLDER))
            last = self._go(deque(parts), follow)
        if last is None and not self._names:
            return Place(folder=self._folders[0], name=".", path=".")
        if last is None:  # it ended in `..` or `.`: name the folder from its parent
            os.close(self._folders.pop())
            last = self._names.pop()
        self._names.append(last)
        if self._writing and is_protected(self._names, self._protected):
            raise PathRefusedError(
                f"{self._label!r} is in a protected folder; nothing was changed.",
                hint=f"Leave {', '.join(self._protected)} to the programs that keep them.",
            )
        return Place(folder=self._folders[-1], name=last, path="/".join(self._names))

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def _go(self, ahead: deque[str], follow: bool) -> str | None:
        """Walk as far as the last name, and give it; None when the walk ends in a folder already open."""
        while ahead:
            name = ahead.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                self._back()
                continue
            is_last = all(part in ("", ".") for part in ahead)
            target = self._link(name)
            if target is not None and (follow or not is_last):
                self._turn(target, ahead)
            elif is_last:
                return name
            else:
                self._enter(name)
        return None

    def _link(self, name: str) -> str | None:
        """The text of a link; None for what is none."""
        try:
            return os.readlink(name, dir_fd=self._folders[-1])
        except FileNotFoundError:
            if self._writing:
                refuse_unportable(name)
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:  # there, and no link
                return None
            raise

    def _turn(self, target: str, ahead: deque[str]) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise PathRefusedError(f"{self._label!r} leads from link to link without end.", hint="Use another path.")
        parts = target.split("/")
        if target.startswith("/"):
            inside = below(target, self._roots)
            if inside is None:
                raise outside(self._label)
            parts = inside
            while len(self._folders) > 1:
                self._back()
        ahead.extendleft(reversed(parts))

    def _back(self) -> None:
        if len(self._folders) == 1:
            raise outside(self._label)
        os.close(self._folders.pop())
        self._names.pop()

    def _enter(self, name: str) -> None:
        try:
            folder = os.open(name, FOLDER, dir_fd=self._folders[-1])
        except FileNotFoundError:
            if not self._make_folders:
                raise missing(self._label, self._folders[-1], self._names, name) from None
            if is_protected([*self._names, name], self._protected):
                raise PathRefusedError(
                    f"{self._label!r} would make a protected folder.", hint="Name it otherwise."
                ) from None
            os.mkdir(name, dir_fd=self._folders[-1])
            folder = os.open(name, FOLDER, dir_fd=self._folders[-1])
        self._folders.append(folder)
        self._names.append(name)
