"""What a model is told when the disk says no: what happened, and what to do about it."""

import errno
import os
import unicodedata
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from toolcrib.errors import ToolRefusedError, did_you_mean
from toolcrib.sources.modules.workdir.paths import shown

_MOST_NAMES_COMPARED = 500

_SAID = {
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
def told(label: str) -> Generator[None]:
    """Says what the system refused in words a model can act on."""
    try:
        yield
    except OSError as error:
        said, hint = _SAID.get(error.errno or 0, ("{!r}: " + (error.strerror or "failed") + ".", "Use another path."))
        raise ToolRefusedError(said.format(label), hint=hint) from error


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
