"""One site: its database and its image files, opened and seeded at first use."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock

from sqlalchemy.orm import Session

from toolcrib_cms.media.library import MediaLibrary
from toolcrib_cms.storage.database import Database
from toolcrib_cms.storage.revisions import made_by_nobody

_rehearsing: ContextVar[Callable[[Session], None] | None] = ContextVar("cms_rehearsing", default=None)
_MINE = ("cms.db", "cms.db-wal", "cms.db-shm", "media")  # all that we ever write into the folder


class SiteStore:
    """A site in a folder, or one that is forgotten when there is none."""

    def __init__(self, folder: Path | None, *, seeded: bool = True) -> None:
        self._folder = folder
        self._seeded = seeded
        self._opening = Lock()
        self._database: Database | None = None
        self.media = MediaLibrary((folder or _passing_folder(self)) / "media")

    @contextmanager
    def transaction(self) -> Generator[Session]:
        """A session whose changes are all kept at the end of the block, or none if it raises.

        In a rehearsal none is kept, and `look` sees them before they go.
        """
        look = _rehearsing.get()
        if look is None:
            with self._open().transaction() as session:
                yield session
            return
        with self._open().rehearsal() as session:
            yield session
            look(session)

    @contextmanager
    def rehearsal(self, look: Callable[[Session], None]) -> Generator[None]:
        """Within the block, transactions of this task and its threads keep nothing; `look` is called at their ends."""
        token = _rehearsing.set(look)
        try:
            yield
        finally:
            _rehearsing.reset(token)

    def reset(self) -> None:
        """Throw everything away; the next use starts with the demo site anew."""
        self.close()
        if self._folder is not None:
            for name in _MINE:
                _remove(self._folder / name)

    def close(self) -> None:
        """Give the files back; a later use opens them again (what was only in memory is gone)."""
        with self._opening:
            database, self._database = self._database, None
        if database is not None:
            database.close()

    def _open(self) -> Database:
        with self._opening:
            if self._database is None:
                database = Database(self._folder / "cms.db" if self._folder else None)
                if self._seeded:
                    self._seed(database)
                self._database = database
            return self._database

    def _seed(self, database: Database) -> None:
        from toolcrib_cms.seed.seed import is_seeded, seed  # late: draws pictures

        with database.transaction() as session:  # all of it or nothing: a stopped start begins anew
            if not is_seeded(session):
                made_by_nobody(session)
                seed(session, self.media)


def _passing_folder(owner: SiteStore) -> Path:
    """A folder that goes with its owner."""
    folder = tempfile.mkdtemp(prefix="toolcrib-cms-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
