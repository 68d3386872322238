"""Revisions say which call of an agent made them, so that a call can be undone."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("revisions", sa.Column("call", sa.String, nullable=False, server_default=""))
    op.create_index("ix_revisions_call", "revisions", ["call"])


def downgrade() -> None:
    op.drop_index("ix_revisions_call", "revisions")
    op.drop_column("revisions", "call")
