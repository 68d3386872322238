"""Stands between the sources and the catalogue: a definition that nobody approved is held back, out of all sight."""

import logging
from collections.abc import Iterable

from toolcrib.catalog import Catalog
from toolcrib.gateway.lock import Approvals, Pin, pin_of
from toolcrib.gateway.plain_words import plainly_described
from toolcrib.sources.mcp_tool import McpToolCall
from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)


class Gate:
    """A catalogue as sources see it. Without a lock everything goes through.

    What is held back is neither found nor called. It is written beside the approvals, from where
    `toolcrib gateway approve` reads it.
    """

    def __init__(self, catalog: Catalog, lock: Approvals | None = None) -> None:
        self.catalog = catalog
        self.lock = lock
        self._held: dict[str, Tool] = {}
        self._sources: set[str] = set()  # those that this gate has seen
        self._closed = False

    @property
    def quarantined(self) -> tuple[Tool, ...]:
        """What waits to be approved."""
        return tuple(self._held.values())

    def awaits(self, source: str) -> bool:
        """Whether the first list of this source is still to come, and to be trusted."""
        return self.lock is not None and source in self.lock.awaited

    def add_all(self, tools: Iterable[Tool]) -> None:
        """Take tools, and hold back what is not approved."""
        offered = list(tools)
        self._sources |= {tool.source for tool in offered}
        if self.lock is None:
            self.catalog.add_all(map(_plain, offered))
            return
        pins = {tool.name: pin_of(tool) for tool in offered}
        first = {name: pin for name, pin in pins.items() if pin.source in self.lock.awaited}
        first = self.lock.trust(first) if first else first
        good = [tool for tool in offered if tool.name in first or self.lock.approves(tool.name, pins[tool.name])]
        self.catalog.add_all(map(_plain, good))
        if first:
            logger.info("Approved %d tools at first sight, from %s.", len(first), _sources(first.values()))
        let_in = {tool.name for tool in good}
        self._hold(tool for tool in offered if tool.name not in let_in)

    def replace(self, tool: Tool) -> None:
        """Take a changed tool, or hold it back and take the old one away with it."""
        if self.lock is not None and not self.lock.approves(tool.name, pin_of(tool)):
            if tool.name in self.catalog:
                self.catalog.remove(tool.name)
            self._hold([tool])
        elif tool.name in self.catalog:
            self.catalog.replace(_plain(tool))
        else:
            self._let_in([tool])

    def remove(self, name: str) -> None:
        """Let go of a tool, wherever it is."""
        if self._held.pop(name, None) is None:
            self.catalog.remove(name)
        else:
            self._write()

    def look_again(self) -> None:
        """Let in what was approved meanwhile, and hold back what no longer is."""
        if self.lock is None or not self.lock.reread():
            return
        self._let_in([tool for tool in self.quarantined if self.lock.approves(tool.name, pin_of(tool))])
        for tool in [tool for tool in self.catalog if tool.source in self._sources]:
            if not self.lock.approves(tool.name, pin_of(tool)) and tool.source not in self.lock.awaited:
                self.catalog.remove(tool.name)
                self._hold([tool])

    def close(self) -> None:
        """Leave what waits as it is written: sources that end take their tools away, and that is no news of them."""
        self._closed = True
        if self.lock is not None:
            self.lock.close()

    def _let_in(self, tools: list[Tool]) -> None:
        if not tools:
            return
        for tool in tools:
            self._held.pop(tool.name, None)
        self.catalog.add_all(map(_plain, tools))
        self._write()

    def _hold(self, tools: Iterable[Tool]) -> None:
        held = {tool.name: tool for tool in tools}
        if held:
            logger.warning("Held back until `toolcrib gateway approve`: %s", ", ".join(held))
            self._held |= held
        self._write()

    def _write(self) -> None:
        if self.lock is None or not self.lock.keeps or self._closed:
            return
        self.lock.write_waiting({tool.name: pin_of(tool) for tool in self.quarantined}, self._sources)


def _plain(tool: Tool) -> Tool:
    """What servers say of their tools was written by strangers; documents and code are the user's own choice."""
    return plainly_described(tool) if isinstance(tool.call, McpToolCall) else tool


def _sources(pins: Iterable[Pin]) -> str:
    return ", ".join(sorted({pin.source for pin in pins}))
