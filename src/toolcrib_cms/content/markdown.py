"""Markdown as safe HTML: whatever a post says, a visitor's browser runs nothing of it."""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_BLOCKS = re.compile(r"[#>*_`~\[\]()!|-]+")


def html_of(markdown: str) -> str:
    """Markdown rendered and sanitised."""
    import nh3

    return nh3.clean(_renderer().render(markdown), link_rel="noopener noreferrer nofollow")


def excerpt_of(markdown: str, most_characters: int = 180) -> str:
    """The first words of a text, without marks."""
    words = " ".join(_BLOCKS.sub(" ", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown)).split())
    if len(words) <= most_characters:
        return words
    return words[:most_characters].rsplit(" ", 1)[0].rstrip(".,;:") + "…"


@cache
def _renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "typographer": False}).enable(["table", "strikethrough"])
