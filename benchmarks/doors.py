"""Each way in, as a newcomer takes it: the commands, the seconds and the megabytes, in a new environment each.

`python benchmarks/doors.py WHEEL` installs the wheel with the extra of each door and runs what the docs tell to run
first. It needs an index to install from, and writes `results/doors.md` and `.json`. A command that fails ends it.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
PATIENCE_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One way in: its extra, and what a newcomer runs; a file of ours is copied beside it first."""

    name: str
    extra: str
    files: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()  # MCP servers of others, in an environment of their own, as `uvx` starts them
    commands: tuple[str, ...] = ()
    serves: str | None = None  # the last command is a server: its address is read until this text is on the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command of a door, and how long it took."""

    command: str
    seconds: float


DOORS = (
    Door(
        name="the library", extra="", files=("examples/first_catalog.py",),
        commands=("python first_catalog.py", 'toolcrib search "Wie wird das Wetter morgen?" --from first_catalog.py'),
    ),
    Door(
        name="an agent in Python", extra="agent",
        files=("docs_src/first_agent/five_lines.py", "examples/first_catalog.py"),
        commands=("python five_lines.py", 'toolcrib chat --from first_catalog.py --message "Will it rain in Paris?"'),
    ),
    Door(
        name="an app in YAML", extra="agent",
        commands=(
            "toolcrib new helper", "toolcrib run helper/app.yaml --check",
            'toolcrib run helper/app.yaml --message "which files are there?"',
        ),
    ),
    Door(
        name="the gateway, with two servers", extra="gateway", servers=("mcp-server-time", "mcp-server-git"),
        commands=("toolcrib sources servers.json", "toolcrib gateway servers.json --dry-run"),
    ),
    Door(
        name="the server and its page", extra="demo", serves="Toolcrib",
        commands=("toolcrib demo --no-browser --port 0",),
    ),
)  # fmt: skip


def main() -> None:
    """Walk each door, and write what it took."""
    wheel = Path(sys.argv[1]).resolve()
    rows = [walk(door, wheel) for door in DOORS]
    RESULTS.joinpath("doors.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    RESULTS.joinpath("doors.md").write_text(page(rows), encoding="utf-8")
    print(page(rows))


def walk(door: Door, wheel: Path) -> dict[str, object]:
    """What one door took: the installation and each command."""
    with TemporaryDirectory() as folder, environment(Path(folder)) as bin_folder:
        what = f"toolcrib[{door.extra}] @ {wheel.as_uri()}" if door.extra else str(wheel)
        pip = ("pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check")
        installed = timed([str(bin_folder / "python"), "-m", *pip, what], "", Path(folder))
        (site,) = Path(folder).glob("[Ll]ib/**/site-packages")
        size = sum(os.path.getsize(Path(at) / file) for at, _, files in os.walk(site) for file in files) / 1e6
        place = Path(folder, "here")
        place.mkdir()
        for file in door.files:
            shutil.copy(ROOT / file, place)
        if door.servers:
            with environment(Path(folder, "servers")) as theirs:
                timed([str(theirs / "python"), "-m", *pip, *door.servers], "", place)
            entries = {program.split("-")[-1]: {"command": str(theirs / program)} for program in door.servers}
            place.joinpath("servers.json").write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
        path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
        steps: list[Step] = []
        for number, command in enumerate(door.commands, 1):
            is_server = door.serves is not None and number == len(door.commands)
            seconds = served(command, door.serves or "", path, place) if is_server else timed(command, path, place)
            steps.append(Step(command=command, seconds=round(seconds, 1)))
            print(f"{door.name}: {command}: {seconds:.1f} s", flush=True)
        return {
            "door": door.name,
            "install": f"pip install '{'toolcrib[' + door.extra + ']' if door.extra else 'toolcrib'}'",
            "install_seconds": round(installed, 1),
            "megabytes": round(size),
            "steps": [asdict(step) for step in steps],
        }


@contextmanager
def environment(folder: Path) -> Iterator[Path]:
    """A virtual environment of its own; gives the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    yield folder / ("Scripts" if os.name == "nt" else "bin")


def clean(path: str, place: Path) -> dict[str, str]:
    """The variables that a newcomer has: no settings of ours, and folders of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLCRIB_", "PYTHON"))}
    return {**kept, "PATH": path or kept["PATH"], "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache")}


def timed(command: str | list[str], path: str, place: Path) -> float:
    """The seconds that a command takes; what it says is shown if it fails."""
    began = time.perf_counter()
    variables = clean(path, place) if path else None
    done = subprocess.run(
        command, shell=isinstance(command, str), cwd=place, env=variables, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"error: {command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - began


def served(command: str, text: str, path: str, place: Path) -> float:
    """The seconds until a server answers with its page."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command.split(), cwd=place, env=clean(path, place), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said = ""
        for line in process.stdout or ():
            said += line
            if found := re.search(r"http://[\w.:]+", line):
                break
        else:
            raise SystemExit(f"error: {command} named no address:\n{said}")
        with urllib.request.urlopen(found[0], timeout=PATIENCE_SECONDS) as answer:
            if text not in answer.read().decode("utf-8"):
                raise SystemExit(f"error: {found[0]} does not show {text!r}")
        return time.perf_counter() - began
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def page(rows: list[dict[str, object]]) -> str:
    """The table, for people."""
    lines = [
        "# The doors, timed", "",
        f"Written by `python benchmarks/doors.py WHEEL`: each door in a new environment, nothing cached, with Python "
        f"{platform.python_version()} on {platform.machine()}. *MB* is the whole environment with its pip.", "",
        "| door | command | seconds | MB |", "|---|---|--:|--:|",
    ]  # fmt: skip
    for row in rows:
        lines.append(f"| {row['door']} | `{row['install']}` | {row['install_seconds']} | {row['megabytes']} |")
        steps = row["steps"]
        assert isinstance(steps, list)
        lines += [f"| | `{step['command']}` | {step['seconds']} | |" for step in steps]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
