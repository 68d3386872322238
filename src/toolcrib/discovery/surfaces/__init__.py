"""The package `discovery.surfaces`."""
