import asyncio

from toolcrib import Catalog, Crib, run
from toolcrib.stores import SqliteStore

catalog = Catalog()


@catalog.tool(phrases=["will it rain", "weather forecast"])
def get_forecast(city: str, days: int = 3) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city} for {days} days."


@catalog.tool(risk="destructive", phrases=["throw the note away"])
def delete_note(title: str) -> str:
    """Delete a note."""
    return f"{title} is gone."


async def main() -> None:
    crib = Crib(catalog, model="offline")
    async with SqliteStore(None) as store, store.open() as session:

        async def said(text: str) -> str:
            return (await run(session, text, crib=crib)).answer

        assert await said("What is the weather forecast for Paris?") == "Sunny in Paris for 3 days."
        assert await said("Wie wird das Wetter in Berlin?") == "Sunny in Berlin for 3 days."  # any language finds

        question = await said('Delete the note "Shopping"')
        assert question == "This needs your yes: **delete_note** with title: `Shopping`. Shall I do it?"
        assert await said("yes") == "Shopping is gone."

        # No language model: it says so, and makes nothing up.
        assert "no language model" in await said("hello")
        assert "kein Sprachmodell" in await said("Wer bist du?")
        assert (await said("Write me a poem about rain")).startswith("I am not sure what you mean.")


asyncio.run(main())
