"""Arguments and options that several commands share, and the reading of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer

from sightline.errors import UsageError

StudyAt: TypeAlias = Annotated[
    str, typer.Argument(metavar="STUDY", help="The study: its folder, or its PostgreSQL address.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
AsCsv: TypeAlias = Annotated[bool, typer.Option("--csv", help="Print CSV, and nothing else.")]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", help="The same seed gives the same result.")]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="How many processes compute at once.", show_default="one a core"),
]


def cores(workers: int | None) -> int:
    """The number of workers asked for, or one for each core this process may use."""
    if workers is not None:
        return workers
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pairs(words: Sequence[str], option: str, example: str) -> dict[str, str]:
    """`name=value` words of a repeatable option as a mapping."""
    found: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"cannot read {option} {word!r}", remedy=f"Write {option} {example}")
        if name.strip() in found:
            raise UsageError(f"{option} gives {name.strip()!r} twice", remedy="Leave one of them out.")
        found[name.strip()] = value
    return found


def listed(words: str) -> list[str]:
    """Names separated by commas."""
    return [word.strip() for word in words.split(",") if word.strip()]
