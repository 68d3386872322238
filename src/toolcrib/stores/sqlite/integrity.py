"""Detects damage: a checksum in each row, and a check of the whole file when it is opened.

A checksum covers all columns of a row, its key among them, so that a row cannot stand in for another one. A session's
row counts the rows that belong to it, so that one that vanished is missed. The checksums find accidents (a failing
disk, a bad copy, another program's write), not forgery: whoever can write the file can write a checksum.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar
from zlib import crc32

from toolcrib.errors import StoreDamagedError, StoreError
from toolcrib.stores.record import from_microseconds, from_text

Row: TypeAlias = tuple[Any, ...]
RowType = TypeVar("RowType", bound=Row)

WHOLE_BYTES = 256 * 2**20  # up to this size (half a second) all is checked at opening, beyond it the small tables
_SMALL_TABLES = ("sessions", "leases", "calls", "confirmations")
_JSON = {"memory", "toolbox", "usage", "message", "event", "arguments"}
_TIMES = {"created_at", "updated_at", "expires_at", "settled_at", "begun_at", "at"}


def checksum(row: Row) -> int:
    """The CRC-32 of a row's values, each with its type and length."""
    crc = 0
    for value in row:
        text = "" if value is None else value if isinstance(value, str) else repr(value)
        data = text.encode(errors="surrogateescape")
        crc = crc32(data, crc32(f"{type(value).__name__}{len(data)}:".encode(), crc))
    return crc


def as_text(data: bytes) -> str:
    """Any bytes as text, and back: the checksum says whether they are right, not the decoder."""
    return data.decode(errors="surrogateescape")


def damaged(connection: sqlite3.Connection, what: str) -> StoreDamagedError:
    """The error that tells of damage in the connection's file."""
    return StoreDamagedError(connection.execute("PRAGMA database_list").fetchone()[2], what)


class Table(Generic[RowType]):
    """A table whose rows have checksums: the only way in which rows are written and read."""

    def __init__(self, name: str, kind: "type[RowType] | None", *columns: str, key: int) -> None:
        """The first `key` columns are the primary key; rows become values of `kind`, or tuples."""
        self.name = name
        self.columns = columns
        self._make: Any = getattr(kind, "_make", tuple)
        places = ", ".join("?" * (len(columns) + 1))
        self._insert = f"INTO {name} ({', '.join(columns)}, checksum) VALUES ({places})"
        self._select = f"SELECT {', '.join(columns)}, checksum FROM {name} WHERE "
        values = ", ".join(f"{column} = ?" for column in (*columns[key:], "checksum"))
        self._update = f"UPDATE {name} SET {values} WHERE {' AND '.join(f'{one} = ?' for one in columns[:key])}"
        self._key = key

    def insert(self, connection: sqlite3.Connection, rows: Iterable[Row], *, conflict: str = "ABORT") -> int:
        """Add rows; returns how many were added."""
        query = f"INSERT OR {conflict} {self._insert}"
        return connection.executemany(query, [(*row, checksum(row)) for row in rows]).rowcount

    def update(self, connection: sqlite3.Connection, row: RowType) -> bool:
        """Replace the row with this key; returns whether there was one."""
        values = (*row[self._key :], checksum(row), *row[: self._key])
        return connection.execute(self._update, values).rowcount > 0

    def select(self, connection: sqlite3.Connection, where: str, values: Row = ()) -> Iterator[RowType]:
        """The matching rows, each verified by its checksum; `where` may also order and limit them."""
        for *row, there in connection.execute(self._select + where, values):
            if there != checksum(tuple(row)):
                raise damaged(connection, f"a row of {self.name!r} does not fit its checksum")
            yield self._make(row)

    def add_checksums(self, connection: sqlite3.Connection) -> None:
        """Give each row of an older file its checksum; refused where a row cannot be right."""
        rows = connection.execute(f"SELECT rowid, {', '.join(self.columns)} FROM {self.name}").fetchall()
        for _, *row in rows:
            if not self._is_plausible(row):
                raise damaged(connection, f"a row of {self.name!r} cannot be read")
        query = f"UPDATE {self.name} SET checksum = ? WHERE rowid = ?"
        connection.executemany(query, [(checksum(tuple(row)), rowid) for rowid, *row in rows])

    def _is_plausible(self, row: list[Any]) -> bool:
        try:
            for column, value in zip(self.columns, row, strict=True):
                if isinstance(value, str):
                    value.encode()  # what is no UTF-8 was read as half surrogate pairs
                if column in _JSON:
                    from_text(value, column)
                if column in _TIMES and value is not None:
                    from_microseconds(int(value))
        except (StoreError, ValueError, TypeError, OverflowError):
            return False
        return True


def check(connection: sqlite3.Connection, *, whole: bool = False) -> None:
    """Refuse a file whose structure is damaged: all of it, or, in a large one, of the tables that decide."""
    size = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
    checks = ["PRAGMA integrity_check(1)"]
    if size > WHOLE_BYTES and not whole:
        checks = [f"PRAGMA integrity_check('{table}')" for table in _SMALL_TABLES]
    for query in checks:
        found = connection.execute(query).fetchone()[0]
        if found != "ok":
            lines = [line for line in str(found).splitlines() if not line.startswith("***")]
            raise damaged(connection, (lines or ["its structure is broken"])[0].rstrip("."))


def columns_of(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """The columns of each table."""
    found = connection.execute(
        "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns"
        " WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY columns.cid"
    )
    columns: dict[str, list[str]] = {}
    for table, column in found:
        columns.setdefault(table, []).append(column)
    return columns
