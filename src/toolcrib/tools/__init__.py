"""WHAT a tool is. Values only: nothing here knows a catalog, a search or a model."""
