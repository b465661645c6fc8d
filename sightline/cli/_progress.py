"""Progress of long work, on standard error: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sightline.study.running.progress import Listener, Progress

EVERY = 5.0
"""Seconds between two lines without a terminal."""


@contextmanager
def watched() -> Iterator[Listener]:
    """A listener that shows the progress it receives."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    with _bars() as bars:
        tasks: dict[str, Any] = {}

        def hear(now: Progress) -> None:
            if now.what not in tasks:
                tasks[now.what] = bars.add_task(now.what, total=now.total, rate="", left="")
            bars.update(tasks[now.what], completed=now.done, rate=rate(now), left=left(now))

        yield hear


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner on a terminal during work that cannot be counted."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(what)):
        yield


def rate(now: Progress) -> str:
    """Items per second."""
    return "" if now.rate == 0 else f"{now.rate:,.0f}/s" if now.rate >= 10 else f"{now.rate:.1f}/s"


def left(now: Progress) -> str:
    """The time left."""
    if now.seconds_left is None or now.done >= now.total:
        return ""
    seconds = round(now.seconds_left)
    if seconds < 60:
        return f"{seconds} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 120 else f"{minutes / 60:.0f} h left"


def _lines() -> Listener:
    last = time.monotonic()

    def hear(now: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            done = f"{now.done:,} of {now.total:,}" if now.total else f"{now.done:,}"
            parts = (f"{now.what}: {done}", rate(now), left(now))
            click.echo(", ".join(part for part in parts if part), err=True)

    return hear


def _bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    )
