import asyncio

from toolcrib import Catalog, Toolbox, search_surface

catalog = Catalog()


@catalog.tool(phrases=["find a photo"], category="images")
def search_images(query: str, limit: int = 5) -> list[str]:
    """Search images by what they show."""
    return []


@catalog.tool(risk="destructive", category="images")
def delete_image(image: str, force: bool = False) -> str:
    """Delete an image for good."""
    return "gone"


toolbox = Toolbox(catalog, surface=search_surface)
assert [tool.name for tool in toolbox.visible()] == ["tool_search"]

found = asyncio.run(toolbox.call("tool_search", {"query": "delete_image"}))
print(found.text)
# Ready to call (sure):
# - delete_image(image, force?) [destructive, asks the user first]: Delete an image for good.
# None fits? Search again in other words.

assert found.value.tools == ("delete_image",)
assert [tool.name for tool in toolbox.visible()] == ["tool_search", "delete_image"]
