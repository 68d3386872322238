"""Names of foreign tools that every model provider accepts. Each can be mapped back to the original name.

The tool `search` of the server `github` becomes `github__search`, so two servers may both have a `search`, and neither
can replace the other's. The part before the first `__` is always the server, because a prefix never contains `__`.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

SEPARATOR = "__"
_LONGEST_NAME = 64  # what `tools.tool.SAFE_NAME` allows
_LONGEST_PREFIX = 30  # leaves room for the tool
_HASH_CHARACTERS = 6  # enough to distinguish the few names that would be equal


class ToolNames:
    """Maps the original names of one source's tools to ours and back. A name that was assigned never changes."""

    def __init__(self, prefix: str) -> None:
        self.prefix = safe_prefix(prefix)
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}

    def assign(self, originals: Iterable[str], labels: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """Our name for each original name. The result does not depend on their order.

        With `labels`, the originals are only keys, and our names are made of what the labels say of them.
        """
        labels = labels or {}
        wanted = sorted(set(originals), key=lambda name: (not _is_safe(name), name))  # safe names stay unchanged
        for original in wanted:
            if original not in self._ours:
                name = self._free_name(original, labels.get(original, original))
                self._ours[original] = name
                self._theirs[name] = original
        return {original: self._ours[original] for original in wanted}

    def original(self, name: str) -> str | None:
        """The original of one of our names; None if we never assigned it."""
        return self._theirs.get(name)

    def _free_name(self, original: str, label: str) -> str:
        plain = name = prefixed(self.prefix, label)
        tries = 0
        while name in self._theirs:
            tries += 1
            name = _with_hash(plain, f"{original}\0{tries}")
        return name


def prefix_of(source: object) -> str:
    """What the names of a source's tools begin with; empty if they may begin with anything."""
    names = getattr(source, "names", None)
    return f"{names.prefix}{SEPARATOR}" if isinstance(names, ToolNames) else ""


def safe_prefix(name: str) -> str:
    """A server's name as the prefix of its tools' names."""
    safe = re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_-") or "source"
    safe = re.sub(r"_{2,}", "_", safe)
    if not safe[0].isalpha():
        safe = f"s_{safe}"
    if len(safe) <= _LONGEST_PREFIX:
        return safe
    return _with_hash(safe[: _LONGEST_PREFIX - _HASH_CHARACTERS - 1].rstrip("_"), name)


def prefixed(prefix: str, original: str) -> str:
    """The name of a server's tool, with its prefix, in the form that providers accept."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", original) or "tool"
    name = f"{prefix}{SEPARATOR}{safe}" if prefix else safe
    return name if len(name) <= _LONGEST_NAME else _with_hash(name, original)


def distinct(names: Iterable[str]) -> list[str]:
    """The same names, with a number where two would have the same prefix: `github`, `github-2`."""
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        free, number = name, 1
        while safe_prefix(free) in taken:
            number += 1
            free = f"{name}-{number}"
        taken.add(safe_prefix(free))
        result.append(free)
    return result


def _is_safe(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None


def _with_hash(name: str, original: str) -> str:
    """The name, shortened if necessary, with a short hash of the original name."""
    digest = sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _LONGEST_NAME - _HASH_CHARACTERS - 1]}_{digest}"
