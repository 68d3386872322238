"""An agent in one file: its tools work on the application's own objects, and a risky call waits for the user's yes.

python examples/shop/agent.py "Where is parcel 7?" "Cancel order 7" "yes"
MODEL=openai:gpt-5.4 OPENAI_API_KEY=... python examples/shop/agent.py     # with a language model; asks what you want
"""

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from toolcrib import Catalog, Crib, ToolContext, run
from toolcrib.stores import SqliteStore


@dataclass
class Shop:
    """What the tools work on; yours is a database."""

    parcels: dict[int, str] = field(default_factory=lambda: {7: "in Oslo", 8: "on its way to Bergen"})
    orders: dict[int, str] = field(default_factory=lambda: {7: "paid", 8: "paid"})


catalog = Catalog()


@catalog.tool(category="parcels", phrases=["where is my parcel", "has it been sent"])
def find_parcel(ctx: ToolContext[Shop], number: int) -> str:
    """Find out where a parcel is."""
    return f"Parcel {number} is {ctx.deps.parcels.get(number, 'unknown')}."


@catalog.tool(category="orders", phrases=["what did I buy"])
def list_orders(ctx: ToolContext[Shop]) -> dict[int, str]:
    """List the orders of the customer, and their state."""
    return ctx.deps.orders


@catalog.tool(category="orders", phrases=["I do not want it any more"], risk="destructive")
def cancel_order(ctx: ToolContext[Shop], number: int) -> str:
    """Cancel an order and return the money."""
    if number not in ctx.deps.orders:
        return f"There is no order {number}."
    ctx.deps.orders[number] = "cancelled"
    return f"Order {number} is cancelled."


async def talk(messages: Iterable[str]) -> None:
    """Answer one message after the other, in one session."""
    shop = Shop()
    async with (
        Crib(catalog, model=os.environ.get("MODEL", "offline")) as crib,
        SqliteStore(None) as store,  # SqliteStore("talks.db") keeps it: the next start goes on with the session
        store.open("ann") as session,
    ):
        for message in messages:
            done = await run(session, message, crib=crib, context=shop)
            print(f"> {message}\n{done.answer}\n")


def typed() -> Iterator[str]:
    """What the user types, up to an empty line."""
    while message := input("You: "):
        yield message


if __name__ == "__main__":
    asyncio.run(talk(sys.argv[1:] or typed()))
