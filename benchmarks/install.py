"""What each extra adds to a bare `pip install toolcrib`: packages and megabytes, each in a new environment.

`python benchmarks/install.py WHEEL` prints the figures of `docs/guides/install.md`; it needs an index to install from.
"""

import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory

EXTRAS = ("", "agent", "gateway", "server", "demo", "tokens", "web", "openai", "plot", "postgres", "all")


def installed(wheel: Path, extra: str) -> tuple[int, float]:
    """How many packages, and how many megabytes, an environment with this extra has."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "uv", "venv", "--quiet", folder], check=True)
        python = Path(folder, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))
        what = f"toolcrib[{extra}] @ {wheel.resolve().as_uri()}" if extra else str(wheel)
        install = ["uv", "pip", "install", "--quiet", "--link-mode", "copy", "--python", str(python), what]
        subprocess.run([sys.executable, "-m", *install], check=True)
        (site,) = Path(folder).glob("[Ll]ib/**/site-packages")
        size = sum(os.path.getsize(Path(at) / file) for at, _, files in os.walk(site) for file in files)
        return len(list(distributions(path=[str(site)]))), size / 1_000_000


def main() -> None:
    base_packages, base_size = installed(Path(sys.argv[1]), "")
    print(f"base: {base_packages} packages, {base_size:.0f} MB", flush=True)
    for extra in EXTRAS[1:]:
        packages, size = installed(Path(sys.argv[1]), extra)
        print(f"{extra}: +{packages - base_packages} packages, +{size - base_size:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
