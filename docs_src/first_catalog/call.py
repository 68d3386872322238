import asyncio

from toolcrib import tool


@tool
def get_forecast(city: str, days: int = 3) -> str:
    """Get the weather forecast for a city.

    Args:
        city: Name of the city, in any language.
        days: How many days ahead.
    """
    return f"Sunny in {city} for {days} days."


async def main() -> None:
    sunny = await get_forecast.call({"city": "Łódź"})
    assert (sunny.failed, sunny.text) == (False, "Sunny in Łódź for 3 days.")

    wrong = await get_forecast.call({"city": "Łódź", "days": "many"})
    assert wrong.failed
    assert "days" in wrong.text  # tells the model which argument is wrong, and what it should be


asyncio.run(main())
