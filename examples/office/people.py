"""Colleagues, holidays and expenses."""

from datetime import date

from toolcrib import tool

PEOPLE = [
    {"id": "ada", "name": "Ada Nowak", "mail": "ada@office.example", "team": "design"},
    {"id": "ben", "name": "Ben Okafor", "mail": "ben@office.example", "team": "sales"},
]


@tool
def find_colleague(name: str) -> list[dict[str, str]]:
    """Look up a colleague's team, phone and mail address."""
    return [person for person in PEOPLE if name.lower() in person["name"].lower()]


@tool
def request_leave(first_day: date, last_day: date) -> str:
    """Ask for days of vacation."""
    return f"Asked for {(last_day - first_day).days + 1} days."


@tool
def vacation_balance() -> dict[str, int]:
    """Show how many vacation days are left this year."""
    return {"left": 12, "taken": 14}


@tool
def report_sick(until: date | None = None) -> str:
    """Tell the office that you are ill and stay at home."""
    return f"Get well soon{f', see you on {until}' if until else ''}."


@tool
def file_expense(amount: float, purpose: str, currency: str = "EUR") -> str:
    """Hand in a receipt to get money back for a business expense."""
    return f"{amount:.2f} {currency} for {purpose} is with accounting."
