"""Meetings and rooms."""

from datetime import date, time
from itertools import count

from toolcrib import tool

ROOMS = {"Aquarium": 4, "Library": 8, "Hangar": 30}
meetings: dict[str, dict[str, object]] = {}
numbers = count(1)


@tool
def find_free_room(day: date, start: time, people: int = 2) -> list[dict[str, object]]:
    """Find meeting rooms that are free and large enough."""
    taken = {meeting["room"] for meeting in meetings.values() if (meeting["day"], meeting["start"]) == (day, start)}
    return [{"id": room, "name": room, "seats": n} for room, n in ROOMS.items() if n >= people and room not in taken]


@tool
def book_meeting(title: str, day: date, start: time, guests: list[str], room: str = "") -> dict[str, object]:
    """Book a meeting and invite people to it."""
    identity = f"M{next(numbers)}"
    meetings[identity] = {
        "id": identity, "title": title, "day": day, "start": start, "guests": guests, "room": room,
    }  # fmt: skip
    return meetings[identity]


@tool
def list_meetings(day: date) -> list[dict[str, object]]:
    """List the meetings in your calendar on a day."""
    return [meeting for meeting in meetings.values() if meeting["day"] == day]


@tool
def move_meeting(meeting: str, day: date, start: time) -> dict[str, object]:
    """Move a meeting to another day or hour."""
    meetings[meeting] |= {"day": day, "start": start}
    return meetings[meeting]


@tool
def cancel_meeting(meeting: str, reason: str = "") -> str:
    """Cancel a meeting and tell everyone who was invited."""
    gone = meetings.pop(meeting)
    return f"Cancelled {gone['title']!r}. {reason}".strip()
