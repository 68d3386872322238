"""How to use a tool: what to do before, after and next, and what goes wrong. Not for finding it."""

import re
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A tool's usage notes, shown to the model only while the tool is active."""

    # For pydantic, when notes come from YAML: a misspelt key is an error there, not a silent nothing.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    before: str = ""
    after: str = ""
    next: str = ""
    gotcha: str = ""
    notes: str = ""  # what stands under no label

    @classmethod
    def from_text(cls, text: str) -> "Protocol":
        """Notes written as one text: lines `BEFORE: ...` to `GOTCHA: ...`, and what stands before the first of them."""
        notes, *labelled = _LABEL.split(text)
        found = {"notes": notes.strip()}
        for label, text in zip(labelled[::2], labelled[1::2], strict=True):
            known = found.get(label.lower(), "")
            found[label.lower()] = " ".join(part for part in (known, text.strip()) if part and part != "None")
        return cls(**found)

    def render(self) -> str:
        """The notes as lines `BEFORE: ...` to `GOTCHA: ...`, plain notes last; what is empty is left out."""
        lines = [f"{label}: {getattr(self, label.lower())}" for label in LABELS if getattr(self, label.lower())]
        return "\n".join([*lines, *([self.notes] if self.notes else [])])


LABELS = ("BEFORE", "AFTER", "NEXT", "GOTCHA")
_LABEL = re.compile(rf"^[ \t]*({'|'.join(LABELS)}):[ \t]*", re.MULTILINE)
