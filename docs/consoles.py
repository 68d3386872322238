"""Command lines with what they print: `*.console`, each run anew by `docs/generate.py` and by the tests.

A line that begins with `$ ` is a command for the shell, run in the file's own folder; what stands below is its output.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DECIMAL = re.compile(r"\d+\.\d+")
SPACES = re.compile(r" {2,}")


def every(root: Path) -> list[Path]:
    """All of them: those of the pages, and those of the examples."""
    return sorted(console for folder in ("docs_src", "examples") for console in (root / folder).rglob("*.console"))


def as_run(console: Path) -> str:
    """The file as it should be: every command, and what it prints now."""
    with tempfile.TemporaryDirectory() as scratch:
        said = [_answered(line, console.parent, Path(scratch)) for line in commands(console)]
    return "\n".join(said) + "\n"


def commands(console: Path) -> list[str]:
    """The command lines of a file."""
    return [line.removeprefix("$ ") for line in console.read_text("utf-8").splitlines() if line.startswith("$ ")]


def is_same(one: str, other: str) -> bool:
    """Whether two runs said the same: not counting times, the last digits of a score, and the columns they widen."""
    return _settled(one) == _settled(other)


def _settled(text: str) -> str:
    return SPACES.sub(" ", DECIMAL.sub("#", text))


def _answered(command: str, folder: Path, scratch: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLCRIB_")} | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONUNBUFFERED": "1",  # what is said on stdout and on stderr stays in order
        "NO_COLOR": "1",
        "TOOLCRIB_CACHE": str(scratch / "cache"),
        "TOOLCRIB_STORE": str(scratch / "sessions.db"),
        "TOOLCRIB_MODEL": "offline",
        "SCRATCH": str(scratch),
    }
    run = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = run.stdout.replace(str(scratch), "$SCRATCH").rstrip()
    code = f"\n(exit code {run.returncode})" if run.returncode else ""
    return f"$ {command}\n{said}{code}\n".rstrip() + "\n"
