"""One measured number with its interval and n, or the reason why there is none, and how it is printed."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower", "none"]
DIRECTIONS: tuple[Direction, ...] = ("higher", "lower", "none")

FEW = 10
"""Of fewer observations no interval is drawn or written as if it were sure."""
ARROWS: dict[Direction, str] = {"higher": "↑", "lower": "↓", "none": ""}
DIRECTION_WORDS: dict[Direction, str] = {"higher": "higher is better", "lower": "lower is better", "none": ""}
MINUS = "−"

# Control characters command a terminal and are invalid in HTML and XML; lone surrogates cannot be written as
# UTF-8. Line feed and tab are ordinary text.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Estimate:
    """A measured number: its value, interval and count, or the reason why there is none.

    `n` counts the independent units behind it (0 where they are not counted), `method` says how the interval
    was made and `direction` which way is better. Both ends of the interval are None where it is unknown.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str = ""
    reason: str | None = None
    unit: str = ""
    direction: Direction = "none"

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            if number is None:
                continue
            if not math.isfinite(number):
                raise ValueError(f"{name} of an estimate must be finite, not {number}; use absent(reason)")
            object.__setattr__(self, name, float(number))  # numpy's numbers are no JSON
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval needs both its ends")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"interval [{self.low}, {self.high}] is upside down")

    @property
    def rough(self) -> bool:
        """Whether the interval rests on fewer than FEW observations."""
        return self.low is not None and 0 < self.n < FEW

    def __str__(self) -> str:
        if self.value is None:
            return f"no value: {self.reason}" if self.reason else "no value"
        count = format_n(self)
        return f"{format_cell(self)}{f' ({count})' if count else ''}"


Cell = str | bool | int | float | Estimate | None


def plural(n: int, noun: str) -> str:
    """A number with its noun: "1 prompt", "1,234 prompts"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def absent(reason: str) -> Estimate:
    """No value, and why."""
    return Estimate(None, reason=reason)


def is_absent(cell: Cell) -> bool:
    """Whether a cell holds no value."""
    return isinstance(cell, Estimate) and cell.value is None


def direction_said(direction: Direction) -> str:
    """The direction in words: "↑ higher is better", or nothing where there is none."""
    return f"{ARROWS[direction]} {DIRECTION_WORDS[direction]}".strip()


def clean(text: str) -> str:
    """Text without the characters that no page, chart or terminal can show."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def plain(cell: Cell) -> Cell:
    """A cell in Python's own types: numpy scalars unwrapped, None and non-finite numbers as absent values."""
    if cell is None:
        return absent("no value")
    if isinstance(cell, (str, bool, Estimate)):
        return cell
    if isinstance(cell, numbers.Integral):
        return int(cell)
    if isinstance(cell, numbers.Real):
        value = float(cell)
        return value if math.isfinite(value) else absent("not a finite number")
    raise TypeError(f"a table cell cannot be a {type(cell).__name__}")


def decimals_for(cell: Cell) -> int:
    """Decimals to print: the last one is 3 to 33 % of the interval's half-width, else by magnitude."""
    if isinstance(cell, Estimate) and cell.low is not None and cell.high is not None and cell.high > cell.low:
        return _clamp(1 - math.floor(math.log10(3 * (cell.high - cell.low) / 2)), 0, 4)
    value = cell.value if isinstance(cell, Estimate) else cell
    if isinstance(value, float) and value != 0:
        return _clamp(2 - math.floor(math.log10(abs(value))), 0, 4)
    return 2


def common_decimals(cells: Iterable[Cell]) -> int:
    """Decimals for a whole column, so that its numbers line up.

    The most that any cell asks for, but at most one above the median: one very narrow interval does not make
    all others look more precise than they are.
    """
    known = (cell for cell in cells if isinstance(cell, (Estimate, float)) and not is_absent(cell))
    asked = sorted(decimals_for(cell) for cell in known)
    return min(asked[-1], asked[len(asked) // 2] + 1) if asked else 2


def column_decimals(cells: Sequence[Cell]) -> list[int]:
    """Decimals for each cell of a column: the same for all, unless their magnitudes differ too much.

    In the column of 0.46 [0.41, 0.50], 3,000.00 would suggest a precision it does not have.
    """
    if far_apart(cells):
        return [decimals_for(cell) for cell in cells]
    return [common_decimals(cells)] * len(cells)


def far_apart(cells: Iterable[Cell]) -> bool:
    """Whether some numbers are in the tens or above and others less than a tenth of them."""
    sizes = [size for cell in cells if (size := _size(cell)) > 0]
    return bool(sizes) and max(sizes) >= 10 and max(sizes) > 10 * min(sizes)


def range_decimals(low: float, high: float) -> int:
    """Decimals for values without an interval, by the range they lie in: 1 to 5 two, 0 to 100 one."""
    if high <= low:
        return decimals_for(float(high))
    exponent = math.log10(high - low)
    return _clamp(2 - (math.ceil(exponent) - 1 if exponent > 0 else math.floor(exponent)), 0, 4)


def shared_decimals(quantities: Iterable[Estimate | None], domain: tuple[float, float] | None = None) -> int:
    """Decimals for all values of one scale: by their intervals, else by the scale's range or their own."""
    known = [each for each in quantities if each is not None and each.value is not None]
    with_interval = [each for each in known if each.low is not None]
    if with_interval:
        return common_decimals(with_interval)
    values = [each.value for each in known if each.value is not None]
    if domain is None and values:
        domain = min(values), max(values)
    return range_decimals(*domain) if domain else 2


def format_number(value: float, style: str = "", decimals: int | None = None) -> str:
    """A number as text.

    Styles: "" plain, "+" always signed, "%" a proportion as a percentage, "p" a p-value, anything else a
    Python format specification.
    """
    if style == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if style == "%":
        return f"{round(value * 100) + 0:d} %".replace("-", MINUS)
    if style not in ("", "+"):
        return format(value, style).replace("-", MINUS)
    if isinstance(value, int):
        return format(value, f"{style},d").replace("-", MINUS)
    places = decimals_for(value) if decimals is None else decimals
    rounded = round(value, places) + 0.0  # -0.004 rounds to -0.0, which would print as "-0.00"
    return format(rounded, f"{style},.{places}f").replace("-", MINUS)


def format_interval(estimate: Estimate, style: str = "", decimals: int | None = None) -> str:
    """The interval alone: "[3.95, 4.28]", or nothing where it is unknown."""
    if estimate.low is None or estimate.high is None:
        return ""
    places = decimals_for(estimate) if decimals is None else decimals
    low, high = (format_number(float(end), style, places) for end in (estimate.low, estimate.high))
    return f"[{low}, {high}]"


def format_cell(cell: Cell, style: str = "", decimals: int | None = None) -> str:
    """One cell as text: "4.12 [3.95, 4.28]", "yes", "1,234", or "-" where there is no value."""
    cell = plain(cell)
    if isinstance(cell, str):
        return clean(cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, Estimate):
        if cell.value is None:
            return "-"
        places = decimals_for(cell) if decimals is None else decimals
        interval = format_interval(cell, style, places)
        return f"{format_number(float(cell.value), style, places)} {interval}".rstrip()
    assert cell is not None
    return format_number(cell, style, decimals)


def format_n(cell: Cell) -> str:
    """How many observations an estimate rests on: "n 24", or nothing where it is unknown."""
    return f"n {cell.n:,}" if isinstance(cell, Estimate) and cell.value is not None and cell.n else ""


def _size(cell: Cell) -> float:
    if isinstance(cell, Estimate):
        return max((abs(end) for end in (cell.value, cell.low, cell.high) if end is not None), default=0.0)
    return abs(cell) if isinstance(cell, float) else 0.0


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))
