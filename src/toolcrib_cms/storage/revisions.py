"""Every write leaves a revision, and every revision can be restored.

Nobody has to remember to: the session itself looks at what changed just before it is written.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import Column, event, func, inspect, select
from sqlalchemy.orm import Session

from toolcrib_cms.errors import RefusalError
from toolcrib_cms.storage.columns import Base, Content, Kept, UtcTime, now
from toolcrib_cms.storage.models import KINDS, Revision

Action: TypeAlias = Literal["create", "update", "delete", "restore"]

_KIND_OF = {model: kind for kind, model in KINDS.items()}
_CHANGE = "change"  # in `session.info`: the number of this transaction
_MADE = "made"  # and the revisions it made, by row: a row flushed twice is still changed once
_RESTORED = "restored"


def keep_revisions(session: Session) -> None:
    """Let this session write a revision for every row it changes."""
    session.info.update({_MADE: {}, _RESTORED: set[str]()})
    event.listen(session, "before_flush", _before_flush)


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


def _restore_row(session: Session, revision: Revision) -> None:
    model = KINDS[revision.kind]
    values = {column.key: _revived(column, revision.data.get(column.key)) for column in _columns(model)}
    newest = session.scalar(select(func.max(Revision.version)).where(Revision.item_id == revision.item_id))
    values |= {"version": newest or revision.version, "updated_at": now()}
    session.info[_RESTORED].add(revision.item_id)
    row = session.get(model, revision.item_id)
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
        )
        session.add(made[row.id])


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
