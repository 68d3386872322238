"""Builds what a package index takes, and tries each file as a stranger would: `make dist`.

`dist/` then holds the sdist, a wheel with the compiled loops for this platform, and a wheel of Python alone. pip takes
the first wheel where its tag fits and the other one everywhere else, so nobody needs a compiler; who has one and a
platform without a wheel gets the loops by `pip install --no-binary toolcrib toolcrib`.

Both wheels are built from the unpacked sdist: it is complete then, and the loops of the working tree stay as they are.
Each file is installed into a virtual environment of its own, where the README's example runs.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
MINORS = range(11, 15)  # of Python 3: what the loops' stable ABI must serve
EXAMPLE = re.compile(r"<!-- examples/first_catalog\.py -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WHICH_LOOPS = """
from toolcrib.search.kernels import IS_COMPILED
print("compiled" if IS_COMPILED else "Python")
"""
# A platform of each kind, for which to ask pip what it takes.
ELSEWHERE = ("win_amd64", "macosx_14_0_arm64", "manylinux_2_28_aarch64", "musllinux_1_2_x86_64")


class DistError(Exception):
    """What is wrong with a file; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One file, installed by one Python, with or without a compiler."""

    file: Path
    python: str
    compiler: bool
    loops: str

    def __str__(self) -> str:
        return f"{self.file.name} by {Path(self.python).name}, with{'' if self.compiler else 'out'} a compiler"


def main() -> None:
    """Build, check, try; the first failure ends it."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sdist, compiled, pure = build(scratch)
        check(compiled)
        show_choices(scratch)
        for trial in trials(sdist, compiled, pure):
            loops = run_example(trial, scratch)
            print(f"{trial}: the README's example runs, loops: {loops}", flush=True)
            if loops != trial.loops:
                raise DistError(f"{trial}: the loops should be {trial.loops}.")
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1e6:6.1f} MB  {file.relative_to(ROOT)}")


def build(scratch: Path) -> tuple[Path, Path, Path]:
    """The sdist, the wheel with the loops and the one without, in `dist/`."""
    _hatch(ROOT, "sdist", DIST)
    (sdist,) = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(scratch, filter="data")
    sources = scratch / sdist.name.removesuffix(".tar.gz")
    _hatch(sources, "wheel", DIST, CC="false")
    _hatch(sources, "wheel", scratch)
    (pure,) = DIST.glob("*-py3-none-any.whl")
    wheels = list(scratch.glob("*-abi3-*.whl"))
    if not wheels:
        raise DistError("The loops were not compiled: there is no C compiler, or Python's headers are missing.")
    if sys.platform == "linux":  # an index takes `manylinux`, which promises what the wheel links to, and not `linux`
        _tool("auditwheel", "repair", "--wheel-dir", str(DIST), *map(str, wheels))
    else:
        shutil.move(wheels[0], DIST)
    (compiled,) = DIST.glob("*-abi3-*.whl")
    return sdist, compiled, pure


def check(compiled: Path) -> None:
    """The metadata is what an index takes, and the loops use nothing but the stable ABI."""
    _tool("twine", "check", "--strict", *map(str, sorted(DIST.iterdir())))
    _tool("abi3audit", "--strict", "--verbose", str(compiled))


def show_choices(scratch: Path) -> None:
    """Which file pip takes, here and elsewhere."""
    _run([sys.executable, "-m", "venv", str(scratch / "pip")])  # `.venv` has no pip if uv made it
    python = str(scratch / "pip" / "bin" / "python")
    offered = ["--no-index", "--find-links", str(DIST), "--no-deps", "--only-binary", ":all:"]
    for number, platform in enumerate(("", *ELSEWHERE)):
        folder = scratch / f"choice-{number}"
        here = ["--platform", platform] if platform else []
        _run([python, "-m", "pip", "download", *offered, *here, "--dest", str(folder), "toolcrib"])
        (chosen,) = folder.iterdir()
        print(f"pip on {platform or 'this machine'} takes {chosen.name}", flush=True)


def trials(sdist: Path, compiled: Path, pure: Path) -> Iterator[Trial]:
    """Every file with this Python; the wheel with the loops also with every other Python here."""
    for python in pythons():
        yield Trial(file=compiled, python=python, compiler=False, loops="compiled")
    yield Trial(file=pure, python=sys.executable, compiler=False, loops="Python")
    yield Trial(file=sdist, python=sys.executable, compiler=True, loops="compiled")
    yield Trial(file=sdist, python=sys.executable, compiler=False, loops="Python")


def pythons() -> list[str]:
    """This Python, and those of other versions on the PATH that start."""
    others = [f"python3.{minor}" for minor in MINORS if minor != sys.version_info.minor]
    found = [path for name in others if (path := shutil.which(name))]
    starts = [path for path in found if not subprocess.run([path, "-c", ""], capture_output=True).returncode]
    return [sys.executable, *starts]


def run_example(trial: Trial, scratch: Path) -> str:
    """Install into a new virtual environment, run the README's example there, and give the loops in use."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        home = Path(folder)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("TOOLCRIB_", "PYTHON"))
        }
        environment["TOOLCRIB_CACHE"] = str(home / "cache")
        if not trial.compiler:
            environment["CC"] = "false"
        _run([trial.python, "-m", "venv", str(home / "venv")])
        python = str(home / "venv" / "bin" / "python")
        # No cache for the sdist, or pip would take the wheel that it built from it in another trial.
        fresh = [] if trial.file.suffix == ".whl" else ["--no-cache-dir"]
        _run([python, "-m", "pip", "install", "--quiet", *fresh, str(trial.file)], environment)
        example = EXAMPLE.search((ROOT / "README.md").read_text("utf-8"))
        if example is None:
            raise DistError("The README has no example.")
        (home / "example.py").write_text(example[1] + WHICH_LOOPS, encoding="utf-8")
        return _run([python, "-I", "-W", "error", str(home / "example.py")], environment).strip()


def _hatch(sources: Path, target: str, folder: Path, **environment: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=sources, env=os.environ | environment, check=True, stdout=subprocess.DEVNULL)


def _tool(name: str, *arguments: str) -> None:
    """A program of the dependency group `release`, and those that it calls."""
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([str(programs / name), *arguments], env=os.environ | {"PATH": path}, check=True)


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise DistError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    try:
        main()
    except (DistError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
