from toolcrib import Catalog, Protocol, Toolbox
from toolcrib.discovery.protocols import protocols_block

catalog = Catalog()


@catalog.tool(protocol=Protocol(gotcha="Scores closer to 0 are better."))
def search_images(query: str) -> list[str]:
    """Search images by what they show."""
    return []


toolbox = Toolbox(catalog)
assert protocols_block(toolbox.visible()) == ""

toolbox.activate(["search_images"])
assert protocols_block(toolbox.visible()) == (
    "<active-protocols>\n## search_images\nGOTCHA: Scores closer to 0 are better.\n</active-protocols>"
)
