import json

from toolcrib import Catalog, Toolbox

catalog = Catalog()


@catalog.tool
def list_orders() -> str:
    """List the newest orders."""
    return ""


toolbox = Toolbox(catalog)
toolbox.activate(["list_orders"])
saved = json.dumps(toolbox.snapshot())

later = Toolbox.restore(json.loads(saved), catalog)
assert later.active == ("list_orders",)
