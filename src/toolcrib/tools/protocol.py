"""How to use a tool: what to do before, after and next, and what goes wrong. Not for finding it."""

from dataclasses import dataclass, fields
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

    def render(self) -> str:
        """The notes as lines `BEFORE: ...` to `GOTCHA: ...`; what is empty is left out."""
        notes = ((field.name.upper(), getattr(self, field.name)) for field in fields(self))
        return "\n".join(f"{label}: {text}" for label, text in notes if text)
