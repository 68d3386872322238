from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool(category="weather", phrases=["will it rain", "temperature outside"])
def get_forecast(city: str, days: int = 3) -> str:
    """Get the weather forecast for a city."""
    return f"Sunny in {city} for {days} days."


@catalog.tool(category="mail", phrases=["write to someone", "drop a line"])
def send_mail(to: str, subject: str, body: str = "") -> str:
    """Send an e-mail."""
    return f"Sent {subject!r} to {to}."


index = ToolIndex(catalog)  # follows the catalog: a tool added later is found by the next search
assert index.search("wyślij wiadomość do szefa").names[0] == "send_mail"  # Polish: send a message to the boss
assert index.search("how are you?").hits == ()  # nothing fits, so nothing is handed over
