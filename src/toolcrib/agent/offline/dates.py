"""Days as people write them: `2026-05-03`, "03.05.2026", "tomorrow" in many languages, "on Friday" in English."""

import re
from datetime import date, timedelta

from toolcrib.search.text import words

_DAYS = {
    0: "today heute dziś dzisiaj hoy aujourd hui oggi hoje vandaag idag dnes bugün сегодня сьогодні 今日 今天 오늘",
    1: "tomorrow morgen jutro mañana demain domani amanhã imorgon zítra yarın завтра 明日 明天 내일",
    -1: "yesterday gestern wczoraj ayer hier ieri ontem gisteren igår včera dün вчера вчора 昨日 昨天 어제",
    2: "übermorgen pojutrze overmorgen послезавтра",
}
_SHIFTS = {word: days for days, said in _DAYS.items() for word in said.split()}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_DAY_FIRST = re.compile(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b")
_TIME = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")


def day_in(text: str, today: date) -> date | None:
    """The first day a text names."""
    if found := _ISO.search(text):
        return _day(int(found[1]), int(found[2]), int(found[3]))
    if found := _DAY_FIRST.search(text):
        return _day(int(found[3]), int(found[2]), int(found[1]))
    for word in words(text):
        if word in _SHIFTS:
            return today + timedelta(days=_SHIFTS[word])
        if word in _WEEKDAYS:
            return today + timedelta(days=(_WEEKDAYS.index(word) - today.weekday() - 1) % 7 + 1)
    return None


def moment_in(text: str, today: date) -> str | None:
    """The first day with its time, midnight if none is said, as ISO 8601."""
    day, clock = day_in(text, today), _TIME.search(text)
    if day is None and clock is None:
        return None
    hours = f"{int(clock[1]):02}:{clock[2]}:00" if clock else "00:00:00"
    return f"{(day or today).isoformat()}T{hours}"


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
