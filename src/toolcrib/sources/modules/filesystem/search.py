"""Searching in files: lines that match a regular expression, in the order of the tree."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from threading import Timer
from time import monotonic
from types import TracebackType
from typing import Any, Self

from toolcrib.errors import ToolRefusedError
from toolcrib.sources.modules.files import Tree, read_whole, too_slow
from toolcrib.sources.modules.workdir import Place, Workdir, shown

# Patterns for paths: `*` and `?` within a name, `**` over folders, `[abc]`, `{a,b}`. No pattern is slow.

MOST_CHARACTERS = 300
_MOST_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SPECIAL = re.compile(r"[*?\[{]")

_Segment = re.Pattern[str] | None  # None is `**`


class Glob:
    """Whether a path matches a pattern. Case counts."""

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
    """The folders before the first special character, and the rest: where to search, and what for."""
    names = pattern.split("/")
    plain = next((place for place, name in enumerate(names) if _SPECIAL.search(name)), len(names) - 1)
    return "/".join(names[:plain]), "/".join(names[plain:])


def _expanded(pattern: str) -> list[str]:
    """The patterns without braces, one for each choice."""
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
    """Whether all names match, where `**` stands for any number of folders."""
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


# The client of `line_matcher.py`: starts the process, sends it requests, and ends it when its time is up.

_MATCHER = Path(__file__).with_name("line_matcher.py")


class Matcher:
    """The process of `line_matcher.py`, and the timer that ends it."""

    def __init__(self, pattern: str, *, ignore_case: bool, seconds: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-W", "ignore", str(_MATCHER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._clock = Timer(seconds, self._process.kill)
        self._clock.daemon = True
        self._clock.start()
        job = {"pattern": pattern, "ignore_case": ignore_case}
        try:
            reply = self._exchange(json.dumps(job).encode() + b"\n")
        except ToolRefusedError:
            self.close()
            raise
        if "error" in reply:
            self.close()
            raise ToolRefusedError(
                f"{pattern!r} is not a regular expression: {reply['error']}.",
                hint="Write \\ before characters such as ( [ { * + ? . or set `literal`.",
            )
        self.literals: list[str] = reply["literals"]

    def ask(self, content: bytes, limit: int) -> list[tuple[int, str]]:
        """The matching lines of a text."""
        return self._exchange(b"%d %d\n%b" % (len(content), limit, content))

    def close(self) -> None:
        self._clock.cancel()
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # unsent input is no longer needed
                stream.close()
        self._process.wait()

    def _exchange(self, sent: bytes) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(sent)
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, ValueError):  # the timer ended it
            raise ToolRefusedError(
                "The search took too long and was stopped.", hint="Use a simpler `pattern`, or a `path` further down."
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# Ripgrep, where it is installed: finds the files that can have a match, many times faster than we do.


def find_ripgrep() -> str | None:
    """The program, if there is one."""
    return shutil.which("rg")


def files_with(
    texts: Sequence[str],
    folder: Path,
    *,
    program: str,
    ignore_case: bool,
    skipped: Collection[str],
    most_bytes: int,
    seconds: float,
) -> list[str] | None:
    """Paths below `folder` of all files that contain one of the texts, and maybe of others; None when it failed."""
    command = [program, "--no-config", "--files-with-matches", "--null", "--fixed-strings", "--text", "--encoding=none"]
    command += ["--no-ignore", "--hidden", "--no-messages", f"--max-filesize={most_bytes}"]
    command += ["--ignore-case" if ignore_case else "--case-sensitive"]
    command += [part for name in skipped for part in ("--glob", f"!{_escaped(name)}/")]
    command += [part for text in texts for part in ("--regexp", text)]
    try:
        done = subprocess.run(
            [*command, "--", "."],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in (0, 1):  # 1: nothing found
        return None
    return [os.fsdecode(path).removeprefix("./") for path in done.stdout.split(b"\0") if path]


def _escaped(name: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]{}!\\" else letter for letter in name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A matching line."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to search for, where, and how long it may take."""

    pattern: str
    ignore_case: bool
    wanted: Callable[[str], bool]  # of paths below the folder
    limit: int
    most_bytes: int
    skipped: Collection[str]
    seconds: float
    ripgrep: str | None

    def matcher(self) -> Matcher:
        return Matcher(self.pattern, ignore_case=self.ignore_case, seconds=self.seconds)


def grep(workdir: Workdir, path: str, search: Search) -> list[Match]:
    """The matching lines in a file or in all files below a folder; at most `limit`."""
    found: list[Match] = []
    deadline = monotonic() + search.seconds
    with (
        search.matcher() as matcher,
        closing(_files(workdir, path, search, matcher.literals, deadline)) as files,
    ):
        texts = [] if search.ignore_case else [text.encode() for text in matcher.literals]
        for file, content in files:
            if texts and not any(text in content for text in texts):
                continue  # cheaper than to ask
            lines = matcher.ask(content, search.limit - len(found))
            found += [Match(path=file, line=line, text=text) for line, text in lines]
            if len(found) >= search.limit:
                break
    return found


def _files(
    workdir: Workdir, path: str, search: Search, literals: list[str], deadline: float
) -> Generator[tuple[str, bytes]]:
    with workdir.place(path) as place:
        status = place.stat()
        if status is None or not stat.S_ISDIR(status.st_mode):
            yield place.path, read_whole(place, path, search.most_bytes).content
            return
    with workdir.open_folder(path) as (folder, place):
        prefix = "" if place.is_root else f"{place.path}/"
        tree = Tree(search.skipped, deadline=deadline)
        named = _named_by_ripgrep(workdir.root / place.path, search, literals)
        if named is None:
            for entry in tree.walk(folder):
                if entry.kind == "file" and search.wanted(shown(entry.path)) and entry.bytes <= search.most_bytes:
                    at = Place(folder=entry.folder, name=entry.name, path=entry.path)
                    if (content := _content(at, search.most_bytes)) is not None:
                        yield shown(f"{prefix}{entry.path}"), content
            return
    for file in sorted(named, key=lambda one: one.split("/")):
        if monotonic() > deadline:
            raise too_slow()
        if tree.reaches(file) and search.wanted(shown(file)):
            content = None
            with suppress(ToolRefusedError), workdir.place(f"{prefix}{file}".split("/"), follow=False) as at:
                content = _content(at, search.most_bytes)
            if content is not None:
                yield shown(f"{prefix}{file}"), content


def _named_by_ripgrep(folder: Path, search: Search, literals: list[str]) -> list[str] | None:
    if search.ripgrep is None or not literals:
        return None
    return files_with(
        literals,
        folder,
        program=search.ripgrep,
        ignore_case=search.ignore_case,
        skipped=search.skipped,
        most_bytes=search.most_bytes,
        seconds=search.seconds,
    )


def _content(place: Place, most_bytes: int) -> bytes | None:
    try:
        return read_whole(place, place.path, most_bytes).content
    except (OSError, ToolRefusedError):  # removed, without permission or too large: a search goes on without it
        return None
