"""Commands that are refused outright. A guard against slips, not against intent: each can be written otherwise."""

import re
from collections.abc import Iterable

from toolcrib.errors import ModuleError, ToolRefusedError

_BEGIN = r"(?:^|[;&|(`\n]|\$\()\s*"  # where a command can begin

DENIED: tuple[str, ...] = (
    _BEGIN + r"(?:sudo|su|doas|pkexec)\b",
    _BEGIN + r"(?:shutdown|reboot|halt|poweroff|init\s+[06]|mkfs(?:\.\w+)?|fdisk|parted|wipefs)\b",
    r"\brm\s+(?:-[\w-]+\s+)*(?:--\s+)?[\"']?(?:/|~|\$HOME|/\*|~/\*)[\"']?(?:\s|$|;|&|\|)",
    r"\b(?:chmod|chown)\s+(?:-[\w-]+\s+)*\S+\s+/(?:\s|$)",
    r"\bdd\b[^\n]*\bof=/dev/(?!null\b|stdout\b|stderr\b)",
    r">\s*/dev/(?:sd|hd|vd|nvme|mmcblk|disk|mem)\w*",
    r":\s*\(\s*\)\s*\{",  # the fork bomb that everybody copies
    r"\b(?:curl|wget)\b[^\n|]*\|\s*(?:\w+=\S+\s+)*(?:ba|z|da|k)?sh\b",
)


class Denied:
    """Patterns of commands that are not run."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns: list[re.Pattern[str]] = []
        for pattern in patterns:
            try:
                self._patterns.append(re.compile(pattern))
            except re.error as error:
                raise ModuleError(
                    f"The module 'shell' cannot be made: {pattern!r} is not a regular expression: {error}.",
                    hint="Correct it in `denied`.",
                    options=["denied"],
                ) from error

    def refuse(self, line: str) -> None:
        """Raise if a line of commands fits one of the patterns."""
        for pattern in self._patterns:
            found = pattern.search(line)
            if found is not None:
                raise ToolRefusedError(
                    f"{found[0].strip()!r} is denied here; nothing was run.",
                    hint="Do not try to write it otherwise. Tell the user what you wanted to do and why.",
                )
