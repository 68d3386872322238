import asyncio

from toolcrib import Catalog, Toolbox

catalog = Catalog()


@catalog.tool
def list_orders(limit: int = 10) -> str:
    """List the newest orders."""
    return f"{limit} orders"


async def main() -> None:
    toolbox = Toolbox(catalog, timeout_seconds=30)

    wrapped = await toolbox.call("list_orders", {"arguments": {"limit": "5"}})
    assert wrapped.text == "5 orders"

    wrong = await toolbox.call("list_orders", {"limit": "a few"})
    assert wrong.failed
    assert '- limit: {"default":10,"type":"integer"}' in wrong.text  # the schema, to try again

    unknown = await toolbox.call("listOrders", {})
    assert unknown.text == "There is no tool named 'listOrders'. Did you mean 'list_orders'?"


asyncio.run(main())
