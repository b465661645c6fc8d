"""Verdicts against people: agreement, and match rates that people's judgement of a sample corrects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline.estimate import Estimate, absent
from sightline.skills.matches import Matches
from sightline.statistics.agreement import cohen_kappa
from sightline.statistics.grouping import Array, Indices
from sightline.statistics.match_rates import match_rate, unit_means
from sightline.statistics.prediction_powered import MIN_JUDGED, Powered, powered_estimate, powered_mean
from sightline.statistics.significance import holm

ALL = "all skills"
MOST = 1_000_000
ALIKE = 0.01
"""Below this p, after Holm, judged and unjudged prompts of a system differ in their verdicts."""


@dataclass(frozen=True)
class SkillAgreement:
    """How far verdicts and people say the same of the answers to one skill's prompts.

    `both_yes` to `both_no` count answers by verdict and people; `undecided` are judged answers of which the
    verdict cannot tell. Accuracy and kappa are over those that both decide.
    """

    skill: str
    accuracy: Estimate
    kappa: Estimate
    both_yes: int
    only_verdict: int
    only_people: int
    both_no: int
    undecided: int


@dataclass(frozen=True)
class MatchRate:
    """A system's match rate on a skill: by verdicts alone, by people alone, and by both.

    `undecided_share` is the proportion of answers of which the verdict cannot tell. `needed` and
    `needed_alone` are how many more prompts people must judge for an interval of the wanted width, with
    verdicts and without.
    """

    system: str
    skill: str
    answers: int
    verdict: Estimate
    undecided_share: Estimate
    people: Estimate
    corrected: Estimate
    needed: int | None
    needed_alone: int | None
    unreachable: str = ""


def agreement_by_skill(verdicts: Matches, people: Matches) -> list[SkillAgreement]:
    """Accuracy, Cohen's kappa and the four cells per skill and over all; ties of people are left out."""
    said = np.where(people.match > 0.5, 1.0, np.where(people.match < 0.5, 0.0, np.nan))
    made = []
    for skill in [*(verdicts.skills if len(verdicts.skills) > 1 else []), ALL]:
        own = np.ones(len(verdicts), dtype=np.bool_) if skill == ALL else verdicts.skill == skill
        judged = own & ~np.isnan(said)
        both = judged & ~np.isnan(verdicts.match)
        if not judged.any():
            continue
        machine, human = verdicts.match[both], said[both]
        cells = [int(np.sum((machine == m) & (human == h))) for m, h in ((1, 1), (1, 0), (0, 1), (0, 0))]
        accuracy = match_rate((machine == human).astype(np.float64), verdicts.unit[both])
        kappa = cohen_kappa(machine, human, unit=verdicts.unit[both])
        yes, wrong_yes, wrong_no, no = cells
        undecided = int(judged.sum() - both.sum())
        made.append(SkillAgreement(skill, accuracy, kappa, yes, wrong_yes, wrong_no, no, undecided))
    return made


def rates(verdicts: Matches, people: Matches | None, width: float) -> list[MatchRate]:
    """Every system and skill, each with all of the system's skills together at the end."""
    skills = verdicts.skills if len(verdicts.skills) > 1 else []
    return [
        _rate(verdicts, people, system, skill, width)
        for system in verdicts.systems
        for skill in [*skills, ALL]
    ]


def _rate(verdicts: Matches, people: Matches | None, system: str, skill: str, width: float) -> MatchRate:
    rows = verdicts.of(system, None if skill == ALL else skill)
    unit, said = verdicts.unit[rows], verdicts.match[rows]
    undecided_share = match_rate(np.isnan(said).astype(np.float64), unit)
    machine = match_rate(said, unit) if not np.isnan(said).all() else absent("no verdict could be reached")
    human = np.full(said.size, np.nan) if people is None else people.match[rows]
    row = MatchRate(
        system, skill, int(rows.sum()), machine, undecided_share,
        absent("nobody judged these"), absent("nobody judged these"), None, None,
    )  # fmt: skip
    if not rows.any() or np.isnan(human).all():
        alone = _smallest(lambda n: 0.25 / n, width)
        return replace(row, needed_alone=alone)
    return _with_people(row, said, human, unit, width)


def _with_people(row: MatchRate, said: Array, human: Array, unit: Indices, width: float) -> MatchRate:
    people = people_rate(human, unit)
    fit = powered_match_rate(said, human, unit)
    judged, units = people.n, int(np.unique(unit).size)
    value = min(max(people.value or 0.0, 1 / (judged + 2)), 1 - 1 / (judged + 2))
    spread = value * (1 - value) if fit is None else max(fit.spread, 1e-12)
    alone = _smallest(lambda n: spread / n, width)
    if fit is None:
        why = _why(judged, units)
        whole = not np.isnan(human).any()
        more = None if alone is None else max(0, alone - judged)
        row = replace(row, people=people, corrected=people if whole else absent(why), needed_alone=more)
        return replace(row, unreachable="all answers are judged: more images are needed") if whole else row
    corrected = powered_estimate(fit, fit.variance, (0.0, 1.0), yes_no=_all_yes_or_no(human, unit))
    together = _smallest(lambda n: fit.at(n)[1], width, most=units)
    unreachable = "" if together is not None else "more images are needed: all are too few for this width"
    return replace(
        row,
        people=people,
        corrected=corrected,
        needed=None if together is None else max(0, together - judged),
        needed_alone=None if alone is None else max(0, alone - judged),
        unreachable=unreachable,
    )


def people_rate(human: Array, unit: Indices) -> Estimate:
    """The match rate by people alone over judged answers; several answers of a prompt count as one unit."""
    known = ~np.isnan(human)
    if not np.isin(human[known], (0.0, 1.0)).all():
        from sightline.statistics.intervals import mean_interval

        return mean_interval(unit_means(human, unit)[1], low=0.0, high=1.0)
    return match_rate(human, unit)


def powered_match_rate(said: Array, human: Array, unit: Indices) -> Powered | None:
    """The prediction-powered match rate over units, verdicts predicting what people would say.

    An answer of which the verdict cannot tell counts as one of the mean verdict: any guess is valid, and
    this one leaves the answer's part to people. The variance counts half an error more than was seen among
    the judged units: a few of them may show none of a verdict that errs now and then. None where too few
    units are judged or nothing is unjudged.
    """
    usual = float(np.nanmean(said)) if not np.isnan(said).all() else 0.5
    guess = np.where(np.isnan(said), usual, said)
    of = np.unique(unit, return_inverse=True)[1].reshape(-1)
    size = int(of.max()) + 1
    truth, own, whole = (np.full(size, np.nan) for _ in range(3))
    judged = ~np.isnan(human)
    count, both = np.bincount(of, minlength=size), np.bincount(of[judged], minlength=size)
    whole = np.bincount(of, guess, minlength=size) / count
    some = both > 0
    truth[some] = np.bincount(of[judged], human[judged], minlength=size)[some] / both[some]
    own[some] = np.bincount(of[judged], guess[judged], minlength=size)[some] / both[some]
    fit = powered_mean(truth, whole, np.where(some, own, whole))
    if fit is None:
        return None
    unseen = fit.weight**2 * 0.5 / (fit.n * (fit.n + 1))
    return fit._replace(variance=fit.variance._replace(prompts=fit.variance.prompts + unseen))


def apart(verdicts: Matches, people: Matches) -> list[str]:
    """The systems whose judged answers differ from the others in their verdicts.

    Welch's t test of the means of prompts, since answers to one prompt are alike; p-values after Holm.
    """
    from scipy.stats import ttest_ind

    names, tests = [], []
    for system in verdicts.systems:
        rows = verdicts.of(system) & ~np.isnan(verdicts.match)
        judged = ~np.isnan(people.match)
        inside, outside = (
            unit_means(verdicts.match[part], verdicts.unit[part])[1]
            for part in (rows & judged, rows & ~judged)
        )
        if min(inside.size, outside.size) > 1 and inside.std() + outside.std() > 0:
            names.append(system)
            tests.append(float(ttest_ind(inside, outside, equal_var=False).pvalue))
    return [name for name, p in zip(names, holm(tests), strict=True) if p < ALIKE] if tests else []


def next_to_label(
    verdicts: Matches, people: Matches | None, found: Sequence[MatchRate], n: int | None, seed: int
) -> NDArray[np.int64]:
    """Rows to judge next, drawn at random: the same proportion of every system and skill.

    Only a random sample can correct verdicts: choosing what looks wrong would bias the rates. One answer per
    prompt and system is drawn first, since further answers to a judged prompt say less.
    """
    rng = np.random.default_rng(seed)
    judged = np.zeros(len(verdicts), dtype=np.bool_) if people is None else ~np.isnan(people.match)
    order = rng.permutation(len(verdicts))
    cells: dict[tuple[str, str], list[int]] = {}
    later: dict[tuple[str, str], list[int]] = {}
    met = {(str(verdicts.system[row]), int(verdicts.unit[row])) for row in np.flatnonzero(judged)}
    for row in order.tolist():
        if judged[row]:
            continue
        key = str(verdicts.system[row]), str(verdicts.skill[row])
        place = str(verdicts.system[row]), int(verdicts.unit[row])
        (later if place in met else cells).setdefault(key, []).append(row)
        met.add(place)
    open_ = {key: [*cells.get(key, ()), *later.get(key, ())] for key in dict.fromkeys([*cells, *later])}
    total = sum(len(each) for each in open_.values())
    wanted = _wanted(found, total) if n is None else min(n, total)
    return np.array(_in_proportion(open_, wanted, total), dtype=np.int64)


def _wanted(found: Sequence[MatchRate], total: int) -> int:
    """As many answers as the systems need for their rate over all skills."""
    more = [
        (each.needed if each.needed is not None else each.needed_alone) or 0
        for each in found
        if each.skill == ALL
    ]
    return min(total, sum(more))


def _in_proportion(cells: dict[tuple[str, str], list[int]], wanted: int, total: int) -> list[int]:
    """The first of each cell, as many as its share; what is left goes where the remainder is largest."""
    if not total or not wanted:
        return []
    exact = {key: wanted * len(rows) / total for key, rows in cells.items()}
    counts = {key: int(share) for key, share in exact.items()}
    left = sorted(exact, key=lambda key: counts[key] - exact[key])
    for key in left[: wanted - sum(counts.values())]:
        counts[key] += 1
    return [row for key, rows in cells.items() for row in rows[: counts[key]]]


def _smallest(variance: Callable[[int], float], width: float, *, most: int = MOST) -> int | None:
    """The least number of judged units whose interval, 2 t sqrt(V), is at most so wide; None if none is."""
    from scipy.special import stdtrit

    def wide(n: int) -> float:
        return 2 * float(stdtrit(n - 1, 0.975)) * variance(n) ** 0.5

    if most < MIN_JUDGED or wide(most) > width:
        return None
    low, high = MIN_JUDGED - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) > width else (low, middle)
    return high


def _why(judged: int, units: int) -> str:
    if judged < MIN_JUDGED:
        return f"fewer than {MIN_JUDGED} prompts are judged"
    return "every prompt is judged" if judged >= units else "the judgements do not vary"


def _all_yes_or_no(human: Array, unit: Indices) -> bool:
    return bool(np.isin(unit_means(human, unit)[1], (0.0, 1.0)).all())
