"""`toolcrib store`: administers a whole session store, with all tenants: status, migration, export and cleanup."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, TextIO, TypeAlias, TypeVar

from cyclopts import App, Parameter
from cyclopts.validators import Number

from toolcrib.cli.options import Json, StorePlace
from toolcrib.cli.output import Columns, counting, note, write_json
from toolcrib.errors import StoreDamagedError, StoreError
from toolcrib.settings import Settings, is_postgres
from toolcrib.stores.export import (
    Destination,
    ExportedSession,
    ImportCounts,
    end,
    exported_sessions,
    head,
    line_of,
    read_archive,
)
from toolcrib.stores.log import audit_of
from toolcrib.stores.record import now
from toolcrib.stores.store import StoreAdmin, StoreStatus, file_of, open_admin

# The long-running operations of `toolcrib store`. Each one shows its progress and can be interrupted at any time.

ReadSessions = Callable[[], AsyncIterator[ExportedSession]]  # called twice: to compare, then to import


async def copy_store(here: StoreAdmin, to: str, *, overwrite: bool, dry_run: bool) -> int:
    """Copy all sessions to another store."""
    async with open_admin(to) as there:
        if (await there.status()).place == (await here.status()).place:
            raise StoreError("The two stores are the same.", hint="Name another one with --to.")
        tenants = await here.tenants()
        return await _import_sessions(
            there, lambda: exported_sessions(here, tenants), overwrite=overwrite, dry_run=dry_run
        )


async def import_file(place: StoreAdmin, file: Path, *, overwrite: bool, dry_run: bool) -> int:
    """Import the sessions of an archive file."""
    with _open_lines(file) as lines:

        async def sessions() -> AsyncIterator[ExportedSession]:
            lines.seek(0)
            for session in read_archive(lines):
                yield session

        return await _import_sessions(place, sessions, overwrite=overwrite, dry_run=dry_run)


async def _import_sessions(place: StoreAdmin, sessions: ReadSessions, *, overwrite: bool, dry_run: bool) -> int:
    destination, before = Destination(place, overwrite=overwrite), ImportCounts()
    async for session in counting(sessions(), "comparing sessions"):
        before.add(session, await destination.compare(session))
    if not overwrite:
        before.refuse_different()
    if dry_run:
        note(f"{_summary(before)}; nothing was written")
        return 0
    done = ImportCounts()
    await place.migrate()
    async for session in counting(sessions(), "importing sessions"):
        done.add(session, await destination.import_session(session))
    note(f"{_summary(done)}; every session was verified")
    return 0


def _summary(counts: ImportCounts) -> str:
    parts = [f"{counts.new} new", f"{counts.same} already there", f"{counts.different} replaced"]
    return ", ".join(parts if counts.different else parts[:2])


async def export_store(place: StoreAdmin, tenant: str | None, output: Path | None) -> int:
    """Write all sessions to stdout or, atomically, to a file."""
    return await _write_archive(exported_sessions(place, await _tenants(place, tenant)), output)


async def _write_archive(sessions: AsyncIterator[ExportedSession], output: Path | None) -> int:
    if output is None:
        return await _write_sessions(sessions, sys.stdout)
    unfinished = output.with_name(f".{output.name}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            unfinished.chmod(0o600)  # conversations are private
            count = await _write_sessions(sessions, file)
        unfinished.replace(output)
    except OSError as error:
        raise StoreError(f"{str(output)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return count


async def _write_sessions(sessions: AsyncIterator[ExportedSession], file: TextIO) -> int:
    count = 0
    file.write(head())
    async for session in counting(sessions, "writing sessions"):
        file.write(line_of(session))
        count += 1
    file.write(end(count))
    return count


async def rescue_store(file: Path, tenant: str | None, output: Path | None) -> int:
    """Write what is whole of a damaged file; return how many sessions are not."""
    from toolcrib.stores.sqlite.store import SqliteStoreAdmin  # late: only a file can be rescued

    async with SqliteStoreAdmin(file, now, rescue=True) as place:
        lost: list[str] = []

        async def whole() -> AsyncIterator[ExportedSession]:
            for owner, id in await place.session_keys():
                if tenant not in (None, owner):
                    continue
                try:
                    yield ExportedSession(owner, await place.store(owner).read(id))
                except StoreError as error:
                    lost.append(id)
                    note(f"left out: {id!r}{f' of the tenant {owner!r}' if owner else ''}: {error}")

        count = await _write_archive(whole(), output)
        note(f"{count} sessions are whole; {len(lost)} are not")
        return len(lost)


async def check_store(file: Path) -> int:
    """Check the whole file and every session in it; return how many faults there are."""
    from toolcrib.stores.sqlite.store import SqliteStoreAdmin  # late: PostgreSQL checks its own pages

    faults = count = 0
    async with SqliteStoreAdmin(file, now, rescue=True) as place:
        try:
            await place.check_structure()
        except StoreDamagedError as error:
            note(error.what)
            faults += 1
        for tenant, id in await place.session_keys():
            count += 1
            try:
                await place.store(tenant).read(id)
            except StoreError as error:
                note(f"{id!r}{f' of the tenant {tenant!r}' if tenant else ''}: {error}")
                faults += 1
    note(f"{count} session{'' if count == 1 else 's'} checked, {faults} fault{'' if faults == 1 else 's'}")
    return faults


async def delete_old(place: StoreAdmin, tenant: str | None, older_than: timedelta, *, dry_run: bool) -> int:
    """Delete old sessions and clean up the store; return the number of sessions."""
    count = 0
    for one in await _tenants(place, tenant):
        store = place.store(one)
        if dry_run:
            old = [info.id for info in await store.sessions() if info.updated_at < now() - older_than]
            count += sum([not await store.is_open(id) for id in old])
        else:
            count += await store.purge(older_than)
    if not dry_run:
        await place.tidy()
    return count


async def write_audit(place: StoreAdmin, tenant: str | None) -> int:
    """Write the audit log to stdout, one line per entry; return the number of lines."""
    count = 0
    async for session in counting(exported_sessions(place, await _tenants(place, tenant)), "reading sessions"):
        for line in audit_of(session.tenant, session.record):
            sys.stdout.write(json.dumps(line.to_json(), ensure_ascii=False) + "\n")
            count += 1
    return count


async def _tenants(place: StoreAdmin, tenant: str | None) -> tuple[str, ...]:
    return tuple([one for one in await place.tenants() if tenant is None or one == tenant])


@contextmanager
def _open_lines(file: Path) -> Generator[TextIO]:
    """Open a file for reading; stdin is copied to a temporary file first, because the import reads it twice."""
    try:
        if str(file) == "-":
            with TemporaryFile("w+", encoding="utf-8") as buffer:
                buffer.writelines(sys.stdin)
                yield buffer
        else:
            with file.open(encoding="utf-8") as lines:
                yield lines
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{str(file)!r} cannot be read: {error}.", hint="Give what `export` wrote.") from error


app = App(
    name="store",
    help="Manage the session store: a SQLite file, or a PostgreSQL database that replicas share.",
)

Result = TypeVar("Result")
TenantOnly: TypeAlias = Annotated[
    str | None, Parameter(name="--tenant", help="Only the sessions of this tenant.", show_default=False)
]
DryRun: TypeAlias = Annotated[
    bool, Parameter(name="--dry-run", negative=(), show_default=False, help="Only show what would be done.")
]
Overwrite: TypeAlias = Annotated[
    bool,
    Parameter(negative=(), show_default=False, help="Replace existing sessions that differ."),
]
Days: TypeAlias = Annotated[float, Parameter(validator=Number(gte=0))]


@app.command
def status(*, store: StorePlace = None, json: Json = False) -> int:
    """Show where sessions are stored, the schema version and the counts. Changes nothing.

    Exit code 2 means that the store does not exist yet, or that its schema is of an older version.

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
    """Create or migrate the tables; with `--to`, copy every session to another store.

    Any number of replicas may start, or run this, at once. A copy takes all tenants with messages, working memory,
    confirmations, usage and logs, and each session is compared after it was copied. The old store does not change.
    If it is interrupted, run it again: it skips what was copied.

    Examples: `toolcrib store migrate`,
    `toolcrib store migrate --store sessions.db --to postgresql://crib@db.example/crib`

    Args:
        to: The store to copy to.
    """
    place = _place(store)
    if to is not None:
        _refuse_missing(place)
        return _with(place, lambda here: copy_store(here, to, overwrite=overwrite, dry_run=dry_run))
    before = _with(place, lambda here: here.status())
    if before.form == before.newest_form:
        note(f"{before.place} is up to date (schema version {before.form})")
    elif dry_run:
        note(f"{before.place} would be migrated from schema version {before.form} to {before.newest_form}")
    else:
        _with(place, lambda here: here.migrate())
        note(f"{before.place} was migrated from schema version {before.form} to {before.newest_form}")
    return 0


@app.command
def gc(*, days: Days, tenant: TenantOnly = None, store: StorePlace = None, dry_run: DryRun = False) -> int:
    """Delete the sessions of all tenants that have not changed for some days; open ones stay.

    Also deletes leases of processes that died, and frees the space that SQLite keeps (PostgreSQL does so by itself).
    A session's log is deleted with it: run `toolcrib store audit` first if you must keep a record of calls.

    Example: `toolcrib store gc --days 90 --dry-run`

    Args:
        days: The days without a change.
    """
    place = _place(store)
    _refuse_missing(place)
    count = _with(place, lambda here: delete_old(here, tenant, timedelta(days=days), dry_run=dry_run))
    note(f"{count} session{'' if count == 1 else 's'} {'would be deleted' if dry_run else 'deleted'}")
    return 0


@app.command
def export(
    *,
    output: Path | None = None,
    tenant: TenantOnly = None,
    store: StorePlace = None,
    rescue: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Write every session of every tenant as JSON Lines, for a backup or another store.

    The file has everything: messages, working memory, confirmations, usage and logs. Protect it as you protect the
    conversations in it. The store itself may be read-only.

    Examples: `toolcrib store export --output sessions.jsonl`,
    `toolcrib store export --rescue --output sessions.jsonl`

    Args:
        output: The file to write; by default, stdout.
        rescue: Of a damaged SQLite file, write the sessions that are intact and name the others. Exit code 1 means that
            there are others. The file is not changed.
    """
    place = _place(store)
    _refuse_missing(place)
    if rescue:
        return 1 if asyncio.run(rescue_store(_sqlite_file(place), tenant, output)) else 0
    count = _with(place, lambda here: export_store(here, tenant, output))
    note(f"{count} session{'' if count == 1 else 's'} {f'written to {output}' if output else 'written'}")
    return 0


@app.command
def check(*, store: StorePlace = None) -> int:
    """Check a SQLite file and the checksum of every record. Changes nothing; exit code 1 if it is damaged.

    When a file is opened, its structure is checked, of one beyond 256 MB that of the small tables, and each record is
    checked when it is read. This command checks everything, such as a backup before you need it.

    Example: `toolcrib store check --store backup.db`
    """
    place = _place(store)
    _refuse_missing(place)
    return 1 if asyncio.run(check_store(_sqlite_file(place))) else 0


@app.command(name="import")
def import_store(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    store: StorePlace = None,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
) -> int:
    """Import the sessions of a file that `export` wrote, from any store.

    The whole file is checked first. A session that exists already and is equal is skipped; one that differs
    stops the import before anything is written, unless you give `--overwrite`.

    Example: `toolcrib store import sessions.jsonl --store postgresql://crib@db.example/crib`

    Args:
        file: What `export` wrote; `-` reads stdin.
    """
    return _with(_place(store), lambda here: import_file(here, file, overwrite=overwrite, dry_run=dry_run))


@app.command
def audit(*, tenant: TenantOnly = None, store: StorePlace = None) -> int:
    """Write an audit log as JSON Lines: calls, questions to users and their answers, without values.

    Arguments are written as a digest, which is equal for equal arguments. The source is the sessions' logs, which have
    everything; a session's log is deleted with it.

    Example: `toolcrib store audit > calls.jsonl`
    """
    place = _place(store)
    _refuse_missing(place)
    count = _with(place, lambda here: write_audit(here, tenant))
    note(f"{count} line{'' if count == 1 else 's'}")
    return 0


def _show(found: StoreStatus) -> None:
    version = str(found.form) if found.form == found.newest_form else f"{found.form}, the newest is {found.newest_form}"
    table = Columns(("property", "value"))
    table.add("store", f"{found.engine}, {found.place}")
    table.add("schema version", version if found.form else "none yet")
    for name, value in asdict(found).items():
        if isinstance(value, int) and not name.endswith("form"):
            table.add(name.replace("_", " "), f"{value:,}")
    table.show()
    if found.form != found.newest_form:
        note("migrate it with: toolcrib store migrate")


def _with(place: str, work: Callable[[StoreAdmin], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with open_admin(place) as here:
            return await work(here)

    return asyncio.run(run())


def _place(given: str | None) -> str:
    return given or Settings.from_environment().sessions


def _sqlite_file(place: str) -> Path:
    if is_postgres(place):
        raise StoreError("This is for SQLite files.", hint="PostgreSQL checks its own pages: see pg_amcheck.")
    return file_of(place)


def _refuse_missing(place: str) -> None:
    if not is_postgres(place) and not file_of(place).exists():
        raise StoreError(f"No sessions are kept in {place}.", hint="Name the place with --store or TOOLCRIB_STORE.")
