"""Paths as a model writes them: taken apart, and refused where they can only be a mistake or an attempt to get out.

Nothing here decides whether a path stays inside: that needs the disk, and is done step by step in `workdir.py`.
"""

import os
import re
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path

from toolcrib.errors import PathRefusedError

MOST_CHARACTERS = 1_000

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Names that Windows keeps for devices, whatever comes behind the dot; a file of such a name cannot be copied there.
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
    """What is left of an absolute path behind a root; None when it starts elsewhere. Case counts, `..` is kept."""
    for root in map(str, roots):
        if path == root or path.startswith(root.rstrip("/") + "/"):
            return path[len(root) :].split("/")
    return None


def outside(text: str) -> PathRefusedError:
    """The error for a path that leads out."""
    return PathRefusedError(f"{text!r} is outside the work folder.", hint=_RELATIVE)


def refuse_unportable(name: str) -> None:
    """Refuse a new name that another system could not hold, or would read as something else."""
    if _RESERVED.fullmatch(name) or name != name.rstrip(". ") or _NOT_ON_WINDOWS.search(name):
        raise PathRefusedError(
            f"{name!r} is not a name that every system can hold.",
            hint='Leave out < > : " | ? *, dots and blanks at the end, and names such as con, aux or nul.',
        )


def is_protected(names: Sequence[str], protected: Collection[str]) -> bool:
    """Whether a path leads into one of the protected folders, however a file system may let that be spelled."""
    kept = {_plain(name) for name in protected}
    return any(_plain(name) in kept or re.fullmatch(r"\.?git~\d+", name, re.IGNORECASE) for name in names)


def shown(path: str) -> str:
    """A path as text that can be sent: bytes that are no UTF-8 are written out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _plain(name: str) -> str:
    """The name as the most forgiving file systems compare it: no case, no invisible letters, no dots at the end."""
    visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ")
