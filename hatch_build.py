"""Builds the loops of `toolcrib.search.compiled` when Toolcrib is installed or packed.

Without a C compiler or Python's headers nothing is built, and nothing is lost but time: the Python beside each loop
does the same. By hand: `python hatch_build.py`, which says what went wrong.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOM = Path(__file__).parent / "src" / "toolcrib" / "search"
BUILT = ROOM / "_loops.abi3.so"
# No step is fused with the next but where a loop asks for it: vectors are the same to the last bit on every machine.
FLAGS = ("-O3", "-std=c11", "-Wall", "-Wextra", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden")
LINKED = ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)


class Build(BuildHookInterface):
    """Called by hatchling for every wheel, also for one that only points to these files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            build()
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"The compiled loops were not built, searches take twice as long: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data.update(pure_python=False, tag=f"cp311-abi3-{platform}")
        build_data["artifacts"].append(f"/{BUILT.relative_to(Path(__file__).parent).as_posix()}")


def build() -> None:
    """Compile the loops to where Python finds them; what was there before goes in any case."""
    BUILT.unlink(missing_ok=True)
    if os.name == "nt":
        raise OSError("they are written for GCC and Clang.")
    compiler = shlex.split(os.environ.get("CC", "")) or [shutil.which("cc") or shutil.which("gcc") or "clang"]
    sources = sorted(map(str, (ROOM / "loops").glob("*.c")))
    headers = f"-I{sysconfig.get_path('include')}"
    # Elsewhere first: a process that has the old file open keeps it.
    fresh = BUILT.with_suffix(f".{os.getpid()}")
    try:
        subprocess.run([*compiler, *FLAGS, *LINKED, headers, *sources, "-o", str(fresh), "-lm"], check=True)
        fresh.replace(BUILT)
    finally:
        fresh.unlink(missing_ok=True)


if __name__ == "__main__":
    build()
