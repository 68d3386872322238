from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool
def getWeatherByCity(city: str) -> str:
    """Get the weather of a city."""
    return "sunny"


@catalog.tool
def list_cities(country: str) -> list[str]:
    """List the cities of a country."""
    return []


index = ToolIndex(catalog)
for spelled in ("getWeatherByCity", "get_weather_by_city", "get weather by city", "call getWeatherByCity for Oslo"):
    found = index.search(spelled)
    assert (found.names[0], found.path, found.confidence) == ("getWeatherByCity", "exact", 1.0)
