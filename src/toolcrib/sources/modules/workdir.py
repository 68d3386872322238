"""The work folder: the one place on disk that modules may touch, and the only way into it.

This file parses the paths of a model and walks to them without ever leaving the folder; `files.py` lists folders, and
reads and writes whole files.
"""

import errno
import os
import re
import unicodedata
from collections import deque
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import ModuleError, PathRefusedError, ToolRefusedError, did_you_mean

# How files and folders are opened: never through a link, never inherited by programs that we start.


def _flag(name: str) -> int:
    return getattr(os, name, 0)


_ALWAYS = _flag("O_NOFOLLOW") | _flag("O_CLOEXEC")

FOLDER = os.O_RDONLY | _flag("O_DIRECTORY") | _ALWAYS
# Without waiting: a pipe in place of a file would block the call for ever.
READ = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _ALWAYS
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS


# Paths as a model writes them: parsed, and refused where they can only be a mistake or an escape.

MOST_CHARACTERS = 1_000

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Names that Windows reserves for devices, with any ending; a file of such a name cannot be copied there.
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?", re.IGNORECASE)
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]')
_RELATIVE = "Give a path relative to the work folder, such as notes/today.md."


def parts_of(text: str, roots: Collection[Path] = ()) -> list[str]:
    """The names in a path, one by one. An absolute path counts when it starts with one of `roots`."""
    if not text.strip():
        raise PathRefusedError("The path is empty.", hint=_RELATIVE)
    if len(text) > MOST_CHARACTERS:
        raise PathRefusedError(f"The path has {len(text):,} characters.", hint=_RELATIVE)
    if _CONTROL.search(text) or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise PathRefusedError(f"{text!r} holds a character that no path should have.", hint=_RELATIVE)
    if "\\" in text:
        raise PathRefusedError(f"{text!r} is written with backslashes.", hint="Write / between folders.")
    if _DRIVE.match(text):
        raise PathRefusedError(f"{text!r} names a drive.", hint=_RELATIVE)
    if text == "~" or text.startswith("~/"):
        raise PathRefusedError(f"{text!r} is in the home folder, not in the work folder.", hint=_RELATIVE)
    if text.startswith("/"):
        inside = below(text, roots)
        if inside is None:
            raise outside(text)
        return inside
    return text.split("/")


def below(path: str, roots: Collection[Path]) -> list[str] | None:
    """The part of an absolute path below a root; None when it is elsewhere. Case counts, `..` is kept."""
    for root in map(str, roots):
        if path == root or path.startswith(root.rstrip("/") + "/"):
            return path[len(root) :].split("/")
    return None


def outside(text: str) -> PathRefusedError:
    """The error for a path that leads out of the work folder."""
    return PathRefusedError(f"{text!r} is outside the work folder.", hint=_RELATIVE)


def refuse_unportable(name: str) -> None:
    """Refuse a new name that other systems cannot store, or would read differently."""
    if _RESERVED.fullmatch(name) or name != name.rstrip(". ") or _NOT_ON_WINDOWS.search(name):
        raise PathRefusedError(
            f"{name!r} is not a name that every system can hold.",
            hint='Leave out < > : " | ? *, dots and blanks at the end, and names such as con, aux or nul.',
        )


def is_protected(names: Sequence[str], protected: Collection[str]) -> bool:
    """Whether a path leads into one of the protected folders, in any spelling that a file system accepts."""
    kept = {_plain(name) for name in protected}
    return any(_plain(name) in kept or re.fullmatch(r"\.?git~\d+", name, re.IGNORECASE) for name in names)


def shown(path: str) -> str:
    """A path as text that can be sent: bytes that are no UTF-8 are written out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _plain(name: str) -> str:
    """The name as the most forgiving file systems compare it: no case, no invisible letters, no dots at the end."""
    visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ")


# Errors of the file system as a model reads them: what happened, and what to do.

_MOST_NAMES_COMPARED = 500

_MESSAGES = {
    errno.ENOENT: ("There is no {!r}.", "See what is there with fs_list or fs_glob."),
    errno.EACCES: ("{!r} may not be opened: the system forbids it.", "Tell the user, or use another path."),
    errno.EPERM: ("{!r} may not be changed: the system forbids it.", "Tell the user, or use another path."),
    errno.ENOTDIR: ("{!r} goes through something that is not a folder.", "See what is there with fs_list."),
    errno.EISDIR: ("{!r} is a folder.", "Name a file in it."),
    errno.ELOOP: ("{!r} changed while it was opened.", "Try again."),
    errno.ENOTEMPTY: ("{!r} is a folder with something in it.", "Set `recursive` to delete all of it."),
    errno.ENAMETOOLONG: ("{!r} has a name that is too long.", "Use a shorter one."),
    errno.ENOSPC: ("{!r} could not be written: the disk is full.", "Tell the user."),
    errno.EROFS: ("{!r} could not be written: the disk is read-only.", "Tell the user."),
    errno.EINVAL: ("{!r} cannot be put there.", "A folder cannot move into itself."),
    errno.ENXIO: ("{!r} is not a file.", "Use a path of a file."),
}


@contextmanager
def translated_errors(label: str) -> Generator[None]:
    """Translate errors of the system into messages that a model can act on."""
    try:
        yield
    except OSError as error:
        message, hint = _MESSAGES.get(
            error.errno or 0, ("{!r}: " + (error.strerror or "failed") + ".", "Use another path.")
        )
        raise ToolRefusedError(message.format(label), hint=hint) from error


def missing(label: str, folder: int, names: Sequence[str], name: str) -> ToolRefusedError:
    """The error for a name that is not in a folder; `names` lead there."""
    there = {unicodedata.normalize("NFC", one): one for one in _some_names(folder)}
    near = there.get(unicodedata.normalize("NFC", name))
    path = "/".join([*names, near]) if near else None
    candidates = ["/".join([*names, one]) for one in there.values()]
    guess = f"Did you mean {path!r}?" if path else did_you_mean("/".join([*names, name]), candidates)
    return ToolRefusedError(f"There is no {label!r}.", hint=guess or "See what is there with fs_list or fs_glob.")


def _some_names(folder: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for _, entry in zip(range(_MOST_NAMES_COMPARED), entries, strict=False):
            yield shown(entry.name)


# The walk into the work folder: name by name, each opened relative to the folder before; links are resolved here.

PROTECTED = (".git", ".toolcrib")  # files there are executed or trusted later

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
        """The status of the file, without following a link; None if there is none."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def missing(self, label: str) -> ToolRefusedError:
        """The error for a missing file."""
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
            with translated_errors(label):
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
    """One walk: the open folders from the root to the current one."""

    def __init__(
        self, label: str, roots: Sequence[Path], writing: bool, make_folders: bool, protected: Sequence[str]
    ) -> None:
        self._label, self._roots = label, roots
        self._writing, self._make_folders, self._protected = writing, make_folders, protected
        self._folders: list[int] = []
        self._names: list[str] = []
        self._links = 0

    def place(self, parts: Sequence[str], follow: bool) -> Place:
        with translated_errors(self._label):
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
        """Walk to the last name and return it; None when the walk ends in a folder already open."""
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
