"""Our search in an agent of LangChain: `create_agent(model, middleware=[ToolcribMiddleware(tools)])`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from toolcrib.errors import DuplicateToolError, MissingExtraError

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool, tool as as_tool
except ModuleNotFoundError as error:
    raise MissingExtraError("The middleware for LangChain", install="langchain") from error

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.integrations.bigtool import read_langchain
from toolcrib.integrations.definitions import searched_tool
from toolcrib.search.interface import LazyIndex


class ToolcribMiddleware(AgentMiddleware[Any, Any, Any]):
    """The model starts with `tool_search`, and gets the definitions of what it finds.

    Tools that `create_agent` is given itself are always there. What was found is in the messages: it is there again in
    every process that has them.
    """

    def __init__(self, tools: Sequence[BaseTool | Callable[..., Any]]) -> None:
        """Search in these tools; the agent can call them, and needs them nowhere else."""
        super().__init__()
        held = [one if isinstance(one, BaseTool) else as_tool(one) for one in tools]
        self._catalog = Catalog(searched_tool(read_langchain(one), one.name) for one in held)
        self._index = LazyIndex(self._catalog)
        [search] = self._toolbox().surface
        if search.name in self._catalog:
            raise DuplicateToolError(search.name, "Toolcrib", "your tools")
        self._search_name = search.name
        find = StructuredTool.from_function(
            func=self._find,
            coroutine=self._find_async,
            name=search.name,
            description=search.description,
            args_schema=dict(search.parameters),
            response_format="content_and_artifact",
        )
        self.tools = [find, *held]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model the tools that it found, and not the others."""
        return handler(self._with_found(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same for an agent that runs asynchronously."""
        return await handler(self._with_found(request))

    def _with_found(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        searched = {one.name: one for one in request.tools if isinstance(one, BaseTool) and one.name in self._catalog}
        others = [one for one in request.tools if not (isinstance(one, BaseTool) and one.name in searched)]
        # In the order in which they were found: what was there before stays where it was, for the prompt cache.
        found = [searched[name] for name in self._names_in(request.messages) if name in searched]
        return request.override(tools=[*others, *found])

    def _names_in(self, messages: Sequence[AnyMessage]) -> dict[str, None]:
        """The tools that searches of this conversation handed over, and those that it called."""
        names: dict[str, None] = {}
        for message in messages:
            if isinstance(message, AIMessage):
                names |= dict.fromkeys(call["name"] for call in message.tool_calls)
            elif isinstance(message, ToolMessage) and message.name == self._search_name:
                found: object = message.artifact
                if isinstance(found, list):
                    names |= dict.fromkeys(one for one in cast("list[object]", found) if isinstance(one, str))
        return names

    def _find(self, **arguments: Any) -> tuple[str, list[str]]:
        return asyncio.run(self._find_async(**arguments))  # LangChain runs it in a thread of its own

    async def _find_async(self, **arguments: Any) -> tuple[str, list[str]]:
        result = await self._toolbox().call(self._search_name, arguments)
        return result.text, list(result.value.tools) if isinstance(result.value, Discovered) else []

    def _toolbox(self) -> Toolbox:
        return Toolbox(self._catalog, self._index, surface=search_surface)
