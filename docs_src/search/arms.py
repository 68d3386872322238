from toolcrib import Catalog, ToolIndex
from toolcrib.search import SearchOptions

catalog = Catalog()


@catalog.tool
def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    return "sent"


@catalog.tool
def get_forecast(city: str) -> str:
    """Get the weather forecast for a city."""
    return "sunny"


index = ToolIndex(catalog)
words_only = SearchOptions(arms="lexical")  # the embedder is not used at all
meaning_only = SearchOptions(arms="dense")
whole_requests = SearchOptions(decompose=False)
always_something = SearchOptions(abstain=False)

assert index.search("send an e-mail", options=words_only).path == "lexical"
assert index.search("wyślij maila do szefa", options=meaning_only).names[0] == "send_mail"
assert index.explain("send an e-mail and get the forecast", "send_mail", options=whole_requests).parts == ()
assert len(index.search("how are you?", options=always_something).names) == 2

always_answering = ToolIndex(catalog, options=always_something)  # for all its searches, also those of a toolbox
assert len(always_answering.search("how are you?").names) == 2
