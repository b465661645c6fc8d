"""A study as the explorer sees it at one moment, and which rows a state leaves, in which order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sightline.errors import UsageError, near
from sightline.report.explorer.fields import SORTS, Fields
from sightline.report.explorer.state import ViewState, number_range
from sightline.report.explorer.table import Column, Table
from sightline.report.store import columns as store
from sightline.report.store.columns import Ints
from sightline.study.schema import database
from sightline.study.study import Study

Mask = NDArray[np.bool_]
MOST_KEPT = 48
"""States whose rows are remembered."""
SHUFFLE = 20_260_101


class Snapshot:
    """Rows, fields and prompts of a study; `before` gives what has not changed since."""

    def __init__(
        self, study: Study, number: int, stamps: Mapping[str, object], before: Snapshot | None = None
    ) -> None:
        self.study, self.number, self.stamps = study, number, stamps
        changed = {part for part in stamps if before is None or stamps[part] != before.stamps[part]}
        if before is None or "rows" in changed:
            with database.reading(study.engine) as connection:
                self.table = Table(store.read_rows(connection))
                self.prompts = store.read_prompts(connection)
                self.kinds = store.read_system_kinds(connection)
            loaded: Mapping[str, Column] = {}
        else:
            self.table, self.prompts, self.kinds = before.table, before.prompts, before.kinds
            loaded = before.fields.loaded(changed)
        self.fields: Fields = Fields(study, self.table, self.prompts, loaded)
        self._folded: list[str] | None = None
        self._orders: OrderedDict[ViewState, Ints] = OrderedDict()
        self._masks: OrderedDict[ViewState, Mask] = OrderedDict()
        self._lock = Lock()

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.table.size

    def order(self, state: ViewState) -> Ints:
        """The numbers of the rows that a state leaves, in its order."""
        key = replace(state, layout="grid", a="", b="", show=())
        with self._lock:
            if key in self._orders:
                self._orders.move_to_end(key)
                return self._orders[key]
        found = self._sorted(key)
        with self._lock:
            self._orders[key] = found
            while len(self._orders) > MOST_KEPT:
                self._orders.popitem(last=False)
        return found

    def _sorted(self, state: ViewState) -> Ints:
        kept = self.mask(state)
        if state.sort == "prompt":
            rows = np.flatnonzero(kept)
            return self._prompts_reversed(rows) if state.descending else rows
        if state.sort == "random":
            order = np.random.default_rng(SHUFFLE).permutation(self.size)
        else:
            column = self.fields.column(state.sort)
            order = column.reverse_order if state.descending else column.order
        return order[kept[order]]

    def _prompts_reversed(self, rows: Ints) -> Ints:
        """The last prompt first, its answers as they are; images alone stay last."""
        prompt = self.table.rows.prompt[rows]
        return rows[np.argsort(np.where(prompt > 0, -prompt, 1), kind="stable")]

    def mask(self, state: ViewState) -> Mask:
        """Which rows a state leaves."""
        key = replace(state, sort="prompt", descending=False, layout="grid", a="", b="", show=())
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        kept = np.ones(self.size, bool)
        if key.words:
            kept &= self._saying(key.words)
        if key.systems:
            kept &= self._by(key.systems)
        for condition in key.conditions:
            kept &= self._condition(condition)
        for name, values in key.filters:
            kept &= self._filtered(name, values)
        with self._lock:
            self._masks[key] = kept
            while len(self._masks) > MOST_KEPT:
                self._masks.popitem(last=False)
        return kept

    def _saying(self, words: Sequence[str]) -> Mask:
        if self._folded is None:
            self._folded = [text.casefold() for text in self.prompts[2]]
        says = np.fromiter(
            (all(word in text for word in words) for text in self._folded), bool, len(self._folded)
        )
        return np.isin(self.table.rows.prompt, self.prompts[0][says])

    def _by(self, systems: Sequence[str]) -> Mask:
        ids = {name: key for key, name in self.fields.systems.items()}
        unknown = next((name for name in systems if name not in ids), None)
        if unknown is not None:
            raise UsageError(f"there is no system {unknown[:200]!r}", remedy=near(unknown, ids))
        return np.isin(self.table.rows.system, [ids[name] for name in systems])

    def _condition(self, condition: str) -> Mask:
        rows = self.table.rows
        match condition:
            case "failed":
                return rows.failed
            case "no-file":
                return rows.no_file
            case "defect":
                return rows.defect
            case "unanswered":
                return np.equal(rows.prompt, 0)
            case "unjudged":
                return (rows.image > 0) & ~self.fields.judged()
            case _:
                return ~(rows.failed | rows.no_file | rows.defect)

    def _filtered(self, name: str, values: Sequence[str]) -> Mask:
        field, column = self.fields.field(name), self.fields.column(name)
        kept = np.zeros(self.size, bool)
        if field.type == "category":
            assert column.codes is not None
            codes = [n for n, each in enumerate(column.names) if each in values]
            kept |= np.isin(column.codes, codes)
            return kept | ~column.known if "" in values else kept
        assert column.numbers is not None
        for value in values:
            ends = number_range(field.label, value)
            if ends is None:
                kept |= ~column.known
            else:
                kept |= (column.numbers >= ends[0]) & (column.numbers <= ends[1])
        return kept

    def check(self, state: ViewState) -> None:
        """Raise where a state names what the study does not have."""
        for name in (*state.show, *(() if state.sort in SORTS else (state.sort,))):
            self.fields.field(name)

    # -- keys ------------------------------------------------------------------------------------------------

    def key(self, row: int) -> str:
        """The name of a row that is the same for ever."""
        rows = self.table.rows
        if rows.prompt[row] == 0:
            return f"i-{rows.image[row]}"
        return f"a-{rows.system[row]}-{rows.prompt[row]}-{rows.position[row]}"

    def row(self, key: str) -> int:
        """The number of the row with this key, or an error."""
        rows = self.table.rows
        kind, *parts = key.split("-")
        numbers = [int(part) for part in parts if part.isascii() and part.isdecimal() and len(part) < 19]
        found = np.empty(0, np.int64)
        if len(numbers) == len(parts):
            if kind == "a" and len(numbers) == 3:
                system, prompt, position = numbers
                first, last = self.of_prompt(prompt)
                mine = np.arange(first, last)
                found = mine[(rows.system[mine] == system) & (rows.position[mine] == position)]
            elif kind == "i" and len(numbers) == 1:
                alone = rows.image[self.answered :]
                at = int(np.searchsorted(alone, numbers[0]))
                found = self.answered + np.flatnonzero(alone[at : at + 1] == numbers[0]) + at
        if not found.size:
            raise UsageError(
                f"there is no row {key[:80]!r} in this study", remedy="It may have been undone; search."
            )
        return int(found[0])

    @cached_property
    def answered(self) -> int:
        """How many rows are answers; images alone come after them."""
        return int(np.count_nonzero(self.table.rows.prompt))

    def of_prompt(self, prompt: int) -> tuple[int, int]:
        """Where the rows of a prompt begin and end; there are none where these are equal."""
        ids = self.table.rows.prompt[: self.answered]
        return int(np.searchsorted(ids, prompt)), int(np.searchsorted(ids, prompt, side="right"))

    def text(self, prompt: int) -> str:
        """The text of a prompt."""
        at = int(np.searchsorted(self.prompts[0], prompt))
        if at >= self.prompts[0].size or self.prompts[0][at] != prompt:
            raise UsageError(f"there is no prompt {prompt}", remedy="It may have been undone.")
        return self.prompts[2][at]
