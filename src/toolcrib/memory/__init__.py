"""WHAT a session remembers: the entities in its results, and the tools that it found and used.

Values and pure functions. This package does not know where a memory is stored or which model reads it.
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
