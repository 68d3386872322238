"""Searching in files: lines that fit a regular expression, in the order of the tree."""

import stat
from collections.abc import Callable, Collection, Generator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from toolcrib.errors import ToolRefusedError
from toolcrib.sources.modules.filesystem.matcher_process import Matcher
from toolcrib.sources.modules.filesystem.ripgrep import files_with
from toolcrib.sources.modules.workdir.files import read_whole
from toolcrib.sources.modules.workdir.paths import shown
from toolcrib.sources.modules.workdir.tree import Tree, too_slow
from toolcrib.sources.modules.workdir.workdir import Place, Workdir


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A line that fits."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is looked for, and where it may take how long."""

    pattern: str
    ignore_case: bool
    wanted: Callable[[str], bool]  # of paths below the folder
    limit: int
    most_bytes: int
    skipped: Collection[str]
    seconds: float
    ripgrep: str | None

    def matcher(self) -> Matcher:
        return Matcher(self.pattern, ignore_case=self.ignore_case, seconds=self.seconds)


def grep(workdir: Workdir, path: str, search: Search) -> list[Match]:
    """The lines that fit, in a file or in all files below a folder; at most `limit`."""
    found: list[Match] = []
    deadline = monotonic() + search.seconds
    with (
        search.matcher() as matcher,
        closing(_files(workdir, path, search, matcher.literals, deadline)) as files,
    ):
        texts = [] if search.ignore_case else [text.encode() for text in matcher.literals]
        for file, content in files:
            if texts and not any(text in content for text in texts):
                continue  # cheaper than to ask
            lines = matcher.ask(content, search.limit - len(found))
            found += [Match(path=file, line=line, text=text) for line, text in lines]
            if len(found) >= search.limit:
                break
    return found


def _files(
    workdir: Workdir, path: str, search: Search, literals: list[str], deadline: float
) -> Generator[tuple[str, bytes]]:
    with workdir.place(path) as place:
        status = place.stat()
        if status is None or not stat.S_ISDIR(status.st_mode):
            yield place.path, read_whole(place, path, search.most_bytes).content
            return
    with workdir.open_folder(path) as (folder, place):
        prefix = "" if place.is_root else f"{place.path}/"
        tree = Tree(search.skipped, deadline=deadline)
        named = _named_by_ripgrep(workdir.root / place.path, search, literals)
        if named is None:
            for entry in tree.walk(folder):
                if entry.kind == "file" and search.wanted(shown(entry.path)) and entry.bytes <= search.most_bytes:
                    at = Place(folder=entry.folder, name=entry.name, path=entry.path)
                    if (content := _content(at, search.most_bytes)) is not None:
                        yield shown(f"{prefix}{entry.path}"), content
            return
    for file in sorted(named, key=lambda one: one.split("/")):
        if monotonic() > deadline:
            raise too_slow()
        if tree.reaches(file) and search.wanted(shown(file)):
            content = None
            with suppress(ToolRefusedError), workdir.place(f"{prefix}{file}".split("/"), follow=False) as at:
                content = _content(at, search.most_bytes)
            if content is not None:
                yield shown(f"{prefix}{file}"), content


def _named_by_ripgrep(folder: Path, search: Search, literals: list[str]) -> list[str] | None:
    if search.ripgrep is None or not literals:
        return None
    return files_with(
        literals,
        folder,
        program=search.ripgrep,
        ignore_case=search.ignore_case,
        skipped=search.skipped,
        most_bytes=search.most_bytes,
        seconds=search.seconds,
    )


def _content(place: Place, most_bytes: int) -> bytes | None:
    try:
        return read_whole(place, place.path, most_bytes).content
    except (OSError, ToolRefusedError):  # gone, closed to us, grown too large: a search goes on without it
        return None
