"""`toolcrib store`: the place where sessions are kept, as a whole: all tenants, moved, looked at, tidied."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from cyclopts import App, Parameter
from cyclopts.validators import Number

from toolcrib.cli.options import Json
from toolcrib.cli.output import Columns, note, write_json
from toolcrib.cli.sessions import StorePlace
from toolcrib.errors import StoreError
from toolcrib.postgres.address import is_postgres
from toolcrib.settings import Settings
from toolcrib.stores.place import Place, PlaceStatus, open_place
from toolcrib.stores.store import file_of

app = App(
    name="store",
    help="Look after the place where all sessions are kept: a SQLite file, or a PostgreSQL database for many replicas.",
)

Result = TypeVar("Result")
TenantOnly: TypeAlias = Annotated[
    str | None, Parameter(name="--tenant", help="Only this tenant's sessions; else those of all.", show_default=False)
]
DryRun: TypeAlias = Annotated[
    bool, Parameter(name="--dry-run", negative=(), show_default=False, help="Only say what would be done.")
]
Overwrite: TypeAlias = Annotated[
    bool,
    Parameter(negative=(), show_default=False, help="Replace sessions that are there already and differ."),
]
Days: TypeAlias = Annotated[float, Parameter(validator=Number(gte=0))]


@app.command
def status(*, store: StorePlace = None, json: Json = False) -> int:
    """Show where sessions are kept, in which form, and how much is there. Changes nothing.

    Exit code 2 says that the place is not there yet, or that its tables are of an older form.

    Example: `toolcrib store status --store postgresql://crib@db.example/crib`
    """
    found = _with(_place(store), lambda place: place.status())
    if json:
        write_json(asdict(found))
    else:
        _show(found)
    return 0 if found.form == found.newest_form else 2


@app.command
def migrate(
    *, to: str | None = None, store: StorePlace = None, overwrite: Overwrite = False, dry_run: DryRun = False
) -> int:
    """Make the tables or bring them up to date; with `--to`, copy every session to another store.

    Any number of replicas may start, or run this, at once. A copy takes all tenants with messages, working memory,
    confirmations, usage and logs, and each session is compared when it has arrived. The old store stays as it is.
    When it is broken off, run it again: what has arrived is passed over.

    Examples: `toolcrib store migrate`,
    `toolcrib store migrate --store sessions.db --to postgresql://crib@db.example/crib`

    Args:
        to: The store to copy to.
    """
    place = _place(store)
    if to is not None:
        from toolcrib.cli.store_work import copied  # late, here and below: loads pydantic

        _refuse_missing(place)
        return _with(place, lambda here: copied(here, to, overwrite=overwrite, dry_run=dry_run))
    before = _with(place, lambda here: here.status())
    if before.form == before.newest_form:
        note(f"{before.place} is up to date (form {before.form})")
    elif dry_run:
        note(f"{before.place} would go from form {before.form} to {before.newest_form}")
    else:
        _with(place, lambda here: here.bring_up())
        note(f"{before.place} went from form {before.form} to {before.newest_form}")
    return 0


@app.command
def gc(*, days: Days, tenant: TenantOnly = None, store: StorePlace = None, dry_run: DryRun = False) -> int:
    """Forget the sessions of all tenants that were not changed for some days; open ones stay.

    Also forgets who held a session and died, and gives the space back that SQLite keeps (PostgreSQL does that itself).
    A session's log goes with it: write `toolcrib store audit` first, if you must keep who called what.

    Example: `toolcrib store gc --days 90 --dry-run`

    Args:
        days: How long they must have been left alone.
    """
    place = _place(store)
    _refuse_missing(place)
    from toolcrib.cli.store_work import forgotten

    count = _with(place, lambda here: forgotten(here, tenant, timedelta(days=days), dry_run=dry_run))
    note(f"{count} session{'' if count == 1 else 's'} {'would be deleted' if dry_run else 'deleted'}")
    return 0


@app.command
def export(*, output: Path | None = None, tenant: TenantOnly = None, store: StorePlace = None) -> int:
    """Write every session of every tenant as JSON Lines: a backup, or the way to another store.

    Nothing is left out: messages, working memory, confirmations, usage and logs. Treat the file as you treat the
    conversations in it.

    Example: `toolcrib store export --output sessions.jsonl`

    Args:
        output: The file to write; else it goes to stdout.
    """
    place = _place(store)
    _refuse_missing(place)
    from toolcrib.cli.store_work import exported

    count = _with(place, lambda here: exported(here, tenant, output))
    note(f"{count} session{'' if count == 1 else 's'} {f'written to {output}' if output else 'written'}")
    return 0


@app.command(name="import")
def import_store(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    store: StorePlace = None,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
) -> int:
    """Take in what `export` wrote, from this store, another, or another kind of store.

    The whole file is checked first. A session that is there already and the same is passed over; one that differs
    stops the import before anything is written, unless you give `--overwrite`.

    Example: `toolcrib store import sessions.jsonl --store postgresql://crib@db.example/crib`

    Args:
        file: What `export` wrote; `-` reads stdin.
    """
    from toolcrib.cli.store_work import imported

    return _with(_place(store), lambda here: imported(here, file, overwrite=overwrite, dry_run=dry_run))


@app.command
def audit(*, tenant: TenantOnly = None, store: StorePlace = None) -> int:
    """Write who called what, as JSON Lines: calls, questions to users and their answers, without any value.

    Arguments stand as a digest: the same for the same arguments. It is made from the sessions' logs, which have
    everything; a session that is deleted takes its log along.

    Example: `toolcrib store audit > calls.jsonl`
    """
    place = _place(store)
    _refuse_missing(place)
    from toolcrib.cli.store_work import audited

    count = _with(place, lambda here: audited(here, tenant))
    note(f"{count} line{'' if count == 1 else 's'}")
    return 0


def _show(found: PlaceStatus) -> None:
    form = str(found.form) if found.form == found.newest_form else f"{found.form}, the newest is {found.newest_form}"
    table = Columns(("what", "there"))
    table.add("store", f"{found.engine}, {found.place}")
    table.add("form", form if found.form else "not there yet")
    for name, value in asdict(found).items():
        if isinstance(value, int) and not name.endswith("form"):
            table.add(name.replace("_", " "), f"{value:,}")
    table.show()
    if found.form != found.newest_form:
        note("Bring it up with: toolcrib store migrate")


def _with(place: str, work: Callable[[Place], Awaitable[Result]]) -> Result:
    async def opened() -> Result:
        async with open_place(place) as here:
            return await work(here)

    return asyncio.run(opened())


def _place(given: str | None) -> str:
    return given or Settings.from_environment().sessions


def _refuse_missing(place: str) -> None:
    if not is_postgres(place) and not file_of(place).exists():
        raise StoreError(f"No sessions are kept in {place}.", hint="Name the place with --store or TOOLCRIB_STORE.")
