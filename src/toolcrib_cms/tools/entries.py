"""Entries: collections of like things, such as products or people."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import select

from toolcrib_cms.errors import RefusalError
from toolcrib_cms.rows import entry_details, entry_row
from toolcrib_cms.storage import lookup
from toolcrib_cms.storage.models import Collection, Entry
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.arguments import CollectionKey, Cursor, Limit, Row


class EntryTools:
    """The tools of the category `entries`."""

    def __init__(self, store: SiteStore) -> None:
        self._store = store

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.cms_getCollectionEntries, self.cms_getEntryContent)

    def cms_getCollectionEntries(
        self,
        collection: CollectionKey,
        filter: Annotated[
            dict[str, Any] | None,
            Field(description="Only entries whose fields have these values, such as {light: low}"),
        ] = None,
        sort: Annotated[str | None, Field(description="Field to sort by; a leading minus reverses")] = None,
        limit: Limit = 20,
        cursor: Cursor | None = None,
    ) -> Row:
        """List the entries of a content collection, such as team members, products, events or testimonials."""
        with self._store.transaction() as session:
            owner = lookup.collection(session, collection)
            query = select(Entry).where(Entry.collection_key == owner.key).order_by(Entry.place, Entry.id)
            found = [one for one in session.scalars(query) if _fits(owner, one, filter or {})]
            if sort:
                name = _known_field(owner, sort.removeprefix("-"))
                there = [one for one in found if _value(one, name) is not None]
                missing = [one for one in found if _value(one, name) is None]
                found = sorted(there, key=lambda one: _value(one, name), reverse=sort.startswith("-")) + missing
            start = lookup.start_of(cursor)
            after = str(start + limit) if len(found) > start + limit else None
            return {
                "collection": owner.key,
                "total": len(found),
                "entries": [entry_row(one) for one in found[start : start + limit]],
                "nextCursor": after,
            }

    def cms_getEntryContent(
        self,
        collection: CollectionKey,
        entry: Annotated[str, Field(description="Id or slug of the entry", min_length=1)],
    ) -> Row:
        """Read all fields of one collection entry, for example one team member or one product."""
        with self._store.transaction() as session:
            return entry_details(lookup.entry(session, lookup.collection(session, collection), entry))


def _fits(owner: Collection, entry: Entry, wanted: dict[str, Any]) -> bool:
    return all(_same(_value(entry, _known_field(owner, name)), value) for name, value in wanted.items())


def _same(held: Any, wanted: Any) -> bool:
    if isinstance(held, str) and isinstance(wanted, str):
        return held.casefold() == wanted.casefold()
    return bool(held == wanted)


def _value(entry: Entry, name: str) -> Any:
    return entry.title if name == "title" else entry.data.get(name)


def _known_field(owner: Collection, name: str) -> str:
    known = ["title", *owner.fields.get("properties", {})]
    if name not in known:
        raise RefusalError(f"{owner.key} has no field {name!r}.", hint=f"Its fields: {', '.join(known)}.")
    return name
