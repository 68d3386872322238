"""The package `server.routes`."""
