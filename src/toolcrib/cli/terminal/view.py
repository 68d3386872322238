"""Renders a run in a terminal: the answer streams to stdout, everything else goes to stderr.

A view only renders the events it receives; it controls nothing.
"""

import atexit
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.panel import Panel
from rich.status import Status
from rich.text import Text

from toolcrib.agent import events
from toolcrib.cli.output import clean, console, note, print_error

if TYPE_CHECKING:
    from toolcrib.cli.terminal.markdown import MarkdownStream

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
        """Stop drawing, before something else writes."""
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
    from toolcrib.cli.terminal.markdown import MarkdownStream  # late: a pipe gets plain text

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
