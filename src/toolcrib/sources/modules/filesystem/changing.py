"""The tools that change files: all at once or not at all, and never something else by accident."""

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field

from toolcrib.errors import PathRefusedError, ToolRefusedError
from toolcrib.sources.modules.filesystem.arguments import FilePath, Row
from toolcrib.sources.modules.filesystem.texts import replaced, text_of
from toolcrib.sources.modules.workdir.files import read_whole, write_whole
from toolcrib.sources.modules.workdir.workdir import Place, Workdir


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
