from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool
def send_mail(to: str, body: str) -> str:
    """Send an e-mail to one person."""
    return "sent"


@catalog.tool
def post_message(to: str, text: str) -> str:
    """Send a message to a person."""
    return "posted"


@catalog.tool
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return "sunny"


index = ToolIndex(catalog)
assert [hit.name for hit in index.similar("send_mail")] == ["post_message", "get_forecast"]
