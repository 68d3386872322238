"""Renders a run in a terminal: the answer streams to stdout, everything else goes to stderr.

A view only renders the events it receives; it controls nothing.
"""

import atexit
import json
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from itertools import pairwise
from threading import RLock
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.panel import Panel
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from toolcrib.agent import events
from toolcrib.cli.output import clean, console, note, print_error

# Markdown at a terminal while it is being written: what is finished stays, what is not is drawn again as it grows.

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
        """Let nothing move, and show the cursor."""
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
    """What no further word can change, and the rest: the last block, and the line that is not ended yet."""
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


WAITS = "requires_confirmation:"  # what the model reads when a call waits for the user's yes
MOST_RESULT_LINES = 6
MOST_RESULT_CHARACTERS = 480
MOST_ARGUMENT_CHARACTERS = 300


class ChatView:
    """Draws events. On a terminal the words come as they are written, and look as their Markdown says; into a pipe goes
    the answer alone, as it is."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._talk: Console = console(sys.stderr)
        self._spinner: Status | None = None
        self._open_line = False  # words stand on the last line, and no end of line yet
        page = Console(highlight=False)
        self._markdown = _markdown(page) if self._live and not page.is_dumb_terminal else None
        atexit.register(self._settle)  # whatever ends the program: a cursor that was hidden is shown again
        self._streamed = ""
        self._started: dict[str, events.ToolStarted] = {}

    def show(self, event: events.Event) -> None:
        """Draw one event."""
        self.rest()
        match event:
            case events.RunStarted():
                self._streamed = ""
                self._busy("thinking")
            case events.ToolDiscoveryStart(query=query):
                self._end_line()
                self._busy(f"looking for tools: {query}")
            case events.ToolDiscoveryResult():
                self._note(_found(event))
                self._busy("thinking")
            case events.ToolStarted():
                self._end_line()
                self._started[event.call_id] = event
                self._busy(f"calling {event.name}")
            case events.ToolFinished():
                self._card(event)
                self._busy("thinking")
            case events.Text(delta=delta):
                self._write(delta)
            case events.Answered(text=text):
                self._answer(text)
            case events.Warning(text=text):
                self._end_line()
                note(f"warning: {text}")
                self._busy("thinking")
            case events.Failed():
                self._end_line()
                print_error(event.message, event.hint or None)
            case events.UsageEvent():
                self._end_line()
            case events.ToolsEnabled() | events.ConfirmationRequired():
                pass  # the search result listed the tools; the user is asked after the run

    def stopped(self) -> None:
        """The user stopped the run."""
        self.rest()
        self._end_line()
        note("stopped")

    def rest(self) -> None:
        """Let nothing move; before somebody else writes."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def _settle(self) -> None:
        self.rest()
        if self._markdown is not None:
            self._markdown.rest()

    def _busy(self, doing: str) -> None:
        if self._talk.is_terminal and self._live:
            self._spinner = self._talk.status(Text(clean(doing), style="dim"))
            self._spinner.start()

    def _write(self, delta: str) -> None:
        if self._live and delta:
            self._streamed += delta
            self._put(delta)

    def _answer(self, text: str) -> None:
        """The answer, unless it has just been streamed."""
        if not (self._live and text and self._streamed.endswith(text)):
            self._end_line()
            self._put(text)
        self._end_line()

    def _put(self, text: str) -> None:
        if self._markdown is not None:
            self._markdown.write(text)
            return
        sys.stdout.write(clean(text))
        sys.stdout.flush()
        self._open_line = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._markdown is not None:
            self._markdown.end()
        if self._open_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._open_line = False
        self._streamed = ""

    def _note(self, text: str) -> None:
        self._end_line()
        note(text)

    def _card(self, event: events.ToolFinished) -> None:
        self._end_line()
        started = self._started.pop(event.call_id, None)
        if event.text.startswith(WAITS) and not event.failed:
            return  # the user is asked in a moment
        arguments = render_arguments(started.arguments) if started is not None else ""
        mark, style = ("failed", "red") if event.failed else ("ok", "green")
        result = shortened(event.text)
        if not self._talk.is_terminal:
            note(f"{event.name}({arguments}) {mark}, {event.took_ms:.0f} ms: {' '.join(result.split())}")
            return
        title = Text.assemble((event.name, "bold"), (f" {mark} ", style), (f"{event.took_ms:.0f} ms", "dim"))
        body = Text(clean(arguments), style="cyan") if arguments else Text()
        body.append("\n" if arguments and result else "").append(clean(result), style="default")
        self._talk.print(
            Panel(body, title=title, title_align="left", border_style="dim", expand=False), soft_wrap=False
        )


class EventLines:
    """Writes events as JSON, one a line, each at once."""

    def show(self, event: events.Event) -> None:
        sys.stdout.write(json.dumps(event.to_json(), ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def stopped(self) -> None:
        self.show(events.Failed(message="Stopped by the user."))


def _markdown(page: Console) -> "MarkdownStream":
    return MarkdownStream(page)


def render_arguments(arguments: Mapping[str, Any]) -> str:
    """Format arguments for display: `page="home", limit=5`."""
    text = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return text if len(text) <= MOST_ARGUMENT_CHARACTERS else f"{text[:MOST_ARGUMENT_CHARACTERS]}..."


def shortened(text: str) -> str:
    """The start of a long result."""
    lines = text[:MOST_RESULT_CHARACTERS].splitlines()
    shown = "\n".join(lines[:MOST_RESULT_LINES])
    return shown if shown == text.rstrip("\n") else f"{shown}..."


def _found(event: events.ToolDiscoveryResult) -> str:
    names = ", ".join(event.tools) if event.tools else "no tool fits"
    return f"searched {event.query!r}: {names} ({event.took_ms:.0f} ms)"
