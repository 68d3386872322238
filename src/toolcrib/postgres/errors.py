"""What PostgreSQL and its driver complain of, as a `StoreError` that says what to do."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors as postgres
from psycopg_pool import PoolTimeout

from toolcrib.errors import StoreError

_START = "Check that PostgreSQL runs, and its address, user and password in TOOLCRIB_STORE or --store."

# By class, the first that fits. The driver's own words, told where ours end, never hold the password.
_WORDS: tuple[tuple[type[psycopg.Error], str, str], ...] = (
    (PoolTimeout, "gave no connection in time", "Check that PostgreSQL runs, and whether it has too many connections."),
    (postgres.InsufficientPrivilege, "does not let us do this", "Grant the user the rights on the database's tables."),
    (postgres.DiskFull, "cannot grow: its disk is full", "Make room, then try again; nothing was lost."),
    (postgres.ReadOnlySqlTransaction, "cannot be written: it is a standby", "Name the primary in TOOLCRIB_STORE."),
    (postgres.LockNotAvailable, "is locked by somebody else", "Try again."),
)


def is_connection_lost(error: BaseException) -> bool:
    """Whether the connection broke, so that another one may do better."""
    if isinstance(error, (PoolTimeout, psycopg.errors.ConnectionTimeout)):
        return False  # it was waited for long enough
    if isinstance(error, psycopg.InterfaceError):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    if error.sqlstate is not None:
        return error.sqlstate.startswith(("08", "57P0"))  # 57P0x: the server goes down, or comes up
    # Without a state the driver speaks: of a connection that ended, or of one that did not come about. A server that
    # refuses us (a wrong password) will do so again, unless it is only on its way down or up.
    said = str(error)
    return "FATAL" not in said or "starting up" in said or "shutting down" in said or "terminating" in said


@contextmanager
def translated_errors(place: str) -> Generator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except psycopg.Error as error:
        raise said_by_us(error, place) from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{error.object!r} cannot be kept: it is not Unicode.", hint="Send valid UTF-8.") from error


def said_by_us(error: psycopg.Error, place: str) -> StoreError:
    """The error that tells of another."""
    for kind, problem, hint in _WORDS:
        if isinstance(error, kind):
            return StoreError(f"The database {place} {problem}.", hint=hint)
    said = (str(error).strip() or type(error).__name__).splitlines()[0].rpartition("failed: ")[2].rstrip(".")
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return StoreError(f"The database {place} cannot be reached: {said}.", hint=_START)
    return StoreError(f"The database {place} cannot do this: {said}.")
