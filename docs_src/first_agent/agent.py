import asyncio

from toolcrib import Catalog, Crib, run
from toolcrib.stores import SqliteStore

catalog = Catalog()


@catalog.tool(category="weather", phrases=["will it rain", "temperature outside"])
def get_forecast(city: str, days: int = 3) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city} for {days} days."


async def main() -> None:
    model = "offline"  # or "openai:gpt-5.4", "anthropic:claude-sonnet-5-5", "ollama:qwen3", ...
    async with (
        Crib(catalog, model=model) as crib,
        SqliteStore(None) as store,  # or in a file: SqliteStore("talks.db")
        store.open("tuesday") as session,
    ):
        done = await run(session, "What is the weather forecast for Paris?", crib=crib)
        assert "Sunny in Paris" in done.answer


asyncio.run(main())
