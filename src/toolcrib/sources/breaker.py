"""When to stop asking somebody who does not answer, and when to ask again."""

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]  # seconds that only grow, such as `time.monotonic`


class Breaker:
    """Counts failures in a row. After too many it asks for a pause, which doubles with each further failure.

    When a pause is over, one caller may try (`may_try`); the others wait for what comes of it.
    """

    def __init__(
        self, *, failures_allowed: int, first_pause: float, longest_pause: float, clock: Clock = time.monotonic
    ) -> None:
        self._failures_allowed = failures_allowed
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._clock = clock
        self._failures = 0
        self._closed_until: float | None = None

    def may_try(self) -> bool:
        """Whether to ask now. While it recovers, only one caller hears yes."""
        if self._closed_until is None:
            return True
        if self.pause() > 0:
            return False
        self._closed_until = self._clock() + self._pause_after(self._failures)
        return True

    def pause(self) -> float:
        """Seconds until the next try makes sense; 0 when it makes sense now."""
        return max(0.0, self._closed_until - self._clock()) if self._closed_until is not None else 0.0

    def failed(self) -> None:
        """It did not answer."""
        self._failures += 1
        if self._failures >= self._failures_allowed:
            self._closed_until = self._clock() + self._pause_after(self._failures)

    def succeeded(self) -> None:
        """It answered: all is forgotten."""
        self._failures = 0
        self._closed_until = None

    def _pause_after(self, failures: int) -> float:
        doublings = min(failures - self._failures_allowed, 30)  # far beyond any pause, far below a number too large
        return min(self._first_pause * 2**doublings, self._longest_pause)
