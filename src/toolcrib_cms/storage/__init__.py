"""WHERE content is kept: tables, transactions, revisions, and who points at whom. Knows no tools and no HTML."""
