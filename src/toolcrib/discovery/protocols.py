"""How to use the tools that are active now: one block of the prompt, with exactly their protocols, never more."""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from stat import S_ISREG

from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)

# Categories come from tools, and tools from anywhere: none of them may lead out of the folder.
_SAFE_PART = re.compile(r"\w[\w .-]{0,99}")


class Guidance:
    """Notes on whole categories, from a folder of Markdown files such as `guidance/images.md`.

    A file that is written, changed or removed counts from the next step on.
    """

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
        except OSError as error:  # a broken disk, or no permission: the agent works without, the operator should know
            logger.warning("No guidance for the category %r: %s", category, error)
            return ""
        return known[1]

    def texts(self, tools: Iterable[Tool]) -> tuple[str, ...]:
        """The guidance of each category of these tools, in the order of the tools."""
        return tuple(map(self.about, dict.fromkeys(tool.category for tool in tools)))


_NAME = re.compile(r"[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+")  # snake_case or camelCase: a plain word is no tool's name

# A note must not close the block that it is in, and continue in our name.
_OUR_TAGS = re.compile(r"<(?=\s*/?\s*(?:active|changed)-protocols)", re.IGNORECASE)

NEW_LINE = "\n"


class Delivery(StrEnum):
    """How the model learns that the active protocols changed."""

    REPLACE = "replace"  # the block in the system prompt is rewritten
    APPEND = "append"  # a new system message tells the change; what was sent stays, and so does the prompt cache
    AUTO = "auto"  # as the provider likes it


# Providers that cache by prefix and take system messages in mid-conversation (some bind reasoning to the prefix, too).
# Elsewhere the list of tools changes with each discovery anyway, and there is no cached prefix to keep.
_APPENDING = frozenset({"anthropic", "openai", "openai-responses", "azure-responses"})


def delivery_for(provider: str, delivery: Delivery = Delivery.AUTO) -> Delivery:
    """How to deliver to a provider such as `anthropic`, or a model such as `anthropic:claude-sonnet`."""
    if delivery is not Delivery.AUTO:
        return delivery
    return Delivery.APPEND if provider.partition(":")[0].strip().casefold() in _APPENDING else Delivery.REPLACE


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of the block: a tool's protocol, or the guidance of a category."""

    heading: str
    text: str

    def __str__(self) -> str:
        return f"## {self.heading}\n{self.text}"


def tools_before(tool: Tool, known: Callable[[str], object]) -> tuple[str, ...]:
    """The tools that the BEFORE note of a tool's protocol names; `known` tells, by its name, whether there is one."""
    if tool.protocol is None:
        return ()
    words = dict.fromkeys(_NAME.findall(tool.protocol.before))
    return tuple(word for word in words if word != tool.name and known(word))


def protocol_notes(tools: Iterable[Tool], guidance: Guidance | None = None) -> tuple[Note, ...]:
    """The notes on these tools: each category's guidance once, before its first tool."""
    notes: list[Note] = []
    guided: set[str] = set()
    for tool in tools:
        if guidance is not None and tool.category not in guided:
            guided.add(tool.category)
            notes += _note(f"category {tool.category}", guidance.about(tool.category))
        if tool.protocol is not None:
            notes += _note(tool.name, tool.protocol.render())
    return tuple(notes)


def protocols_block(tools: Iterable[Tool], guidance: Guidance | None = None) -> str:
    """The block for these tools; empty if they have no notes."""
    return notes_block(protocol_notes(tools, guidance))


def notes_block(notes: Iterable[Note], *, blank_lines: int = 0) -> str:
    """The block of these notes, each followed by `blank_lines`; empty without notes."""
    lines = [f"{note}{NEW_LINE * blank_lines}" for note in notes]
    return NEW_LINE.join(["<active-protocols>", *lines, "</active-protocols>"]) if lines else ""


def protocol_delta(before: Sequence[Note], after: Sequence[Note]) -> str:
    """The message that takes a model from one set of notes to another; nothing when they are the same."""
    fresh = [note for note in after if note not in before]
    staying = {note.heading for note in after}
    # A note that was rewritten stands among the fresh ones, and takes the place of the old one there.
    gone = [note.heading for note in before if note.heading not in staying]
    if not fresh and not gone:
        return ""
    lines = ["<changed-protocols>", *map(str, fresh)]
    if gone:
        lines.append(f"No longer valid: {', '.join(gone)}")
    return "\n".join([*lines, "</changed-protocols>"])


def _note(heading: str, text: str) -> list[Note]:
    return [Note(heading, _OUR_TAGS.sub("‹", text.strip()))] if text else []
