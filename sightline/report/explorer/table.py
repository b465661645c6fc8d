"""The rows of the explorer as columns: what a value of a prompt, a system or an image means for each row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline.report.store.columns import Floats, Ints, Keyed, RowColumns

Codes = NDArray[np.int32]
# The more a value names, the more exactly it is of a row: its answer before its image before its prompt.
_NEAREST = ((1, 1, 1), (1, 0, 1), (1, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 0), (0, 1, 0))


@dataclass(frozen=True)
class Column:
    """A value per row: numbers, NaN where there is none, or categories by their number, -1 for none."""

    numbers: Floats | None = None
    codes: Codes | None = None
    names: Sequence[str] = ()

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """The rows that have a value."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        assert self.codes is not None
        return self.codes >= 0

    def value(self, row: int) -> float | str | None:
        """The value of one row."""
        if not self.known[row]:
            return None
        if self.numbers is not None:
            return float(self.numbers[row])
        assert self.codes is not None
        return self.names[int(self.codes[row])]

    @cached_property
    def order(self) -> Ints:
        """The rows from the lowest value to the highest, equal ones as they are, those without value last."""
        if self.numbers is not None:
            return np.argsort(self.numbers, kind="stable")
        assert self.codes is not None
        return np.argsort(np.where(self.codes < 0, len(self.names), self.codes), kind="stable")

    @cached_property
    def reverse_order(self) -> Ints:
        """The rows from the highest value to the lowest, equal ones as they are, those without value last."""
        if self.numbers is not None:
            return np.argsort(-self.numbers, kind="stable")
        assert self.codes is not None
        return np.argsort(np.where(self.codes < 0, 1, -self.codes), kind="stable")


def category(values: Sequence[str | None]) -> Column:
    """A column of texts: their numbers follow the order of their names, numbers in names counted."""
    names = sorted({value for value in values if value is not None}, key=natural)
    at: Mapping[str | None, int] = {None: -1, **{name: n for n, name in enumerate(names)}}
    return Column(codes=np.array([at[value] for value in values], np.int32), names=names)


def natural(text: str) -> tuple[tuple[int, float, str], ...]:
    """A key that puts 9 before 10, and letters in any case together."""
    parts = (part for part in re.split(r"([0-9]{1,15})", text) if part)
    return tuple(
        (0, float(part), "") if part[0] in "0123456789" else (1, 0.0, part.casefold()) for part in parts
    )


class Table:
    """The rows, and the way from prompts, systems and images to them."""

    def __init__(self, rows: RowColumns) -> None:
        self.rows = rows
        self.size = int(rows.prompt.size)

    @cached_property
    def _parts(self) -> tuple[tuple[Ints, Ints], ...]:
        """For prompts, systems and images: the ids in order, and each row's number among them, from 1."""
        made = []
        for ids in (self.rows.prompt, self.rows.system, self.rows.image):
            known, codes = np.unique(ids, return_inverse=True)
            made.append((known, codes.astype(np.int64) + 1))
        return tuple(made)

    def spread(self, values: Keyed) -> Floats:
        """A value per row, NaN where there is none; of several the one that is most exactly of it."""
        at = self.places(values.prompt, values.system, values.image)
        return np.where(at >= 0, values.value[at] if values.value.size else np.nan, np.nan)

    def places(self, prompt: Ints, system: Ints, image: Ints) -> Ints:
        """For each row the place of the key that holds of it, -1 where none does."""
        found = np.full(self.size, -1, np.int64)
        if not prompt.size or not self.size:
            return found
        given = np.stack([prompt, system, image])
        shapes = given > 0
        for shape in _NEAREST:
            mine = np.flatnonzero((shapes == np.array(shape, bool)[:, None]).all(axis=0))
            if not mine.size:
                continue
            keys = np.zeros(mine.size, np.int64)
            here = np.zeros(self.size, np.int64)
            whole = np.ones(mine.size, bool)
            for used, ids, (known, codes) in zip(shape, given, self._parts, strict=True):
                if not used:
                    continue
                place = np.minimum(np.searchsorted(known, ids[mine]), known.size - 1)
                whole &= known[place] == ids[mine]
                keys = keys * (known.size + 1) + place + 1
                here = here * (known.size + 1) + codes
            mine, keys = mine[whole], keys[whole]
            if not mine.size:
                continue
            order = np.argsort(keys, kind="stable")
            keys, mine = keys[order], mine[order]
            # Of two values of the same thing the later one counts.
            last = np.searchsorted(keys, here, side="right") - 1
            fits = (last >= 0) & (keys[np.maximum(last, 0)] == here) & (found < 0)
            found[fits] = mine[last[fits]]
        return found


def percentiles(values: Floats, higher_is_better: bool) -> Floats:
    """Where each value stands among all, from 0 for the worst to 1 for the best; equal ones share the middle.

    (rank - 1) / (n - 1) with mid-ranks; NaN stays, and so does everything where there are fewer than two.
    """
    known = np.flatnonzero(~np.isnan(values))
    placed = np.full(values.size, np.nan)
    if known.size < 2:
        return placed
    _, codes, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = ends - (counts + 1) / 2
    placed[known] = middle[codes] / (known.size - 1)
    return placed if higher_is_better else 1 - placed
