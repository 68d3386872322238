"""`toolcrib credentials`: keys and tokens by name, which apps and sources use and nobody sees."""

import sys
from dataclasses import asdict
from getpass import getpass
from typing import Annotated, Literal, TypeAlias

from cyclopts import App, Parameter
from pydantic import SecretStr

from toolcrib.cli.options import Json
from toolcrib.cli.output import Columns, note, write_json
from toolcrib.credentials import LOCAL, CredentialStore
from toolcrib.errors import CredentialError

_NEGATIVE = 2

app = App(name="credentials", help="Manage the keys and tokens that apps use; their values are never shown.")

ForUser: TypeAlias = Annotated[
    str | None,
    Parameter(name="--user", help="The user it belongs to, by the tenant of their sessions; by default, you."),
]
ForApp: TypeAlias = Annotated[
    bool, Parameter(name="--app", negative=(), show_default=False, help="For the app: one for all users.")
]


@app.command(name="set")
def set_(
    name: str,
    /,
    *,
    user: ForUser = None,
    for_app: ForApp = False,
    place: Annotated[Literal["file", "keyring"] | None, Parameter(name="--in")] = None,
) -> int:
    """Store a credential. Its value is asked for, hidden, or read from stdin; others can see arguments.

    It is stored in the system's keyring if there is one (package `keyring`), else in a file that only you can read.

    Example: `toolcrib credentials set deepseek_main`

    Example: `toolcrib credentials set deepseek_main --user anna < key.txt`

    Args:
        name: Its name in apps (`credential: {ref: ...}`).
        place: Where to store it.
    """
    owner = _owner(user, for_app)
    value = getpass(f"Value of {name}: ") if sys.stdin.isatty() else sys.stdin.read()
    kept = CredentialStore.open().set(name, SecretStr(value.strip()), user=owner, place=place)
    note(f"kept {name} ({kept.owner}) in the {kept.place}")
    return 0


@app.command(name="list")
def list_(*, json: Json = False) -> int:
    """List the credentials: their names, their users and where they are stored. Values are not shown.

    Example: `toolcrib credentials list`
    """
    held = CredentialStore.open().list()
    if json:
        write_json([asdict(one) for one in held])
        return 0
    table = Columns(("name", "of", "place"))
    for one in held:
        table.add(one.name, one.owner, one.place)
    if held:
        table.show()
    else:
        note("none; keep one with: toolcrib credentials set NAME")
    return 0


@app.command
def remove(name: str, /, *, user: ForUser = None, for_app: ForApp = False) -> int:
    """Delete a credential; exit code 2 if there is none.

    Example: `toolcrib credentials remove deepseek_main`

    Args:
        name: Its name.
    """
    if CredentialStore.open().remove(name, user=_owner(user, for_app)):
        note(f"removed {name}")
        return 0
    note(f"there was no {name} to remove; see: toolcrib credentials list")
    return _NEGATIVE


def _owner(user: str | None, for_app: bool) -> str | None:
    if for_app and user is not None:
        raise CredentialError("A credential is of a user or of the app.", hint="Leave --user or --app out.")
    return None if for_app else LOCAL if user is None else user
