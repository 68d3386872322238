"""Ripgrep, where it is installed: names the files in which a search can find something, many times faster than we do.

It only narrows the search down. The answer always comes from one place, so it is the same with and without it; and as
its word is only a list of names, a link swapped in while it runs shows nothing of what is outside.
"""

import os
import shutil
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path


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
    """Paths below `folder` of all files that hold one of the texts, and maybe of more; None when it failed."""
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
