from collections.abc import Iterable
from pathlib import Path

from toolcrib import Tool, tool


def weather(*, workdir: Path, units: str = "metric") -> Iterable[Tool]:
    """The tools of the module `weather`; everything behind the star is an option."""

    @tool(category="weather", phrases=["will it rain", "temperature outside"])
    def get_forecast(city: str) -> str:
        """Get the weather forecast for a city."""
        return f"Sunny in {city}, in {units} units."

    return [get_forecast]


assert [one.name for one in weather(workdir=Path("."))] == ["get_forecast"]
