"""The package `stores.sqlite`."""
