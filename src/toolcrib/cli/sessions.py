"""`toolcrib sessions`: list, show, export, import and delete stored conversations."""

import asyncio
import json as json_format
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from cyclopts import App, Parameter
from cyclopts.validators import Number
from rich.text import Text

from toolcrib.cli.options import Flag, Json, StorePlace
from toolcrib.cli.output import Columns, clean, note, say, write_json
from toolcrib.errors import StoreError, require
from toolcrib.memory.working import render_memory
from toolcrib.settings import Settings
from toolcrib.stores.log import log_of, tool_calls_in
from toolcrib.stores.record import SessionInfo, SessionRecord, Totals, checked_id
from toolcrib.stores.store import Store, open_store, shown_place

app = App(name="sessions", help="List, show, export, import and delete stored conversations.")

Result = TypeVar("Result")
Tenant: TypeAlias = Annotated[str, Parameter(help="The tenant, if several share the store.", show_default=False)]
Days: TypeAlias = Annotated[float, Parameter(validator=Number(gte=0))]


@app.command(name="list")
def list_sessions(
    *, limit: int | None = None, store: StorePlace = None, tenant: Tenant = "", json: Json = False
) -> int:
    """List the sessions, the last changed first.

    Example: `toolcrib sessions list --limit 10`

    Args:
        limit: How many at most.
    """
    place = _place(store)
    # Only looking must not make a file.
    infos = () if _is_missing(place) else _with(place, tenant, lambda kept: kept.sessions(limit=limit))
    if json:
        write_json([_as_dict(info) for info in infos])
        return 0
    table = Columns(("id", "changed", "messages", "title"))
    for info in infos:
        table.add(info.id, _when(info.updated_at), str(info.messages), info.title)
    if infos:
        table.show()
    note(f"{len(infos)} session{'' if len(infos) == 1 else 's'} in {shown_place(place)}")
    return 0


@app.command
def show(id: str, /, *, store: StorePlace = None, tenant: Tenant = "", json: Json = False) -> int:
    """Show a session's memory, its usage and the confirmations it waits for.

    Example: `toolcrib sessions show 3f9c2a71d04be865`

    Args:
        id: The session's id.
    """
    record = _read(id, store, tenant)
    if json:
        document = _document(record)
        write_json(document | {"history": len(record.history), "events": len(record.events)})
        return 0
    say(Text(record.id, style="bold"))
    for label, text in _facts(record):
        say(Text.assemble((f"{label}:", "bold"), "" if text.startswith("\n") else " ", clean(text)))
    return 0


@app.command
def export(
    id: str,
    /,
    *more: str,
    output: Path | None = None,
    jsonl: Flag = False,
    as_tasks: Flag = False,
    store: StorePlace = None,
    tenant: Tenant = "",
) -> int:
    """Write a session as one JSON document, or its log.

    Example: `toolcrib sessions export 3f9c2a71d04be865 --output session.json`

    Args:
        id: The session's id.
        more: More ids, with --as-tasks.
        output: The file to write; by default, stdout.
        jsonl: Only the log: one event per line, with durations and tokens.
        as_tasks: Tasks for `toolcrib eval`: what the user said, and the calls that succeeded. --output names the file.
    """
    if as_tasks:
        return _export_tasks((id, *more), output, store, tenant)
    if more:
        raise StoreError("Several sessions cannot be one document.", hint="Export them one by one, or use --as-tasks.")
    record = _read(id, store, tenant)
    if jsonl:
        text = "".join(f"{json_format.dumps(line, ensure_ascii=False)}\n" for line in log_of(record))
    else:
        text = json_format.dumps(_document(record), ensure_ascii=output is not None, indent=2) + "\n"
    if output is None:
        sys.stdout.write(text)
        return 0
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{str(output)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
    note(f"wrote {output}")
    return 0


def _export_tasks(ids: Sequence[str], output: Path | None, place: str | None, tenant: str) -> int:
    require("evals", "A file of tasks")
    from toolcrib.evals.insights import events_of
    from toolcrib.evals.tasks import TaskSet, task_of_session, write_tasks  # late: loads Pydantic AI

    if output is None:
        raise StoreError("Tasks are written to a file.", hint="Name it: --output tasks.yaml")
    found = (task_of_session(id, events_of(_read(id, place, tenant))) for id in ids)
    tasks = TaskSet(name=output.stem, cases=[case for case in found if case is not None])
    write_tasks(tasks, output)
    note(f"wrote {len(tasks.cases)} tasks to {output}; look through them: what users got is no proof of what is right")
    return 0


@app.command
def insights(*, limit: int | None = None, store: StorePlace = None, tenant: Tenant = "", json: Json = False) -> int:
    """Show which requests found no tool, which tools were found and never called, and which calls failed.

    Example: `toolcrib sessions insights --limit 100`

    Args:
        limit: How many sessions at most, the last changed first.
    """
    from toolcrib.evals.insights import insights_of  # late: loads the search

    async def read(kept: Store) -> list[SessionRecord]:
        return [await kept.read(info.id) for info in await kept.sessions(limit=limit)]

    found = insights_of(_with(_there(store), tenant, read))
    if json:
        write_json(found.to_json())
        return 0
    for query, count in found.nothing_found[:_MOST_LINES]:
        say(f"nothing found: {query!r}{f', {count} times' if count > 1 else ''}")
    ignored = [tool for tool in found.tools if tool.ignored]
    for tool in ignored[:_MOST_LINES]:
        say(f"found and never called: {tool.name}, {tool.found} times, for {', '.join(map(repr, tool.queries))}")
    for tool in sorted(found.tools, key=lambda tool: -tool.failed)[:_MOST_LINES]:
        if tool.failed:
            say(f"failed: {tool.name}, {tool.failed} of {tool.called} calls: {' | '.join(tool.errors)}")
    note(f"{found.sessions} sessions, {found.requests} requests, {found.searches} searches")
    return 0


_MOST_LINES = 20


@app.command(name="import")
def import_session(file: Path, /, *, id: str | None = None, store: StorePlace = None, tenant: Tenant = "") -> int:
    """Import a session that was exported here or on another machine.

    Example: `toolcrib sessions import session.json`

    Args:
        file: The file that `export` wrote.
        id: Another id for the session, if its own is taken.
    """
    from toolcrib.stores.export import from_document  # late: loads pydantic

    try:
        record = from_document(json_format.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise StoreError(f"{str(file)!r} cannot be read: {error}.", hint="Give what `export` wrote.") from error
    record = record if id is None else replace(record, id=checked_id(id))
    _with(_place(store), tenant, lambda kept: kept.restore(record))
    say(record.id)
    return 0


@app.command
def delete(id: str, /, *more: str, store: StorePlace = None, tenant: Tenant = "") -> int:
    """Delete sessions with everything that belongs to them.

    Example: `toolcrib sessions delete 3f9c2a71d04be865`

    Args:
        id: The session's id.
        more: More ids.
    """
    ids = (id, *more)

    async def forget(kept: Store) -> None:
        for id in ids:
            await kept.read(id)  # so that one wrong id leaves all of them
        for id in ids:
            await kept.delete(id)

    _with(_there(store), tenant, forget)
    note(f"{len(ids)} session{'' if len(ids) == 1 else 's'} deleted")
    return 0


@app.command
def purge(*, days: Days, store: StorePlace = None, tenant: Tenant = "") -> int:
    """Delete the sessions that have not changed for some days; open ones stay.

    Example: `toolcrib sessions purge --days 30`

    Args:
        days: The days without a change.
    """
    count = _with(_there(store), tenant, lambda kept: kept.purge(timedelta(days=days)))
    note(f"{count} session{'' if count == 1 else 's'} deleted")
    return 0


def _with(place: str, tenant: str, work: Callable[[Store], Awaitable[Result]]) -> Result:
    async def opened() -> Result:
        async with open_store(place, tenant=tenant) as store:
            return await work(store)

    return asyncio.run(opened())


def _place(given: str | None) -> str:
    return given or Settings.from_environment().sessions


def _there(given: str | None) -> str:
    """The place of the store; an error if there is none."""
    place = _place(given)
    if _is_missing(place):
        raise StoreError(f"No sessions are kept in {place}.", hint="Name the file with --store or TOOLCRIB_STORE.")
    return place


def _is_missing(place: str) -> bool:
    return "://" not in place and not Path(place).expanduser().exists()


def _read(id: str, store: str | None, tenant: str) -> SessionRecord:
    return _with(_there(store), tenant, lambda kept: kept.read(id))


def _document(record: SessionRecord) -> dict[str, Any]:
    from toolcrib.stores.export import to_document  # late: loads pydantic

    return to_document(record)


def _as_dict(info: SessionInfo) -> dict[str, object]:
    return {
        "id": info.id,
        "title": info.title,
        "created_at": info.created_at.isoformat(),
        "updated_at": info.updated_at.isoformat(),
        "messages": info.messages,
        "usage": dict(info.usage),
    }


def _facts(record: SessionRecord) -> Iterator[tuple[str, str]]:
    """The lines of `show`; empty ones are left out."""
    now = datetime.now(UTC)
    memory = render_memory(record.memory).splitlines()[1:-1]
    waiting = [
        f"{one.tool} {json_format.dumps(dict(one.arguments), ensure_ascii=False)} until {_when(one.expires_at)}"
        for one in record.confirmations
        if one.is_pending(now)
    ]
    facts = {
        "title": record.title,
        "created": _when(record.created_at),
        "changed": _when(record.updated_at),
        "messages": str(len(record.history)),
        "usage": _usage(record.usage),
        "tool calls": _calls(record),
        "memory": "".join(f"\n  {line}" for line in memory),
        "waits for a yes to": "".join(f"\n  {line}" for line in waiting),
    }
    return ((label, text) for label, text in facts.items() if text)


def _calls(record: SessionRecord) -> str:
    calls, failed = tool_calls_in(record)
    return f"{calls}{f', {failed} failed' if failed else ''}" if calls else ""


def _usage(usage: Totals) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in usage.items())


def _when(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")
