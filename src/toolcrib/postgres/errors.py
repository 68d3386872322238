"""Translates errors of PostgreSQL and its driver to a `StoreError` that says what to do."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors as postgres
from psycopg_pool import PoolTimeout

from toolcrib.errors import StoreError

_FULL = "Raise `max_connections` of PostgreSQL, put a pooler before it, or run fewer replicas."
_START = "Check that PostgreSQL runs, and its address, user and password in TOOLCRIB_STORE or --store."

# By class, the first that fits. The driver's own words, told where ours end, never hold the password.
_WORDS: tuple[tuple[type[psycopg.Error], str, str], ...] = (
    (PoolTimeout, "gave no connection in time", "Check that PostgreSQL runs, and whether it has too many connections."),
    (postgres.InsufficientPrivilege, "does not let us do this", "Grant the user the rights on the database's tables."),
    (postgres.DiskFull, "cannot grow: its disk is full", "Make room, then try again; nothing was lost."),
    (postgres.ReadOnlySqlTransaction, "cannot be written: it is a standby", "Name the primary in TOOLCRIB_STORE."),
    (postgres.LockNotAvailable, "is locked by somebody else", "Try again."),
)


# What a server says to a new connection while it goes down, comes up or is full: later it will say something else.
_PASSING = ("starting up", "shutting down", "terminating", "not yet accepting connections", "in recovery mode")
_TOO_MANY = ("too many clients", "too many connections", "remaining connection slots")


def is_connection_lost(error: BaseException) -> bool:
    """Whether the connection broke, so that another one may do better."""
    if isinstance(error, (PoolTimeout, psycopg.InterfaceError)):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    if error.sqlstate is not None:
        return error.sqlstate.startswith(("08", "57P0", "53300"))  # 57P0x: it goes down, or comes up; 53300: too many
    # Without a state the driver speaks: of a connection that ended, or of one that did not come about. A server that
    # refuses us (a wrong password) will do so again, unless it is only on its way down or up.
    message = str(error)
    return "FATAL" not in message or any(words in message for words in (*_PASSING, *_TOO_MANY))


@contextmanager
def translated_errors(place: str) -> Generator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except psycopg.Error as error:
        raise translated_error(error, place) from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{error.object!r} cannot be kept: it is not Unicode.", hint="Send valid UTF-8.") from error


def translated_error(error: psycopg.Error, place: str) -> StoreError:
    """Our error for one of psycopg."""
    for kind, problem, hint in _WORDS:
        if isinstance(error, kind):
            return StoreError(f"The database {place} {problem}.", hint=hint, public=f"The database {problem}.")
    # The driver's words name the host, the user and the database.
    message = (str(error).strip() or type(error).__name__).splitlines()[0].rpartition("failed: ")[2].rstrip(".")
    if any(words in message for words in _TOO_MANY):
        problem, hint = "has no connection left", _FULL
    elif isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        problem, hint = "cannot be reached", _START
    else:
        problem, hint = "cannot do this", None
    return StoreError(f"The database {place} {problem}: {message}.", hint=hint, public=f"The database {problem}.")
