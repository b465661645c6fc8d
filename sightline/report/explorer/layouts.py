"""The orders of the explorer's layouts: rows, prompts across systems, pairs of two systems' answers."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sightline.errors import UsageError, near
from sightline.report.explorer.fields import SORTS
from sightline.report.explorer.snapshot import SHUFFLE, Snapshot
from sightline.report.explorer.state import ViewState
from sightline.report.explorer.views import Neighbours
from sightline.report.store.columns import Floats, Ints


class Pairs(NamedTuple):
    """Prompts that two systems answered, in order, with the first answer of each, and A minus B."""

    prompt: Ints
    a: Ints
    b: Ints
    difference: Floats


def prompts_in_order(held: Snapshot, state: ViewState) -> Ints:
    """The prompts of the rows that a state leaves, by the first of their rows in its order."""
    order = held.order(state)
    prompts = held.table.rows.prompt[order]
    prompts = prompts[prompts > 0]
    _, at = np.unique(prompts, return_index=True)
    return prompts[np.sort(at)]


def systems_shown(held: Snapshot, state: ViewState) -> list[str]:
    """The systems that a layout has columns for."""
    everyone = held.fields.systems.values()
    return [name for name in everyone if not state.systems or name in state.systems]


def pairs_in_order(held: Snapshot, state: ViewState) -> Pairs:
    """The pairs of which a state leaves either side, by the difference of what it sorts by."""
    ids = {name: key for key, name in held.fields.systems.items()}
    missing = next((side for side in (state.a, state.b) if side not in ids), None)
    if missing is not None:
        remedy = near(missing, ids) or "Give two systems: a=ONE&b=OTHER."
        raise UsageError(f"there is no system {missing[:200]!r} to compare", remedy=remedy)
    table, kept = held.table.rows, held.mask(replace(state, systems=()))
    firsts = []
    for side in (state.a, state.b):
        mine = np.flatnonzero(table.system == ids[side])
        prompts, at = np.unique(table.prompt[mine], return_index=True)
        firsts.append((prompts, mine[at]))
    both, in_a, in_b = np.intersect1d(firsts[0][0], firsts[1][0], assume_unique=True, return_indices=True)
    a, b = firsts[0][1][in_a], firsts[1][1][in_b]
    match = kept[a] | kept[b]
    both, a, b = both[match], a[match], b[match]
    difference = np.full(both.size, np.nan)
    if state.sort not in SORTS:
        numbers = held.fields.column(state.sort).numbers
        difference = difference if numbers is None else numbers[a] - numbers[b]
    order = _by_difference(state, difference)
    return Pairs(both[order], a[order], b[order], difference[order])


def _by_difference(state: ViewState, difference: Floats) -> Ints:
    if state.sort == "random":
        return np.random.default_rng(SHUFFLE).permutation(difference.size)
    if state.sort == "prompt":
        return np.arange(difference.size)[:: -1 if state.descending else 1]
    return np.argsort(-difference if state.descending else difference, kind="stable")


def neighbours(held: Snapshot, state: ViewState, row: int) -> Neighbours:
    """What comes before and after a row in a state; a row that the state leaves out has none.

    Where prompts stand in a row, it is the first answer to the prompt before and after; of pairs, A's.
    """
    if state.layout == "pair":
        pairs = pairs_in_order(held, state)
        return _around(held, pairs.a, np.flatnonzero((pairs.a == row) | (pairs.b == row)))
    if state.layout == "prompts":
        prompts = prompts_in_order(held, state)
        at = np.flatnonzero(prompts == held.table.rows.prompt[row])
        nearest = np.array([_first(held, state, int(prompt)) for prompt in _near(prompts, at)], np.int64)
        return _among(held, nearest, at, prompts.size)
    order = held.order(state)
    return _around(held, order, np.flatnonzero(order == row))


def _around(held: Snapshot, rows: Ints, at: Ints) -> Neighbours:
    return _among(held, _near(rows, at), at, rows.size)


def _near(values: Ints, at: Ints) -> Ints:
    """The value itself with those before and after it."""
    return values[max(0, int(at[0]) - 1) : int(at[0]) + 2] if at.size else values[:0]


def _among(held: Snapshot, around: Ints, at: Ints, total: int) -> Neighbours:
    if not at.size:
        return Neighbours(None, None, None, int(total))
    place = int(at[0])
    before = held.key(int(around[0])) if place else None
    after = held.key(int(around[-1])) if place + 1 < total else None
    return Neighbours(before, after, place + 1, int(total))


def _first(held: Snapshot, state: ViewState, prompt: int) -> int:
    """The first answer to a prompt by a system that is shown."""
    rows = range(*held.of_prompt(prompt))
    shown = systems_shown(held, state)
    return next(
        (row for row in rows if held.fields.systems[int(held.table.rows.system[row])] in shown), rows[0]
    )
