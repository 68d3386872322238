"""Markdown at a terminal, while it is being written."""

import io
import re
import sys

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from toolcrib.agent import events
from toolcrib.cli.terminal import markdown as chat_markdown
from toolcrib.cli.terminal.markdown import MarkdownStream, Written
from toolcrib.cli.terminal.view import ChatView

ANSWER = """\
# The pages

There are **two** of them,
with [a list](https://site.example/pages) and <b>tags</b> as they are.

- home
- about #us
  - the team

| page | views |
|---|---|
| home | 7 |

```python
print("hello")
```

That is all.
"""
SEEN = snapshot("""\
The pages

There are two of them,
with a list (https://site.example/pages) and <b>tags</b> as
they are.

 • home
 • about #us
    • the team

 page  views
 ───────────
 home  7

 print("hello")

That is all.
""")
CODES = re.compile(r"\x1b\[(\?25[lh]|[0-9;]*[mAK])|\r|\n|[^\x1b\r\n]+")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(drawn: str) -> str:
    """What stands on a screen after all that was drawn."""
    lines, at, column = [""], 0, 0
    for found in CODES.finditer(drawn):
        said, code = found[0], found[1] or ""
        if said == "\n":
            at, column = at + 1, 0
            lines += [""] * (at + 1 - len(lines))
        elif said == "\r":
            column = 0
        elif code.endswith("A"):
            at -= int(code[:-1])
            assert at >= 0
        elif code == "2K":
            lines[at] = ""
        elif not code:
            lines[at] = (lines[at].ljust(column)[:column] + said).rstrip(" ")
            column += len(said)
    return "\n".join(lines)


def console(height: int = 24) -> tuple[Console, Terminal]:
    file = Terminal()
    return Console(file=file, force_terminal=True, color_system=None, width=60, height=height), file


@pytest.mark.parametrize("size", [1, 7, 10_000], ids=["letters", "pieces", "at once"])
def test_a_streamed_answer_looks_as_its_markdown_says(size: int) -> None:
    page, file = console()
    stream = MarkdownStream(page)
    for start in range(0, len(ANSWER), size):
        stream.write(ANSWER[start : start + size])
    stream.end()
    assert screen(file.getvalue()) == SEEN


@pytest.mark.parametrize("turn", range(5))
def test_however_often_it_is_drawn_meanwhile_no_line_is_lost(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_markdown, "_DRAWN_PER_SECOND", 5_000)  # the thread that draws gets in between all the time
    page, file = console()
    stream = MarkdownStream(page)
    for letter in ANSWER:
        stream.write(letter)
    stream.end()
    assert screen(file.getvalue()) == SEEN


def test_what_is_finished_stands_there_before_the_rest_is_written() -> None:
    page, file = console()
    stream = MarkdownStream(page)
    stream.write("First.\n\nSecond.\n")
    stream.write("Third, which ")
    assert screen(file.getvalue()).startswith("First.\n")
    stream.rest()
    assert "\nSecond.\nThird, which\n" in file.getvalue()  # and the rest as far as it goes
    assert file.getvalue().count("\x1b[?25l") == file.getvalue().count("\x1b[?25h") == 1
    stream.end()
    stream.end()
    assert screen(file.getvalue()) == "First.\n\nSecond.\nThird, which\n"


def test_a_block_that_is_higher_than_the_terminal_is_whole_in_the_end() -> None:
    page, file = console(height=6)
    stream = MarkdownStream(page)
    for number in range(30):
        stream.write(f"- item {number}\n")
    stream.end()
    assert screen(file.getvalue()).split("\n") == [*(f" • item {number}" for number in range(30)), ""]


def test_no_text_moves_the_cursor_or_hides_an_address() -> None:
    page, file = console()
    page.print(Written("one\x1b[2J two\x9b2J [safe](https://evil.example) ![dot](https://evil.example/x)"), end="")
    said = file.getvalue()
    assert "\x1b[2J" not in said
    assert "\x9b" not in said
    assert "\x1b]8" not in said
    assert "safe (https://evil.example)" in said


def seen(monkeypatch: pytest.MonkeyPatch, *happened: events.Event) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", out := Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    view = ChatView()
    for event in happened:
        view.show(event)
    view.stopped()
    return screen(out.getvalue())


def test_a_view_draws_what_is_streamed_once_and_what_is_not_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [events.Text(delta=delta) for delta in ("One **t", "wo**\n\n", "three")]
    assert seen(monkeypatch, *pieces, events.Answered(text="One **two**\n\nthree")) == "One two\n\nthree\n"
    assert seen(monkeypatch, events.Answered(text="- at\n- once\r\n")) == " • at\n • once\n"
    talk = events.Text(delta="Let me *see*.")
    call = events.ToolStarted(call_id="1", name="get_page", arguments={})
    assert seen(monkeypatch, talk, call, events.Answered(text="Here.")) == "Let me see.\nHere.\n"
