"""The tools of one source in a catalogue: what is new is added, what changed replaced, what went removed."""

from collections.abc import Iterable

from toolcrib.errors import CatalogError
from toolcrib.sources.source import ToolHolder
from toolcrib.tools.tool import Tool


class Shelf:
    """One source's part of a catalogue. It touches no tool that it did not put there."""

    def __init__(self, catalog: ToolHolder) -> None:
        self._catalog = catalog
        self._tools: dict[str, Tool] = {}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What stands on it, in the order it came."""
        return tuple(self._tools.values())

    def keep(self, tools: Iterable[Tool]) -> list[str]:
        """Hold exactly these tools; gives a sentence for each that the catalogue refused."""
        wanted = {tool.name: tool for tool in tools}
        for name in [name for name in self._tools if name not in wanted]:
            self._remove(name)
        new = [tool for name, tool in wanted.items() if name not in self._tools]
        for name, tool in wanted.items():
            if name in self._tools and self._tools[name] != tool:
                self._catalog.replace(tool)
                self._tools[name] = tool
        return self._add(new)

    def clear(self) -> None:
        """Take everything away."""
        self.keep(())

    def _add(self, tools: list[Tool]) -> list[str]:
        try:
            self._catalog.add_all(tools)
        except CatalogError as error:
            if len(tools) == 1:
                return [str(error)]
            return [refused for tool in tools for refused in self._add([tool])]  # the others can still be held
        self._tools |= {tool.name: tool for tool in tools}
        return []

    def _remove(self, name: str) -> None:
        del self._tools[name]
        try:
            self._catalog.remove(name)
        except CatalogError:  # somebody else took it away; that is what was wanted
            return
