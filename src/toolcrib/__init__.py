"""The tool crib for LLM agents."""
