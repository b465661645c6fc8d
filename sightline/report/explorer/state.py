"""A state of the explorer: the filters, order and layout that its address says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qsl

from sightline.errors import UsageError, near

CONDITIONS = ("ok", "failed", "no-file", "defect", "unjudged", "unanswered")
LAYOUTS = ("grid", "prompts", "pair")
MOST_PARAMETERS = 1_000
NONE = "none"
"""What stands for rows without a number; of a category, an empty value does."""


@dataclass(frozen=True)
class ViewState:
    """What an address asks for."""

    words: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sort: str = "prompt"
    descending: bool = False
    layout: Literal["grid", "prompts", "pair"] = "grid"
    a: str = ""
    b: str = ""
    show: tuple[str, ...] = ()

    def without(self, field: str) -> ViewState:
        """The state without its filter by one field."""
        left = tuple(each for each in self.filters if each[0] != field)
        return replace(self, filters=left, systems=() if field == "system" else self.systems)


def parse_state(query: str) -> ViewState:
    """The state that a query string says; what is for the page alone is left aside."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        raise UsageError("the address has too many parameters", remedy="Filter by less at once.") from None
    # No database and no prompt holds this character; PostgreSQL refuses it.
    pairs = [(name, value.replace("\0", "\ufffd")) for name, value in pairs]

    def all_of(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for given, value in pairs if given == name))

    def one_of(name: str, default: str, among: Sequence[str]) -> str:
        said = next((value for given, value in reversed(pairs) if given == name and value), default)
        return _known(name, said, among)

    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if name.startswith("f.") and len(name) > 2:
            fields.setdefault(name[2:], []).append(value)
    sort = next((value for given, value in reversed(pairs) if given == "sort" and value), "prompt")
    layout = one_of("layout", "grid", LAYOUTS)
    a, b = (next((value for given, value in reversed(pairs) if given == name), "") for name in "ab")
    return ViewState(
        words=tuple(_words(" ".join(all_of("q")))),
        systems=all_of("system"),
        conditions=tuple(_known("is", value, CONDITIONS) for value in all_of("is") if value),
        filters=tuple((name, tuple(values)) for name, values in sorted(fields.items())),
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        layout=layout,  # type: ignore[arg-type]
        a=a,
        b=b,
        show=tuple(value for value in all_of("show") if value),
    )


def _known(name: str, value: str, among: Sequence[str]) -> str:
    if value not in among:
        raise UsageError(
            f"{name} cannot be {value!r}", remedy=near(value, among) or f"One of {', '.join(among)}."
        )
    return value


def _words(text: str) -> list[str]:
    """The words of a search, folded; what is in quotes is one."""
    pieces = text.casefold().split('"')
    return [
        word
        for number, piece in enumerate(pieces)
        for word in ([piece.strip()] if number % 2 else piece.split())
        if word
    ]


def number_range(field: str, text: str) -> tuple[float, float] | None:
    """The ends of `low..high`, either of which may be left out, or a single number; None for `none`."""
    if text == NONE:
        return None
    low, dots, high = text.partition("..")
    try:
        ends = (float(low) if low else -math.inf, float(high) if high else math.inf)
        if not dots:
            ends = (float(low), float(low))
    except ValueError:
        ends = (math.nan, math.nan)
    if any(map(math.isnan, ends)):
        raise UsageError(
            f"{field} is a number: {text!r} is no range of it",
            remedy="Write 0.2..0.8, 0.2.. or ..0.8, or none.",
        )
    return ends
