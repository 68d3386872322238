"""Requests to tools in the words of people who do not know the tool; written for this project (`data/`).

`mcp_requests.tsv` asks for tools of the MCP catalog, one line a tool: its id, two requests in English, a language and
a request in it. `operation_requests.tsv` does the same for operations of web services, by the names that
`interfaces.py` gives them. `invented_tools.tsv` brings its tools along: name, a language and the description in it,
then the requests, each behind its language. `stories.tsv` has longer requests to one to four of the invented tools: a
language, the request, the tools.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from zlib import crc32

from training.spoken import DATA

Purpose: TypeAlias = Literal["learned", "fitted", "reported"]
PURPOSES: dict[int, Purpose] = {0: "fitted", 10: "reported"}


class Asked(NamedTuple):
    """One request to one tool."""

    tool: str
    language: str
    text: str


class Invented(NamedTuple):
    """A tool that nobody has, as some program might describe it, and who asks for it."""

    name: str
    language: str
    description: str
    requests: tuple[Asked, ...]


class Story(NamedTuple):
    """A longer request that needs several tools, all of them invented."""

    language: str
    text: str
    tools: tuple[str, ...]


def mcp_requests(folder: Path = DATA) -> Iterator[Asked]:
    """All requests to tools of the MCP catalog, by the tools' ids."""
    return _requests(folder / "mcp_requests.tsv")


def operation_requests(folder: Path = DATA) -> Iterator[Asked]:
    """All requests to operations of web services, by the operations' names."""
    return _requests(folder / "operation_requests.tsv")


def invented_tools(folder: Path = DATA) -> Iterator[Invented]:
    """All tools that were invented, with their requests."""
    for name, language, description, *asked in _rows(folder / "invented_tools.tsv"):
        own = tuple(Asked(name, *pair) for pair in zip(asked[::2], asked[1::2], strict=True))
        yield Invented(name, language, description, own)


def stories(folder: Path = DATA) -> Iterator[Story]:
    """All stories. The tools of one are all learned from, or all held out for the same purpose."""
    for language, text, *tools in _rows(folder / "stories.tsv"):
        yield Story(language, text, tuple(tools))


def purpose(owner: str) -> Purpose:
    """What the requests to a server's tools, or to an invented tool, are for: nine in ten are learned from."""
    return PURPOSES.get(crc32(owner.encode()) % 20, "learned")


def server_of(tool: str) -> str:
    """The server in the id of a tool: what one server offers is held out together, as a stranger would be."""
    return tool.rpartition("/")[0]


def _requests(file: Path) -> Iterator[Asked]:
    for tool, *english, language, text in _rows(file):
        yield from (Asked(tool, "en", request) for request in english)
        yield Asked(tool, language, text)


def _rows(file: Path) -> Iterator[list[str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        yield line.split("\t")
