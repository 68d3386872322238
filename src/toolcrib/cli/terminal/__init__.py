"""The package `cli.terminal`."""
