"""When something at work does not work."""

from typing import Literal

from toolcrib import tool

tickets: dict[str, dict[str, str]] = {}


@tool
def open_ticket(title: str, details: str = "", urgency: Literal["low", "normal", "high"] = "normal") -> dict[str, str]:
    """Report a problem to the IT helpdesk."""
    identity = f"IT-{len(tickets) + 1}"
    tickets[identity] = {"id": identity, "title": title, "details": details, "urgency": urgency, "state": "open"}
    return tickets[identity]


@tool
def ticket_status(ticket: str) -> dict[str, str]:
    """Show how far the helpdesk is with a ticket."""
    return tickets[ticket]


@tool
def close_ticket(ticket: str, solution: str) -> dict[str, str]:
    """Close a helpdesk ticket that is solved."""
    tickets[ticket] |= {"state": "closed", "details": solution}
    return tickets[ticket]


@tool
def reset_password(user: str) -> str:
    """Reset the password of an account and send a link to set a new one."""
    return f"{user} has a link to set a new password."


@tool
def wipe_laptop(serial_number: str) -> str:
    """Erase everything on a lost or stolen laptop."""
    return f"{serial_number} will be erased when it is next online."
