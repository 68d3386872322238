from collections.abc import Sequence

from toolcrib import Catalog, ToolIndex
from toolcrib.errors import EmbedderError
from toolcrib.search import Vectors


class Unreachable:
    """Stands for a service that does not answer."""

    id = "example:1"
    dimensions = 256
    remote = True

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError("The endpoint does not answer.")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError("The endpoint does not answer.")


catalog = Catalog()


@catalog.tool
def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    return "sent"


found = ToolIndex(catalog, Unreachable()).search("send an e-mail to Ada")
assert (found.names, found.path) == (("send_mail",), "lexical")
assert found.warnings == ("Searched by words alone: The endpoint does not answer.",)
