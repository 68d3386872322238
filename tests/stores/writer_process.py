"""A process of its own that works on a store, and how a test talks with it."""

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

WRITER = Path(__file__).parent / "writer.py"
PATIENCE_SECONDS = 120


@contextmanager
def process(*arguments: str) -> Generator[subprocess.Popen[str]]:
    """`writer.py` at work, with these arguments; it is killed with the block."""
    command = [sys.executable, str(WRITER), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        alarm = threading.Timer(PATIENCE_SECONDS, child.kill)  # no test waits for ever
        alarm.start()
        try:
            yield child
        finally:
            alarm.cancel()
            child.kill()


def line(child: subprocess.Popen[str]) -> str:
    """The next line it says."""
    assert child.stdout is not None
    return child.stdout.readline().rstrip("\n")


def tell(child: subprocess.Popen[str], text: str = "go") -> None:
    """Say a line to it."""
    assert child.stdin is not None
    child.stdin.write(f"{text}\n")
    child.stdin.flush()
