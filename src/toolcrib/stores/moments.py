"""Moments as databases keep them: whole microseconds since 1970, exact as a float would not be, and easy to sort."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """The number of a moment."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """The moment of a number."""
    return _EPOCH + timedelta(microseconds=microseconds)


def now() -> datetime:
    """The present moment, by this machine's clock."""
    return datetime.now(UTC)
