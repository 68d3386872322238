"""The reference app: a small real CMS with 45 tools. It uses Toolcrib by its public names only."""
