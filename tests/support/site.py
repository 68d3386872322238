"""The reference CMS with an agent on it, for tests that say what its model says."""

from dataclasses import dataclass
from typing import Any

from pydantic_ai.models import Model

from toolcrib.agent.crib import Crib
from toolcrib.agent.prompt import Prompt
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib.tools.result import ToolResult
from toolcrib_cms.cms import Cms


@dataclass(frozen=True)
class Site:
    """The reference CMS with its demo site, and the index of its tools."""

    cms: Cms
    index: ToolIndex

    def crib(self, model: Model | str, **options: Any) -> Crib:
        """The CMS's agent with this model."""
        return Crib(self.cms.catalog, model=model, index=self.index, prompt=Prompt(more=self.cms.prompt), **options)

    def toolbox(self) -> Toolbox:
        return Toolbox(self.cms.catalog, self.index, surface=search_surface)

    async def search(self, query: str, **more: Any) -> ToolResult:
        """What `tool_search` answers in a new session."""
        return await self.toolbox().call("tool_search", {"query": query, **more})

    async def found(self, query: str, **more: Any) -> Discovered:
        return (await self.search(query, **more)).value

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """What a tool gives that must work."""
        result = await self.cms.catalog.get(tool).call(arguments)
        assert not result.failed, result.text
        return result.value
