"""ALL OF POSTGRESQL: connections, transactions and migrations, sessions, the shared catalog, the index.

`stores`, `catalog` and `search` open it late, through the same seams as their own implementations.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.postgres.catalog import SharedCatalog as SharedCatalog
    from toolcrib.postgres.database import PostgresDatabase as PostgresDatabase
    from toolcrib.postgres.index.filter import policy_filter as policy_filter
    from toolcrib.postgres.index.index import PostgresIndex as PostgresIndex
    from toolcrib.postgres.replica import CatalogRunner as CatalogRunner, SharedSource as SharedSource
    from toolcrib.postgres.sessions import PostgresStore as PostgresStore

_HOMES = {
    "CatalogRunner": "toolcrib.postgres.replica",
    "PostgresDatabase": "toolcrib.postgres.database",
    "PostgresIndex": "toolcrib.postgres.index.index",
    "PostgresStore": "toolcrib.postgres.sessions",
    "SharedCatalog": "toolcrib.postgres.catalog",
    "SharedSource": "toolcrib.postgres.replica",
    "policy_filter": "toolcrib.postgres.index.filter",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, extra="postgres")
