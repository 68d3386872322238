"""The package `postgres.index`."""
