"""The tools of the module `filesystem`. Whatever a model writes, they stay in the work folder."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from toolcrib.errors import PathRefusedError, ToolRefusedError
from toolcrib.sources.modules.filesystem import globs
from toolcrib.sources.modules.filesystem.grep import Search, grep
from toolcrib.sources.modules.filesystem.ripgrep import find_ripgrep
from toolcrib.sources.modules.filesystem.texts import excerpt, replaced, text_of
from toolcrib.sources.modules.filesystem.words import WORDS
from toolcrib.sources.modules.offer import offered
from toolcrib.sources.modules.workdir.files import read_whole, write_whole
from toolcrib.sources.modules.workdir.paths import shown
from toolcrib.sources.modules.workdir.tree import SKIPPED, Entry, Tree, entries
from toolcrib.sources.modules.workdir.workdir import PROTECTED, Place, Workdir, missing
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

FilePath: TypeAlias = Annotated[str, Field(description="Path in the work folder, such as notes/today.md", min_length=1)]
FolderPath: TypeAlias = Annotated[str, Field(description="Folder to look in; the whole work folder when left out")]
Limit: TypeAlias = Annotated[int, Field(description="Most results", ge=1, le=1000)]
Row: TypeAlias = dict[str, Any]


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
    tools = FilesystemTools(
        Workdir(workdir, protected=protected),
        max_file_bytes=max_file_bytes,
        max_result_characters=max_result_characters,
        search_seconds=search_seconds,
        skipped=skipped,
        ripgrep=find_ripgrep() if ripgrep else None,
    )
    return offered(tools.reading if read_only else [*tools.reading, *tools.changing], WORDS)


class FilesystemTools:
    """Reading, searching and changing files. Each method is a tool; a refusal is raised and becomes a failed result."""

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
    def reading(self) -> Sequence[Callable[..., Any]]:
        """The tools that leave everything as it is."""
        return (self.fs_read, self.fs_list, self.fs_glob, self.fs_grep)

    @property
    def changing(self) -> Sequence[Callable[..., Any]]:
        """The others."""
        return (self.fs_write, self.fs_edit, self.fs_mkdir, self.fs_move, self.fs_delete)

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
        fits = globs.Glob(pattern)  # as a whole, before it is taken apart
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
                raise missing(source, old)
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
                raise missing(path, place)
            if not stat.S_ISDIR(held.st_mode):
                os.unlink(place.name, dir_fd=place.folder)
            elif recursive:
                shutil.rmtree(place.name, dir_fd=place.folder)
            else:
                os.rmdir(place.name, dir_fd=place.folder)
        return {"deleted": place.path}


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
