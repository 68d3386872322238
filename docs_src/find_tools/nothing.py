from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool(phrases=["write to someone", "drop a line"])
def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    return "sent"


@catalog.tool(phrases=["will it rain", "temperature outside"])
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return "sunny"


index = ToolIndex(catalog)
for small_talk in ("how are you?", "what is the meaning of life?", ""):
    found = index.search(small_talk)
    assert (found.hits, found.path) == ((), "none")
    print(found.reason)  # No tool fits this request. / Nothing was asked for.
