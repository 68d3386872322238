import asyncio

from pydantic_ai import Agent

from toolcrib import Catalog, Crib, CribToolset, run
from toolcrib.testing import assert_finds, memory_store, scripted_model

catalog = Catalog()  # yours: from shop import catalog
cancelled: list[int] = []


@catalog.tool(phrases=["cancel my order"], risk="destructive")
def orders_cancel(number: int) -> str:
    """Cancel an order."""
    cancelled.append(number)
    return f"Order {number} is cancelled."


@catalog.tool(phrases=["where is my parcel"])
def parcels_track(number: int) -> str:
    """Tell where a parcel is."""
    return "In Oslo."


def test_requests_find_their_tools() -> None:
    assert_finds(
        catalog, {"I do not want it any more, cancel it": "orders_cancel", "Wo ist mein Paket?": "parcels_track"}
    )


def test_an_agent_finds_a_tool_and_calls_it() -> None:
    model = scripted_model(
        ("tool_search", {"query": "where is my parcel"}), ("parcels_track", {"number": 7}), "It is in Oslo."
    )
    agent = Agent(model, toolsets=[CribToolset(catalog)])
    done = asyncio.run(agent.run("Where is parcel 7?"))
    assert done.output == "It is in Oslo."
    assert "In Oslo." in str(done.all_messages())


def test_an_order_is_cancelled_after_the_users_yes() -> None:
    model = scripted_model(
        ("orders_cancel", {"number": 7}),
        "Shall I cancel order 7?",
        ("orders_cancel", {"number": 7, "confirmed": True}),
        "It is cancelled.",
    )

    async def talk() -> None:
        async with memory_store() as store, store.open("ann") as session:
            crib = Crib(catalog, model=model)
            await run(session, "Cancel order 7", crib=crib)
            assert cancelled == []
            await run(session, "Yes, please", crib=crib)
            assert cancelled == [7]

    asyncio.run(talk())
