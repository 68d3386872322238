from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib import Catalog, ToolIndex
from toolcrib.search import Usage

catalog = Catalog()


@catalog.tool
def open_ticket(title: str) -> str:
    """Report a problem to the IT helpdesk."""
    return "IT-1"


@catalog.tool
def book_room(day: str) -> str:
    """Book a meeting room."""
    return "booked"


with TemporaryDirectory() as folder:
    file = Path(folder) / "usage.jsonl"
    index = ToolIndex(catalog, usage=Usage(file))
    before = index.explain("the beamer stays dark", "open_ticket").cosine or 0

    index.learn("the beamer is dead", "open_ticket")  # call it when a tool was really used
    after = index.explain("the beamer stays dark", "open_ticket").cosine or 0
    assert after > before

    next_run = ToolIndex(catalog, usage=Usage(file))  # remembered
    assert next_run.explain("the beamer stays dark", "open_ticket").cosine == after

    next_run.forget("open_ticket")  # or everything: `forget()`
    assert next_run.explain("the beamer stays dark", "open_ticket").cosine == before
