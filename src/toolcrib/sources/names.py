"""Names that every model provider accepts, for tools that others named; each leads back to the name it was made of.

A tool `search` of the server `github` is `github__search`: two servers may both have a `search`, and neither can take
the other's place. The part before the first `__` is always the server, for a server's own name never contains one.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

SEPARATOR = "__"
_LONGEST_NAME = 64  # what `tools.tool.SAFE_NAME` allows
_LONGEST_PREFIX = 30  # leaves room for the tool
_MARK_CHARACTERS = 6  # of a hash: enough to tell apart the few names that look alike


class ToolNames:
    """The names of one source's tools, ours and theirs. A name once given stays, whatever comes or goes later."""

    def __init__(self, prefix: str) -> None:
        self.prefix = safe_prefix(prefix)
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}

    def give(self, originals: Iterable[str]) -> Mapping[str, str]:
        """Our name for each of these, by theirs. Which names come together decides, not their order."""
        asked = sorted(set(originals), key=lambda name: (not _is_safe(name), name))  # those that fit keep their name
        for original in asked:
            if original not in self._ours:
                name = self._free_name(original)
                self._ours[original] = name
                self._theirs[name] = original
        return {original: self._ours[original] for original in asked}

    def original(self, name: str) -> str | None:
        """Their name for one of ours; None if it was never given."""
        return self._theirs.get(name)

    def _free_name(self, original: str) -> str:
        plain = name = prefixed(self.prefix, original)
        tries = 0
        while name in self._theirs:
            tries += 1
            name = _marked(plain, f"{original}\0{tries}")
        return name


def safe_prefix(name: str) -> str:
    """A server's name as the first part of its tools' names."""
    safe = re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_-") or "source"
    safe = re.sub(r"_{2,}", "_", safe)
    if not safe[0].isalpha():
        safe = f"s_{safe}"
    if len(safe) <= _LONGEST_PREFIX:
        return safe
    return _marked(safe[: _LONGEST_PREFIX - _MARK_CHARACTERS - 1].rstrip("_"), name)


def prefixed(prefix: str, original: str) -> str:
    """The name of a server's tool, within what providers accept."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", original) or "tool"
    name = f"{prefix}{SEPARATOR}{safe}" if prefix else safe
    return name if len(name) <= _LONGEST_NAME else _marked(name, original)


def distinct(names: Iterable[str]) -> list[str]:
    """The same names, those that would make the same prefix numbered: `github`, `github-2`."""
    taken: set[str] = set()
    given: list[str] = []
    for name in names:
        free, number = name, 1
        while safe_prefix(free) in taken:
            number += 1
            free = f"{name}-{number}"
        taken.add(safe_prefix(free))
        given.append(free)
    return given


def _is_safe(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None


def _marked(name: str, original: str) -> str:
    """The name, shortened if need be, with a few letters that only this original gives."""
    mark = sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARACTERS]
    return f"{name[: _LONGEST_NAME - _MARK_CHARACTERS - 1]}_{mark}"
