"""The tools of the module `filesystem`."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from toolcrib.errors import PathRefusedError, ToolRefusedError
from toolcrib.sources.modules.files import SKIPPED, Entry, Tree, entries, read_whole, write_whole
from toolcrib.sources.modules.filesystem import search as globs
from toolcrib.sources.modules.filesystem.metadata import METADATA
from toolcrib.sources.modules.filesystem.search import Search, find_ripgrep, grep
from toolcrib.sources.modules.registry import tools_from_methods
from toolcrib.sources.modules.workdir import PROTECTED, Place, Workdir, shown
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

# Arguments that several tools take: same word, same meaning, same limits.

FilePath: TypeAlias = Annotated[str, Field(description="Path in the work folder, such as notes/today.md", min_length=1)]
FolderPath: TypeAlias = Annotated[str, Field(description="Folder to look in; the whole work folder when left out")]
Limit: TypeAlias = Annotated[int, Field(description="Most results", ge=1, le=1000)]
Row: TypeAlias = dict[str, Any]  # the result of a tool, as JSON


# Bytes and text: what counts as text, which lines a model sees, and exact replacements.

_LOOKED_AT = 8_192  # bytes in which a zero shows that it is not text
_LINES_NAMED = 5


def text_of(content: bytes, path: str, *, exact: bool = False) -> tuple[str, bool]:
    """The text, and whether every byte of it could be read; `exact` refuses what could not."""
    if b"\0" in content[:_LOOKED_AT]:
        raise ToolRefusedError(
            f"{path!r} is not text ({len(content):,} bytes).", hint="It cannot be shown or edited as text."
        )
    try:
        return content.decode("utf-8"), True
    except UnicodeDecodeError:
        if exact:
            raise ToolRefusedError(
                f"{path!r} is not UTF-8, so an edit could damage it; nothing was changed.",
                hint="Tell the user, or write it anew with fs_write.",
            ) from None
        return content.decode("utf-8", "replace"), False


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Some lines of a text, counted from 1."""

    text: str
    first_line: int
    last_line: int
    total_lines: int
    cut: bool  # a limit, not the request, ended it


def excerpt(text: str, start_line: int, lines: int, most_characters: int) -> Excerpt:
    """The requested lines, as many as the limit allows; at least a part of the first."""
    every = text.removeprefix("\ufeff").split("\n")
    if every[-1] == "":
        every.pop()  # the last line ends, and no other begins
    chosen: list[str] = []
    room = most_characters
    for line in every[start_line - 1 : start_line - 1 + lines]:
        if len(line) + 1 > room:
            if not chosen:
                chosen.append(line[:room])
            break
        chosen.append(line)
        room -= len(line) + 1
    last = start_line + len(chosen) - 1
    wanted = min(len(every), start_line + lines - 1)
    cut = last < wanted or (len(chosen) == 1 and len(chosen[0]) < len(every[start_line - 1]))
    return Excerpt(text="\n".join(chosen), first_line=start_line, last_line=last, total_lines=len(every), cut=cut)


def replaced(text: str, old: str, new: str, *, everywhere: bool, path: str) -> tuple[str, list[int]]:
    """The text with `old` replaced, and the numbers of the lines where it was."""
    if old == new:
        raise ToolRefusedError("`old` and `new` are the same; nothing was changed.", hint="Say what should change.")
    if old not in text and "\r\n" in text:  # a model writes plain line ends, whatever the file has
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    lines = _lines_of(text, old)
    if not lines:
        raise ToolRefusedError(
            f"{path!r} does not hold the text in `old`{_nearly(text, old)}; nothing was changed.",
            hint="Read the file with fs_read and copy the text exactly, blanks and line breaks included.",
        )
    if len(lines) > 1 and not everywhere:
        named = ", ".join(map(str, lines[:_LINES_NAMED])) + (", ..." if len(lines) > _LINES_NAMED else "")
        raise ToolRefusedError(
            f"The text in `old` stands {len(lines)} times in {path!r} (lines {named}); nothing was changed.",
            hint="Give more of the text around the one you mean, or set `replace_all`.",
        )
    return text.replace(old, new), lines


def _lines_of(text: str, old: str) -> list[int]:
    lines: list[int] = []
    place, line, counted = text.find(old), 1, 0
    while place >= 0:
        line += text.count("\n", counted, place)
        lines.append(line)
        counted = place
        place = text.find(old, place + len(old))
    return lines


def _nearly(text: str, old: str) -> str:
    """A hint for the most common mistake of models."""
    squeezed = " ".join(old.split())
    return " (but a text that differs only in blanks)" if squeezed and squeezed in " ".join(text.split()) else ""


# The tools that change files: atomically, and never another file by accident.


class ChangingTools:
    """Each method is a tool; a refusal is raised and becomes a failed result."""

    def __init__(self, workdir: Workdir, *, max_file_bytes: int) -> None:
        self._workdir = workdir
        self._max_file_bytes = max_file_bytes

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.fs_write, self.fs_edit, self.fs_mkdir, self.fs_move, self.fs_delete)

    def fs_write(
        self,
        path: FilePath,
        content: Annotated[str, Field(description="All of the file's text")],
        overwrite: Annotated[bool, Field(description="Replace a file that is already there")] = False,
    ) -> Row:
        """Write a text file: create a new one, or replace a whole one. Missing folders are made."""
        encoded = content.encode()
        if len(encoded) > self._max_file_bytes:
            raise ToolRefusedError(
                f"The text has {len(encoded):,} bytes; at most {self._max_file_bytes:,} are written.",
                hint="Write it in several files.",
            )
        with self._workdir.place(path, writing=True, make_folders=True) as place:
            existed = write_whole(place, encoded, overwrite=overwrite)
        return {"path": place.path, "bytes": len(encoded), "created": not existed}

    def fs_edit(
        self,
        path: FilePath,
        old: Annotated[str, Field(description="Text to replace, exactly as it stands in the file", min_length=1)],
        new: Annotated[str, Field(description="Text to put in its place; empty to delete it")],
        replace_all: Annotated[bool, Field(description="Replace every place where it stands")] = False,
    ) -> Row:
        """Change a part of a text file by replacing an exact text with another."""
        with self._workdir.place(path, writing=True) as place:
            file = read_whole(place, path, self._max_file_bytes)
            text, _ = text_of(file.content, file.path, exact=True)
            changed, lines = replaced(text, old, new, everywhere=replace_all, path=file.path)
            write_whole(place, changed.encode(), overwrite=True, known=file)
        return {"path": file.path, "replaced": len(lines), "lines": lines[:20]}

    def fs_mkdir(self, path: FilePath) -> Row:
        """Make a folder, with the folders above it."""
        with self._workdir.place(path, writing=True, make_folders=True) as place:
            held = place.stat()
            if held is not None and not stat.S_ISDIR(held.st_mode):
                raise ToolRefusedError(f"{place.path!r} is there, and is not a folder.", hint="Choose another path.")
            if held is None:
                os.mkdir(place.name, dir_fd=place.folder)
        return {"path": place.path, "created": held is None}

    def fs_move(
        self,
        source: Annotated[str, Field(description="Path of the file or folder", min_length=1)],
        destination: Annotated[str, Field(description="Its new path, with its new name", min_length=1)],
        overwrite: Annotated[bool, Field(description="Replace a file that is already there")] = False,
    ) -> Row:
        """Move or rename a file or folder."""
        with (
            self._workdir.place(source, writing=True, follow=False) as old,
            self._workdir.place(destination, writing=True, make_folders=True, follow=False) as new,
        ):
            held, there = old.stat(), new.stat()
            _refuse_root(old)
            if held is None:
                raise old.missing(source)
            # A name that differs only in case can be the same file.
            if there is not None and not os.path.samestat(held, there):
                _refuse_taken(new, there, overwrite)
            os.rename(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)
        return {"path": new.path, "moved_from": old.path}

    def fs_delete(
        self,
        path: FilePath,
        recursive: Annotated[bool, Field(description="Delete a folder with everything in it")] = False,
    ) -> Row:
        """Delete a file or a folder for good."""
        with self._workdir.place(path, writing=True, follow=False) as place:
            _refuse_root(place)
            held = place.stat()
            if held is None:
                raise place.missing(path)
            if not stat.S_ISDIR(held.st_mode):
                os.unlink(place.name, dir_fd=place.folder)
            elif recursive:
                shutil.rmtree(place.name, dir_fd=place.folder)
            else:
                os.rmdir(place.name, dir_fd=place.folder)
        return {"deleted": place.path}


def _refuse_root(place: Place) -> None:
    if place.is_root:
        raise PathRefusedError("The work folder itself stays where it is.", hint="Name something in it.")


def _refuse_taken(place: Place, there: os.stat_result, overwrite: bool) -> None:
    if stat.S_ISDIR(there.st_mode):
        raise ToolRefusedError(f"{place.path!r} is a folder that is already there.", hint="Give the full new path.")
    if not overwrite:
        raise ToolRefusedError(
            f"There is already something at {place.path!r}; nothing was moved.",
            hint="Choose another path, or set `overwrite`.",
        )


# The tools that look at files and change nothing.


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
        globs.Glob(pattern)  # refuses what is no pattern, before it is split
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
        listing: Row = {"paths": found[:limit], "cut": len(found) > limit}
        if not found and "**" not in pattern:
            listing["note"] = f"Nothing in this folder itself. To look in all folders, use **/{pattern}."
        return listing

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


def filesystem(
    *,
    workdir: Path,
    read_only: bool = False,
    max_file_bytes: Annotated[int, Field(ge=1)] = 10_000_000,
    max_result_characters: Annotated[int, Field(ge=100)] = 40_000,
    search_seconds: Annotated[float, Field(gt=0)] = 20.0,
    protected: tuple[str, ...] = PROTECTED,
    skipped: tuple[str, ...] = SKIPPED,
    ripgrep: bool = True,
) -> tuple[Tool, ...]:
    """Files of the work folder.

    `read_only` leaves out the tools that change something. `protected` folders are never changed, `skipped` ones are
    left out of searches. `ripgrep` uses it where it is installed.
    """
    folder = Workdir(workdir, protected=protected)
    reading = ReadingTools(
        folder,
        max_file_bytes=max_file_bytes,
        max_result_characters=max_result_characters,
        search_seconds=search_seconds,
        skipped=skipped,
        ripgrep=find_ripgrep() if ripgrep else None,
    )
    changing = ChangingTools(folder, max_file_bytes=max_file_bytes)
    return tools_from_methods(reading.methods if read_only else [*reading.methods, *changing.methods], METADATA)
