"""`toolcrib explain`: why a tool is, or is not, found by a request."""

from dataclasses import asdict

from toolcrib.cli.load import load_catalog
from toolcrib.cli.options import From, Json
from toolcrib.cli.output import say, write_json


def explain(query: str, name: str, /, *, source: From = None, json: Json = False) -> int:
    """Tell why a tool stands where it stands for a request.

    What both arms of the search thought of it: rank and score by words, and which of them matched; rank and cosine by
    meaning, and the tool's nearest text; and the thresholds that decided what became of it.

    Example: `toolcrib explain "the wifi is down" reset_password --from examples/office`

    Args:
        query: A request, in your own words.
        name: The tool's name.
    """
    from toolcrib.search.index import ToolIndex  # late: numpy and tantivy

    explanation = ToolIndex(load_catalog(source)).explain(query, name)
    if json:
        write_json(asdict(explanation))
    else:
        say(explanation.render())
    return 0
