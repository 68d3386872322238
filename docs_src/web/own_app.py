from toolcrib import Catalog, Crib
from toolcrib.server import Served, create_app
from toolcrib.serving import Options
from toolcrib.stores import SqliteStore

catalog = Catalog()


@catalog.tool(phrases=["will it rain", "weather forecast"])
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city}."


served = Served(
    crib=Crib(catalog, model="offline"),
    store=SqliteStore(None),  # or a file: SqliteStore("talks.db")
    name="Weather desk",
    suggestions=("What is the weather forecast for Paris?",),
)
app = create_app(served, Options())  # any ASGI server can run it: uvicorn own_app:app
