"""WHICH tools we hold: by name, in the order they came, with everyone who follows told of each change."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from threading import RLock

from toolcrib.catalog_changes import Announcer, Change, Listener, Unsubscribe, tell
from toolcrib.errors import CatalogError, DuplicateToolError, UnknownToolError
from toolcrib.tools.tool import Tool


class Catalog:
    """A set of tools with unique names that may change at any time, from any thread.

    Two locks keep it honest. `_changing` is held from the first look at the tools until every listener has heard
    of the change: changes happen one after the other, are announced in that order, and a search right after `add`
    returned finds the tool. `_touching` is held only while the fields are read or written, never while foreign code
    runs; reading needs nothing else, so a listener (or another thread, while a listener works) can always read.
    Both are re-entrant: a listener may change the catalog. One thing is left to callers: do not change the catalog
    while holding a lock that a listener needs.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._changing = RLock()
        self._touching = RLock()
        self._tools: dict[str, Tool] = {}
        self._revision = 0
        self._announcer = Announcer()
        self.add_all(tools)

    def add(self, tool: Tool) -> None:
        """Hold one more tool."""
        self.add_all([tool])

    def add_all(self, tools: Iterable[Tool]) -> None:
        """Hold all of these tools or, if one of them cannot be held, none."""
        offered = [_required_tool(tool) for tool in tools]
        with self._changing:
            fresh: dict[str, Tool] = {}
            for tool in offered:
                if held := self._tools.get(tool.name) or fresh.get(tool.name):
                    raise DuplicateToolError(tool.name, held.origin or held.source, tool.origin or tool.source)
                fresh[tool.name] = tool
            self._put(fresh)

    def replace(self, tool: Tool) -> None:
        """Let a tool take the place of the one with its name."""
        _required_tool(tool)
        with self._changing:
            self.get(tool.name)
            self._put({tool.name: tool})

    def remove(self, name: str) -> Tool:
        """Let go of a tool, and give it back."""
        with self._changing:
            tool = self.get(name)
            with self._touching:
                del self._tools[name]
                self._revision += 1
            self._announcer.announce(Change(revision=self._revision, removed=(name,)))
        return tool

    def get(self, name: str) -> Tool:
        """The tool with this name."""
        with self._touching:
            if tool := self._tools.get(name):
                return tool
            known = tuple(self._tools)
        raise UnknownToolError(name, known)

    def categories(self) -> dict[str, int]:
        """How many tools each category has; tools without one are not counted."""
        return dict(Counter(tool.category for tool in self if tool.category))

    @property
    def revision(self) -> int:
        """A number that grows with every change."""
        return self._revision

    def subscribe(self, listener: Listener, *, replay: bool = False) -> Unsubscribe:
        """Call `listener` with every `Change` from now on, until the returned function is called.

        With `replay` it first hears of the tools held now, as one change: nothing can slip in between.
        """
        with self._changing:
            unsubscribe = self._announcer.subscribe(listener, since=self._revision)
            if replay:
                tell(listener, Change(revision=self._revision, added=tuple(self)))
            return unsubscribe

    def __contains__(self, name: object) -> bool:
        with self._touching:
            return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        """The tools held at this moment, in the order they came."""
        with self._touching:
            return iter(tuple(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __bool__(self) -> bool:
        """An empty catalog is still a catalog."""
        return True

    def __repr__(self) -> str:
        return f"<Catalog of {len(self)} tools, revision {self.revision}>"

    def _put(self, tools: Mapping[str, Tool]) -> None:
        if not tools:
            return
        with self._touching:
            replaced = tuple(name for name in tools if name in self._tools)
            self._tools.update(tools)
            self._revision += 1
        self._announcer.announce(Change(revision=self._revision, added=tuple(tools.values()), removed=replaced))


def _required_tool(value: object) -> Tool:
    if isinstance(value, Tool):
        return value
    raise CatalogError(f"{value!r} is not a Tool.", hint=HOW_TO_MAKE_A_TOOL)


HOW_TO_MAKE_A_TOOL = "Write `@catalog.tool` above a function, or make a tool of it with `toolcrib.tool(function)`."
