from toolcrib import Catalog, Crib, tool


@tool(phrases=["will it rain"])
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city}."


crib = Crib(Catalog([get_forecast]), model="offline")
assert "Sunny in Paris" in crib.run_sync("What is the weather forecast for Paris?").answer
