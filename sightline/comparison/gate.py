"""Gate: did a new system fall below a baseline, on all prompts or on a class of them?"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.comparison.compare import Basis, values_by
from sightline.comparison.gate_classes import WHOLE, classes_of
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Estimate
from sightline.statistics.comparison import MOST_DRAWN
from sightline.statistics.intervals import mean_interval, negated
from sightline.statistics.significance import (
    holm,
    minimum_detectable_effect,
    sign_flip_columns,
    varies,
)
from sightline.study import reading
from sightline.study.study import Study

Array = NDArray[np.float64]
Verdict = Literal["passed", "fell", "could not tell"]
LEAST = 10
"""Fewer prompts than this are not tested, unless a user says so."""
MOST_ALPHA = 0.25


@dataclass(frozen=True)
class Ruling:
    """What the differences of one class say, oriented so that higher is better; `reason` if none could.

    `p` tests that the mean lies below minus the margin, `p_holm` is adjusted for all classes and measures;
    `p_within`, with a margin, tests that it lies above. `detectable` is the true fall that so many prompts
    of this spread would have found with a chance of 80 %.
    """

    verdict: Verdict
    difference: Estimate
    p: float | None = None
    p_holm: float | None = None
    p_within: float | None = None
    detectable: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Held:
    """One class by one question or measure: means over the prompts that both answered, and the ruling.

    The ruling's difference is new minus baseline as measured. `missing` prompts have a value of the baseline
    alone. `named` if a user asked for this class, so that a pass needs it.
    """

    group: str
    by: str
    direction: str
    prompts: int
    baseline: float | None
    new: float | None
    margin: float
    ruling: Ruling
    missing: int = 0
    named: bool = True


@dataclass(frozen=True)
class Gated:
    """Every class by every question or measure, what to know beside, and whether the new system passes."""

    new: str
    baseline: str
    alpha: float
    rows: Sequence[Held]
    notes: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """Fell if any class did; a pass needs every class that was named, and one at the least."""
        each = [row.ruling.verdict for row in self.rows]
        if "fell" in each:
            return "fell"
        open_ = any(row.named and row.ruling.verdict == "could not tell" for row in self.rows)
        return "could not tell" if open_ or "passed" not in each else "passed"

    @property
    def sentence(self) -> str:
        """The outcome in a sentence or two."""
        fell = [row for row in self.rows if row.ruling.verdict == "fell"]
        unsure = [row for row in self.rows if row.ruling.verdict == "could not tell"]
        untested = ""
        if unsure and self.verdict != "could not tell":
            untested = f" Could not be told: {_some([_called(row) for row in unsure])}."
        if fell:
            told = [f"{_called(row)} ({_figures(row)}, p {row.ruling.p_holm:.2g})" for row in fell]
            return f"{self.new} fell below {self.baseline}{_beyond(fell)}: by {_some(told)}.{untested}"
        if self.verdict == "could not tell":
            named = [row for row in unsure if row.named] or unsure
            told = [f"{_called(row)} ({row.ruling.reason})" for row in named]
            return f"Could not tell whether {self.new} fell below {self.baseline}: by {_some(told)}."
        passed = [row for row in self.rows if row.ruling.verdict == "passed"]
        over = _some([_called(row) for row in passed])
        if any(row.margin for row in passed):
            over, power = f"{_beyond(passed)}, which is shown by {over}", ""
        else:
            over, power = f" by {over}", _power(passed)
        return f"{self.new} did not fall below {self.baseline}{over}.{power}{untested}"


def gate(
    study: Study,
    new: str,
    baseline: str,
    by: str | Sequence[str] = (),
    *,
    classes: Sequence[str] = (),
    all_classes: bool = False,
    margin: float | Mapping[str, float] = 0.0,
    alpha: float = 0.05,
    least: int = LEAST,
    complete: bool = False,
    tier: str | None = None,
    seed: int = 0,
) -> Gated:
    """Whether a new system falls significantly below a baseline, on all prompts or on classes of them.

    Values are one a prompt and system, paired over the prompts both have one of; one-sided sign flips, Holm
    over all classes and questions or measures (by default the first with truth). Without a `margin` a class
    passes unless a fall is shown. With one, a fall up to it is tolerated, and that it is no larger must be
    shown as well (non-inferiority); a mapping has a margin for each of `by`. Classes with fewer than `least`
    prompts are not tested; with `complete` none passes where the new system lacks values of the baseline's.
    """
    _refuse(study, (new, baseline), alpha, least)
    bases = _bases(study, [by] if isinstance(by, str) else list(by))
    margins = _margins(margin, bases)
    kinds = dict(reading.systems(study).select("system", "kind").iter_rows())
    classes_found = classes_of(study, classes, every=all_classes, tier=tier, kind=kinds[new])
    notes = list(classes_found.notes)
    rows: list[Held] = []
    columns: list[Array] = []
    keys = reading.prompts(study)["prompt_id"].to_numpy()
    for basis, tolerated in zip(bases, margins, strict=True):
        values = _two(study, basis, new, baseline, keys)
        notes += _beside(basis, new, baseline, values)
        sign = -1.0 if basis.direction == "lower" else 1.0
        for each in classes_found.found:
            ours = np.isin(keys, list(each.prompts))[:, None]
            rows.append(_row(each.name, basis, np.where(ours, values, np.nan), tolerated, each.named))
            columns.append(sign * np.where(ours[:, 0], values[:, 1] - values[:, 0], np.nan))
    found = rulings(np.column_stack(columns), [row.margin for row in rows], alpha, least=least, seed=seed)
    ruled = [
        _completed(replace(row, ruling=_as_measured(ruling, row.direction)), new, complete)
        for row, ruling in zip(rows, found, strict=True)
    ]
    return Gated(new, baseline, alpha, ruled, notes)


def rulings(
    differences: Array, margins: Sequence[float], alpha: float, *, least: int = LEAST, seed: int = 0
) -> list[Ruling]:
    """Rule on every column of differences (prompts x classes, NaN = not in it), higher being better.

    A mean below minus the margin is tested by one-sided sign flips of difference + margin, adjusted after
    Holm over the columns with enough prompts. The interval is Student's at 1 - 2 alpha: its ends are what
    one-sided tests at alpha leave open. That every class lies within its margin is an intersection-union
    claim, whose parts need no adjustment (Berger, Technometrics 24, 1982).
    """
    shifted = differences + np.asarray(margins)
    sizes = np.count_nonzero(~np.isnan(differences), axis=0)
    enough = sizes >= least
    tests = int(enough.sum())
    # The smallest p that can be drawn must survive Holm's factor with room to spare.
    draws = min(MOST_DRAWN, max(10_000, ceil(20 * tests / alpha)))
    below, above = (np.full(len(sizes), np.nan) for _ in range(2))
    if tests:
        chosen = shifted[:, enough]
        below[enough] = sign_flip_columns(chosen, alternative="less", permutations=draws, seed=seed)
        above[enough] = sign_flip_columns(chosen, alternative="greater", permutations=draws, seed=seed)
    adjusted = holm(below)
    found = []
    for column, (n, margin) in enumerate(zip(sizes.tolist(), margins, strict=True)):
        known = differences[:, column]
        difference = mean_interval(known, confidence=1 - 2 * alpha)
        if not enough[column]:
            few = f"{n} prompt{'' if n == 1 else 's'} in common, fewer than {least}"
            found.append(Ruling("could not tell", difference, reason=few))
            continue
        told = Ruling(
            "passed",
            difference,
            float(below[column]),
            float(adjusted[column]),
            float(above[column]) if margin else None,
            _detectable(known[~np.isnan(known)], margin, alpha / tests),
        )
        smallest = max(2.0**-n, 1 / (draws + 1)) * tests
        found.append(_judged(told, margin, alpha, smallest, n))
    return found


def _judged(told: Ruling, margin: float, alpha: float, smallest: float, n: int) -> Ruling:
    assert told.p_holm is not None
    if told.p_holm < alpha:
        return replace(told, verdict="fell")
    if smallest >= alpha:
        reason = f"{n} prompts allow no p after Holm below {smallest:.2g}"
        return replace(told, verdict="could not tell", reason=reason)
    if told.p_within is not None and told.p_within >= alpha:
        reason = f"a fall beyond {margin:g} is neither shown nor ruled out by {n} prompts"
        return replace(told, verdict="could not tell", reason=reason)
    return told


def _detectable(known: Array, margin: float, level: float) -> float | None:
    """The true fall that is found with a chance of 80 %: one side at a level is two sides at twice that."""
    if known.size < 2 or not varies(known):
        return None
    sd = float(known.std(ddof=1))
    return margin + minimum_detectable_effect(sd, known.size, alpha=2 * level)


def _refuse(study: Study, systems: Sequence[str], alpha: float, least: int) -> None:
    """What no gate can be made of."""
    known = reading.systems(study)["system"].to_list()
    for name in systems:
        if name not in known:
            raise UsageError(f"there is no system called {name!r}", remedy=near(name, known))
    if len(set(systems)) == 1:
        raise UsageError(f"{systems[0]} cannot fall below itself", remedy="Name another baseline.")
    if not 0 < alpha <= MOST_ALPHA:
        raise UsageError(f"alpha is {alpha:g}", remedy=f"Above 0 and at most {MOST_ALPHA}, usually 0.05.")
    if least < 2:
        raise UsageError(f"{least} prompts at the least are too few", remedy="2 or more, usually 10.")


def _bases(study: Study, names: Sequence[str]) -> list[Basis]:
    """The values by each question or measure named, once each; rankings are read once for all."""
    found: dict[str, Basis] = {}
    ranked = None
    for name in names or [""]:
        basis = values_by(study, name or None, ranked)
        ranked = basis.ranked or ranked
        if basis.direction == "none":
            raise UsageError(
                f"neither end of {basis.name} is better, so no system falls by it",
                remedy="Gate by a question or measure with a better end: sightline list measure tells them.",
            )
        found.setdefault(basis.name, basis)
    return list(found.values())


def _margins(told: float | Mapping[str, float], bases: Sequence[Basis]) -> list[float]:
    """The margin of each basis; a mapping names them by what they are called, with or without parameters."""
    names = [basis.name for basis in bases]
    if isinstance(told, Mapping):
        ways = {name.partition("(")[0]: name for name in names} | {name: name for name in names}
        ways |= {str(basis.measure): basis.name for basis in bases if basis.measure is not None}
        for name in told:
            if name not in ways:
                raise UsageError(f"a margin is told for {name!r}, not gated by", remedy=near(name, names))
        each = {ways[name]: value for name, value in told.items()}
        margins = [each.get(name, 0.0) for name in names]
    else:
        margins = [float(told)] * len(names)
    for margin in margins:
        if not (np.isfinite(margin) and margin >= 0):
            raise UsageError(f"the margin is {margin:g}", remedy="The fall that is tolerated: 0 or more.")
    return margins


def _two(study: Study, basis: Basis, new: str, baseline: str, keys: NDArray[np.int64]) -> Array:
    """Baseline and new as two columns over the prompts of the study, NaN where there is no value."""
    values = np.full((len(keys), 2), np.nan)
    for column, system in enumerate((baseline, new)):
        own = basis.values.filter(pl.col("system") == system)
        if own.is_empty():
            settle = basis.measure is None
            how = "truth" if settle else f"score {study.name} {shlex.quote(basis.name)}"
            remedy = "Judge its images, then settle: sightline truth STUDY" if settle else f"sightline {how}"
            raise DataError(f"{system} has no value of {basis.name}", where=study.name, remedy=remedy)
        place_of = np.searchsorted(keys, own["prompt_id"].to_numpy())
        values[place_of, column] = own["value"].to_numpy()
    return values


def _row(group: str, basis: Basis, values: Array, margin: float, named: bool) -> Held:
    """A class without its ruling yet."""
    there = ~np.isnan(values)
    both = there.all(axis=1)
    old, new = values[both].mean(axis=0).tolist() if both.any() else (None, None)
    waiting = Ruling("could not tell", Estimate(None, None, None, 0, "t"))
    missing = int((there[:, 0] & ~there[:, 1]).sum())
    n = int(both.sum())
    return Held(group, basis.name, basis.direction, n, old, new, margin, waiting, missing, named)


def _as_measured(ruling: Ruling, direction: str) -> Ruling:
    return replace(ruling, difference=negated(ruling.difference)) if direction == "lower" else ruling


def _completed(row: Held, new: str, complete: bool) -> Held:
    if not complete or not row.missing or row.ruling.verdict != "passed":
        return row
    reason = f"{new} has no value on {row.missing:,} prompts that the baseline has one on"
    return replace(row, ruling=replace(row.ruling, verdict="could not tell", reason=reason))


def _beside(basis: Basis, new: str, baseline: str, values: Array) -> list[str]:
    """Prompts that only one of the two has a value on, and what stands behind values of rankings."""
    there = ~np.isnan(values)
    notes = []
    for name, other, own, has in ((new, baseline, 1, 0), (baseline, new, 0, 1)):
        missing = int((there[:, has] & ~there[:, own]).sum())
        if missing:
            of = int(there[:, has].sum())
            notes.append(f"{name} has no {basis.name} on {missing:,} of {other}'s {of:,} prompts: left out.")
    if basis.ranked is not None and basis.measure is not None:
        others = tuple(f"{name}: " for name in basis.ranked.names.values() if name not in (new, baseline))
        told = basis.ranked.notes_for(basis.measure)
        notes += [note for note in told if not (others and note.startswith(others))]
    return notes


def _called(row: Held) -> str:
    return f"{row.by} over {row.prompts:,} prompts" if row.group == WHOLE else f"{row.by} on {row.group}"


def _figures(row: Held) -> str:
    over = "" if row.group == WHOLE else f" over {row.prompts:,} prompts"
    return f"{row.baseline:.3g} to {row.new:.3g}{over}"


def _beyond(rows: Sequence[Held]) -> str:
    margins = sorted({row.margin for row in rows})
    if not any(margins):
        return ""
    return f" by more than {margins[0]:g}" if len(margins) == 1 else " by more than the margin"


def _power(rows: Sequence[Held]) -> str:
    known = [row for row in rows if row.ruling.detectable is not None]
    if not known:
        return ""
    of = [f" ({_called(row)})" if len(known) > 1 else "" for row in known]
    falls = [f"{row.ruling.detectable:.2g}{which}" for row, which in zip(known, of, strict=True)]
    return f" A true fall of {_some(falls)} would have been found four times out of five."


def _some(told: Sequence[str], most: int = 4) -> str:
    return ", ".join(told[:most]) + (f" and {len(told) - most:,} more" if len(told) > most else "")
