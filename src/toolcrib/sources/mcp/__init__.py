"""The package `sources.mcp`."""
