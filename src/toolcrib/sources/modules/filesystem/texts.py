"""Bytes and text: what counts as text, which lines a model gets to see, and replacing a part of it exactly."""

from dataclasses import dataclass

from toolcrib.errors import ToolRefusedError

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
    """The lines asked for, as many as the limit allows; at least a part of the first."""
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
    """The text with `old` replaced, and the lines where it stood."""
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
    """What a model most often gets wrong."""
    squeezed = " ".join(old.split())
    return " (but a text that differs only in blanks)" if squeezed and squeezed in " ".join(text.split()) else ""
