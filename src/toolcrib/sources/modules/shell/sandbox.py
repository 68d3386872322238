"""Bubblewrap around a command, where it is installed and works: it then writes to the work folder only.

What it gives: the system is read-only, `/tmp` is empty and its own, folders with keys look empty, other processes are
out of sight, and everything the command started ends with it. What it does not: it still reads the rest of the disk
and, unless told otherwise, uses the network.
"""

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

# Below the home folder: what is worth stealing and what no command in a work folder needs.
_SECRETS = (
    *(".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".config/gcloud", ".config/gh", ".password-store"),
    *(".netrc", ".git-credentials", ".npmrc", ".pypirc"),
)
_PROBE_SECONDS = 10.0


def find_bubblewrap() -> str | None:
    """The program, if there is one and the system lets it work; in many containers it does not."""
    program = shutil.which("bwrap")
    return program if program and _works(program) else None


def wrapped(argv: Sequence[str], *, program: str, folder: Path, network: bool, home: Path | None = None) -> list[str]:
    """The command that runs `argv` in the sandbox."""
    home = home or Path.home()
    command = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    command += ["--bind", str(folder), str(folder), "--chdir", str(folder)]
    for secret in (home / name for name in _SECRETS):
        if secret.is_dir() and not folder.is_relative_to(secret):
            command += ["--tmpfs", str(secret)]
        elif secret.is_file():
            command += ["--ro-bind", "/dev/null", str(secret)]
    command += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
    command += [] if network else ["--unshare-net"]
    return [*command, "--", *argv]


@cache
def _works(program: str) -> bool:
    tried = wrapped(["true"], program=program, folder=Path("/tmp"), network=False)
    try:
        return subprocess.run(tried, capture_output=True, timeout=_PROBE_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
