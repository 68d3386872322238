import asyncio
from dataclasses import dataclass, field

from toolcrib import Catalog, Crib, Toolbox, ToolContext, run
from toolcrib.stores import SqliteStore


@dataclass
class Shop:
    """What the tools work on; yours is a database."""

    orders: dict[int, str] = field(default_factory=lambda: {7: "paid"})


catalog = Catalog()


@catalog.tool
def show_order(ctx: ToolContext[Shop], number: int) -> str:
    """Show the state of an order."""
    return f"Order {number} is {ctx.deps.orders[number]}."


assert "ctx" not in catalog.get("show_order").parameters["properties"]  # no model sees it


async def main() -> None:
    shop = Shop()
    assert (await Toolbox(catalog).call("show_order", {"number": 7}, shop)).text == "Order 7 is paid."
    async with SqliteStore(None) as store, store.open() as session:
        done = await run(session, "Show order 7", crib=Crib(catalog, model="offline"), context=shop)
        assert done.answer == "Order 7 is paid."


asyncio.run(main())
