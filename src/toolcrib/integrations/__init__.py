"""OUR SEARCH IN THEIR HANDS: the index behind the interfaces that other frameworks have for finding tools.

The framework holds the tools, shows them and calls them; here is only what finds them. So it takes one line to change
over, and one to change back. Each module is for one framework and loads it; none of them is a dependency of Toolcrib.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.integrations.bigtool import retrieve_tools_function as retrieve_tools_function
    from toolcrib.integrations.fastmcp import ToolcribSearchTransform as ToolcribSearchTransform
    from toolcrib.integrations.langchain import ToolcribMiddleware as ToolcribMiddleware
    from toolcrib.integrations.pydantic_ai import ToolcribSearch as ToolcribSearch

_HOMES = {
    "ToolcribMiddleware": "toolcrib.integrations.langchain",
    "ToolcribSearch": "toolcrib.integrations.pydantic_ai",
    "ToolcribSearchTransform": "toolcrib.integrations.fastmcp",
    "retrieve_tools_function": "toolcrib.integrations.bigtool",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
