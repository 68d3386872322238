"""Our search as a search transform of a FastMCP server: `server.add_transform(ToolcribSearchTransform())`."""

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any

from toolcrib.errors import MissingExtraError

try:
    from fastmcp.server.context import Context
    from fastmcp.server.transforms.search.base import BaseSearchTransform, SearchResultSerializer
    from fastmcp.tools.base import Tool, ToolResult
    from mcp_types import TextContent
except ModuleNotFoundError as error:
    raise MissingExtraError("A search transform of FastMCP", "gateway") from error

from toolcrib.discovery.render import quoted
from toolcrib.integrations.definitions import Definition, DefinitionIndex, Found

Query = Annotated[str, "What should be done: action and thing"]

_UNSURE = "Perhaps none of them fits: choose with care, or search again in other words."
_NOTHING = "Search once more in other words if one could help; else answer without tools."


class ToolcribSearchTransform(BaseSearchTransform):
    """As `BM25SearchTransform`, with our index: any language, few tools when the search is sure, none when none fits.

    What is pinned, who may see what, and the call are FastMCP's. A search says how sure it is; the tools stand under
    `result`, as in FastMCP's own transforms.
    """

    def __init__(
        self,
        *,
        max_results: int = 5,
        always_visible: list[str] | None = None,
        search_tool_name: str = "search_tools",
        call_tool_name: str = "call_tool",
        search_result_serializer: SearchResultSerializer | None = None,
    ) -> None:
        super().__init__(
            max_results=max_results,
            always_visible=always_visible,
            search_tool_name=search_tool_name,
            call_tool_name=call_tool_name,
            search_result_serializer=search_result_serializer,
        )
        self._index = DefinitionIndex(_read)

    def _make_search_tool(self) -> Tool:
        async def search_tools(query: Query, ctx: Context) -> ToolResult:
            """Find tools for a task. Describe the task in any language. Gives their definitions, best first."""
            found = await self._found(await self._get_visible_tools(ctx), query)
            rendered: Any = await self._render_results(found.tools) if found.tools else []
            return _answer(query, found.confidence, rendered)

        return Tool.from_function(fn=search_tools, name=self._search_tool_name)

    async def _search(self, tools: Sequence[Tool], query: str) -> Sequence[Tool]:
        return (await self._found(tools, query)).tools

    async def _found(self, tools: Sequence[Tool], query: str) -> Found[Tool]:
        return await asyncio.to_thread(self._index.search, query, tools, limit=self._max_results)


def _answer(query: str, confidence: str, rendered: Any) -> ToolResult:
    if confidence == "none":
        text = f"No tool fits {quoted(query)}. {_NOTHING}"
    else:
        definitions = rendered if isinstance(rendered, str) else json.dumps(rendered, ensure_ascii=False, default=str)
        note = f" {_UNSURE}" if confidence == "unsure" else ""
        text = f"Found ({confidence}).{note}\n{definitions}"
    return ToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content={"result": rendered, "confidence": confidence},
    )


def _read(tool: Tool) -> Definition:
    return Definition(tool.name, tool.description or "", tool.parameters)
