from pathlib import Path
from tempfile import mkdtemp

from toolcrib import Catalog, ToolIndex

catalog = Catalog()
catalog.add_definitions(
    [{"name": f"print_label_{number}", "description": f"Print the label of shelf {number}."} for number in range(1_000)]
)

folder = Path(mkdtemp())  # a program of yours would keep it, such as in the user's cache folder
built = ToolIndex(catalog, folder=folder)
first = built.search("print the label of shelf 7")
assert len(list(folder.glob("*.index"))) == 1

loaded = ToolIndex(catalog, folder=folder)  # as the next process does
assert loaded.search("print the label of shelf 7").hits == first.hits
