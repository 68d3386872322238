"""Which tools are active, in the order in which they first became so, and which of them were used last."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from toolcrib.errors import SnapshotError

VERSION = 1
MOST_NAMES = 1_000  # far more than fit into a prompt: a limit on what is remembered of tools that are gone


class Activation:
    """Names only: whether a tool is still there, and may be seen, is asked by whoever shows it.

    So a tool whose source went away for a while is active again when it comes back, and takes its old place.
    """

    def __init__(self, active: Iterable[str] = (), used: Iterable[str] = ()) -> None:
        self._active = dict.fromkeys(active)  # a set that keeps its order: that of the first activation
        self._by_use = dict.fromkeys(self._active)  # the same names; the last one was used last
        for name in used:
            self.use(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The active names, first activated first."""
        return tuple(self._active)

    def __contains__(self, name: str) -> bool:
        return name in self._active

    def add(self, name: str) -> bool:
        """Make a name active; says whether it was not."""
        fresh = name not in self._active
        self._active[name] = self._by_use[name] = None
        self.use(name)
        if len(self._active) > MOST_NAMES:
            self.drop(next(iter(self._by_use)))
        return fresh

    def use(self, name: str) -> None:
        """Note that an active tool was called or asked for just now."""
        if name in self._active:
            self._by_use[name] = self._by_use.pop(name)

    def drop(self, name: str) -> None:
        """Let a name rest."""
        self._active.pop(name, None)
        self._by_use.pop(name, None)

    def shrink(self, sizes: Mapping[str, int], budget: int) -> tuple[str, ...]:
        """Drop the least recently used of the names in `sizes` until what they take is within the budget."""
        total = sum(sizes.values())
        dropped: list[str] = []
        for name in [name for name in self._by_use if name in sizes]:
            if total <= budget:
                break
            self.drop(name)
            dropped.append(name)
            total -= sizes[name]
        return tuple(dropped)

    def snapshot(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {"version": VERSION, "active": list(self._active), "used": list(self._by_use)}

    @classmethod
    def restored(cls, snapshot: object) -> "Activation":
        """What a snapshot holds."""
        if not isinstance(snapshot, Mapping):
            raise SnapshotError(f"{snapshot!r:.80} is not a snapshot of a toolbox.", hint=_HINT)
        fields = cast("Mapping[str, object]", snapshot)
        if (version := fields.get("version")) != VERSION:
            raise SnapshotError(f"The snapshot has version {version!r}, not {VERSION}.", hint=_HINT)
        return cls(_names(fields, "active"), _names(fields, "used"))


_HINT = "Start with a new toolbox: the model finds its tools again by searching."


def _names(fields: Mapping[str, object], key: str) -> list[str]:
    names = fields.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[object]", names)):
        raise SnapshotError(f"The snapshot has no list of names under {key!r}.", hint=_HINT)
    return cast("list[str]", names)[:MOST_NAMES]
