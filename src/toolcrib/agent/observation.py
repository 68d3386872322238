"""What the results of a run are good for: entities for the memory, and what the index can learn from.

Results that come and cannot be read are a silent failure: the agent seems to work, and remembers nothing.
"""

import logging

from toolcrib.agent.crib import Crib
from toolcrib.discovery.discovered import Discovered
from toolcrib.discovery.display import SOURCE
from toolcrib.errors import ToolcribError
from toolcrib.memory.entities import Reading
from toolcrib.memory.working import WorkingMemory
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)


class Observation:
    """The results of one run."""

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._readings: dict[str, Reading] = {}  # the last one of each tool whose results hold entities
        self._found_by: dict[str, str] = {}  # tool: the query that led to it in this run

    def found(self, discovered: Discovered) -> None:
        """A search gave these tools."""
        for name in discovered.tools:
            self._found_by[name] = discovered.query

    def result(self, tool: Tool, result: ToolResult, memory: WorkingMemory) -> WorkingMemory:
        """A tool ran and gave this: the memory after it. Tools for finding tools are not remembered."""
        if tool.source == SOURCE:
            return memory
        noted = memory.with_result(tool, result, at=self._crib.clock())
        if noted.reading.processed is not None:
            self._readings[tool.name] = noted.reading
        if not result.failed:
            self._learn(tool.name)
        return noted.memory

    @property
    def silent_failure(self) -> str:
        """A warning when results came and none of them could be read; else nothing."""
        if not self._readings or any(reading.processed for reading in self._readings.values()):
            return ""
        return (
            f"Results came from {', '.join(self._readings)}, but no entity could be read from any of them: "
            "nothing is remembered. Check the `extraction` of these tools."
        )

    def _learn(self, name: str) -> None:
        query = self._found_by.pop(name, None)
        if not self._crib.learn or query is None:
            return
        try:
            self._crib.tool_index.learn(query, name)
        except ToolcribError as error:  # the tool went away, or the embedder is down: nothing a user should notice
            logger.warning("Nothing learned from the use of %s: %s", name, error)
