"""Every write leaves a revision, and every revision can be restored.

Nobody has to remember to: the session itself looks at what changed just before it is written.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import Column, event, func, inspect, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from toolcrib.tools import current_call
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.storage.columns import Base, Content, Kept, UtcTime, now
from toolcrib_cms.storage.models import KINDS, Revision, Section

Action: TypeAlias = Literal["create", "update", "delete", "restore"]

_KIND_OF = {model: kind for kind, model in KINDS.items()}
_CHANGE = "change"  # in `session.info`: the number of this transaction
_MADE = "made"  # and the revisions it made, by row: a row flushed twice is still changed once
_RESTORED = "restored"
_CALL = "call"  # the call that is undone in this transaction
UNDO = "undo:"  # before the id of a call: what undid it


def keep_revisions(session: Session) -> None:
    """Let this session write a revision for every row it changes."""
    session.info.update({_MADE: {}, _RESTORED: set[str]()})
    event.listen(session, "before_flush", _before_flush)


def made_by_nobody(session: Session) -> None:
    """Let the revisions of this session belong to no call, though one may be under way: the first opens the site."""
    session.info[_CALL] = ""


def history(session: Session, item_id: str) -> Sequence[Revision]:
    """The revisions of one row, newest first."""
    return session.scalars(select(Revision).where(Revision.item_id == item_id).order_by(Revision.id.desc())).all()


def restore(session: Session, revision_id: int) -> list[str]:
    """Make a row what it was at a revision, and give the ids it touched.

    A deletion is undone whole: what went in the same transaction (a page's sections, say) comes back with it.
    """
    revision = session.get(Revision, revision_id)
    if revision is None:
        raise RefusalError(f"There is no revision {revision_id}.")
    together = [revision]
    if revision.action == "delete":
        same = select(Revision).where(Revision.change == revision.change, Revision.action == "delete")
        order = list(KINDS)  # pages before their sections, images before posts
        together = sorted(session.scalars(same), key=lambda one: order.index(one.kind))
    for one in together:
        _restore_row(session, one)
        session.flush()  # row by row: a page has to be there before its sections
    return [one.item_id for one in together]


def made_by(session: Session, call: str) -> Sequence[Revision]:
    """The revisions that a call of an agent made, oldest first."""
    return session.scalars(select(Revision).where(Revision.call == call).order_by(Revision.id)).all()


def before(session: Session, revision: Revision) -> Content | None:
    """What a row was before a revision; None if there was none."""
    if revision.action == "delete":
        return revision.data
    if revision.action == "create":
        return None
    earlier = select(Revision).where(Revision.item_id == revision.item_id, Revision.id < revision.id)
    found = session.scalars(earlier.order_by(Revision.id.desc())).first()
    return found.data if found is not None and found.action != "delete" else None


def undo(session: Session, call: str) -> Sequence[Revision]:
    """Make everything what it was before a call; all of it or nothing. Gives the revisions that the call had made.

    Raises:
        RefusalError: It changed nothing, was undone, or something else was changed on top of it.
    """
    made = made_by(session, call)
    if not made:
        raise RefusalError("This call changed nothing that could be undone.")
    if made_by(session, f"{UNDO}{call}"):
        raise RefusalError("This was undone already.")
    ids = {one.id for one in made}
    first: dict[str, Revision] = {}
    for one in made:
        first.setdefault(one.item_id, one)
        newest = session.scalar(select(func.max(Revision.id)).where(Revision.item_id == one.item_id))
        added = one.kind == "page" and session.scalars(select(Section.id).where(Section.page_id == one.item_id)).all()
        if newest not in ids or (added and one.action == "create" and not {*added} <= {each.item_id for each in made}):
            raise RefusalError("It was changed again since.", hint="Undo the later change first.")
    session.info[_CALL] = f"{UNDO}{call}"
    order = list(KINDS)  # pages before their sections; what was made goes in the reverse order
    by_kind = sorted(first.values(), key=lambda one: order.index(one.kind))
    try:
        for one in reversed(by_kind):
            row = session.get(KINDS[one.kind], one.item_id) if before(session, one) is None else None
            if row is not None:
                session.delete(row)
                session.flush()
        for one in by_kind:
            if (data := before(session, one)) is not None:
                _write_row(session, one.kind, one.item_id, data)
                session.flush()
    except IntegrityError as error:
        raise RefusalError("Something else uses it now.", hint="Undo the later change first.") from error
    return made


def _restore_row(session: Session, revision: Revision) -> None:
    _write_row(session, revision.kind, revision.item_id, revision.data)


def _write_row(session: Session, kind: str, item_id: str, data: Content) -> None:
    model = KINDS[kind]
    values = {column.key: _revived(column, data.get(column.key)) for column in _columns(model)}
    newest = session.scalar(select(func.max(Revision.version)).where(Revision.item_id == item_id))
    values |= {"version": newest or data["version"], "updated_at": now()}
    session.info[_RESTORED].add(item_id)
    row = session.get(model, item_id)
    if row is None:
        session.add(model(**{**values, "version": values["version"] + 1}))
        return
    for key, value in values.items():
        setattr(row, key, value)


def _before_flush(session: Session, _context: object, _instances: object) -> None:
    for row in list(session.new):
        if isinstance(row, Kept):
            _note(session, row, "create")
    for row in list(session.dirty):
        if isinstance(row, Kept) and session.is_modified(row):
            if row.id not in session.info[_MADE]:
                row.version += 1
                row.updated_at = now()
            _note(session, row, "update")
    for row in list(session.deleted):
        if isinstance(row, Kept):
            _note(session, row, "delete")


def _note(session: Session, row: Kept, action: Action) -> None:
    made: dict[str, Revision] = session.info[_MADE]
    if row.id in session.info[_RESTORED]:
        action = "restore"
    if (earlier := made.get(row.id)) is not None and action != "delete":
        earlier.data, earlier.version = snapshot(row), row.version
        return
    with session.no_autoflush:
        if _CHANGE not in session.info:
            session.info[_CHANGE] = (session.scalar(select(func.max(Revision.change))) or 0) + 1
        made[row.id] = Revision(
            change=session.info[_CHANGE],
            kind=_KIND_OF[type(row)],
            item_id=row.id,
            version=row.version,
            action=action,
            data=snapshot(row),
            call=session.info[_CALL] if _CALL in session.info else _call_now(),
        )
        session.add(made[row.id])


def made_here(session: Session) -> Sequence[Revision]:
    """The revisions of this transaction so far, in the order in which they were made."""
    session.flush()
    return list(session.info[_MADE].values())


def _call_now() -> str:
    call = current_call()
    return "" if call is None else call.id


def snapshot(row: Kept) -> Content:
    """All columns of a row as JSON."""
    values = ((column.key, getattr(row, column.key)) for column in _columns(type(row)))
    return {key: value.isoformat() if isinstance(value, datetime) else value for key, value in values}


def _columns(model: type[Kept]) -> Iterator[Column[Any]]:
    assert issubclass(model, Base)
    for column in inspect(model).local_table.columns:
        assert isinstance(column, Column)
        yield column


def _revived(column: Column[Any], value: Any) -> Any:
    return datetime.fromisoformat(value) if value is not None and isinstance(column.type, UtcTime) else value
