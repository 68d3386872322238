"""WHICH tools we hold: by name, in the order they came, with everyone who follows told of each change."""

import logging
import reprlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias, TypeVar, Unpack, overload

from toolcrib.catalog.check import CatalogView, Problem, problems
from toolcrib.errors import CatalogError, DuplicateToolError, MetadataError, UnknownToolError
from toolcrib.tools.extraction import CustomExtractor
from toolcrib.tools.function import ToolOptions, tool as make_tool
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.catalog.metadata import Metadata


# How a catalog tells others that it changed: one `Change` after the other, in the order in which they happened.

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a catalog: first `removed` went, then `added` came. A replaced tool stands in both."""

    revision: int  # the catalog's revision after this step
    added: tuple[Tool, ...] = ()
    removed: tuple[str, ...] = ()


Listener: TypeAlias = Callable[[Change], object]
Unsubscribe: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: one listener may subscribe twice
class _Subscription:
    listener: Listener
    since: int  # changes up to this revision are no news to it


class Announcer:
    """Hands changes to listeners. Its caller must make sure that only one thread announces at a time."""

    def __init__(self) -> None:
        self._subscriptions: dict[_Subscription, None] = {}  # a set that keeps its order
        self._waiting: deque[Change] = deque()
        self._speaking = False

    def subscribe(self, listener: Listener, since: int) -> Unsubscribe:
        """Tell `listener` of every change after revision `since`, until the returned function is called."""
        subscription = _Subscription(listener, since)
        self._subscriptions[subscription] = None

        def unsubscribe() -> None:
            self._subscriptions.pop(subscription, None)

        return unsubscribe

    def announce(self, change: Change) -> None:
        """Tell every listener, and come back when all have heard it."""
        self._waiting.append(change)
        if self._speaking:
            # A listener changed the catalog. The loop below, further up this very stack, tells it
            # after the present change, so that no listener hears the second change before the first.
            return
        self._speaking = True
        try:
            while self._waiting:
                self._tell_all(self._waiting.popleft())
        finally:
            self._speaking = False

    def _tell_all(self, change: Change) -> None:
        for subscription in tuple(self._subscriptions):
            # Looked up again, because an earlier listener may have unsubscribed this one.
            if subscription in self._subscriptions and change.revision > subscription.since:
                tell(subscription.listener, change)


def tell(listener: Listener, change: Change) -> None:
    """Let one listener hear a change, whatever it does with it."""
    try:
        listener(change)
    except Exception:  # foreign code; the change has happened, and the other listeners need to hear it
        logger.exception("A listener failed on revision %d of the catalog", change.revision)


Function = TypeVar("Function", bound=Callable[..., object])
Extract = TypeVar("Extract", bound=CustomExtractor)


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
        self._as_given: dict[str, Tool] = {}
        self._tools: dict[str, Tool] = {}  # the same, with their metadata and extractors
        self._metadata: Mapping[str, Metadata] = {}
        self._metadata_files: dict[Path, Mapping[str, Metadata]] = {}  # the same by file: one can be loaded again
        self._extractors: dict[str, CustomExtractor] = {}
        self._revision = 0
        self._announcer = Announcer()
        self.add_all(tools)

    @overload
    def tool(self, function: Function, /, **options: Unpack[ToolOptions]) -> Function: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[Function], Function]: ...
    def tool(
        self, function: Function | None = None, /, **options: Unpack[ToolOptions]
    ) -> Function | Callable[[Function], Function]:
        """Hold a function as a tool: `@catalog.tool` or `@catalog.tool(category="images")`.

        The function stays what it was, so other code can still call it. The options are those of `toolcrib.tool`.
        """

        def hold(decorated: Function) -> Function:
            self.add(make_tool(decorated, **options))
            return decorated

        return hold if function is None else hold(function)

    def add(self, tool: Tool) -> None:
        """Hold one more tool."""
        self.add_all([tool])

    def add_all(self, tools: Iterable[Tool]) -> None:
        """Hold all of these tools or, if one of them cannot be held, none."""
        offered = [_required_tool(tool) for tool in tools]
        with self._changing:
            fresh: dict[str, Tool] = {}
            for tool in offered:
                if held := self._as_given.get(tool.name) or fresh.get(tool.name):
                    raise DuplicateToolError(tool.name, held.origin or held.source, tool.origin or tool.source)
                fresh[tool.name] = tool
            self._hold(fresh)

    def replace(self, tool: Tool) -> None:
        """Let a tool take the place of the one with its name."""
        _required_tool(tool)
        with self._changing:
            self.get(tool.name)
            self._hold({tool.name: tool})

    def remove(self, name: str) -> Tool:
        """Let go of a tool, and give it back."""
        with self._changing:
            tool = self.get(name)
            with self._touching:
                del self._tools[name], self._as_given[name]
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

    def extractor(self, name: str) -> Callable[[Extract], Extract]:
        """Let a function find the entities in a tool's results: `@catalog.extractor("cms_listPages")`.

        The tool may be added later; `check` tells when it never was.
        """

        def hold(function: Extract) -> Extract:
            if not callable(function):
                raise CatalogError(f"{function!r} is not a function.", hint="Give a function that takes a result.")
            with self._changing:
                if name in self._extractors:
                    raise CatalogError(f"{name!r} has a custom extractor already.", hint="Keep one of the two.")
                with self._touching:
                    self._extractors[name] = function
                self._hold({name: self._as_given[name]} if name in self._as_given else {})
            return function

        return hold

    def load_metadata(self, path: str | Path) -> None:
        """Attach what a YAML file says to the tools it names, now or when they are added.

        A file that was loaded before is taken anew. If anything in it is wrong, nothing changes.
        """
        from toolcrib.catalog.metadata import read_metadata  # late: loads pydantic and a YAML parser

        file = Path(path)
        loaded = read_metadata(file)
        with self._changing:
            files = {**self._metadata_files, file.resolve(): loaded}
            before, after = self._metadata, _merged(files.values())
            with self._touching:
                self._metadata_files, self._metadata = files, after
            self._hold({name: tool for name, tool in self._as_given.items() if before.get(name) != after.get(name)})

    def check(self) -> list[Problem]:
        """Every problem of the catalog at once; none means that it is fit for use."""
        with self._touching:
            metadata = self._metadata if self._metadata_files else None
            view = CatalogView(dict(self._tools), dict(self._as_given), metadata, dict(self._extractors))
        return problems(view)

    def __contains__(self, tool: object) -> bool:
        """Whether a tool, or one with this name, is held."""
        with self._touching:
            if isinstance(tool, Tool):
                return self._tools.get(tool.name) == tool
            return isinstance(tool, str) and tool in self._tools

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

    def _hold(self, as_given: Mapping[str, Tool]) -> None:
        if not as_given:
            return
        tools = {name: self._completed(tool) for name, tool in as_given.items()}
        with self._touching:
            replaced = tuple(name for name in tools if name in self._tools)
            self._as_given.update(as_given)
            self._tools.update(tools)
            self._revision += 1
        self._announcer.announce(Change(revision=self._revision, added=tuple(tools.values()), removed=replaced))

    def _completed(self, tool: Tool) -> Tool:
        if metadata := self._metadata.get(tool.name):
            tool = metadata.attached_to(tool)
        if extractor := self._extractors.get(tool.name):
            tool = tool.with_metadata(extraction=extractor)
        return tool


def _merged(files: Iterable["Mapping[str, Metadata]"]) -> "Mapping[str, Metadata]":
    merged: dict[str, Metadata] = {}
    for entries in files:
        if twice := sorted(entries.keys() & merged.keys()):
            raise MetadataError(
                "\n".join(f"{entries[name].place}: {name}: also described in {merged[name].place}" for name in twice),
                hint="Describe each tool in one file.",
            )
        merged |= entries
    return merged


def _required_tool(value: object) -> Tool:
    if isinstance(value, Tool):
        return value
    raise CatalogError(
        f"{reprlib.repr(value)} is not a Tool.",
        hint="Write `@catalog.tool` above a function, or make a tool of it with `toolcrib.tool(function)`.",
    )
