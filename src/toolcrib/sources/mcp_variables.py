"""Variables in the files of MCP clients: `${TOKEN}`, `${TOKEN:-default}`, and the spellings of VS Code and Cursor."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_VARIABLE = re.compile(r"\$\{(?P<kind>env:|input:)?(?P<name>[A-Za-z_][\w.-]*)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Variables:
    """What variables stand for: the environment, and the folder in which the file is read."""

    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    missing: dict[str, None] = field(default_factory=dict[str, None])  # those that were asked for and are not set

    def fill(self, text: str) -> str:
        """The text with every variable that is known; one that is not stays as it stands, and is noted."""
        return _VARIABLE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name = found["name"]
        if found["kind"] is None and name in ("workspaceFolder", "userHome"):
            return str(self.folder if name == "workspaceFolder" else Path.home())
        # What VS Code would ask for (`${input:id}`) nobody can be asked here; the environment may know it.
        value = self.environment.get(name)
        if value is None:
            value = found["default"]
        if value is None:
            self.missing[name] = None
            return found[0]
        return value


def read_env_file(path: Path) -> dict[str, str]:
    """The `NAME=value` lines of a file; quotes around a value go."""
    said: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            said[name.strip()] = value.strip().strip("\"'")
    return said
