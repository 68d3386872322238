"""Which lines match a regular expression. Runs as a separate process: some expressions would block Python for ever.

It reads from stdin one JSON line with `pattern` and `ignore_case` and answers with `{"literals": [...]}` or `{"error":
...}`. Then, for each request: a line with the number of bytes and the number of matches wanted, and the bytes; it
answers with one JSON line `[[line number, text], ...]`. Uses the standard library only, and nothing of Toolcrib.
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import BinaryIO

MOST_LINE_CHARACTERS = 300
_NO_TEXT = b"\0"


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until stdin ends."""

    def answer(value: object) -> None:
        answers.write(json.dumps(value).encode() + b"\n")
        answers.flush()

    job = json.loads(asked.readline())
    try:
        pattern = re.compile(job["pattern"], re.IGNORECASE if job["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        answer({"error": str(error)})
        return
    answer({"literals": required(job["pattern"], ignore_case=job["ignore_case"])})
    while header := asked.readline():
        size, limit = map(int, header.split())
        answer(list(_limited(matches(pattern, asked.read(size)), limit)))


def matches(pattern: re.Pattern[str], content: bytes) -> Iterator[tuple[int, str]]:
    """The lines that match, numbered from 1; none where the bytes are not UTF-8 text."""
    if _NO_TEXT in content:
        return
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if pattern.search(line):
            yield number, line if len(line) <= MOST_LINE_CHARACTERS else f"{line[:MOST_LINE_CHARACTERS]}..."


def required(pattern: str, *, ignore_case: bool) -> list[str]:
    """Texts of which every matching line contains at least one; none when that cannot be determined.

    Only what is plain to see counts: letters outside of groups and classes. Whoever looks for these texts first finds
    every line that can fit, and more.
    """
    if "(?" in pattern or "\n" in pattern:  # flags and conditions can turn the meaning of all the rest
        return []
    branches = list(_branches(pattern))
    longest = [max(_runs(branch, ignore_case), key=len, default="") for branch in branches]
    return longest if all(longest) else []


_TOKEN = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]+|.)"  # an escape
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"  # a class
    r"|\{[^}]*\}|.",
    re.DOTALL,
)


def _branches(pattern: str) -> Iterator[list[str]]:
    """The tokens outside of groups, one list for each side of `|`; a group stands as `()`."""
    branch: list[str] = []
    depth = 0
    for token in _TOKEN.findall(pattern):
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            branch.append("()")
        elif depth == 0 and token == "|":
            yield branch
            branch = []
        elif depth == 0:
            branch.append(token)
    yield branch


def _runs(tokens: list[str], ignore_case: bool) -> Iterator[str]:
    run = ""
    for token, following in zip(tokens, [*tokens[1:], ""], strict=False):
        letter = _letter(token, ignore_case)
        optional = following[:1] in ("*", "?", "{")  # `+` keeps the letter, but what follows may be the letter again
        if letter is None or optional:
            yield run
            run = ""
        elif following == "+":
            yield run + letter
            run = ""
        else:
            run += letter
    yield run


def _letter(token: str, ignore_case: bool) -> str | None:
    """The one letter a token stands for; None if it is none, or not the same one to everybody."""
    letter = token[1:] if token.startswith("\\") else token
    if len(letter) != 1 or (token.startswith("\\") and letter.isalnum()):
        return None
    if len(token) == 1 and token in ".^$*+?{}[]|()\\":
        return None
    # Without case, "i" is also the Turkish "İ" to Python, and each program has letters of its own beyond ASCII.
    if ignore_case and (not letter.isascii() or letter in "iI"):
        return None
    return letter if letter.isprintable() else None


def _limited(found: Iterator[tuple[int, str]], limit: int) -> Iterator[tuple[int, str]]:
    for _, match in zip(range(limit), found, strict=False):
        yield match


if __name__ == "__main__":  # pragma: no cover  # in the other process
    serve(sys.stdin.buffer, sys.stdout.buffer)
