from toolcrib import Catalog, ToolIndex
from toolcrib.search import Strategy

catalog = Catalog()


@catalog.tool(phrases=["book a room for two hours", "where can we meet?"])
def reserve_room(people: int) -> str:
    """Reserve a meeting room."""
    return f"A room for {people} people."


@catalog.tool(phrases=["my printer is broken", "I need help with my computer"])
def open_ticket(title: str) -> str:
    """Report a problem to the IT helpdesk."""
    return f"Ticket: {title}"


def answered(request: str, answer_above: float) -> bool:
    strategy = Strategy(up_to=float("inf"), lexical_above=0.8, blended_above=0.3, answer_above=answer_above)
    return bool(ToolIndex(catalog, strategies=(strategy,)).search(request).hits)


assert (answered("my printer is broken", 0.1), answered("how are you?", 0.1)) == (True, False)
assert answered("how are you?", 0.0)  # junk: everything is answered
assert not answered("the screen stays dark", 0.9)  # unanswered: only what is nearly certain is
