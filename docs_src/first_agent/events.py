import asyncio

from toolcrib import Catalog, Crib, stream
from toolcrib.agent import Answered, Text, ToolFinished, ToolStarted, UsageEvent
from toolcrib.stores import SqliteStore

catalog = Catalog()


@catalog.tool(phrases=["will it rain"])
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city}."


async def main() -> list[str]:
    shown: list[str] = []
    async with SqliteStore(None) as store, store.open() as session:
        async for event in stream(session, "What is the weather forecast for Paris?", crib=Crib(catalog)):
            match event:
                case Text(delta=delta):
                    shown.append(delta)  # a piece of the answer, as soon as it is there
                case ToolStarted(name=name, arguments=arguments):
                    shown.append(f"[{name} {dict(arguments)}]")
                case ToolFinished(text=text):
                    shown.append(f"[{text}]")
                case Answered() | UsageEvent():
                    pass
                case _:
                    pass
    return shown


shown = asyncio.run(main())
assert "[get_forecast {'city': 'Paris'}]" in shown
assert "[Sunny in Paris.]" in shown
