import asyncio

from toolcrib import Catalog, Tool, Toolbox, search_surface
from toolcrib.sources import SourceState

catalog = Catalog()


@catalog.tool(category="images")
def search_images(query: str) -> list[str]:
    """Search images by what they show."""
    return []


states = {"mcp:github": SourceState.NEEDS_LOGIN}  # or a function that is asked each time


def surface(toolbox: Toolbox) -> tuple[Tool, ...]:
    return search_surface(toolbox, name="find_tools", sources=states)


toolbox = Toolbox(catalog, surface=surface)
nothing = asyncio.run(toolbox.call("find_tools", {"query": "what is the meaning of life?"}))
assert not nothing.failed
assert nothing.text == (
    'No tool fits "what is the meaning of life?". There are tools for: images.\n'
    "Not searched: mcp:github (needs a login). Tell the user if the task needs one of these.\n"
    "Search once more in other words if one could help; else answer without tools."
)
