"""Builds the loops of `toolcrib.search.kernels` when Toolcrib is installed or packed, and writes what an index shows.

Without a C compiler or Python's headers nothing is built, and nothing is lost but time: the Python beside each loop
does the same. By hand: `python hatch_build.py`, which says what went wrong.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.macos import process_macos_plat_tag
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import platform_tags

ROOT = Path(__file__).parent
ROOM = ROOT / "src" / "toolcrib" / "search" / "kernels"
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
        build_data.update(pure_python=False, tag=f"cp311-abi3-{platform_tag()}")
        build_data["artifacts"].append(f"/{BUILT.relative_to(ROOT).as_posix()}")


class Readme(MetadataHookInterface):
    """README.md for the page of an index, where links into the repository lead to the files of this version."""

    def update(self, metadata: dict[str, Any]) -> None:
        files = f"{metadata['urls']['Source']}/blob/v{metadata['version']}/"
        pictures = files.replace("//github.com/", "//raw.githubusercontent.com/").replace("/blob/", "/")
        text = (ROOT / "README.md").read_text("utf-8")
        text = re.sub(r"\]\((?![a-z]+:|#)", f"]({files}", text)
        text = re.sub(r'\b(src|srcset)="(?![a-z]+:)', rf'\1="{pictures}', text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def platform_tag() -> str:
    """What the loops were built for; on macOS, where `ARCHFLAGS` may name other processors, by hatchling's rules."""
    if sys.platform == "darwin":
        return process_macos_plat_tag(next(platform_tags()), compat=False)
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build() -> None:
    """Compile the loops to where Python finds them; what was there before goes in any case."""
    BUILT.unlink(missing_ok=True)
    if os.name == "nt":
        raise OSError("they are written for GCC and Clang.")
    compiler = shlex.split(os.environ.get("CC", "")) or [shutil.which("cc") or shutil.which("gcc") or "clang"]
    processors = shlex.split(os.environ.get("ARCHFLAGS", "")) if sys.platform == "darwin" else []
    sources = sorted(map(str, ROOM.glob("*.c")))
    headers = f"-I{sysconfig.get_path('include')}"
    # Elsewhere first: a process that has the old file open keeps it.
    fresh = BUILT.with_suffix(f".{os.getpid()}")
    try:
        options = (*FLAGS, *processors, *LINKED, headers)
        subprocess.run([*compiler, *options, *sources, "-o", str(fresh), "-lm"], check=True)
        fresh.replace(BUILT)
    finally:
        fresh.unlink(missing_ok=True)


if __name__ == "__main__":
    build()
