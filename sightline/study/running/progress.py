"""How far long work is: counted here, shown by whoever asked for the work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Listener = Callable[["Progress"], None]


@dataclass(frozen=True)
class Progress:
    """What is done of what (a total of 0 is unknown), how fast, and how long it will still take."""

    what: str
    done: int
    total: int
    rate: float
    seconds_left: float | None


def saying(listener: Listener | None) -> Callable[[str, int, int], None]:
    """A function that informs a listener of what is done of what, without a rate."""

    def say(what: str, done: int, total: int) -> None:
        if listener is not None:
            listener(Progress(what, done, total, 0.0, None))

    return say


class Meter:
    """Counts work and informs a listener now and then; the rate leaves out what was cached."""

    def __init__(self, what: str, total: int, listener: Listener | None, every: float = 0.1) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.computed = 0
        self._listener = listener
        self._every = every
        self._started = time.monotonic()
        self._last = 0.0

    def add(self, computed: int = 0, known: int = 0) -> None:
        """Count n more, computed now or known from before."""
        self.done += computed + known
        self.computed += computed
        now = time.monotonic()
        if self._listener is not None and now - self._last >= self._every:
            self._last = now
            self._listener(self.state())

    def finish(self) -> None:
        """Tell the listener the final state."""
        if self._listener is not None:
            self._listener(self.state())

    def state(self) -> Progress:
        """The progress as of now."""
        spent = max(time.monotonic() - self._started, 1e-9)
        rate = self.computed / spent
        left = None if rate == 0 or not self.total else (self.total - self.done) / rate
        return Progress(self.what, self.done, self.total, rate, left)
