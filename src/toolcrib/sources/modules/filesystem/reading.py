"""The tools that look at files and change nothing."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Annotated, Any

from pydantic import Field

from toolcrib.errors import ToolRefusedError
from toolcrib.sources.modules.filesystem import globs
from toolcrib.sources.modules.filesystem.arguments import FilePath, FolderPath, Limit, Row
from toolcrib.sources.modules.filesystem.grep import Search, grep
from toolcrib.sources.modules.filesystem.texts import excerpt, text_of
from toolcrib.sources.modules.workdir.files import read_whole
from toolcrib.sources.modules.workdir.paths import shown
from toolcrib.sources.modules.workdir.tree import Entry, Tree, entries
from toolcrib.sources.modules.workdir.workdir import Workdir
from toolcrib.tools.result import ToolResult


class ReadingTools:
    """Each method is a tool; a refusal is raised and becomes a failed result."""

    def __init__(
        self,
        workdir: Workdir,
        *,
        max_file_bytes: int,
        max_result_characters: int,
        search_seconds: float,
        skipped: Sequence[str],
        ripgrep: str | None,
    ) -> None:
        self._workdir = workdir
        self._max_file_bytes = max_file_bytes
        self._max_result_characters = max_result_characters
        self._search_seconds = search_seconds
        self._skipped = skipped
        self._ripgrep = ripgrep

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.fs_read, self.fs_list, self.fs_glob, self.fs_grep)

    def fs_read(
        self,
        path: FilePath,
        start_line: Annotated[int, Field(description="First line, counted from 1", ge=1)] = 1,
        lines: Annotated[int, Field(description="How many lines", ge=1)] = 2000,
    ) -> ToolResult:
        """Read a text file, or a range of its lines."""
        with self._workdir.place(path) as place:
            file = read_whole(place, path, self._max_file_bytes)
        text, exact = text_of(file.content, file.path)
        part = excerpt(text, start_line, lines, self._max_result_characters)
        if start_line > max(1, part.total_lines):
            raise ToolRefusedError(f"{file.path!r} has only {part.total_lines} lines.", hint="Start further up.")
        notes = [f"{file.path}: lines {part.first_line}-{part.last_line} of {part.total_lines}"]
        notes += ["cut: read on with start_line" if part.last_line < part.total_lines else "cut"] if part.cut else []
        notes += [] if exact else ["not UTF-8: some letters are missing"]
        value = {
            "path": file.path,
            "first_line": part.first_line,
            "last_line": part.last_line,
            "total_lines": part.total_lines,
            "cut": part.cut,
            "text": part.text,
        }
        if not part.total_lines:
            return ToolResult(text=f"{file.path} is empty.", value=value)
        return ToolResult(text=f"[{'; '.join(notes)}]\n{part.text}", value=value)

    def fs_list(self, path: FolderPath = ".", limit: Limit = 200) -> Row:
        """List the files and folders in a folder, with size and time of change."""
        with self._workdir.open_folder(path) as (folder, place):
            found = entries(folder, "" if place.is_root else f"{place.path}/")
        return {
            "folder": place.path,
            "entries": [_row(one) for one in found[:limit]],
            "more": max(0, len(found) - limit),
        }

    def fs_glob(
        self,
        pattern: Annotated[str, Field(description="Such as **/*.py (all folders) or docs/*.{md,txt}", min_length=1)],
        path: FolderPath = ".",
        limit: Limit = 200,
    ) -> Row:
        """Find files and folders by name with a pattern."""
        globs.Glob(pattern)  # refuses what is none, before it is taken apart
        base, rest = globs.split(pattern)
        start = f"{path.rstrip('/')}/{base}" if base else path
        fits = globs.Glob(rest)
        found: list[str] = []
        with self._workdir.open_folder(start) as (folder, place):
            prefix = "" if place.is_root else f"{place.path}/"
            for entry in Tree(self._skipped, deadline=monotonic() + self._search_seconds).walk(folder):
                if fits(shown(entry.path)):
                    found.append(shown(f"{prefix}{entry.path}") + ("/" if entry.kind == "folder" else ""))
                    if len(found) > limit:
                        break
        told: Row = {"paths": found[:limit], "cut": len(found) > limit}
        if not found and "**" not in pattern:
            told["note"] = f"Nothing in this folder itself. To look in all folders, use **/{pattern}."
        return told

    def fs_grep(
        self,
        pattern: Annotated[
            str, Field(description="Regular expression to look for in each line", min_length=1, max_length=1000)
        ],
        path: Annotated[str, Field(description="File or folder to search; the whole work folder when left out")] = ".",
        glob: Annotated[str, Field(description="Only files like this, such as *.py or src/**/*.ts")] = "",
        ignore_case: Annotated[bool, Field(description="Take A and a as the same")] = False,
        literal: Annotated[bool, Field(description="Take the pattern as plain text")] = False,
        limit: Limit = 100,
    ) -> Row:
        """Search the contents of files for a text or regular expression and return the lines that match, with file and
        line number.
        """
        search = Search(
            pattern=re.escape(pattern) if literal else pattern,
            ignore_case=ignore_case,
            wanted=_wanted(glob),
            limit=limit + 1,
            most_bytes=self._max_file_bytes,
            skipped=self._skipped,
            seconds=self._search_seconds,
            ripgrep=self._ripgrep,
        )
        found = grep(self._workdir, path, search)
        rows = [{"path": match.path, "line": match.line, "text": match.text} for match in found[:limit]]
        return {"matches": rows, "cut": len(found) > limit}


def _row(entry: Entry) -> Row:
    row: Row = {"path": shown(entry.path), "kind": entry.kind}
    if entry.kind == "file":
        changed = datetime.fromtimestamp(entry.modified, UTC).isoformat(timespec="seconds")
        row |= {"bytes": entry.bytes, "changed": changed}
    return row


def _wanted(glob: str) -> Callable[[str], bool]:
    if not glob:
        return lambda _: True
    # As in ripgrep: a pattern without a folder is for the name, wherever the file is.
    return globs.Glob(glob if "/" in glob else f"**/{glob}")
