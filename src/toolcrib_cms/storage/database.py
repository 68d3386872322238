"""The database: opened once, brought up to date, and used in transactions that happen whole or not at all."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from toolcrib_cms.errors import CmsError
from toolcrib_cms.storage.revisions import keep_revisions

MIGRATIONS = Path(__file__).with_name("migrations")
WAIT_FOR_OTHERS_SECONDS = 10  # another process may be writing


class Database:
    """SQLite in a file, or in memory when there is none.

    Threads take turns: SQLite has one writer anyway, and a database in memory has one connection.
    """

    def __init__(self, file: Path | None) -> None:
        from alembic.util import CommandError  # late: needed once a process

        self._turn = RLock()
        self._engine = _engine(file)
        try:
            with self._engine.begin() as connection:
                migrate(connection)
        except (CommandError, DatabaseError) as error:
            self._engine.dispose()
            raise CmsError(
                f"The database {str(file)!r} cannot be used: {_first_line(error)}",
                hint="It may be damaged, or made by a newer version. Move it away to start anew.",
            ) from error

    @contextmanager
    def transaction(self) -> Generator[Session]:
        """A session whose changes are all kept at the end of the block, or none if it raises."""
        with self._turn, Session(self._engine, expire_on_commit=False) as session, session.begin():
            keep_revisions(session)
            yield session

    @contextmanager
    def rehearsal(self) -> Generator[Session]:
        """A session whose changes can be looked at within the block; none is kept."""
        with self._turn, Session(self._engine, expire_on_commit=False) as session:
            keep_revisions(session)
            yield session
            session.rollback()

    def close(self) -> None:
        """Give the file back."""
        self._engine.dispose()


def migrate(connection: Connection, revision: str = "head") -> None:
    """Bring the tables up to date."""
    from alembic import command  # late: needed once a process
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _engine(file: Path | None) -> Engine:
    if file is None:
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": WAIT_FOR_OTHERS_SECONDS})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves: sqlite3 would begin too late to lock
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        if file is not None:
            cursor.execute("PRAGMA journal_mode=WAL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # At once, not at the first write: two that both read and then both write would block each other.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
