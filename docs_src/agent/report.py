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
        report = (await run(session, "Will it rain in Paris?", crib=Crib(catalog, model=model))).usage.report
    assert report["request_type"] == "B"  # one search; A is none, C is several
    assert [found["query"] for found in report["discoveries"]] == ["weather forecast"]
    assert report["tools_used"] == ["get_forecast"]
    assert set(report["tokens"]) == {"prompt", "definitions", "protocols", "memory", "history", "total"}
    assert len(report["steps"]) == 3
    assert report["steps"][0]["prompt"] + report["steps"][0]["definitions"] < 500


asyncio.run(main())
