"""What a command costs before it does its work: CPU seconds and memory of whole processes, beside another checkout.

`python benchmarks/start.py [--beside FOLDER]` runs each command in turn in both checkouts, with the same interpreter
and the same packages, and gives the medians; beside another checkout it also writes `results/start.md` and `.json`.
Ratios count: a machine's seconds are its own.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parents[1]
RESULTS = HERE / "benchmarks" / "results" / "start"
COMMANDS = {
    "--help": "--help",
    "search": "search image",
    "tools list": "tools list",
    "tokens": "tokens",
    "run FILE -m hi": "run desk/app.yaml --message hi --store talks.db",
}
CALL = "import sys; from toolcrib.cli.main import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Row:
    """One command: medians of CPU seconds and of memory (MB), here and beside."""

    command: str
    cpu: float
    memory: float
    cpu_beside: float
    memory_beside: float


def measure(checkout: Path, command: str, folder: Path) -> tuple[float, float]:
    """CPU seconds of one run of a command, and the most memory that it held (MB)."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    words = [sys.executable, "-c", CALL, *command.split()]
    with subprocess.Popen(
        words, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"error: `toolcrib {command}` ended with {process.returncode} in {checkout}")
    kilobyte = 1_000 if sys.platform == "linux" else 1_000_000  # macOS counts bytes
    return used.ru_utime + used.ru_stime, used.ru_maxrss / kilobyte


def commit_of(checkout: Path) -> str:
    """The short name of the commit that a checkout holds."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write(rows: list[Row], beside: str, repeat: int) -> None:
    """`results/start.md` for people and `.json` for programs."""
    setup = {"python": platform.python_version(), "machine": platform.machine(), "beside": beside, "repeat": repeat}
    content = {"setup": setup, "rows": [asdict(row) for row in rows]}
    RESULTS.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    page = [
        "# The start of a command",
        "",
        f"Written by `python benchmarks/start.py --beside FOLDER`; *before* is commit {beside}. CPU seconds and the"
        f" most memory of whole processes, medians of {repeat} runs in turn, same interpreter and packages."
        f" Python {setup['python']}, {setup['machine']}.",
        "",
        "| command | CPU s | before | ratio | MB | before | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(
            f"| `toolcrib {row.command}` | {row.cpu:.2f} | {row.cpu_beside:.2f} | {row.cpu / row.cpu_beside:.2f}"
            f" | {row.memory:.0f} | {row.memory_beside:.0f} | {row.memory / row.memory_beside:.2f} |"
            for row in rows
        ),
    ]
    RESULTS.with_suffix(".md").write_text("\n".join(page) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout, such as one of an earlier commit")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    checkouts = [HERE, *([options.beside.resolve()] if options.beside else [])]
    print(
        f"{'':<16}"
        + "".join(f"{name:>10} CPU s{'MB':>6}" for name in ("here", "beside")[: len(checkouts)])
        + "   ratio"
    )
    rows: list[Row] = []
    with TemporaryDirectory() as temporary:
        # A folder for each, because an older version does not open the store that a newer one made.
        folders = [Path(temporary, str(number)) for number in range(len(checkouts))]
        for folder in folders:
            folder.mkdir()
            measure(HERE, "new desk", folder)
        for name, command in COMMANDS.items():
            runs = [list[tuple[float, float]]() for _ in checkouts]
            for _ in range(options.repeat):  # in turn, so that a busy minute hits both
                for checkout, folder, seen in zip(checkouts, folders, runs, strict=True):
                    seen.append(measure(checkout, command, folder))
            medians = [[statistics.median(column) for column in zip(*seen, strict=True)] for seen in runs]
            cells = "".join(f"{cpu:>16.2f}{held:>6.0f}" for cpu, held in medians)
            ratio = f"{medians[0][0] / medians[1][0]:>8.2f}" if len(medians) > 1 else ""
            print(f"{name:<16}{cells}{ratio}", flush=True)
            if len(medians) > 1:
                rows.append(Row(name, *medians[0], *medians[1]))
    if rows:
        write(rows, commit_of(checkouts[1]), options.repeat)


if __name__ == "__main__":
    main()
