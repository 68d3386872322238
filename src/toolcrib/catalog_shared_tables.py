"""The tables of the shared catalog: every tool with the revision that brought it, gone ones included.

A tool that went stays as a row without a definition, so that a replica which was away hears of it. `approved` is the
last definition that could be found, `waiting` one that somebody has to approve first.
"""

from toolcrib.postgres.migrations import Component, Migration

CHANNEL = "toolcrib_catalog"

CATALOG = Component(
    "catalog",
    (
        Migration(
            1,
            (
                """
                CREATE TABLE toolcrib_catalog (
                    tenant text PRIMARY KEY,
                    revision bigint NOT NULL DEFAULT 0
                )
                """,
                """
                CREATE TABLE toolcrib_catalog_tool (
                    tenant text NOT NULL REFERENCES toolcrib_catalog ON DELETE CASCADE,
                    name text COLLATE "C" NOT NULL,
                    source text NOT NULL,
                    revision bigint NOT NULL,
                    definition text,
                    approved text,
                    waiting text,
                    PRIMARY KEY (tenant, name)
                )
                """,
                "CREATE INDEX toolcrib_catalog_tool_revision ON toolcrib_catalog_tool (tenant, revision)",
                "CREATE INDEX toolcrib_catalog_tool_source ON toolcrib_catalog_tool (tenant, source)",
            ),
        ),
    ),
)
