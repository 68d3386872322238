"""Our search as the `retrieve_tools_function` of langgraph-bigtool's `create_agent`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.errors import MissingExtraError
from toolcrib.integrations.definitions import Definition, DefinitionIndex

try:
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ModuleNotFoundError as error:
    raise MissingExtraError("The search for langgraph-bigtool", install="langgraph-bigtool") from error

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


def retrieve_tools_function(
    registry: "Mapping[str, BaseTool | Callable[..., Any]]", *, limit: int = 5
) -> Callable[[str], list[str]]:
    """A function that finds tools of a registry, for `create_agent(llm, registry, retrieve_tools_function=...)`.

    Args:
        registry: The tools by their ids, as `create_agent` gets them.
        limit: The most tools of one search. When it is sure, it gives fewer; when nothing fits, none.
    """
    tools = [(id, read_langchain(one)) for id, one in registry.items()]
    index = DefinitionIndex[tuple[str, Definition]](lambda one: one[1])

    def retrieve_tools(query: str) -> list[str]:
        """Find tools for a task. Describe the task in any language."""
        return [id for id, _ in index.search(query, tools, limit=limit).tools]

    return retrieve_tools


def read_langchain(tool: "BaseTool | Callable[..., Any]") -> Definition:
    """What a tool of LangChain, or a function that can be one, says of itself."""
    function = convert_to_openai_tool(tool)["function"]
    return Definition(function["name"], function.get("description", ""), function.get("parameters", {}))
