from toolcrib import Catalog, Protocol, Toolbox
from toolcrib.discovery import protocols_block

catalog = Catalog()


@catalog.tool(protocol=Protocol(before="Find the page first.", next="Offer to publish it."))
def update_page(page: int, text: str) -> str:
    """Change the text of a page."""
    return text


@catalog.tool
def list_pages() -> list[str]:
    """List the pages."""
    return []


toolbox = Toolbox(catalog)
assert protocols_block(toolbox.visible()) == ""  # costs nothing while nobody needs it

toolbox.activate(["list_pages", "update_page"])
assert (
    protocols_block(toolbox.visible())
    == """\
<active-protocols>
## update_page
BEFORE: Find the page first.
NEXT: Offer to publish it.
</active-protocols>"""
)
