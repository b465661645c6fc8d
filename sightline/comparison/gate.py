"""Gate: is a new system significantly worse than a baseline, on all prompts or on a class of them?"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.comparison.gate_classes import WHOLE, PromptClass, classes_of
from sightline.comparison.gate_tests import MIN_PROMPTS, ClassTest, Source, Verdict, class_tests, decided
from sightline.comparison.preferences import (
    default_preference,
    intervals_over,
    is_preference,
    preferences,
    refuse_unlinked,
)
from sightline.comparison.values import Basis, Raters, bases_of, names_of, raters_of, unit_means
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Direction, Estimate, absent, plural
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.crossed import Panel
from sightline.statistics.intervals import negated
from sightline.statistics.significance import holm
from sightline.study import reading
from sightline.study.groups import families_of
from sightline.study.study import Study
from sightline.verbs import SEED, argument, option, verb

Array = NDArray[np.float64]
EXIT_CODES: Mapping[Verdict, int] = {"passed": 0, "regressed": 1, "inconclusive": 4}
MAX_ALPHA = 0.25


@dataclass(frozen=True)
class ClassResult:
    """One class by one question or measure: means over the prompts that both answered, and the test.

    The test's difference is new minus baseline as measured. `missing` prompts have a value of the baseline
    alone. `named` if a user asked for this class, so that it has to pass.
    """

    group: str
    by: str
    direction: Direction
    prompts: int
    baseline: float | None
    new: float | None
    margin: float
    test: ClassTest
    missing: int = 0
    named: bool = True
    only: str = ""
    """For whom it holds, where there are too few raters to go beyond them."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The row of the table."""
        test = self.test
        untested = absent(test.reason or "not tested")
        unknown = absent(test.undetectable) if test.p is not None else untested
        return (
            self.group, self.by, self.direction, self.prompts,
            *(untested if mean is None else mean for mean in (self.baseline, self.new)),
            test.difference if test.difference.value is not None else untested,
            *(untested if p is None else p for p in (test.p, test.p_holm)),
            absent("no margin is given" if not self.margin else test.reason or "not tested")
            if test.p_within is None else test.p_within,
            unknown if test.detectable is None else test.detectable,
            test.verdict, self.missing, test.reason,
        )  # fmt: skip


@dataclass(frozen=True)
class GateResult(Result):
    """Every class by every question or measure, and whether the new system passes."""

    new: str
    baseline: str
    alpha: float
    rows: Sequence[ClassResult]
    notes: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """Regressed if any class has; to pass, every class that was named must, and at least one."""
        each = [row.test.verdict for row in self.rows]
        if "regressed" in each:
            return "regressed"
        undecided = any(row.named and row.test.verdict == "inconclusive" for row in self.rows)
        return "inconclusive" if undecided or "passed" not in each else "passed"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    @property
    def sentence(self) -> str:
        """The outcome in a sentence or two."""
        regressed = [row for row in self.rows if row.test.verdict == "regressed"]
        undecided = [row for row in self.rows if row.test.verdict == "inconclusive"]
        rest = ""
        if undecided and self.verdict != "inconclusive":
            rest = f" Inconclusive: {_some([_name(row) for row in undecided])}."
        if regressed:
            each = [f"{_name(row)} ({_means(row)}, p {row.test.p_holm:.2g})" for row in regressed]
            return f"{self.new} is worse than {self.baseline}{_beyond(regressed)}: by {_some(each)}.{rest}"
        if self.verdict == "inconclusive":
            named = [row for row in undecided if row.named] or undecided
            each = [f"{_name(row)} ({row.test.reason})" for row in named]
            return f"Inconclusive whether {self.new} is worse than {self.baseline}: by {_some(each)}."
        passed = [row for row in self.rows if row.test.verdict == "passed"]
        over = _some([_name(row) for row in passed])
        if any(row.margin for row in passed):
            return f"{self.new} is not worse than {self.baseline}{_beyond(passed)}, shown by {over}.{rest}"
        return f"{self.new} is not significantly worse than {self.baseline} by {over}.{_power(passed)}{rest}"

    @property
    def next(self) -> Sequence[str]:
        first = next((row.by for row in self.rows if row.test.verdict == "regressed"), None)
        return () if first is None else (f"sightline compare STUDY --by {shlex.quote(first)}",)

    def facts(self) -> Mapping[str, Any]:
        margins = {row.by: row.margin for row in self.rows}
        return {**super().facts(), "verdict": self.verdict, "exit_code": self.exit_code, "margin": margins}

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("class"),
            Column("by"),
            Column("direction"),
            Column("prompts"),
            Column("baseline", self.baseline),
            Column("new", self.new),
            Column("difference", format="+", estimate=True),
            Column("p", format="p"),
            Column("p_holm", "p after Holm", format="p"),
            Column(
                "p_within",
                "p within margin",
                format="p",
                detail=not any(row.margin for row in self.rows),
            ),
            Column("detectable"),
            Column("verdict"),
            Column("missing", detail=True),
            Column("reason", detail=True),
        ]
        caption = f"{self.new} against {self.baseline} (difference with {_level(self.alpha)} interval)"
        return {"": Table(columns, [row.cells for row in self.rows], caption)}


@verb("analyse")
def gate(
    study: Study,
    new: Annotated[str, argument("The system that must not be worse.", "NEW")],
    baseline: Annotated[str, option("Compare with this system.", "--against", metavar="BASELINE")],
    by: Annotated[
        str | Sequence[str],
        option(
            "Decide by this question with truth, or this measure with scores; repeatable.",
            metavar="QUESTION|MEASURE",
            shown="the first question with truth",
        ),
    ] = (),
    *,
    classes: Annotated[
        Sequence[str],
        option(
            "Test this class of prompts: TAG=VALUE, a TAG for each of its values, suite=NAME, or "
            "difficulty:hard, middle or easy; repeatable.",
            "--class",
            metavar="CLASS",
            shown="all prompts",
        ),
    ] = (),
    all_classes: Annotated[bool, option("Test all prompts, and each value of each tag.")] = False,
    margin: Annotated[
        float | Sequence[str] | Mapping[str, float],
        option(
            "Tolerate a regression up to M, and pass only if it is shown to be no larger; NAME=M for one of "
            "several --by.",
            metavar="M",
            shown="0",
        ),
    ] = 0.0,
    alpha: Annotated[
        float, option("Keep the probability of a false alarm below this, over all tests.")
    ] = 0.05,
    min_prompts: Annotated[
        int, option("Do not test classes with fewer prompts in common.", metavar="N")
    ] = MIN_PROMPTS,
    complete: Annotated[bool, option("Do not pass where NEW lacks values that BASELINE has.")] = False,
    tier: Annotated[
        str | None,
        option(
            "Predict the difficulty with this tier; name one to get the same classes on every machine.",
            metavar="small|medium|large",
            shown="the best that runs here",
        ),
    ] = None,
    seed: Annotated[int, SEED] = 0,
) -> GateResult:
    """Fail a build when a new system is worse than a baseline.

    Exit codes: 0 passed, 1 regressed, 4 inconclusive (too few prompts, or a margin that is neither kept nor
    exceeded for sure), 2 wrong usage, 3 faulty data. Values are paired over the prompts that both systems
    have one for and tested by one-sided sign flips; p is adjusted after Holm for all classes and measures.
    Without a margin a class passes unless a regression is shown. With one, a regression up to it is
    tolerated, and that it is no larger must be shown as well (non-inferiority).
    """
    _refuse(study, (new, baseline), alpha, min_prompts)
    asked = names_of(by) or default_preference(study)
    refuse_unlinked(study, asked)
    if any(is_preference(study, name) for name in asked):
        return _by_preference(study, new, baseline, asked, classes, all_classes, margin, alpha, tier)
    bases = bases_of(study, by)
    for basis in bases:
        if basis.direction == "none":
            raise UsageError(
                f"{basis.name} has no direction, so no system can be worse by it",
                remedy="Choose a question or measure with a direction: sightline list measure",
            )
    margins = _margins(margin, bases)
    kinds = dict(reading.systems(study).select("system", "kind").iter_rows())
    chosen = classes_of(study, classes, every=all_classes, tier=tier, kind=kinds[new])
    notes = list(chosen.notes)
    rows: list[ClassResult] = []
    columns: list[Array] = []
    sources: list[Source] = []
    keys = reading.prompts(study)["prompt_id"].to_numpy()
    unit = families_of(study, keys.tolist())
    for basis, tolerated in zip(bases, margins, strict=True):
        values = _two(study, basis, new, baseline, keys)
        raters = raters_of(
            study, basis, dict(zip(keys.tolist(), unit.tolist(), strict=True)), (baseline, new)
        )
        notes += [*_notes(basis, new, baseline, values), *([said] if (said := _said(raters, alpha)) else [])]
        sign = -1.0 if basis.direction == "lower" else 1.0
        for each in chosen.classes:
            ours = np.isin(keys, list(each.prompts))[:, None]
            means = unit_means(np.where(ours, values, np.nan), unit)
            rows.append(_row(each, basis, means, tolerated, raters.only))
            columns.append(sign * (means[:, 1] - means[:, 0]))
            sources.append(_source(basis, means, raters.panel, seed))
    tests = class_tests(
        np.column_stack(columns),
        [row.margin for row in rows],
        alpha,
        sources=sources,
        min_prompts=min_prompts,
        seed=seed,
    )
    tested = [
        _completed(replace(row, test=_as_measured(test, row.direction)), new, complete)
        for row, test in zip(rows, tests, strict=True)
    ]
    return GateResult(new, baseline, alpha, tested, list(dict.fromkeys(notes)))


def _said(raters: Raters, alpha: float) -> str:
    """What intervals are over, at the level of the gate."""
    return raters.said.replace("95 %", _level(alpha))


def _level(alpha: float) -> str:
    return f"{100 * (1 - 2 * alpha):g} %"


def _by_preference(
    study: Study,
    new: str,
    baseline: str,
    questions: Sequence[str],
    classes: Sequence[str],
    all_classes: bool,
    margin: float | Sequence[str] | Mapping[str, float],
    alpha: float,
    tier: str | None,
) -> GateResult:
    """The gate by votes between systems: is the new one preferred less often than the baseline?

    The difference is the fitted probability that the new system is preferred to the baseline, less that of
    the reverse; the margin is one of this difference.
    """
    other = [name for name in questions if not is_preference(study, name)]
    if other:
        raise UsageError(
            f"{other[0]} is no question of preference, and {questions[0]} is",
            remedy="Gate by either kind in a run of its own.",
        )
    tolerated = _parsed(margin) if isinstance(margin, Sequence) else margin
    chosen = classes_of(study, classes, every=all_classes, tier=tier, kind="generator")
    rows, below, above = [], [], []
    notes = list(chosen.notes)
    for question in questions:
        allowed = float(tolerated.get(question, 0.0) if isinstance(tolerated, Mapping) else tolerated)
        for each in chosen.classes:
            row, less, more, over = _preferred(study, question, new, baseline, each, allowed, alpha)
            notes += [over] if over not in notes else []
            rows.append(row)
            below.append(less)
            above.append(more)
    adjusted = holm(np.array(below))
    tested = []
    for row, less, more, holms in zip(rows, below, above, adjusted, strict=True):
        if np.isnan(less):
            tested.append(row)
            continue
        test = replace(
            row.test, verdict="passed", p=less, p_holm=float(holms), p_within=more if row.margin else None
        )
        tested.append(replace(row, test=decided(test, row.margin, alpha, 0.0, 0.0, row.prompts)))
    notes.append(
        f"The columns {baseline} and {new} are the fitted probabilities that either is preferred to the "
        "other; the difference is between them, and so is --margin."
    )
    return GateResult(new, baseline, alpha, tested, [note for note in notes if note])


def _preferred(
    study: Study, question: str, new: str, baseline: str, each: PromptClass, margin: float, alpha: float
) -> tuple[ClassResult, float, float, str]:
    """One class before the correction, p that the new system is preferred less, or more, than allowed, and
    what the interval is over.
    """
    prompts = None if each.name == WHOLE else sorted(each.prompts)
    why = "nobody compared the two, or systems that connect them"
    nothing = ClassTest("inconclusive", Estimate(None, None, None, 0, ""), reason=why)
    empty = ClassResult(each.name, question, "higher", 0, None, None, margin, nothing, named=each.named)
    try:
        ranking = preferences(study, question, prompts, confidence=1 - 2 * alpha).ranking
    except DataError:
        return empty, np.nan, np.nan, ""
    pair = next((one for one in ranking.pairs if {one.first, one.second} == {new, baseline}), None)
    if pair is None or pair.p is None or pair.probability.value is None or pair.difference.value is None:
        return empty, np.nan, np.nan, ""
    sign = 1.0 if pair.first == new else -1.0
    chance = pair.probability if pair.first == new else _complement(pair.probability)
    assert chance.value is not None and chance.low is not None and chance.high is not None
    low, high = 2 * chance.low - 1, 2 * chance.high - 1
    difference = Estimate(2 * chance.value - 1, low, high, pair.votes, "Bradley-Terry")
    stronger = pair.p / 2 if sign * pair.difference.value > 0 else 1 - pair.p / 2
    # With a margin, what one-sided tests at alpha leave open is the interval itself.
    less = 1 - stronger if not margin else (alpha / 2 if high < -margin else 1.0)
    more = 0.0 if low > -margin else 1.0
    test = ClassTest("inconclusive", difference, undetectable="the power of votes is not computed")
    result = ClassResult(
        each.name, question, "higher", ranking.prompts, 1 - chance.value, chance.value, margin, test,
        named=each.named,
    )  # fmt: skip
    return result, less, more, intervals_over(ranking, f"{1 - 2 * alpha:.0%}".replace("%", " %"))


def _complement(chance: Estimate) -> Estimate:
    assert chance.value is not None and chance.low is not None and chance.high is not None
    return replace(chance, value=1 - chance.value, low=1 - chance.high, high=1 - chance.low)


def _source(basis: Basis, means: Array, panel: Panel | None, seed: int) -> Source:
    """Of baseline (first column) and new (second)."""
    both = np.asarray(~np.isnan(means).any(axis=1))
    n = int(both.sum())
    worst = basis.high if basis.direction == "lower" else basis.low
    bounded = basis.low is not None and basis.high is not None
    width = basis.high - basis.low if bounded else None  # type: ignore[operator]
    fall = None if worst is None or n == 0 else abs(float(means[both, 0].mean()) - worst)
    if panel is None or n < 2:
        return Source(width, fall)
    own = float((means[both, 1] - means[both, 0]).var(ddof=1)) / n
    return Source(width, fall, panel.variance(own, 1, 0, both), panel.confounded(0, 1, seed))


def _refuse(study: Study, systems: Sequence[str], alpha: float, min_prompts: int) -> None:
    """Refuse what cannot be tested."""
    known = reading.systems(study)["system"].to_list()
    for name in systems:
        if name not in known:
            raise UsageError(f"there is no system called {name!r}", remedy=near(name, known))
    if len(set(systems)) == 1:
        raise UsageError(f"{systems[0]} cannot be worse than itself", remedy="Name another baseline.")
    if not 0 < alpha <= MAX_ALPHA:
        raise UsageError(f"alpha is {alpha:g}", remedy=f"Above 0 and at most {MAX_ALPHA}, usually 0.05.")
    if min_prompts < 2:
        raise UsageError(f"--min-prompts is {min_prompts}", remedy="2 or more, usually 10.")


def _margins(given: float | Sequence[str] | Mapping[str, float], bases: Sequence[Basis]) -> list[float]:
    """The margin of each basis; a mapping names them with or without parameters."""
    if isinstance(given, Sequence):
        given = _parsed(given)
    names = [basis.name for basis in bases]
    if isinstance(given, Mapping):
        aliases = {name.partition("(")[0]: name for name in names} | {name: name for name in names}
        aliases |= {str(basis.measure): basis.name for basis in bases if basis.measure is not None}
        for name in given:
            if name not in aliases:
                raise UsageError(
                    f"there is a margin for {name!r}, which is not in --by", remedy=near(name, names)
                )
        each = {aliases[name]: value for name, value in given.items()}
        margins = [each.get(name, 0.0) for name in names]
    else:
        margins = [float(given)] * len(names)
    for margin in margins:
        if not (np.isfinite(margin) and margin >= 0):
            raise UsageError(f"the margin is {margin:g}", remedy="The tolerated regression: 0 or more.")
    return margins


def _parsed(words: Sequence[str]) -> float | dict[str, float]:
    """One number for all, or `name=number` words."""
    if len(words) == 1 and "=" not in words[0]:
        return _number(words[0])
    # Parameters of a measure have = in them too: the last one is before the number.
    margins: dict[str, float] = {}
    for word in words:
        name, separator, value = word.rpartition("=")
        if not separator or name in margins:
            raise UsageError(f"cannot read --margin {word!r} among several", remedy="Write NAME=M once each.")
        margins[name] = _number(value)
    return margins


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise UsageError(f"cannot read --margin {word!r}", remedy="Write --margin 0.1") from None


def _two(study: Study, basis: Basis, new: str, baseline: str, keys: NDArray[np.int64]) -> Array:
    """Baseline and new as two columns over the prompts of the study, NaN where there is no value."""
    values = np.full((len(keys), 2), np.nan)
    for column, system in enumerate((baseline, new)):
        own = basis.values.filter(pl.col("system") == system)
        if own.is_empty():
            remedy = "Judge its images, then: sightline truth STUDY"
            if basis.measure is not None:
                remedy = f"sightline score {study.name} {shlex.quote(basis.name)}"
            raise DataError(f"{system} has no value of {basis.name}", where=study.name, remedy=remedy)
        place_of = np.searchsorted(keys, own["prompt_id"].to_numpy())
        values[place_of, column] = own["value"].to_numpy()
    return values


def _row(group: PromptClass, basis: Basis, values: Array, margin: float, only: str) -> ClassResult:
    """A class that is not tested yet."""
    there = ~np.isnan(values)
    both = there.all(axis=1)
    old, new = values[both].mean(axis=0).tolist() if both.any() else (None, None)
    untested = ClassTest("inconclusive", Estimate(None, None, None, 0, "t"))
    missing = int((there[:, 0] & ~there[:, 1]).sum())
    n = int(both.sum())
    about = group.name, basis.name, basis.direction, n, old, new, margin, untested
    return ClassResult(*about, missing, group.named, only)


def _as_measured(test: ClassTest, direction: str) -> ClassTest:
    return replace(test, difference=negated(test.difference)) if direction == "lower" else test


def _completed(row: ClassResult, new: str, complete: bool) -> ClassResult:
    if not complete or not row.missing or row.test.verdict != "passed":
        return row
    reason = f"{new} has no value on {plural(row.missing, 'prompt')} that the baseline has one on"
    return replace(row, test=replace(row.test, verdict="inconclusive", reason=reason))


def _notes(basis: Basis, new: str, baseline: str, values: Array) -> list[str]:
    """Prompts that only one of the two has a value on, and what values of rankings rest on."""
    there = ~np.isnan(values)
    notes = []
    for name, other, own, has in ((new, baseline, 1, 0), (baseline, new, 0, 1)):
        missing = int((there[:, has] & ~there[:, own]).sum())
        if missing:
            of = int(there[:, has].sum())
            notes.append(f"{name} has no {basis.name} on {missing:,} of {other}'s {of:,} prompts: excluded.")
    if basis.ranked is not None and basis.measure is not None:
        others = tuple(f"{name}: " for name in basis.ranked.names.values() if name not in (new, baseline))
        notes += [
            note for note in basis.ranked.notes_for(basis.measure) if not (others and note.startswith(others))
        ]
    return notes


def _name(row: ClassResult) -> str:
    over = f" over {plural(row.prompts, 'prompt')}" if row.group == WHOLE else f" on {row.group}"
    return f"{row.by}{over}{f' {row.only}' if row.only else ''}"


def _means(row: ClassResult) -> str:
    over = "" if row.group == WHOLE else f" over {plural(row.prompts, 'prompt')}"
    return f"{row.baseline:.3g} to {row.new:.3g}{over}"


def _beyond(rows: Sequence[ClassResult]) -> str:
    margins = sorted({row.margin for row in rows})
    if not any(margins):
        return ""
    return f" by more than {margins[0]:g}" if len(margins) == 1 else " by more than the margin"


def _power(rows: Sequence[ClassResult]) -> str:
    known = [row for row in rows if row.test.detectable is not None]
    if not known:
        return ""
    of = [f" ({_name(row)})" if len(known) > 1 else "" for row in known]
    sizes = [f"{row.test.detectable:.2g}{which}" for row, which in zip(known, of, strict=True)]
    return f" A true regression of {_some(sizes)} would have been found with 80 % power."


def _some(words: Sequence[str], most: int = 4) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")
