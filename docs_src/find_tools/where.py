from toolcrib import Catalog, Risk, ToolIndex

catalog = Catalog()


@catalog.tool(category="pages", risk="destructive", confirm=True)
def delete_page(page: str) -> str:
    """Delete a page for good."""
    return "gone"


@catalog.tool(category="pages", phrases=["take it offline"])
def hide_page(page: str) -> str:
    """Hide a page from visitors, and keep it."""
    return "hidden"


index = ToolIndex(catalog)
assert index.search("delete a page").names[0] == "delete_page"

careful = index.search("delete a page", where=lambda tool: tool.risk is not Risk.DESTRUCTIVE)
assert "delete_page" not in careful.names
assert "delete_page" not in index.search("delete_page", where=lambda tool: tool.name != "delete_page").names
