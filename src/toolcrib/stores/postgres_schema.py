"""The tables of a PostgreSQL store. Every row has a tenant, and every key begins with it.

JSON is kept as text, as it was said: `jsonb` would refuse some characters and forget the order of keys. Keys are
compared byte by byte (`COLLATE "C"`): in one order everywhere, and an update of the system's languages breaks no index.
"""

from toolcrib.postgres.migrations import Component, Migration

_KEY = 'text COLLATE "C" NOT NULL'
_OF_SESSION = "FOREIGN KEY (tenant, session) REFERENCES toolcrib_sessions (tenant, id) ON DELETE CASCADE"

SESSIONS = Component(
    "sessions",
    (
        Migration(
            1,
            (
                f"""CREATE TABLE toolcrib_sessions (
                    tenant {_KEY}, id {_KEY}, title text NOT NULL, created_at bigint NOT NULL,
                    updated_at bigint NOT NULL, memory text NOT NULL, toolbox text NOT NULL, usage text NOT NULL,
                    PRIMARY KEY (tenant, id))""",
                "CREATE INDEX toolcrib_sessions_by_change ON toolcrib_sessions (tenant, updated_at)",
                f"""CREATE TABLE toolcrib_messages (
                    tenant {_KEY}, session {_KEY}, position integer NOT NULL, message text NOT NULL,
                    PRIMARY KEY (tenant, session, position), {_OF_SESSION})""",
                f"""CREATE TABLE toolcrib_events (
                    tenant {_KEY}, session {_KEY}, position integer NOT NULL, at bigint NOT NULL, event text NOT NULL,
                    PRIMARY KEY (tenant, session, position), {_OF_SESSION})""",
                f"""CREATE TABLE toolcrib_confirmations (
                    tenant {_KEY}, session {_KEY}, id {_KEY}, tool text NOT NULL, arguments text NOT NULL,
                    digest text NOT NULL, created_at bigint NOT NULL, expires_at bigint NOT NULL, settled_at bigint,
                    settled_as text, PRIMARY KEY (tenant, session, id), {_OF_SESSION})""",
                # Changed in every write: room in each page keeps a new version of a row beside the old one.
                f"""CREATE TABLE toolcrib_leases (
                    tenant {_KEY}, session {_KEY}, token text NOT NULL, host text NOT NULL, pid bigint NOT NULL,
                    started text NOT NULL, expires_at bigint NOT NULL, last_write text NOT NULL DEFAULT '',
                    PRIMARY KEY (tenant, session), {_OF_SESSION}) WITH (fillfactor = 50)""",
            ),
        ),
    ),
)
