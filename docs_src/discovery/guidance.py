from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib import Catalog, Protocol, Toolbox
from toolcrib.discovery import Guidance, delivery_for, protocol_delta, protocol_notes, protocols_block

catalog = Catalog()


@catalog.tool(category="images", protocol=Protocol(gotcha="Scores closer to 0 are better."))
def search_images(query: str) -> list[str]:
    """Search images by what they show."""
    return []


toolbox = Toolbox(catalog)
before = protocol_notes(toolbox.visible())
toolbox.activate(["search_images"])

with TemporaryDirectory() as folder:
    Path(folder, "images.md").write_text("Every image needs an alternative text.")
    block = protocols_block(toolbox.visible(), Guidance(Path(folder)))
assert "## category images\nEvery image needs an alternative text.\n## search_images\n" in block

assert delivery_for("anthropic") == "append"  # it caches the prompt by its beginning
assert (
    protocol_delta(before, protocol_notes(toolbox.visible()))
    == """\
<changed-protocols>
## search_images
GOTCHA: Scores closer to 0 are better.
</changed-protocols>"""
)
