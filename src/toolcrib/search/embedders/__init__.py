"""The package `search.embedders`."""
