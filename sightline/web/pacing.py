"""How fast one person may ask: far above what people do, far below what a script does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import NamedTuple


class Pace(NamedTuple):
    """So many at once, and so many per second after that."""

    burst: float
    per_second: float


REQUESTS = Pace(1_200, 60)
ANSWERS = Pace(2_000, 40)
"""A browser that was long without network sends its queue at once."""
MOST_PEOPLE = 10_000


class Paces:
    """What each person has left of a pace: a bucket that fills as time goes by."""

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        self.pace = pace
        self._clock = clock
        self._left: dict[Hashable, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, who: Hashable, n: int = 1) -> float:
        """Take n from what somebody has left, or the seconds until there are as many: 0 if taken."""
        with self._lock:
            now = self._clock()
            before, left = self._left.get(who, (now, self.pace.burst))
            left = min(self.pace.burst, left + (now - before) * self.pace.per_second)
            wait = max(0.0, (min(n, self.pace.burst) - left) / self.pace.per_second)
            if who not in self._left and len(self._left) >= MOST_PEOPLE:
                self._left.clear()
            self._left[who] = (now, left - (0 if wait else n))
            return wait
