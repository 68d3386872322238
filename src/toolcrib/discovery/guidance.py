"""What there is to know about a whole category, from a folder of Markdown files: `guidance/images.md`."""

import logging
import re
from pathlib import Path
from stat import S_ISREG

logger = logging.getLogger(__name__)

# Categories come from tools, and tools from anywhere: none of them may lead out of the folder.
_SAFE_PART = re.compile(r"\w[\w .-]{0,99}")


class Guidance:
    """One text per category. A file that is written, changed or removed counts from the next look on."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._read: dict[str, tuple[tuple[int, int], str]] = {}  # by category: the file's time and size, and its text

    def about(self, category: str) -> str:
        """The guidance of a category; nothing if there is none. `cms/images` is `cms/images.md`."""
        parts = category.split("/")
        if not all(_SAFE_PART.fullmatch(part) for part in parts):
            return ""
        path = self._folder.joinpath(*parts[:-1], f"{parts[-1]}.md")
        try:
            held = path.stat()
            state = (held.st_mtime_ns, held.st_size)
            known = self._read.get(category)
            if known is None or known[0] != state:
                if not S_ISREG(held.st_mode):
                    return ""
                known = self._read[category] = (state, path.read_text("utf-8-sig", "replace").strip())
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except (
            OSError
        ) as error:  # a broken disk, or no right to read: the agent works without, the operator should know
            logger.warning("No guidance for the category %r: %s", category, error)
            return ""
        return known[1]
