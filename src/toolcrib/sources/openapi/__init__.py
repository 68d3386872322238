"""The package `sources.openapi`."""
