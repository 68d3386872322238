"""How to use a tool: what to do before, after and next, and what goes wrong. Not for finding it."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A tool's usage notes, shown to the model only while the tool is active."""

    before: str = ""
    after: str = ""
    next: str = ""
    gotcha: str = ""

    def render(self) -> str:
        """The notes as lines `BEFORE: ...` to `GOTCHA: ...`; what is empty is left out."""
        notes = ((field.name.upper(), getattr(self, field.name)) for field in fields(self))
        return "\n".join(f"{label}: {text}" for label, text in notes if text)
