"""The tools of a small office desk."""

from toolcrib import tool


@tool(category="money")
def submit_form_27(amount: float, receipt: str) -> str:
    """Submit form 27."""
    return f"Form 27 for {amount:.2f} is on its way."


@tool(category="rooms", phrases=["book a room for two hours", "where can we meet?"])
def reserve_room(people: int, hours: float = 1) -> str:
    """Reserve a meeting room."""
    return f"A room for {people} people, for {hours} hours."


@tool(category="it", phrases=["my printer is broken", "I need help with my computer"])
def open_ticket(title: str) -> str:
    """Report a problem to the IT helpdesk."""
    return f"Ticket: {title}"
