"""Patterns for paths: `*` and `?` within a name, `**` over folders, `[abc]`, `{a,b}`. No pattern is slow."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import translate

from toolcrib.errors import ToolRefusedError

MOST_CHARACTERS = 300
_MOST_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SPECIAL = re.compile(r"[*?\[{]")

_Segment = re.Pattern[str] | None  # None is `**`


class Glob:
    """Whether a path fits a pattern. Case counts."""

    def __init__(self, pattern: str) -> None:
        if not pattern or len(pattern) > MOST_CHARACTERS or ".." in pattern.split("/") or pattern.startswith("/"):
            raise ToolRefusedError(
                f"{pattern[:MOST_CHARACTERS]!r} is not a pattern for paths in the work folder.",
                hint="Use one such as **/*.py or docs/*.{md,txt}, without .. and without / in front.",
            )
        self._alternatives = [_segments(one) for one in _expanded(pattern)]

    def __call__(self, path: str) -> bool:
        names = path.split("/")
        return any(_fits(names, segments) for segments in self._alternatives)


def split(pattern: str) -> tuple[str, str]:
    """The folders in front of the first special character, and the rest: where to look, and what for."""
    names = pattern.split("/")
    plain = next((place for place, name in enumerate(names) if _SPECIAL.search(name)), len(names) - 1)
    return "/".join(names[:plain]), "/".join(names[plain:])


def _expanded(pattern: str) -> list[str]:
    """Without braces: one pattern for each choice."""
    ready, waiting = list[str](), [pattern]
    while waiting:
        if len(ready) + len(waiting) > _MOST_ALTERNATIVES:
            raise ToolRefusedError(f"{pattern!r} has too many choices in braces.", hint="Search in several steps.")
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None:
            ready.append(one)
        else:
            waiting += [one[: braces.start()] + choice + one[braces.end() :] for choice in braces[1].split(",")]
    return ready


def _segments(pattern: str) -> list[_Segment]:
    # `translate` writes each `*` so that it never tries twice: no pattern is slow.
    return [
        None if name == "**" else re.compile(translate(name)) for name in pattern.split("/") if name not in ("", ".")
    ]


def _fits(names: Sequence[str], segments: Sequence[_Segment]) -> bool:
    """Whether the names fit, all of them, with `**` standing for any number of folders."""
    reached = {0}  # how many names can be used up by the segments so far
    for place, segment in enumerate(segments):
        if segment is None:
            is_last = place == len(segments) - 1
            # At the end it stands for what is in the folder, so for one name at least.
            reached = set(range(min(reached) + is_last, len(names) + 1)) if reached else reached
        else:
            reached = {used + 1 for used in _within(reached, names) if segment.match(names[used])}
    return len(names) in reached


def _within(reached: set[int], names: Sequence[str]) -> Iterator[int]:
    return (used for used in reached if used < len(names))
