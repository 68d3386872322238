"""What an agent should know of each category, in a few lines: for prompts that name categories, not single tools."""

from pathlib import Path

_HERE = Path(__file__).parent


def guidance(category: str) -> str:
    """The lines for a category; nothing for one that has none."""
    known = {path.stem: path for path in _HERE.glob("*.md")}
    return known[category].read_text(encoding="utf-8") if category in known else ""
