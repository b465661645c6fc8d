"""Rate and time left, by a clock that the test holds."""

from __future__ import annotations

import pytest

from sightline.study.running import progress
from sightline.study.running.progress import Meter, Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def test_rate_and_time_left(clock: Clock) -> None:
    meter = Meter("sharpness", 100, None)
    assert meter.state() == Progress("sharpness", 0, 100, 0.0, None)
    clock.now += 4
    meter.add(computed=20)
    # 20 in 4 seconds are 5 a second; 80 are left, at 5 a second 16 seconds.
    assert meter.state() == Progress("sharpness", 20, 100, 5.0, 16.0)
    clock.now += 4
    assert meter.state() == Progress("sharpness", 20, 100, 2.5, 32.0)


def test_known_items_do_not_count_into_the_rate(clock: Clock) -> None:
    meter = Meter("sharpness", 100, None)
    clock.now += 1
    meter.add(known=60)
    assert meter.state() == Progress("sharpness", 60, 100, 0.0, None)
    clock.now += 1
    meter.add(computed=10, known=10)
    # 10 computed in 2 seconds; the 20 that are left take 4 more, however quickly 70 were looked up.
    assert meter.state() == Progress("sharpness", 80, 100, 5.0, 4.0)


def test_the_listener_is_not_flooded_but_hears_the_end(clock: Clock) -> None:
    heard: list[Progress] = []
    meter = Meter("sharpness", 10, heard.append, every=0.1)
    for _ in range(10):
        clock.now += 0.04
        meter.add(computed=1)
    # At 0.04, then each time a tenth has passed since: 0.16, 0.28, 0.40.
    assert [told.done for told in heard] == [1, 4, 7, 10]
    meter.finish()
    assert heard[-1].done == 10 and heard[-1].seconds_left == 0
