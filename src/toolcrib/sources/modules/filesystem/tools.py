"""The module `filesystem`, made of its options."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcrib.sources.modules.filesystem.changing import ChangingTools
from toolcrib.sources.modules.filesystem.reading import ReadingTools
from toolcrib.sources.modules.filesystem.ripgrep import find_ripgrep
from toolcrib.sources.modules.filesystem.words import WORDS
from toolcrib.sources.modules.offer import offered
from toolcrib.sources.modules.workdir.tree import SKIPPED
from toolcrib.sources.modules.workdir.workdir import PROTECTED, Workdir
from toolcrib.tools.tool import Tool


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
    return offered(reading.methods if read_only else [*reading.methods, *changing.methods], WORDS)
