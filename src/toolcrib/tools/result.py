"""What a tool gives back. Its reader is a model, so failures are results too, never exceptions."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The outcome of one call: `value` for programs, `text` for the model."""

    text: str
    value: Any = None  # whatever the tool returned; only its own extraction knows the shape
    failed: bool = False

    def __post_init__(self) -> None:
        # Half a surrogate pair is legal in a Python string, but can be neither sent nor stored.
        object.__setattr__(self, "text", self.text.encode("utf-8", "replace").decode())

    @classmethod
    def of(cls, value: object) -> "ToolResult":
        """A success, its text rendered from the value."""
        if isinstance(value, ToolResult):
            return value
        return cls(text=value if isinstance(value, str) else as_json(value), value=value)

    @classmethod
    def failure(cls, text: str) -> "ToolResult":
        """A failure that tells the model what to do about it."""
        return cls(text=text, failed=True)


def as_json(value: object) -> str:
    """Compact JSON of anything: models, dataclasses and dates included; what JSON cannot say becomes its `str`."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        from pydantic_core import to_json  # late: plain results need no pydantic

        return to_json(value, fallback=str, inf_nan_mode="strings").decode()
