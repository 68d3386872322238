"""HOW tools are found. Reads a tool's text; knows no catalog, no session and no model provider."""
