"""WHAT a session remembers: the things its results spoke of, and the tools it found and used.

Values and pure functions. Where a memory is kept, and which model reads it, is not known here.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.memory.working import (
        Outcome as Outcome,
        WorkingMemory as WorkingMemory,
        render_memory as render_memory,
    )

_HOMES = {
    "Outcome": "toolcrib.memory.working",
    "WorkingMemory": "toolcrib.memory.working",
    "render_memory": "toolcrib.memory.working",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
