"""A place as its operator sees it: all tenants at once, its version, and how much is in it.

Sessions are reached through `store`, for one tenant at a time, as everywhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, Self

from toolcrib.postgres.address import is_postgres
from toolcrib.stores.moments import now
from toolcrib.stores.store import Store, file_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceStatus:
    """What is in a place."""

    engine: str
    place: str  # without a password
    form: int  # 0 when nothing is there yet
    newest_form: int  # that this Toolcrib knows
    bytes: int = 0
    tenants: int = 0
    sessions: int = 0
    messages: int = 0
    events: int = 0
    open_sessions: int = 0  # that somebody writes now
    open_questions: int = 0  # that a user may still answer


class Place(Protocol):
    """A whole place."""

    def store(self, tenant: str) -> Store:
        """The sessions of one tenant."""
        ...

    async def tenants(self) -> tuple[str, ...]:
        """Those that have sessions."""
        ...

    async def status(self) -> PlaceStatus:
        """What is in it; only looks, also at what an older version wrote."""
        ...

    async def bring_up(self) -> None:
        """Make the tables, or bring them to the newest form."""
        ...

    async def tidy(self) -> int:
        """Forget the leases of the dead, and give back what space can be given; how many leases these were."""
        ...

    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *raised: object) -> None: ...


def open_place(place: str | Path, *, clock: Callable[[], datetime] = now) -> Place:
    """The place of this name (see `open_store`)."""
    if is_postgres(str(place)):
        from toolcrib.stores.postgres_place import PostgresPlace  # late: each needs its own database only

        return PostgresPlace(str(place), clock)
    from toolcrib.stores.sqlite_place import SqlitePlace  # late, as above

    return SqlitePlace(file_of(place), clock)
