"""The package `search.kernels.plain`."""
