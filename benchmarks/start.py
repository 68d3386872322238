"""What a command costs before it does its work: CPU seconds and memory of whole processes, beside another checkout.

`python benchmarks/start.py [--beside FOLDER]` runs each command in turn in both checkouts, with the same interpreter
and the same packages, and gives the medians. Ratios count: a machine's seconds are its own.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parents[1]
COMMANDS = {
    "--help": "--help",
    "search": "search image",
    "tools list": "tools list",
    "tokens": "tokens",
    "run FILE -m hi": "run desk/app.yaml --message hi --store talks.db",
}
CALL = "import sys; from toolcrib.cli.main import main; sys.exit(main())"


def measure(checkout: Path, command: str, folder: str) -> tuple[float, float]:
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
    with TemporaryDirectory() as folder:
        measure(HERE, "new desk", folder)
        for name, command in COMMANDS.items():
            runs = [list[tuple[float, float]]() for _ in checkouts]
            for _ in range(options.repeat):  # in turn, so that a busy minute hits both
                for checkout, seen in zip(checkouts, runs, strict=True):
                    seen.append(measure(checkout, command, folder))
            medians = [[statistics.median(column) for column in zip(*seen, strict=True)] for seen in runs]
            cells = "".join(f"{cpu:>16.2f}{held:>6.0f}" for cpu, held in medians)
            ratio = f"{medians[0][0] / medians[1][0]:>8.2f}" if len(medians) > 1 else ""
            print(f"{name:<16}{cells}{ratio}", flush=True)


if __name__ == "__main__":
    main()
