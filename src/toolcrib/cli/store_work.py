"""The long work behind `toolcrib store`: each piece shows how far it is, and may be broken off at any moment."""

import json
import sys
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO

from toolcrib.cli.output import counting, note
from toolcrib.errors import StoreError
from toolcrib.stores.archive import Parcel, end, head, line_of, parcels_of, read_archive
from toolcrib.stores.audit import audit_of
from toolcrib.stores.moments import now
from toolcrib.stores.place import Place, open_place
from toolcrib.stores.transfer import Destination, Tally

Parcels = Callable[[], AsyncIterator[Parcel]]  # asked twice: once to compare, once to take in


async def copied(here: Place, to: str, *, overwrite: bool, dry_run: bool) -> int:
    """Copy everything to another place."""
    async with open_place(to) as there:
        if (await there.status()).place == (await here.status()).place:
            raise StoreError("The two stores are the same.", hint="Name another one with --to.")
        tenants = await here.tenants()
        return await _taken_in(there, lambda: parcels_of(here, tenants), overwrite=overwrite, dry_run=dry_run)


async def imported(place: Place, file: Path, *, overwrite: bool, dry_run: bool) -> int:
    """Take in a file."""
    with _opened(file) as lines:

        async def parcels() -> AsyncIterator[Parcel]:
            lines.seek(0)
            for parcel in read_archive(lines):
                yield parcel

        return await _taken_in(place, parcels, overwrite=overwrite, dry_run=dry_run)


async def _taken_in(place: Place, parcels: Parcels, *, overwrite: bool, dry_run: bool) -> int:
    destination, before = Destination(place, overwrite=overwrite), Tally()
    async for parcel in counting(parcels(), "comparing sessions"):
        before.add(parcel, await destination.compare(parcel))
    if not overwrite:
        before.refuse_different()
    if dry_run:
        note(f"{_told(before)}; nothing was written")
        return 0
    done = Tally()
    await place.bring_up()
    async for parcel in counting(parcels(), "taking sessions in"):
        done.add(parcel, await destination.take_in(parcel))
    note(f"{_told(done)}; every one was compared")
    return 0


def _told(tally: Tally) -> str:
    parts = [f"{tally.new} new", f"{tally.same} there already", f"{tally.different} replaced"]
    return ", ".join(parts if tally.different else parts[:2])


async def exported(place: Place, tenant: str | None, output: Path | None) -> int:
    """Write everything to a file, whole or not at all, or to stdout."""
    if output is None:
        return await _written(place, tenant, sys.stdout)
    unfinished = output.with_name(f".{output.name}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            unfinished.chmod(0o600)  # conversations are private
            count = await _written(place, tenant, file)
        unfinished.replace(output)
    except OSError as error:
        raise StoreError(f"{str(output)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return count


async def _written(place: Place, tenant: str | None, file: TextIO) -> int:
    count = 0
    file.write(head())
    async for parcel in counting(parcels_of(place, await _tenants(place, tenant)), "writing sessions"):
        file.write(line_of(parcel))
        count += 1
    file.write(end(count))
    return count


async def forgotten(place: Place, tenant: str | None, older_than: timedelta, *, dry_run: bool) -> int:
    """Forget old sessions, then tidy; how many there were."""
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


async def audited(place: Place, tenant: str | None) -> int:
    """Write who called what, one line each; how many there were."""
    count = 0
    async for parcel in counting(parcels_of(place, await _tenants(place, tenant)), "reading sessions"):
        for line in audit_of(parcel.tenant, parcel.record):
            sys.stdout.write(json.dumps(line.to_json(), ensure_ascii=False) + "\n")
            count += 1
    return count


async def _tenants(place: Place, tenant: str | None) -> tuple[str, ...]:
    return tuple([one for one in await place.tenants() if tenant is None or one == tenant])


@contextmanager
def _opened(file: Path) -> Generator[TextIO]:
    """The lines of a file; those of stdin are put aside first, to be read twice."""
    try:
        if str(file) == "-":
            with TemporaryFile("w+", encoding="utf-8") as aside:
                aside.writelines(sys.stdin)
                yield aside
        else:
            with file.open(encoding="utf-8") as lines:
                yield lines
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{str(file)!r} cannot be read: {error}.", hint="Give what `export` wrote.") from error
