"""Markdown at a terminal while it is being written: what is finished stays, what is not is drawn again as it grows."""

import re
from collections.abc import Iterable
from contextlib import nullcontext
from itertools import pairwise
from threading import RLock
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.segment import Segment

from toolcrib.cli.output import clean

_DRAWN_PER_SECOND = 12
# What ends a line for Python and not for Markdown; a carriage return stands before the end that counts.
_OTHER_ENDS = re.compile(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CODE_THEME = "ansi_dark"  # the terminal's own colours, on its own ground
# Tags would vanish, and with them what stands in them: they are shown as they are.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


class Written:
    """Markdown as lines of a terminal, a blank one between blocks, also `below` another one.

    With `most` it is the last lines of what was written.
    """

    def __init__(self, text: str, *, below: bool = False, most: int | None = None) -> None:
        self._blocks = [_drawn(block) for block in _blocks(clean(text))]
        self._below = below
        self._most = most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines: list[list[Segment]] = []
        for block in self._blocks:
            drawn = console.render_lines(block, options.update(height=None), pad=False)
            lines += [*([[]] if lines or self._below else []), *_without_margins(list(map(_without_end, drawn)))]
        for line in lines[-self._most :] if self._most else lines:
            yield from line
            yield Segment.line()


class MarkdownStream:
    """Takes an answer piece by piece and draws it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._unfinished = ""
        self._live: _Drawing | None = None
        self._began = False  # something stands above, and a blank line comes before the next block

    def write(self, delta: str) -> None:
        """The next words."""
        finished, unfinished = _parted(self._unfinished + _OTHER_ENDS.sub(" ", delta))
        # Written in one go, while nobody else draws: else lines stand there twice, or are wiped out.
        with self._live.turn if self._live is not None else nullcontext(), self._console:
            self._unfinished = unfinished
            if finished and self._live is not None:
                self._live.refresh()
            self._print(finished)
        if self._live is None and self._unfinished.strip():
            self._live = _Drawing(
                console=self._console,
                get_renderable=self._growing,
                refresh_per_second=_DRAWN_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start(refresh=True)

    def end(self) -> None:
        """There are no more words."""
        self.rest()
        self._print(self._unfinished)
        self._unfinished, self._began = "", False

    def rest(self) -> None:
        """Stop drawing, and show the cursor."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, text: str) -> None:
        if text.strip():
            self._console.print(Written(text, below=self._began), end="")
            self._began = True

    def _growing(self) -> Written:
        return Written(self._unfinished, below=self._began, most=self._console.height - 2)


class _Drawing(Live):
    """Draws a dozen times a second, in a thread of its own."""

    @property
    def turn(self) -> RLock:
        """Held by whoever draws. What goes up and down the screen counts on what was drawn last."""
        return self._lock


def _parted(text: str) -> tuple[str, str]:
    """The part that no further word can change, and the rest: the last block, and the unfinished line."""
    ended = text.rfind("\n") + 1
    *finished, last = _blocks(text[:ended]) or [""]
    return "".join(finished), last + text[ended:]


def _blocks(text: str) -> list[str]:
    """The text in blocks: paragraphs, lists, tables and so on, each from its beginning to that of the next one."""
    starts = [token.map[0] for token in _PARSER.parse(text) if token.level == 0 and token.map]
    lines = text.splitlines(keepends=True)
    return ["".join(lines[start:end]) for start, end in pairwise([0, *starts[1:], len(lines)])]


class _LeftHeading(Heading):
    """Begins where lines begin, as people read in a terminal."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Plain(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _LeftHeading}


def _drawn(block: str) -> Markdown:
    # Addresses stand beside their words: a link must not lead elsewhere than it says.
    drawn = _Plain("", code_theme=_CODE_THEME, hyperlinks=False)
    drawn.parsed = _PARSER.parse(block)
    for token in drawn.parsed:
        for inner in token.children or ():
            if inner.type == "softbreak":  # a line ends where it was ended, although Markdown would let it go on
                inner.type = "hardbreak"
    return drawn


def _without_margins(lines: list[list[Segment]]) -> list[list[Segment]]:
    """The lines without blank ones above and below."""
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _without_end(line: Iterable[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.strip(" "):
        kept.pop()
    if kept:
        last = kept.pop()
        kept.append(Segment(last.text.rstrip(" "), last.style, last.control))
    return kept
