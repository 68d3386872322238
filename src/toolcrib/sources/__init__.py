"""WHERE tools come from, and the one guard for everything that goes out to the web."""
