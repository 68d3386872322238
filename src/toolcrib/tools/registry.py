"""A registry is data, and access to it is a tool: what can be listed, looked up and searched is disclosed in levels.

Level 1 gives names with a few words, level 2 what one entry is about, level 3 all of it. Entries that are tools can be
called once they are found (`discovery/surfaces/domains.py`); entries of other kinds, such as documents and skills, are
read, through the tool that `registry_tool` makes.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from toolcrib.errors import ToolcribError, did_you_mean
from toolcrib.tools.call import FunctionCall, Signature
from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import clean, visible
from toolcrib.tools.tool import Risk, Tool

ENTRIES_PER_PAGE = 60
MOST_NAME_CHARACTERS = 120
MOST_SUMMARY_CHARACTERS = 32  # some 6 tokens; with the name about 10 for each entry
MOST_PART_CHARACTERS = 12_000  # of a text that is read at once, some 3,000 tokens; the rest comes in further parts
MOST_HITS = 8
_MOST_PROBLEMS = 5


class Entry(Protocol):
    """Something a registry holds that is read, not called."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str:
        """Level 1: a few words; may be empty."""
        ...

    def describe(self) -> str:
        """Level 2: what it is about, and what there is to read."""
        ...

    def read(self, part: str = "") -> str:
        """Level 3: the whole entry, or the part of this name. Raises `ToolcribError`."""
        ...


class Registry(Protocol):
    """Anything that can be listed, looked up and searched; asked at each call, so that changes show at once.

    What it holds are tools, or entries.
    """

    def list(self) -> Sequence[Tool | Entry]:
        """All entries, in the order to show them."""
        ...

    def get(self, name: str) -> Tool | Entry | None:
        """The entry of this name; None if there is none."""
        ...

    def search(self, query: str, *, limit: int = 5) -> Sequence[Tool | Entry]:
        """The matching entries, best first; an entry with a text `excerpt` is shown with it."""
        ...


def registry_tool(
    registry: Registry,
    name: str,
    *,
    what: str,
    noun: str = "entry",
    nouns: str = "",
    note: str = "",
    summary_characters: int = MOST_SUMMARY_CHARACTERS,
    category: str = "",
    source: str = "python",
    phrases: Iterable[str] = (),
) -> Tool:
    """A discovery tool for a registry whose entries are read.

    Args:
        registry: What is disclosed.
        name: What the tool is called.
        what: What is in it, such as `documents of this project`.
        noun: One entry in words, also the argument that names one.
        nouns: Several of them.
        note: Stands before every text that is read, such as whose words they are.
        summary_characters: At most, of what level 1 says of one.
        category: Of the tool.
        source: Of the tool.
        phrases: How people ask for it.
    """
    access = _Access(registry, name, noun, nouns or f"{noun}s", note, summary_characters)
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to search for"},
            noun: {"type": "string", "description": "Name of one"},
            "level": {"type": "integer", "enum": [2, 3], "description": "2 what it is about, 3 all of it"},
            "part": {"type": "string", "description": "A file or part of it, as level 2 names it"},
            "page": {"type": "integer", "description": "From 1, of a long answer"},
        },
    }
    answer = _with_noun(access.answer, noun)
    return Tool(
        name=name,
        description=f"Discover {what}: list them, search them, then read one.",
        parameters=parameters,
        call=FunctionCall(name, answer, Signature.of(answer, {})),
        category=category,
        phrases=tuple(phrases),
        risk=Risk.SAFE,
        source=source,
    )


def _with_noun(answer: Callable[..., Awaitable[ToolResult]], noun: str) -> Callable[..., Awaitable[ToolResult]]:
    """The same function, which takes the entry's name under the noun that the model sees."""

    async def with_noun(**given: Any) -> ToolResult:
        return await answer(entry=given.pop(noun, None), **given)

    parameters = inspect.signature(answer).parameters.values()
    renamed = [one.replace(name=noun) if one.name == "entry" else one for one in parameters]
    vars(with_noun)["__signature__"] = inspect.Signature(renamed)
    return with_noun


class _Access:
    """The discovery tool of one registry."""

    def __init__(self, registry: Registry, tool: str, noun: str, nouns: str, note: str, most: int) -> None:
        self._registry, self._tool, self._most_summary = registry, tool, most
        self._noun, self._nouns, self._note = noun, nouns, note

    async def answer(
        self,
        query: str | None = None,
        entry: str | None = None,
        level: int | None = None,
        part: str | None = None,
        page: int = 1,
    ) -> ToolResult:
        """One level of the registry, read off the event loop: most of them are folders on a disk."""
        try:
            return await asyncio.to_thread(self._answer, query or "", (entry or "").strip(), level, part or "", page)
        except ToolcribError as error:
            return ToolResult.failure(f"{error} {error.hint}" if error.hint else str(error))

    def _answer(self, query: str, name: str, level: int | None, part: str, page: int) -> ToolResult:
        if name:
            return self._one(name, 3 if part.strip() else level or 2, part.strip(), page)
        return self._found(query.strip()) if query.strip() else self._all(page)

    def _all(self, page: int) -> ToolResult:
        held = list(self._registry.list())
        if not held:
            return ToolResult(text="\n".join([f"There are no {self._nouns} here now.", *self._problems()]))
        pages = -(-len(held) // ENTRIES_PER_PAGE)
        if not 1 <= page <= pages:
            return ToolResult.failure(f"There is no page {page}: the last one is {pages}.")
        shown = held[(page - 1) * ENTRIES_PER_PAGE : page * ENTRIES_PER_PAGE]
        where = f", page {page} of {pages}" if pages > 1 else ""
        lines = [f"{len(held)} {self._noun if len(held) == 1 else self._nouns}{where}:"]
        lines += [f"- {entry_line(one, self._most_summary)}" for one in shown]
        lines += self._problems()
        lines.append(f'Next: {self._tool}({self._noun}="...") for one of them, {self._tool}(query="...") to search.')
        return ToolResult(text="\n".join(lines), value=[one.name for one in shown])

    def _found(self, query: str) -> ToolResult:
        hits = list(self._registry.search(query, limit=MOST_HITS))
        asked = clean(query, 60).replace('"', "'")
        if not hits:
            return ToolResult(text=f'Nothing fits "{asked}". {self._tool}() lists all there is.', value=[])
        lines = [self._note, "Found:"] if self._note else ["Found:"]
        lines += [f"- {_hit_line(one)}" for one in hits]
        lines.append(f'Next: {self._tool}({self._noun}="...", level=3) to read one.')
        return ToolResult(text="\n".join(lines), value=[one.name for one in hits])

    def _one(self, name: str, level: int, part: str, page: int) -> ToolResult:
        held = self._registry.get(name)
        if held is None or isinstance(held, Tool):
            near = did_you_mean(name, [one.name for one in self._registry.list()])
            advice = near or f"{self._tool}() lists all there is."
            return ToolResult.failure(f"There is no {self._noun} {clean(name, MOST_NAME_CHARACTERS)!r}. {advice}")
        text = clean_text(held.read(part) if level >= 3 else held.describe())
        pieces = [text[at : at + MOST_PART_CHARACTERS] for at in range(0, len(text), MOST_PART_CHARACTERS)] or [""]
        if not 1 <= page <= len(pieces):
            return ToolResult.failure(f"There is no page {page}: the last one is {len(pieces)}.")
        more = f"[page {page} of {len(pieces)}]" if len(pieces) > 1 else ""
        shown = [self._note, f"<{self._noun}>", _kept_inside(pieces[page - 1], self._noun), f"</{self._noun}>", more]
        return ToolResult(text="\n".join(filter(None, shown)), value=held.name)

    def _problems(self) -> list[str]:
        """What could not be read, if the registry reports it."""
        problems: Sequence[str] = getattr(self._registry, "problems", ())
        if not problems:
            return []
        rest = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        return [f"Not readable: {'; '.join(clean(one, 200) for one in problems[:_MOST_PROBLEMS])}{rest}"]


def entry_line(entry: Tool | Entry, most: int = MOST_SUMMARY_CHARACTERS) -> str:
    """`name: a few words`, the line of level 1."""
    words = clean(entry.description if isinstance(entry, Tool) else entry.summary, most).rstrip(".")
    name = clean(entry.name, MOST_NAME_CHARACTERS)
    return f"{name}: {words}" if words else name


def clean_text(text: str) -> str:
    """A text of several lines without what cannot be seen; line breaks and tabs stay."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(map(visible, line.split("\t"))).rstrip() for line in lines).strip("\n")


def _hit_line(hit: Tool | Entry) -> str:
    excerpt = getattr(hit, "excerpt", None)
    if not isinstance(excerpt, str):
        return entry_line(hit, 200)
    return f"{clean(hit.name, MOST_NAME_CHARACTERS)}: {clean(excerpt, 300)}"


def _kept_inside(text: str, tag: str) -> str:
    """The text, which cannot close the tag around it and go on as if it were ours."""
    return text.replace(f"</{tag}>", f"< /{tag}>")
