"""Progress, on a terminal and elsewhere."""

from __future__ import annotations

import io
import sys
import time

import pytest

from sightline.cli import _progress
from sightline.study.running.progress import Progress


@pytest.mark.parametrize(
    ("now", "rate", "left"),
    [
        (Progress("x", 0, 10, 0.0, None), "", ""),
        (Progress("x", 5, 10, 2.5, 2.0), "2.5/s", "2 s left"),
        (Progress("x", 5, 9000, 1234.0, 90.0), "1,234/s", "2 min left"),
        (Progress("x", 5, 9000, 12.0, 4 * 3600.0), "12/s", "4 h left"),
        (Progress("x", 10, 10, 2.5, 0.0), "2.5/s", ""),
    ],
)
def test_rate_and_time_left(now: Progress, rate: str, left: str) -> None:
    assert (_progress.rate(now), _progress.left(now)) == (rate, left)


def test_lines_come_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with _progress.watched() as hear:
        for second in range(12):
            clock[0] = 100.0 + second
            hear(Progress("sharpness", second * 10, 200, 10.0, 20.0 - second))
        clock[0] = 120.0
        hear(Progress("records", 20_000, 0, 2_000.0, None))
    shown = capsys.readouterr()
    # After 5, 10 and 20 seconds; a total of 0 is unknown.
    assert shown.err.splitlines() == [
        "sharpness: 50 of 200, 10/s, 15 s left",
        "sharpness: 100 of 200, 10/s, 10 s left",
        "records: 20,000, 2,000/s",
    ]
    assert shown.out == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with _progress.watched() as hear:
        hear(Progress("[bold]sharpness", 40, 200, 12.0, 13.0))
    shown = terminal.getvalue()
    assert "[bold]sharpness" in shown and "12/s" in shown and "13 s left" in shown
    assert capsys.readouterr().out == ""


def test_a_sign_of_life_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with _progress.waiting("thinking"):
        pass
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with _progress.waiting("thinking"):
        pass
    assert "thinking" in terminal.getvalue()
