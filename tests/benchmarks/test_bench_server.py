"""The server's benchmark: what it takes for a lost event, and what it writes."""

import pytest

from benchmarks.server import Figures, missing, report, spread

WHOLE = [
    (0, {"type": "run_started"}),
    (1, {"type": "text", "delta": "It "}),
    (2, {"type": "text", "delta": "is."}),
    (100_000, {"type": "answered", "text": "It is."}),
    (200_000, {"type": "usage"}),
]


@pytest.mark.parametrize(
    ("lost", "trouble"),
    [
        (None, ""),
        (0, "began with ['text'], ended with ['usage']"),
        (1, "a piece of text is missing"),
        (3, "an event is missing"),
        (4, "began with ['run_started'], ended with ['answered']"),
    ],
)
def test_a_lost_event_is_noticed(lost: int | None, trouble: str) -> None:
    kept = [one for place, one in enumerate(WHOLE) if place != lost]
    assert missing([number for number, _ in kept], [event for _, event in kept]) == trouble


def test_a_repeated_event_is_noticed() -> None:
    twice = [*WHOLE[:2], *WHOLE[1:]]
    assert missing([number for number, _ in twice], [event for _, event in twice]) == "numbers do not grow"


def test_the_report_tells_what_was_run() -> None:
    times = spread([float(number) for number in range(1, 101)])
    assert times == {"p50": 51.0, "p99": 100.0, "max": 100.0}
    found = Figures(sessions=7, messages=50, first_event_ms=times, whole_run_ms=times, alone_first_event_ms=times)
    assert "--sessions 7 --messages 50" in report(found)
    assert "| none |" in report(found)
    found.errors.append("status 503")
    assert "1, such as status 503" in report(found)
