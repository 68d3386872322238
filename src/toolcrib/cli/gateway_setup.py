"""`toolcrib gateway install` and `approve`: the gateway in a client's file, and tools that wait for a person's yes."""

import sys
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from cyclopts import Parameter

from toolcrib.cli.options import Flag, Json
from toolcrib.cli.output import note, say, write_json
from toolcrib.cli.sources import DEFAULT
from toolcrib.errors import GatewayError, require
from toolcrib.postgres.address import is_postgres
from toolcrib.settings import Settings

if TYPE_CHECKING:
    from toolcrib.gateway.lock import Approvals

NEGATIVE = 2
FileHere: TypeAlias = Annotated[Path | None, Parameter(show_default=False)]
LockPlace: TypeAlias = Annotated[str | None, Parameter(show_default=False)]


def install(
    client: str,
    *config: Path,
    lock: LockPlace = None,
    policy: Path | None = None,
    surface: Literal["search", "browse"] = "search",
    activate: Flag = False,
    file: FileHere = None,
    write: Flag = False,
) -> int:
    """Print the entry by which an MCP client starts the gateway; with --write, put it into the client's file.

    Clients are claude-code, claude-desktop, cursor, vscode, gemini and windsurf. What else stands in the file stays,
    and the file as it was is kept beside it.

    Example: `toolcrib gateway install cursor ~/servers.json --write`

    Args:
        client: Which client.
        config: Files that name the servers behind the gateway; `.mcp.json` if none is given.
        lock: Where the approved definitions are; a file in your data folder if none is given.
        policy: As in `toolcrib gateway`.
        surface: As in `toolcrib gateway`.
        activate: As in `toolcrib gateway`.
        file: The client's file, if it is not where the client usually has it.
        write: Write it.
    """
    require("gateway", "The gateway")
    from toolcrib.gateway import install as clients

    known = clients.client_named(client)
    paths = [str(path.expanduser().absolute()) for path in config or (Path(DEFAULT),)]
    place = lock or str(Settings.from_environment().locks / f"{sha256(repr(paths).encode()).hexdigest()[:12]}.lock")
    options = ["--lock", place if is_postgres(place) else str(Path(place).expanduser().absolute())]
    options += ["--policy", str(policy.expanduser().absolute())] if policy else []
    options += ["--surface", surface] if surface != "search" else []
    options += ["--activate"] if activate else []
    entry = clients.entry(known, [*paths, *options])
    target = (file or known.file(Path.home(), Path.cwd())).expanduser()
    if not write:
        write_json(clients.document(known, entry))
        note(f"This belongs into {target}. With --write it is put there.")
        return 0
    held = clients.read(target)
    backup = clients.write(target, clients.document(known, entry, held))
    note(f"{target} was written.{f' The old one is {backup.name}.' if backup else ''} {known.title}: {known.then}")
    if others := clients.others(known, held):
        note(f"{known.title} still starts these by itself: {', '.join(others)}. Move them to {paths[0]}.")
    return 0


def approve(*names: str, lock: str, yes: Flag = False, json: Json = False) -> int:
    """Show which definitions are held back and how they differ from the approved ones, and approve them.

    Example: `toolcrib gateway approve --lock tools.lock github__create_issue`

    Args:
        names: The tools to approve; all that are held back if none is given.
        lock: The file of approved definitions, or the database in which gateways share them.
        yes: Approve without asking.
    """
    require("gateway", "The gateway")
    from toolcrib.gateway.lock import open_lock

    if not is_postgres(lock) and not Path(lock).exists():
        raise GatewayError(f"{lock}: there is no such file.", hint="Start the gateway with --lock first.")
    with closing(open_lock(lock)) as held:
        return _approve(held, names, yes=yes, json=json)


def _approve(held: "Approvals", names: Sequence[str], *, yes: bool, json: bool) -> int:
    from toolcrib.gateway.approval_diff import difference

    waiting = held.waiting()
    if unknown := [name for name in names if name not in waiting]:
        raise GatewayError(
            f"{unknown[0]!r} is not held back.", hint=f"There are: {', '.join(waiting)}" if waiting else None
        )
    chosen = {name: pin for name, pin in waiting.items() if not names or name in names}
    differences = {name: difference(name, held.pins.get(name), pin) for name, pin in chosen.items()}
    if not json:
        say("\n\n".join(differences.values()) or "Nothing is held back.")
    agreed = bool(chosen) and (yes or (not json and _agrees(len(chosen))))
    if agreed:
        held.approve(chosen)
        left = {name: pin for name, pin in waiting.items() if name not in chosen}
        held.write_waiting(left, {pin.source for pin in waiting.values()})
        note(f"Approved: {', '.join(chosen)}.")
    if json:
        write_json({"held_back": differences, "approved": list(chosen) if agreed else []})
    return 0 if agreed or not chosen else NEGATIVE


def _agrees(number: int) -> bool:
    if not sys.stdin.isatty():
        note("Nothing was approved: give --yes.")
        return False
    answer = input(f"Approve {'this tool' if number == 1 else f'these {number} tools'}? [y/N] ")
    return answer.strip().casefold() in ("y", "yes")
