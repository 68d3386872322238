"""Output of the command line: data on stdout, messages on stderr, readable without colour."""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import TextIO, TypeVar

from rich.console import Console
from rich.text import Text

Item = TypeVar("Item")

# Wide enough that no line breaks when the reader is a program; a terminal has its own width.
PIPE_WIDTH = 1_000
# Control characters could move the cursor or repaint the screen: a tool's text may come from anywhere.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def speak_any_script() -> None:
    """Write characters that the stream's encoding lacks as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def clean(text: str) -> str:
    """Text that is safe to show on a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def console(stream: TextIO | None = None) -> Console:
    """A console on stdout, or on the stream given. Rich leaves colour out for pipes and `NO_COLOR`."""
    stream = stream or sys.stdout
    return Console(
        file=stream, width=None if stream and stream.isatty() else PIPE_WIDTH, highlight=False, soft_wrap=True
    )


def say(text: str | Text) -> None:
    """Write a line of data to stdout; a `Text` keeps its style on terminals."""
    console().print(Text(clean(text)) if isinstance(text, str) else text)


def note(text: str) -> None:
    """Write a line for the person at the terminal to stderr."""
    console(sys.stderr).print(Text(clean(text), style="dim"))


def print_error(message: str, hint: str | None = None) -> None:
    """Write what went wrong and what to do to stderr, as `error:` and `hint:` lines."""
    lines = Text.assemble(("error:", "bold red"), " ", clean(message))
    if hint:
        lines.append("\n").append("hint:", style="bold cyan").append(f" {clean(hint)}")
    console(sys.stderr).print(lines)


def progress(items: Sequence[Item], doing: str) -> Iterable[Item]:
    """The items, with a progress bar on stderr if it is a terminal."""
    if not sys.stderr.isatty():
        return items
    from rich.progress import track  # late, as all of Rich that only some verbs need

    return track(items, doing, console=console(sys.stderr), transient=True)


async def counting(items: AsyncIterator[Item], doing: str) -> AsyncIterator[Item]:
    """The items, with a running count on stderr if it is a terminal."""
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    shown = Progress(
        TextColumn(f"{doing}: {{task.completed:,}}"),
        TimeElapsedColumn(),
        console=console(sys.stderr),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with shown:
        task = shown.add_task(doing, total=None)
        async for item in items:
            yield item
            shown.advance(task)


def write_json(value: object) -> None:
    """Write one JSON document to stdout, without escapes."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


@dataclass(frozen=True, slots=True)
class Columns:
    """A plain table: columns aligned by spaces, easy to read and to `grep`."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def add(self, *cells: str) -> None:
        self.rows.append(tuple(clean(cell.replace("\n", " ")) for cell in cells))

    def show(self) -> None:
        from rich.table import Table

        table = Table(*self.heads, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        here = console()
        with here.capture() as drawn:
            here.print(table)
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in drawn.get().splitlines())
