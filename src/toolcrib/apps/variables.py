"""Variables in an app's file: `{{env.NAME}}`, `{{credential.NAME}}`, `${NAME}` and `${NAME:-default}`.

They are expanded where a value is used, so that a file can be read, checked and shown without any of them. What comes
from `{{env.NAME}}` or a credential is a secret, and so is `${NAME}` when its name sounds like one: secrets are taken
out of everything that is told (`Secrets.hidden`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import SecretStr

from toolcrib.errors import UnsetVariableError

VARIABLE = re.compile(
    r"\{\{\s*(?P<kind>env|credential)\.(?P<secret>[A-Za-z_][\w-]*)\s*\}\}"
    r"|\$\{(?P<plain>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}"
)
_SOUNDS_SECRET = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_LEAST_CHARACTERS = 6  # of a secret that is taken out: shorter ones stand in every second text
HIDDEN = "[secret]"


@dataclass(slots=True)
class Secrets:
    """The secrets that were expanded so far."""

    values: set[str] = field(default_factory=set[str], repr=False)

    def add(self, value: str) -> None:
        """Add a secret; each line of it is one."""
        self.values |= {part for part in (value, *value.splitlines()) if len(part) >= _LEAST_CHARACTERS}

    def hidden(self, text: str) -> str:
        """The text without any secret."""
        for value in sorted(self.values, key=len, reverse=True):  # one may be part of another
            text = text.replace(value, HIDDEN)
        return text

    def hidden_in(self, value: Any) -> Any:
        """The same for all texts in a value as JSON has it; other values stay."""
        if isinstance(value, str):
            return self.hidden(value)
        if isinstance(value, dict):
            pairs = cast("dict[Any, Any]", value).items()
            return {self.hidden_in(key): self.hidden_in(inner) for key, inner in pairs}
        if isinstance(value, list | tuple):
            items = [self.hidden_in(inner) for inner in cast("list[Any]", value)]
            return items if isinstance(value, list) else tuple(items)
        return value


@dataclass(frozen=True, slots=True)
class Variables:
    """What variables stand for here."""

    environment: Mapping[str, str] = field(repr=False)
    credentials: Mapping[str, SecretStr]
    secrets: Secrets = field(default_factory=Secrets)

    def expanded(self, value: Any, *, plain: bool = True) -> Any:
        """A value with every variable in its texts; without `plain` those in `${...}` stay as they are.

        Raises `UnsetVariableError`; whoever knows the place adds it.
        """
        if isinstance(value, SecretStr):
            secret = self.expanded(value.get_secret_value())
            self.secrets.add(secret)
            return secret
        if isinstance(value, str):
            return VARIABLE.sub(lambda found: self._value(found) if plain or found["secret"] else found[0], value)
        if isinstance(value, dict):
            return {key: self.expanded(inner, plain=plain) for key, inner in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list | tuple):
            return [self.expanded(inner, plain=plain) for inner in cast("list[Any]", value)]
        return value

    def credential(self, name: str) -> str:
        """The key of this name."""
        if name not in self.credentials:
            known = ", ".join(self.credentials) or "none"
            raise UnsetVariableError(f"there is no credential {name!r}; there are: {known}")
        # Without the credentials, so that none can be made of another, or of itself.
        return Variables(self.environment, {}, self.secrets).expanded(self.credentials[name])

    def _value(self, found: re.Match[str]) -> str:
        if found["kind"] == "credential":
            return self.credential(found["secret"])
        name = found["secret"] or found["plain"]
        value = self.environment.get(name) or found["default"]  # an empty variable counts as not set
        if value is None:
            raise UnsetVariableError(f"the environment variable {name} is not set")
        if found["secret"] or _SOUNDS_SECRET.search(name):
            self.secrets.add(value)
        return value
