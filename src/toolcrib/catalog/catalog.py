"""WHICH tools there are: by name, in the order they were added. Listeners are called with each change."""

import logging
import reprlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack, cast, overload

from toolcrib.catalog.check import CatalogView, Problem, problems
from toolcrib.errors import CatalogError, DuplicateToolError, MetadataError, MissingExtraError, UnknownToolError
from toolcrib.tools.definitions import SOURCE as DEFINITIONS, Handler, tools_of
from toolcrib.tools.function import ToolOptions, tool as make_tool, tools_in
from toolcrib.tools.tool import CustomExtractor, Tool, match_dotted

if TYPE_CHECKING:
    from toolcrib.catalog.metadata import Metadata


# How a catalog announces its changes: one `Change` after the other, in the order in which they happened.

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a catalog: first `removed`, then `added`. A replaced tool is in both."""

    revision: int  # the catalog's revision after this step
    added: tuple[Tool, ...] = ()
    removed: tuple[str, ...] = ()


Listener: TypeAlias = Callable[[Change], object]
Unsubscribe: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: one listener may subscribe twice
class _Subscription:
    listener: Listener
    since: int  # it does not hear of changes up to this revision


class Announcer:
    """Calls listeners with changes. Its caller must make sure that only one thread announces at a time."""

    def __init__(self) -> None:
        self._subscriptions: dict[_Subscription, None] = {}  # a set that keeps its order
        self._waiting: deque[Change] = deque()
        self._speaking = False

    def subscribe(self, listener: Listener, since: int) -> Unsubscribe:
        """Call `listener` with every change after revision `since`, until the returned function is called."""
        subscription = _Subscription(listener, since)
        self._subscriptions[subscription] = None

        def unsubscribe() -> None:
            self._subscriptions.pop(subscription, None)

        return unsubscribe

    def announce(self, change: Change) -> None:
        """Call every listener with a change; returns when all have been called."""
        self._waiting.append(change)
        if self._speaking:
            # A listener changed the catalog. The loop below, further up this very stack, announces that after the
            # present change, so that no listener gets the second change before the first.
            return
        self._speaking = True
        try:
            while self._waiting:
                self._notify_all(self._waiting.popleft())
        finally:
            self._speaking = False

    def _notify_all(self, change: Change) -> None:
        for subscription in tuple(self._subscriptions):
            # Looked up again, because an earlier listener may have unsubscribed this one.
            if subscription in self._subscriptions and change.revision > subscription.since:
                notify(subscription.listener, change)


def notify(listener: Listener, change: Change) -> None:
    """Call one listener with a change; what it raises is logged."""
    try:
        listener(change)
    except Exception:  # foreign code; the change has happened, and the other listeners have to be called
        logger.exception("A listener failed on revision %d of the catalog", change.revision)


Function = TypeVar("Function", bound=Callable[..., object])
Extract = TypeVar("Extract", bound=CustomExtractor)


class Catalog:
    """A set of tools with unique names that may change at any time, from any thread.

    Two locks protect it. `_changing` is held from the first look at the tools until every listener has been called:
    changes happen one after the other, are announced in that order, and a search right after `add` returned finds the
    tool. `_touching` is held only while the fields are read or written, never while foreign code runs; reading needs
    nothing else, so a listener (or another thread, while a listener works) can always read. Both are re-entrant: a
    listener may change the catalog. One thing is left to callers: do not change the catalog while holding a lock that a
    listener needs.
    """

    def __init__(self, tools: Iterable[object] = ()) -> None:
        self._changing = RLock()
        self._touching = RLock()
        self._as_given: dict[str, Tool] = {}
        self._tools: dict[str, Tool] = {}  # the same, with their metadata and extractors
        self._metadata: Mapping[str, Metadata] = {}
        self._metadata_files: dict[Path, Mapping[str, Metadata]] = {}  # the same by file: a file can be loaded again
        self._extractors: dict[str, CustomExtractor] = {}
        self.revision = 0  # grows with every change
        self._announcer = Announcer()
        self._toolsets: list[Any] = []
        self._opened: list[AsyncExitStack] = []
        self.add_all(tools)

    @overload
    def tool(self, function: Function, /, **options: Unpack[ToolOptions]) -> Function: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[Function], Function]: ...
    def tool(
        self, function: Function | None = None, /, **options: Unpack[ToolOptions]
    ) -> Function | Callable[[Function], Function]:
        """Add a function as a tool: `@catalog.tool` or `@catalog.tool(category="images")`.

        The function itself does not change, so other code can still call it. The options are those of `toolcrib.tool`.
        """

        def hold(decorated: Function) -> Function:
            self.add(make_tool(decorated, **options))
            return decorated

        return hold if function is None else hold(function)

    def add(self, tool: object) -> None:
        """Add a tool: a `Tool`, one of Pydantic AI or LangChain, or a definition as JSON, which is only found."""
        self.add_all([tool])

    def add_all(self, tools: Iterable[object]) -> None:
        """Add all of these tools or, if one of them cannot be added, none."""
        offered = [_required_tool(tool) for tool in tools]
        with self._changing:
            fresh: dict[str, Tool] = {}
            for tool in offered:
                if held := self._as_given.get(tool.name) or fresh.get(tool.name):
                    raise DuplicateToolError(tool.name, held.origin or held.source, tool.origin or tool.source)
                fresh[tool.name] = tool
            self._hold(fresh)

    def add_functions(
        self, place: ModuleType | Iterable[Callable[..., object]], /, **options: Unpack[ToolOptions]
    ) -> None:
        """Add the public functions of a module, or those of a list. The options, such as `category`, are for all."""
        self.add_all(tools_in(place, **options))

    def add_definitions(
        self,
        definitions: object,
        *,
        handler: Handler | None = None,
        source: str = DEFINITIONS,
        category: str = "",
    ) -> None:
        """Add tools that are JSON: one or a list, as OpenAI, Anthropic, Gemini, MCP or people write them.

        `handler(name, arguments)` runs all of them. Without it they are found, and whoever found them runs them.
        """
        self.add_all(tools_of(definitions, handler=handler, source=source, category=category))

    def add_toolset(self, toolset: object, *, category: str = "", name: str = "") -> None:
        """Add what a toolset of Pydantic AI offers; each tool is called through it, with the context of the run.

        Functions can be found at once. A toolset that has to connect first, such as an MCP server, is listed when an
        agent runs, or by `async with catalog:`. What it does not offer to a run is hidden there.

        Args:
            toolset: Any `AbstractToolset`.
            category: Of its tools; else its `id`.
            name: Its name for people and policies, `toolset:<name>`; else its `id`.
        """
        try:
            from toolcrib.sources.toolset import ToolsetSource  # late: loads Pydantic AI
        except ModuleNotFoundError as error:
            raise MissingExtraError("A toolset of Pydantic AI", "agent") from error
        with self._changing:
            taken = {one.name for one in self._toolsets}
            source = ToolsetSource(toolset, self, name=name, category=category, taken=taken)
            source.list_now()
            self._toolsets.append(source)

    @property
    def toolsets(self) -> tuple[Any, ...]:
        """The toolsets that were added, as sources."""
        return tuple(self._toolsets)

    async def __aenter__(self) -> "Catalog":
        """Connect the toolsets, and list their tools; for loops other than Pydantic AI's, and to connect only once."""
        stack = AsyncExitStack()
        if self._toolsets:
            from toolcrib.sources.toolset import opened

            await stack.enter_async_context(opened(self.toolsets))
        self._opened.append(stack)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._opened.pop().aclose()

    def replace(self, tool: Tool) -> None:
        """Replace the tool that has the same name."""
        _required_tool(tool)
        with self._changing:
            self.get(tool.name)
            self._hold({tool.name: tool})

    def remove(self, name: str) -> Tool:
        """Remove a tool and return it."""
        with self._changing:
            tool = self.get(name)
            with self._touching:
                del self._tools[name], self._as_given[name]
                self.revision += 1
            self._announcer.announce(Change(revision=self.revision, removed=(name,)))
        return tool

    def get(self, name: str) -> Tool:
        """The tool with this name, also as `category.name`."""
        with self._touching:
            if tool := self._tools.get(name):
                return tool
            tools = tuple(self._tools.values())
        if tool := match_dotted(name, tools):
            return tool
        raise UnknownToolError(name, [tool.name for tool in tools])

    def categories(self) -> dict[str, int]:
        """How many tools each category has; tools without one are not counted."""
        return dict(Counter(tool.category for tool in self if tool.category))

    def subscribe(self, listener: Listener, *, replay: bool = False) -> Unsubscribe:
        """Call `listener` with every `Change` from now on, until the returned function is called.

        With `replay` it is first called with the present tools, as one change: nothing can happen in between.
        """
        with self._changing:
            unsubscribe = self._announcer.subscribe(listener, since=self.revision)
            if replay:
                notify(listener, Change(revision=self.revision, added=tuple(self)))
            return unsubscribe

    def extractor(self, name: str) -> Callable[[Extract], Extract]:
        """Let a function find the entities in a tool's results: `@catalog.extractor("cms_listPages")`.

        The tool may be added later; `check` reports it if it never was.
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
        """Attach the metadata in a YAML file to the tools it names, now or when they are added. A file that was loaded
        before is loaded again. If anything in it is wrong, nothing changes.
        """
        from toolcrib.catalog.metadata import read_metadata  # late: loads pydantic and a YAML parser

        file = Path(path)
        loaded = read_metadata(file)
        with self._changing:
            files = {**self._metadata_files, file.resolve(): loaded}
            before, after = self._metadata, _merged(files.values())
            with self._touching:
                self._metadata_files, self._metadata = files, after
            before, after = _by_tool(before, self._as_given), _by_tool(after, self._as_given)
            self._hold({name: tool for name, tool in self._as_given.items() if before.get(name) != after.get(name)})

    def check(self) -> list[Problem]:
        """All problems of the catalog at once; none means that it is ready for use."""
        with self._touching:
            metadata = _by_tool(self._metadata, self._as_given) if self._metadata_files else None
            view = CatalogView(dict(self._tools), dict(self._as_given), metadata, dict(self._extractors))
        return problems(view)

    def __contains__(self, tool: object) -> bool:
        """Whether the catalog has this tool, or a tool of this name."""
        with self._touching:
            if isinstance(tool, Tool):
                return self._tools.get(tool.name) == tool
            return isinstance(tool, str) and tool in self._tools

    def __iter__(self) -> Iterator[Tool]:
        """The tools at this moment, in the order they were added."""
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
        every = {**self._as_given, **as_given}
        metadata = _by_tool(self._metadata, every)
        tools = {name: self._completed(tool, metadata, every) for name, tool in as_given.items()}
        with self._touching:
            replaced = tuple(name for name in tools if name in self._tools)
            self._as_given.update(as_given)
            self._tools.update(tools)
            self.revision += 1
        self._announcer.announce(Change(revision=self.revision, added=tuple(tools.values()), removed=replaced))

    def _completed(self, tool: Tool, metadata: "Mapping[str, Metadata]", every: Mapping[str, Tool]) -> Tool:
        if own := metadata.get(tool.name):
            tool = own.attached_to(tool)
        if any("." in name for name in tool.related):
            meant = [match_dotted(name, every.values()) for name in tool.related]
            names = (name if one is None else one.name for name, one in zip(tool.related, meant, strict=True))
            tool = tool.with_metadata(related=tuple(names))
        if extractor := self._extractors.get(tool.name):
            tool = tool.with_metadata(extraction=extractor)
        return tool


def _by_tool(metadata: "Mapping[str, Metadata]", tools: Mapping[str, Tool]) -> "Mapping[str, Metadata]":
    """The metadata by the names of their tools, which a file may also write as `category.name`."""
    dotted = {name: meant.name for name in metadata if "." in name and (meant := match_dotted(name, tools.values()))}
    if not dotted:
        return metadata
    named = {name: one for name, one in metadata.items() if name not in dotted}
    return {meant: metadata[name] for name, meant in dotted.items()} | named


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
    if isinstance(value, Mapping):
        made = tools_of(cast("object", value))
        if len(made) != 1:
            raise CatalogError(f"This holds {len(made)} definitions.", hint="Call `catalog.add_definitions(...)`.")
        return made[0]
    classes = {f"{one.__module__.partition('.')[0]}.{one.__name__}" for one in type(value).__mro__}
    if "pydantic_ai.Tool" in classes:
        from toolcrib.sources.toolset import pydantic_tool  # late, as below: loads Pydantic AI

        return pydantic_tool(cast("Any", value))
    if "langchain_core.BaseTool" in classes:
        from toolcrib.tools.definitions import langchain_tool

        return langchain_tool(cast("Any", value))
    if "pydantic_ai.AbstractToolset" in classes:
        raise CatalogError(f"{value!r:.80} is a toolset.", hint="Call `catalog.add_toolset(...)`.")
    raise CatalogError(
        f"{reprlib.repr(value)} is not a Tool.",
        hint="Write `@catalog.tool` above a function, or make a tool of it with `toolcrib.tool(function)`.",
    )
