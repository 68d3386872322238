"""One request to an index in PostgreSQL: whose tools, which of them, and the numbers they have meanwhile.

The judges of both arms know tools by small numbers. Here a tool gets one when it first becomes a candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolcrib.search.postgres_filter import Filter, condition as condition_of


@dataclass(slots=True)
class Request:
    """The candidates of one search, and the part of each statement that says which tools may be among them."""

    table: str
    tenant: int
    filters: Sequence[Filter] = ()
    condition: str = field(init=False)  # begins with `AND`, or is empty
    parameters: list[object] = field(init=False)
    identities: list[int] = field(default_factory=list[int])  # by number, as the table knows them
    _numbers: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self.condition, self.parameters = condition_of(self.filters)

    def number(self, identity: int) -> int:
        """The number of a tool here."""
        number = self._numbers.setdefault(identity, len(self.identities))
        if number == len(self.identities):
            self.identities.append(identity)
        return number
