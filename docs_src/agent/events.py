import asyncio

from toolcrib import Catalog, Crib, run
from toolcrib.stores import SqliteStore
from toolcrib.testing import scripted_model

catalog = Catalog()


@catalog.tool(phrases=["will it rain"])
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city}."


async def main() -> None:
    model = scripted_model(
        ("tool_search", {"query": "weather forecast"}), ("get_forecast", {"city": "Paris"}), "It will be sunny."
    )
    async with SqliteStore(None) as store, store.open() as session:
        done = await run(session, "Will it rain in Paris?", crib=Crib(catalog, model=model))
    assert [event.type for event in done.events] == [
        "run_started",
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
        "tool_started",
        "tool_finished",
        "text",
        "answered",
        "usage",
    ]
    assert done.events[5].to_json() | {"took_ms": 0.0} == {
        "type": "tool_finished",
        "call_id": "call-3",
        "name": "get_forecast",
        "text": "Sunny in Paris.",
        "failed": False,
        "took_ms": 0.0,
        "inner": None,
    }


asyncio.run(main())
