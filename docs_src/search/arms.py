from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool
def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    return "sent"


@catalog.tool
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return "sunny"


words_only = ToolIndex(catalog, arms="lexical")  # no embedder at all
meaning_only = ToolIndex(catalog, arms="dense")
whole_requests = ToolIndex(catalog, decompose=False)
always_something = ToolIndex(catalog, abstain=False)

assert words_only.search("send an e-mail").path == "lexical"
assert meaning_only.search("wyślij maila do szefa").names[0] == "send_mail"
assert len(always_something.search("how are you?").names) == 2
