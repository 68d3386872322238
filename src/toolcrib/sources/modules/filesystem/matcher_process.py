"""Our end of `line_matcher.py`: starts the other process, talks to it, and ends it when its time is up."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any, Self

from toolcrib.errors import ToolRefusedError

_MATCHER = Path(__file__).with_name("line_matcher.py")


class Matcher:
    """The other process, and the clock that ends it."""

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
            told = self._exchange(json.dumps(job).encode() + b"\n")
        except ToolRefusedError:
            self.close()
            raise
        if "error" in told:
            self.close()
            raise ToolRefusedError(
                f"{pattern!r} is not a regular expression: {told['error']}.",
                hint="Write \\ before characters such as ( [ { * + ? . or set `literal`.",
            )
        self.literals: list[str] = told["literals"]

    def ask(self, content: bytes, limit: int) -> list[tuple[int, str]]:
        """The lines of a text that fit."""
        return self._exchange(b"%d %d\n%b" % (len(content), limit, content))

    def close(self) -> None:
        self._clock.cancel()
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # what was not sent is not wanted any more
                stream.close()
        self._process.wait()

    def _exchange(self, sent: bytes) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(sent)
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, ValueError):  # the clock ended it
            raise ToolRefusedError(
                "The search took too long and was stopped.", hint="Use a simpler `pattern`, or a `path` further down."
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
