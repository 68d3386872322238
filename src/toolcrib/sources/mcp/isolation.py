"""How a stdio server is kept apart from the machine it runs on: its environment, the network, the file system.

What an entry asks for is given, or the server is not started: a protection that is silently missing is none.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.errors import SourceConfigError, did_you_mean
from toolcrib.tools.schema import items

_TEMPORARY = Path("/tmp")
PARTS = ("environment", "network", "read_only")


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What a program gets no access to; or the command of a container that runs it."""

    environment: bool = False  # only PATH and what its entry gives it
    network: bool = False
    read_only: bool = False  # it can write to `writable` and to a /tmp of its own
    writable: tuple[str, ...] = ()
    container: tuple[str, ...] = ()  # such as `docker run -i --rm --network none IMAGE`; the program comes after it

    @property
    def needs_bubblewrap(self) -> bool:
        """Whether the kernel has to help: an environment can be left out by anybody."""
        return (self.network or self.read_only) and not self.container

    def problem(self, program: str | None) -> str:
        """Why it cannot be had here, half a sentence; `program` is bubblewrap, if it works here."""
        if self.needs_bubblewrap and program is None:
            return "is to be isolated, and bubblewrap (`bwrap`) is not installed or does not work here"
        if self.container and shutil.which(self.container[0]) is None:
            return f"is to run in a container, and there is no program {self.container[0]!r}"
        return ""

    def command(self, argv: list[str], folder: str | None, program: str | None) -> list[str]:
        """The command that runs the program with only what it may have."""
        if self.container:
            return [*self.container, *argv]
        if not self.needs_bubblewrap or program is None:
            return argv
        if not self.read_only:
            return [program, "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--", *argv]
        command = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", str(_TEMPORARY)]
        named = [Path(one).absolute() for one in (*argv, *([folder] if folder else [])) if one.startswith("/")]
        for path in dict.fromkeys(one for one in named if one.is_relative_to(_TEMPORARY) and one.exists()):
            command += ["--ro-bind", str(path), str(path)]  # what it is given to read stays, also in /tmp
        for path in (str(Path(one).expanduser().absolute()) for one in self.writable):
            command += ["--bind", path, path]
        command += ["--unshare-pid", "--unshare-ipc", "--die-with-parent", *(["--unshare-net"] if self.network else [])]
        return [*command, *(["--chdir", folder] if folder else []), "--", *argv]

    def variables(self, usual: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
        """The environment of the program."""
        return {**({"PATH": os.environ.get("PATH", "")} if self.environment else usual), **own}


def isolation_of(value: object, where: str) -> Isolation | None:
    """Parse `isolation` of an entry: `true` for everything, or an object such as `{"network": false}`.

    In an entry, `"network": false` and `"environment": false` say what the program does not get.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Isolation(environment=True, network=True, read_only=True)
    known: dict[str, Any] = dict(value) if isinstance(value, Mapping) else {"": value}  # pyright: ignore[reportUnknownArgumentType] - read from JSON
    for key in known:
        if key not in (*PARTS, "writable", "container"):
            hint = did_you_mean(str(key), (*PARTS, "writable", "container"))
            raise SourceConfigError(
                f"{where}: its `isolation` cannot have {key!r}.",
                hint=hint or 'Write true, or {"environment": false, "network": false, "read_only": true}.',
            )
    lists = {key: items(known.get(key)) for key in ("writable", "container")}
    flags = [known.get(key) for key in PARTS if key in known]
    if not all(isinstance(flag, bool) for flag in flags) or any(
        not isinstance(one, str) for listed in lists.values() for one in listed
    ):
        raise SourceConfigError(
            f"{where}: its `isolation` is {value!r}.", hint="Give true or false, and lists of texts."
        )
    return Isolation(
        environment=known.get("environment") is False,
        network=known.get("network") is False,
        read_only=known.get("read_only") is True,
        writable=tuple(map(str, lists["writable"])),
        container=tuple(map(str, lists["container"])),
    )
