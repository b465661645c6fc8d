"""The options of commands that serve pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

LOCAL = ("127.0.0.1", "localhost", "::1")
EXPOSED = "Anybody on the way can read links sent over http: put it behind https, see --public."


def is_exposed(host: str, public: str) -> bool:
    """Whether links go over the network in clear."""
    return host not in LOCAL and not public.startswith("https://")


def serving(port: int, days: float) -> Callable[[Any], Any]:
    """--days, --host, --port, --public and --proxy, with these defaults."""
    options = [
        click.option(
            "--days", default=days, show_default=True, help="Let links expire after so many days."
        ),
        click.option(
            "--host", default="127.0.0.1", show_default=True,
            help="Listen here; 0.0.0.0 admits other machines.",
        ),
        click.option(
            "--port", default=port, type=click.IntRange(0, 65535), show_default=True,
            help="Listen on this port; 0 takes any free one.",
        ),
        click.option(
            "--public", metavar="ADDRESS", default="",
            help="Print links to this address: https://judge.example.org.",
        ),
        click.option(
            "--proxy", metavar="A,B", default="",
            help="Believe what these proxies say of clients: addresses or networks.",
        ),
    ]  # fmt: skip

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add
