from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib import Catalog, Protocol, Toolbox
from toolcrib.discovery import Guidance, protocols_block

catalog = Catalog()


@catalog.tool(category="images", protocol=Protocol(gotcha="Scores closer to 0 are better."))
def search_images(query: str) -> list[str]:
    """Search images by what they show."""
    return []


toolbox = Toolbox(catalog)
with TemporaryDirectory() as folder:
    guidance = Guidance(folder)  # in an app's file: `tools: {guidance: guidance}`
    (Path(folder) / "images.md").write_text("Search our own images before stock photos.")
    assert protocols_block(toolbox.visible(), guidance) == ""  # no tool of the category is active

    toolbox.activate(["search_images"])
    assert (
        protocols_block(toolbox.visible(), guidance)
        == """\
<active-protocols>
## category images
Search our own images before stock photos.
## search_images
GOTCHA: Scores closer to 0 are better.
</active-protocols>"""
    )

    (Path(folder) / "images.md").write_text("Ask before you use a stock photo.")  # counts at the next step
    assert "Ask before you use a stock photo." in protocols_block(toolbox.visible(), guidance)
