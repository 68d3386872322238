"""Credentials: keys and tokens by name, of one user or of the app, found where they are kept and shown nowhere.

Three places are asked in this order: the environment (`TOOLCRIB_CREDENTIAL_<NAME>`), then the credential folder, whose
files only their owner can read, and the system's keyring, where the package `keyring` is installed. Apps take the keys
of their models from here, and whoever calls something elsewhere for a user can take that user's key.

A user is the tenant of a session; the empty name is whoever runs Toolcrib on this machine. No user gets a credential of
another one: there is no default user, and a name is compared as it is.
"""

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Literal, Protocol, TypeAlias, cast

from pydantic import SecretStr

from toolcrib.errors import CredentialError, MissingCredentialError
from toolcrib.settings import Settings

Place: TypeAlias = Literal["environment", "file", "keyring"]
LOCAL = ""  # the user of this machine, for whom sessions without a tenant are
SERVICE = "toolcrib"  # as which the keyring knows us

_ONLY_OWNER = 0o600
_MOST_CHARACTERS = 64_000  # of a value: a certificate fits, a film does not

# The user for whom the running task works; a run of an agent sets it to the tenant of its session.
_user: ContextVar[str] = ContextVar("credential_user", default=LOCAL)


def current_user() -> str:
    """The user for whom the running task works."""
    return _user.get()


@contextmanager
def acting_for(user: str) -> Generator[None]:
    """Let credentials be those of this user, in this task and in those that it starts."""
    token = _user.set(user)
    try:
        yield
    finally:
        _user.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One credential without its value: what it is called, whose it is, and where it is kept."""

    name: str
    user: str | None  # None: of the app, for everybody
    place: Place

    @property
    def owner(self) -> str:
        """Whose it is, for people."""
        return "app" if self.user is None else "you" if self.user == LOCAL else self.user


class Keyring(Protocol):
    """What we need of a keyring; a backend of the package `keyring` is one."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def system_keyring() -> Keyring | None:
    """The system's keyring; None where the package is not installed, or finds no keyring that it can use."""
    try:
        import keyring  # late, and optional
    except ImportError:
        return None
    backend: Any = keyring.get_keyring()
    return cast("Keyring", backend) if backend.priority > 0 else None


@dataclass(frozen=True, slots=True)
class CredentialStore:
    """Credentials by name and user. Values leave it only as `SecretStr`, which shows as stars."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    keyring: Callable[[], Keyring | None] = field(default=system_keyring, repr=False)  # asked only where it is needed

    @classmethod
    def open(cls, environment: Mapping[str, str] = os.environ) -> "CredentialStore":
        """The store of this machine's user: their environment, their credential folder, their keyring."""
        settings = Settings.from_environment(environment)
        return cls(settings.credentials, settings.credential_values)

    def get(self, name: str, *, user: str | None = None) -> SecretStr | None:
        """The value of a user's credential, or without a user the app's; None if there is none.

        Raises:
            CredentialError: It is there, but cannot be read, or others could read it.
        """
        # The environment belongs to whoever started the program: it speaks for the app and for them, for nobody else.
        if user in (None, LOCAL) and (given := self.environment.get(Settings.credential_variable(name))):
            return SecretStr(given)
        entry = self._read(self._path(name, user))
        if entry is None:
            return None
        if entry.get("place") != "keyring":
            return SecretStr(str(entry.get("value", "")))
        kept = self._opened_keyring(name).get_password(SERVICE, _account(name, user))
        return None if kept is None else SecretStr(kept)

    def require(self, name: str, *, user: str | None = None) -> SecretStr:
        """The same, where it must be there.

        Raises:
            MissingCredentialError: It is not.
        """
        found = self.get(name, user=user)
        if found is None:
            raise MissingCredentialError(name, user)
        return found

    def set(self, name: str, value: SecretStr, *, user: str | None = None, place: Place | None = None) -> Credential:
        """Keep a value, in place of what was there: in the keyring where there is one, else in a file."""
        secret = value.get_secret_value()
        if not secret or len(secret) > _MOST_CHARACTERS:
            hint = f"Give 1 to {_MOST_CHARACTERS:,} characters."
            raise CredentialError(f"The value for {name!r} has {len(secret):,} characters.", hint=hint)
        place = place or ("keyring" if self.keyring() is not None else "file")
        if place == "environment":
            raise CredentialError("A variable is set where the program is started, not here.", hint="Use `file`.")
        if place == "keyring":
            self._opened_keyring(name).set_password(SERVICE, _account(name, user), secret)
        else:
            self._forget_in_keyring(name, user)
        entry = {"name": name, "user": user, "place": place} | ({"value": secret} if place == "file" else {})
        self._write(self._path(name, user), entry)
        return Credential(name=name, user=user, place=place)

    def remove(self, name: str, *, user: str | None = None) -> bool:
        """Forget a credential; gives whether there was one. What the environment holds stays."""
        self._forget_in_keyring(name, user)
        path = self._path(name, user)
        there = path.exists()
        path.unlink(missing_ok=True)
        return there

    def list(self) -> tuple[Credential, ...]:
        """Every credential that is known, without its value; of the environment those that are set."""
        found = [
            Credential(name=name.removeprefix(Settings.credential_variable("")).lower(), user=None, place="environment")
            for name in self.environment
        ]
        for path in sorted(self.folder.glob("*.json")):
            entry = self._read(path)
            if entry is not None:
                place: Place = "keyring" if entry.get("place") == "keyring" else "file"
                user = entry.get("user")
                found.append(
                    Credential(name=str(entry.get("name")), user=None if user is None else str(user), place=place)
                )
        return tuple(sorted(found, key=lambda one: (one.name, one.user is not None, one.user or "", one.place)))

    def _path(self, name: str, user: str | None) -> Path:
        # By a hash: any text can be a user's name, and no two of them share a file.
        return self.folder / f"{sha256(_account(name, user).encode()).hexdigest()[:32]}.json"

    def _read(self, path: Path) -> Mapping[str, Any] | None:
        try:
            with path.open(encoding="utf-8") as file:
                if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                    raise CredentialError(f"Others can read {str(path)!r}.", hint=f"chmod 600 {path}")
                entry: object = json.load(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CredentialError(
                f"{str(path)!r} cannot be read: {error.strerror}.", hint="Check who owns the credential folder."
            ) from error
        except ValueError as error:
            raise CredentialError(f"{str(path)!r} is damaged.", hint="Set the credential again.") from error
        return cast("Mapping[str, Any]", entry) if isinstance(entry, dict) else None

    def _write(self, path: Path, entry: Mapping[str, Any]) -> None:
        """Write a file whole or not at all; nobody else can read it at any moment."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with NamedTemporaryFile("w", dir=self.folder, delete=False, encoding="utf-8") as file:  # made with 0600
                try:
                    os.chmod(file.name, _ONLY_OWNER)
                    json.dump(entry, file)
                    file.close()
                    os.replace(file.name, path)
                finally:
                    with suppress(FileNotFoundError):  # it has its name now
                        os.unlink(file.name)
        except OSError as error:
            raise CredentialError(
                f"{str(self.folder)!r} cannot be written: {error.strerror}.",
                hint="Set TOOLCRIB_CREDENTIALS to a folder.",
            ) from error

    def _opened_keyring(self, name: str) -> Keyring:
        keyring = self.keyring()
        if keyring is None:
            raise CredentialError(
                f"{name!r} belongs in the system's keyring, and there is none that can be used.",
                hint="pip install keyring, or keep it in a file: toolcrib credentials set --in file",
            )
        return keyring

    def _forget_in_keyring(self, name: str, user: str | None) -> None:
        entry = None
        with suppress(CredentialError):  # what cannot be read is replaced or removed
            entry = self._read(self._path(name, user))
        if entry is not None and entry.get("place") == "keyring":
            with suppress(Exception):  # foreign code: each backend has errors of its own for what is gone already
                self._opened_keyring(name).delete_password(SERVICE, _account(name, user))


def _account(name: str, user: str | None) -> str:
    """One text for a name and a user that no other pair has."""
    return json.dumps([name] if user is None else [name, user])
