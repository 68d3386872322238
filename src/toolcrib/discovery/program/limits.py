"""The limits of one program: how long, how much, how often. Each ends it with a message that names the limit."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from toolcrib.errors import ToolcribError


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLimits:
    """The limits of one program of the surface code. Waiting for tools and for the user counts as no time."""

    seconds: float = 5.0  # of computing
    memory_mb: int = 64
    calls: int = 100  # of tools
    suspensions: int = 1_000  # every call, search and look at a file, and every wait for them
    parallel: int = 8  # calls at once
    output_tokens: int = 2_000  # of the result; a larger one is kept, and the model gets its beginning
    print_characters: int = 2_000
    kept_characters: int = 200_000  # of large results that later programs can use
    pause_seconds: float = 7 * 24 * 3_600.0  # how long a program waits for the user's yes
    # Files of the host, at `/work` in the program; None: there are none.
    workdir: Path | None = field(default=None)
    writes: bool = False  # whether it may change them

    def __post_init__(self) -> None:
        for one in fields(self):
            value: Any = getattr(self, one.name)
            if one.name not in ("workdir", "writes") and not (isinstance(value, int | float) and value > 0):
                raise ToolcribError(
                    f"The limit {one.name!r} of programs is {value!r}.", hint="Give a number above 0, or leave it out."
                )


DEFAULT_LIMITS = CodeLimits()
