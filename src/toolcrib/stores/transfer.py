"""Taking sessions from one place into another, so that nothing is lost and nothing overwritten by accident.

It may be broken off at any moment and begun again: a session goes over whole or not at all, and what is there already
and the same is passed over.
"""

from dataclasses import dataclass
from enum import StrEnum

from toolcrib.errors import StoreError
from toolcrib.stores.archive import Parcel
from toolcrib.stores.place import Place


class Arrival(StrEnum):
    """How a session stands to what is at its destination."""

    NEW = "new"
    SAME = "same"
    DIFFERENT = "different"


@dataclass(slots=True)
class Tally:
    """How many sessions were met of each kind."""

    new: int = 0
    same: int = 0
    different: int = 0
    first_different: str = ""

    def add(self, parcel: Parcel, arrival: Arrival) -> None:
        setattr(self, arrival.value, getattr(self, arrival.value) + 1)
        if arrival is Arrival.DIFFERENT and not self.first_different:
            of_tenant = f" of the tenant {parcel.tenant!r}" if parcel.tenant else ""
            self.first_different = f"{parcel.record.id!r}{of_tenant}"

    def refuse_different(self) -> None:
        """Refuse to go on when something would be overwritten."""
        if self.different:
            raise StoreError(
                f"{self.different} sessions are there already and differ, the first is {self.first_different}. "
                "Nothing was written.",
                hint="Give --overwrite to replace them, or another store.",
            )


class Destination:
    """A place that sessions are taken to."""

    def __init__(self, place: Place, *, overwrite: bool = False) -> None:
        self._place = place
        self._overwrite = overwrite
        self._known: dict[str, set[str]] = {}  # by tenant

    async def compare(self, parcel: Parcel) -> Arrival:
        """Whether a session is there already; only looks."""
        if parcel.tenant not in self._known:
            is_there = parcel.tenant in await self._place.tenants()
            infos = await self._place.store(parcel.tenant).sessions() if is_there else ()
            self._known[parcel.tenant] = {info.id for info in infos}
        if parcel.record.id not in self._known[parcel.tenant]:
            return Arrival.NEW
        there = await self._place.store(parcel.tenant).read(parcel.record.id)
        return Arrival.SAME if there == parcel.record else Arrival.DIFFERENT

    async def take_in(self, parcel: Parcel) -> Arrival:
        """Keep a session there, and look whether it arrived as it was sent."""
        arrival = await self.compare(parcel)
        if arrival is Arrival.SAME:
            return arrival
        await self._place.store(parcel.tenant).restore(parcel.record, overwrite=self._overwrite)
        self._known[parcel.tenant].add(parcel.record.id)
        if await self.compare(parcel) is not Arrival.SAME:
            raise StoreError(
                f"The session {parcel.record.id!r} did not arrive as it was sent.",
                hint="Somebody may use it there just now: stop the servers on both stores, and try again.",
            )
        return arrival
