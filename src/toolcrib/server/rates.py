"""How often one caller may ask: a bucket that refills, and a request takes one drop."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_MOST_CALLERS = 10_000


class Rates:
    """The buckets of all callers; those not heard of for longest are forgotten, full."""

    def __init__(self, per_second: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # drops left, and when

    def wait_for(self, caller: Hashable) -> float:
        """Take one; gives 0, or the seconds to wait when there is none."""
        now = self._clock()
        left, then = self._buckets.get(caller, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._per_second)
        taken = left >= 1
        self._buckets[caller] = (left - 1 if taken else left), now
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - left) / self._per_second
