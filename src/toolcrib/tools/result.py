"""What a tool returns. A model reads it, so failures are results too, never exceptions."""

import json
from dataclasses import dataclass, field
from typing import Any, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The outcome of one call: `value` for programs, `text` for the model."""

    text: str
    value: Any = None  # whatever the tool returned; only its own extraction knows the shape
    failed: bool = False
    # For Pydantic AI, where the tool used its types: a `ToolReturn`, or a value with images, audio or documents.
    native: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Half a surrogate pair is legal in a Python string, but can be neither sent nor stored.
        object.__setattr__(self, "text", self.text.encode("utf-8", "replace").decode())

    @classmethod
    def of(cls, value: object) -> "ToolResult":
        """A success, its text rendered from the value."""
        if isinstance(value, ToolResult):
            return value
        if isinstance(value, str):
            return cls(text=value, value=value)
        if _is_native(value, "ToolReturn"):
            inner = cls.of(cast("Any", value).return_value)
            return cls(text=inner.text, value=inner.value, native=value)
        parts: list[object] = [*cast("list[object]", value)] if isinstance(value, list) else [value]
        if any(_is_native(part, *_MEDIA) for part in parts):
            return cls(text="\n".join(map(_described, parts)), value=value, native=value)
        return cls(text=as_json(cast("object", value)), value=value)

    @classmethod
    def failure(cls, text: str) -> "ToolResult":
        """A failure that tells the model what to do about it."""
        return cls(text=text, failed=True)

    @classmethod
    def control(cls, error: BaseException) -> "ToolResult":
        """A signal to Pydantic AI: `value` is the exception. Without Pydantic AI its message is a failure."""
        return cls(text=str(error) or f"It was not called: {type(error).__name__}.", value=error, failed=True)


_MEDIA = ("BinaryContent", "BinaryImage", "ImageUrl", "AudioUrl", "VideoUrl", "DocumentUrl", "UploadedFile")


def _is_native(value: object, *names: str) -> bool:
    """Whether a value is of one of these classes of Pydantic AI, which is not loaded for that."""
    return type(value).__name__ in names and type(value).__module__.startswith("pydantic_ai.")


def _described(part: object) -> str:
    """A part of a result as text; for a file only its type."""
    if not _is_native(part, *_MEDIA):
        return part if isinstance(part, str) else as_json(part)
    where = getattr(part, "url", None) or getattr(part, "identifier", "")
    return f"[{getattr(part, 'media_type', 'file')} {where}]"


def as_json(value: object) -> str:
    """Compact JSON of anything: models, dataclasses and dates included; what JSON cannot express becomes its `str`."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        from pydantic_core import to_json  # late: plain results need no pydantic

        return to_json(value, fallback=str, inf_nan_mode="strings").decode()
