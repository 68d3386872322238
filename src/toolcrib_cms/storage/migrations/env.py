"""Where alembic starts: on the connection it is given, or on a throw-away database when a migration is written."""

from alembic import context
from sqlalchemy import Connection

from toolcrib_cms.storage.models import Base


def run(connection: Connection) -> None:
    """Apply what is missing."""
    # SQLite cannot alter most things in place; `batch` copies the table.
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


run(context.config.attributes["connection"])
