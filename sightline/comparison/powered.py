"""People and a measure together: means and differences of systems from judged and unjudged answers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np

from sightline.comparison.scored_units import Units, measured, units_of
from sightline.comparison.values import Basis, failure_rule, values_by
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Direction, Estimate, absent
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import system_colours
from sightline.statistics import comparison
from sightline.statistics.paired import Spread
from sightline.statistics.prediction_powered import MIN_JUDGED, Powered, powered_estimate
from sightline.statistics.significance import holm
from sightline.study import reading, rollup
from sightline.study.study import Study
from sightline.verbs import argument, verb

SURE = 0.05
STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""How many times today's judged prompts the table of widths goes through."""


@dataclass(frozen=True)
class PoweredSystem:
    """A system's mean by people alone and with the measure, over so many judged and unjudged prompts.

    `narrower` is by how much the interval shrinks, `worth` how many judged prompts would be as good without
    the measure, `weight` how far the measure was used: 0 not at all, 1 fully.
    """

    system: str
    people: Estimate
    powered: Estimate
    unjudged: int
    narrower: float | None
    worth: float | None
    weight: float | None


@dataclass(frozen=True)
class PoweredPair:
    """The difference of two systems, first minus second, by people alone and with the measure."""

    first: str
    second: str
    people: Estimate
    powered: Estimate
    p: float | None
    p_adjusted: float | None
    narrower: float | None
    untested: str = ""

    @property
    def significant(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted < SURE


@dataclass(frozen=True)
class Width:
    """How wide a system's interval is, on average, if so many prompts are judged."""

    judged: int
    people: float
    powered: float
    saved: float


@dataclass(frozen=True)
class PoweredComparison(Result):
    """Systems by people's judgement and a measure together, best powered mean first."""

    question: str
    measure: str
    direction: Direction
    systems: Sequence[PoweredSystem]
    pairs: Sequence[PoweredPair]
    widths: Sequence[Width]
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """How much the measure helps, and what it would take people alone."""
        known = [each for each in self.systems if each.narrower is not None and each.worth is not None]
        if not known:
            return f"{self.measure} cannot be used: {self.systems[0].powered.reason}."
        judged = round(float(np.median([each.powered.n for each in known])))
        worth = round(float(np.median([each.worth or 0 for each in known])))
        narrower = float(np.median([each.narrower or 0 for each in known]))
        if narrower < 0.02:
            return (
                f"{self.measure} says little about {self.question}: with it, intervals of means are as wide "
                f"as without ({judged:,} judged prompts per system)."
            )
        text = (
            f"With {self.measure}, {judged:,} judged prompts per system are worth {worth:,} on "
            f"{self.question}: intervals of means are {100 * narrower:.0f} % narrower (median)."
        )
        alone = sum(self._sure(each.people) for each in self.pairs)
        both = sum(each.significant for each in self.pairs)
        if self.pairs:
            text += f" {both} of {len(self.pairs)} differences are significant"
            text += f"; the intervals of people alone exclude 0 in {alone}." if alone != both else "."
        return text

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline plan STUDY --question {self.question} --width W",)

    def tables(self) -> dict[str, Table]:
        return {
            "systems": Table(
                [
                    Column("system"),
                    Column("people", "people alone", self.direction, estimate=True),
                    Column("powered", f"with {self.measure}", self.direction, estimate=True),
                    Column("judged", "prompts judged"),
                    Column("unjudged", "not judged"),
                    Column("narrower", format="%"),
                    Column("worth", "worth so many judged", format=",.0f"),
                    Column("weight", "weight of the measure", format=".2f"),
                ],
                [
                    (
                        each.system, each.people, each.powered, each.people.n, each.unjudged,
                        _or(each.narrower), _or(each.worth), _or(each.weight),
                    )
                    for each in self.systems
                ],
                f"Mean {self.question} of systems",
            ),
            "pairs": Table(
                [
                    Column("pair", "systems"),
                    Column("first", detail=True),
                    Column("second", detail=True),
                    Column("people", "people alone", format="+", estimate=True),
                    Column("powered", f"with {self.measure}", format="+", estimate=True),
                    Column("p", format="p"),
                    Column("p_adjusted", "p after Holm", format="p"),
                    Column("significant"),
                    Column("narrower", format="%"),
                ],
                [self._pair(each) for each in self.pairs],
                f"Differences in {self.question}, first minus second",
            ),
            "widths": Table(
                [
                    Column("judged", "prompts judged per system"),
                    Column("people", "width, people alone"),
                    Column("powered", f"width with {self.measure}"),
                    Column("saved", "judged prompts saved", format=",.0f"),
                ],
                [(each.judged, each.people, each.powered, each.saved) for each in self.widths],
                "Width of a mean's interval by the number of judged prompts, on average over systems",
            ),
        }  # fmt: skip

    def figures(self) -> dict[str, Figure]:
        """Each system's mean by people alone and with the measure, with its interval."""
        series = "people alone", f"with {self.measure}"
        dots = [
            Dot(each.system, mean, name)
            for each in self.systems
            for name, mean in zip(series, (each.people, each.powered), strict=True)
            if mean.value is not None
        ]
        if not dots:
            return {}
        colours = system_colours(series)
        figure = Figure.of(
            lambda width: dot_interval(
                dots, axis=self.question, direction=self.direction, colours=colours, width=width
            ),
            f"Mean {self.question} with its 95 % interval, from judged prompts alone and with {self.measure} "
            "of all prompts (prediction-powered).",
            [(name, colours[name].name) for name in series],
        )
        return {"means": figure}

    def _pair(self, pair: PoweredPair) -> tuple[Cell, ...]:
        p = (absent(pair.untested or "not tested") if each is None else each for each in (
            pair.p, pair.p_adjusted
        ))  # fmt: skip
        names = f"{pair.first} − {pair.second}", pair.first, pair.second
        return *names, pair.people, pair.powered, *p, pair.significant, _or(pair.narrower)

    @staticmethod
    def _sure(difference: Estimate) -> bool:
        low, high = difference.low, difference.high
        return low is not None and high is not None and (low > 0 or high < 0)


@verb("analyse")
def powered(
    study: Study,
    question: Annotated[str, argument("The question that people judged.", "QUESTION")],
    measure: Annotated[
        str, argument("The scored measure, or a question that more was judged by.", "MEASURE")
    ],
) -> PoweredComparison:
    """Combine people's judgement of some prompts with a measure of all.

    Gives prediction-powered means and differences of systems (PPI++), next to those of people alone, and how
    many judgements that saves. The measure is rescaled to the question on judged prompts and predicts the
    others; what it gets wrong is corrected by the judged ones, so that a poor measure cannot mislead: it is
    then not used. Valid where the judged prompts are a random sample of all. Families of prompts count once,
    raters as in compare.
    """
    basis = values_by(study, question)
    if basis.measure is not None:
        questions = [asked.name for _, asked in reading.questions(study)]
        raise UsageError(
            f"{question} is a measure, not a question that people judged", remedy=near(question, questions)
        )
    # A failed answer's worst value is known without a judge: it would make judged prompts a chosen sample.
    notes = [] if failure_rule(study) == "left out" else ["Failed answers are left out here."]
    basis = replace(basis, values=rollup.by_system(study, basis.name))
    name, scores, of_judged = measured(study, measure, basis)
    units = units_of(study, basis, scores, of_judged)
    known = ~np.isnan(units.measure)
    if not (known & ~np.isnan(units.truth)).any():
        raise DataError(
            f"no answer has both a judgement of {question} and a score of {name}",
            where=study.name,
            remedy=_more(study, measure, "Score the judged images too"),
        )
    if not (known & np.isnan(units.truth)).any() and np.array_equal(
        units.of_judged, units.measure, equal_nan=True
    ):
        raise DataError(
            f"{name} has scores for judged answers only: it cannot add anything to people's judgement",
            where=study.name,
            remedy=_more(study, measure, "Generate answers to more prompts and score them"),
        )
    systems, pairs, fits = _compared(basis, units)
    return PoweredComparison(
        basis.name,
        name,
        basis.direction,
        systems,
        pairs,
        _widths(units, fits),
        [*notes, *_notes(units, name)],
    )


def _compared(
    basis: Basis, units: Units
) -> tuple[list[PoweredSystem], list[PoweredPair], Mapping[str, Powered]]:
    scale = basis.low, basis.high
    people = comparison.compare(
        units.truth, units.systems, direction=basis.direction, scale=scale, panel=units.panel
    )
    alone = {each.system: each.mean for each in people.standings}
    systems, fits = [], {}
    for number, name in enumerate(units.systems):
        fit = units.fit(number)
        unjudged = int(np.sum(units.answered[:, number] & np.isnan(units.truth[:, number])))
        if fit is None:
            without = PoweredSystem(
                name, alone[name], absent(_why(alone[name].n, unjudged)), unjudged, None, None, None
            )
            systems.append(without)
            continue
        fits[name] = fit
        yes_no = units.at_ends(number, scale)
        mean = powered_estimate(fit, units.with_raters(fit, number), scale, yes_no=yes_no)
        systems.append(
            PoweredSystem(
                name, alone[name], mean, unjudged, _narrower(alone[name], mean), fit.worth, fit.weight
            )
        )
    sign = -1.0 if basis.direction == "lower" else 1.0
    systems.sort(
        key=lambda each: (
            each.powered.value is None,
            -sign * (each.people.value or 0 if each.powered.value is None else each.powered.value),
        )
    )
    return systems, _pairs(basis, units, people.pairs), fits


def _pairs(basis: Basis, units: Units, people: Sequence[comparison.Pair]) -> list[PoweredPair]:
    width = None if basis.low is None or basis.high is None else basis.high - basis.low
    made = []
    for pair, (i, j) in zip(people, combinations(range(len(units.systems)), 2), strict=True):
        fit = units.fit(i, j)
        if fit is None:
            why = absent("too few prompts judged in common, or none unjudged, or no differences")
            made.append(PoweredPair(pair.first, pair.second, pair.difference, why, None, None, None))
            continue
        spread = Spread(fit.value, fit.value, units.with_raters(fit, i, j), fit.n, width)
        difference = replace(spread.interval(), method="prediction-powered")
        p = None if pair.untested else spread.p(0.0)
        narrower = _narrower(pair.difference, difference)
        made.append(
            PoweredPair(
                pair.first, pair.second, pair.difference, difference, p, None, narrower, pair.untested
            )
        )
    tested = [number for number, each in enumerate(made) if each.p is not None]
    adjusted = holm([made[number].p or 0.0 for number in tested])
    for number, p in zip(tested, adjusted, strict=True):
        made[number] = replace(made[number], p_adjusted=float(p))
    return made


def _why(judged: int, unjudged: int) -> str:
    if judged < MIN_JUDGED:
        return f"fewer than {MIN_JUDGED} prompts are judged"
    return "no answer is unjudged" if not unjudged else "the judgements do not vary"


def _narrower(people: Estimate, powered: Estimate) -> float | None:
    ends = people.low, people.high, powered.low, powered.high
    if None in ends or people.high == people.low:
        return None
    low, high, inner_low, inner_high = (float(each or 0) for each in ends)
    return 1 - (inner_high - inner_low) / (high - low)


def _widths(units: Units, fits: Mapping[str, Powered]) -> list[Width]:
    """What more judgements would bring: V = s^2 ((1 - r^2) / n + r^2 / N), r^2 explained; raters as now."""
    from scipy.special import stdtrit

    if not fits:
        return []
    now = round(float(np.median([each.n for each in fits.values()])))
    most = min(each.units for each in fits.values())
    raters = {name: units.with_raters(fit, units.systems.index(name)).raters for name, fit in fits.items()}
    rows = []
    for judged in sorted({min(most, round(now * step)) for step in STEPS} | {most}):
        if judged < MIN_JUDGED:
            continue
        t = 2 * float(stdtrit(judged - 1, 0.975))
        widths, saved = [], []
        for name, fit in fits.items():
            alone, both = fit.at(judged)
            widths.append((t * (alone + raters[name]) ** 0.5, t * (both + raters[name]) ** 0.5))
            saved.append(max(0.0, judged * alone / both - judged) if both > 0 else 0.0)
        people, together = np.mean(widths, axis=0)
        rows.append(Width(judged, float(people), float(together), float(np.mean(saved))))
    return rows


def _notes(units: Units, measure: str) -> list[str]:
    notes = [units.raters] if units.raters else []
    if len(units.truth) < units.prompts:
        notes.append(
            f"{units.prompts:,} prompts count as {len(units.truth):,}: rephrasings, prompts of the same "
            "words and captions of one image are averaged, since they are no independent evidence."
        )
    lost = int(np.sum(units.answered & np.isnan(units.measure)))
    if lost:
        whole = int(units.answered.sum())
        notes.append(
            f"{measure} has no score for {lost:,} of {whole:,} answered prompts of the systems: there it is "
            "taken to be its mean, so that it neither helps nor misleads."
        )
    apart = units.apart()
    if apart:
        notes.append(
            f"Judged and unjudged prompts of {', '.join(apart)} differ significantly in {measure}: "
            "the result holds only if the judged prompts were drawn at random."
        )
    else:
        notes.append("This holds if the judged prompts were drawn at random from all.")
    return notes


def _or(value: float | None) -> Cell:
    return absent("not known") if value is None else value


def _more(study: Study, measure: str, then: str) -> str:
    """What to do where a measure has too few values; a question is judged, not scored."""
    if measure in {asked.name for _, asked in reading.questions(study)}:
        return f"{measure} is a question: have more answers judged by it, or give a measure that is scored."
    return f"{then}: sightline score {shlex.quote(str(study.home))} {shlex.quote(measure)}"
