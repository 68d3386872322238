from toolcrib import Catalog, Toolbox, ToolIndex, search_surface

catalog = Catalog()


@catalog.tool
def whoami() -> str:
    """Tell who is logged in."""
    return "Ada"


@catalog.tool
def search_images(query: str) -> list[str]:
    """Search images by what they show."""
    return []


@catalog.tool
def delete_image(name: str) -> str:
    """Delete an image."""
    return name


index = ToolIndex(catalog)  # one for all sessions
toolbox = Toolbox(catalog, index, surface=search_surface, pinned=["whoami"])  # one for each session

assert [tool.name for tool in toolbox.visible()] == ["tool_search", "whoami"]
toolbox.activate(["search_images"])  # this is what `tool_search` does with what it finds
assert [tool.name for tool in toolbox.visible()] == ["tool_search", "whoami", "search_images"]
