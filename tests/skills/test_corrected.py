"""Match rates corrected by a judged sample: what they give, and that their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.skills.corrected import (
    agreement_by_skill,
    next_to_label,
    people_rate,
    powered_match_rate,
    rates,
)
from sightline.skills.matches import Matches
from sightline.statistics.prediction_powered import powered_estimate


def matches(match: list[float], system: list[str] | None = None, skill: list[str] | None = None) -> Matches:
    n = len(match)
    numbers = np.arange(n)
    return Matches(
        by="verdict",
        prompt=numbers,
        system=np.array(system or ["s"] * n),
        position=np.zeros(n, np.int64),
        image=numbers,
        unit=numbers,
        skill=np.array(skill or ["k"] * n),
        match=np.array(match, dtype=np.float64),
    )


def test_a_perfect_verdict_needs_hardly_anybody() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(400) < 0.4).astype(float)
    human = np.where(np.arange(400) < 40, truth, np.nan)
    fit = powered_match_rate(truth, human, np.arange(400))
    assert fit is not None and fit.weight > 0.85 and fit.explained == pytest.approx(1.0)
    assert fit.value == pytest.approx(truth.mean(), abs=0.02)
    assert fit.worth > 3 * fit.n


def test_a_verdict_that_cannot_tell_anything_leaves_people_alone() -> None:
    human = np.where(np.arange(100) < 30, (np.arange(100) % 3 == 0).astype(float), np.nan)
    fit = powered_match_rate(np.full(100, np.nan), human, np.arange(100))
    assert fit is not None and fit.weight == 0 and fit.value == pytest.approx(1 / 3)


def test_nothing_judged_says_what_people_alone_would_take() -> None:
    (row,) = rates(matches([1, 0, 1, np.nan]), None, 0.2)
    # 2 t sqrt(.25 / n) <= .2 from n = 99 on: t = 1.984, .1994; at 98 .2005.
    assert row.needed_alone == 99 and row.needed is None
    assert row.corrected.reason == "nobody judged these" and row.undecided_share.value == 0.25


def test_ties_of_people_are_neither_yes_nor_no() -> None:
    (found,) = agreement_by_skill(matches([1, 1, 0, np.nan]), matches([1, 0.5, 1, 1]))
    assert (found.both_yes, found.only_verdict, found.only_people, found.both_no, found.undecided) == (
        1, 0, 1, 0, 1,
    )  # fmt: skip


def test_every_cell_gets_the_same_part() -> None:
    system = ["a"] * 60 + ["b"] * 40
    skill = (["x"] * 30 + ["y"] * 30) + (["x"] * 30 + ["y"] * 10)
    given = matches([1.0] * 100, system, skill)
    drawn = next_to_label(given, None, [], 20, seed=4)
    cells = [(str(given.system[row]), str(given.skill[row])) for row in drawn]
    assert {cell: cells.count(cell) for cell in cells} == {
        ("a", "x"): 6, ("a", "y"): 6, ("b", "x"): 6, ("b", "y"): 2,
    }  # fmt: skip
    assert len(set(drawn.tolist())) == 20
    assert drawn.tolist() != next_to_label(given, None, [], 20, seed=5).tolist()
    assert len(next_to_label(given, None, [], 1_000, seed=4)) == 100


@pytest.mark.parametrize(
    ("right", "untold", "samples"),
    [((0.98, 0.98), 0.0, 1), ((0.9, 0.8), 0.3, 1), ((0.9, 0.8), 0.3, 4), ((0.6, 0.5), 0.3, 1)],
)
def test_intervals_hold_with_thirty_judged(right: tuple[float, float], untold: float, samples: int) -> None:
    """Of 200 prompts 30 are judged; verdicts err and cannot tell of some, more often of what does not match.

    benchmarks/verdict_rates.py has more settings and runs; docs/skills.md its table.
    """
    rng = np.random.default_rng(7)
    runs, rate, inside, widths = 300, 0.7, 0, np.zeros(2)
    for _ in range(runs):
        unit = np.repeat(np.arange(200), samples)
        chance = rng.beta(1.05, 0.45, 200)[unit] if samples > 1 else np.full(200, rate)
        truth = rng.random(unit.size) < chance
        said = np.where(truth, rng.random(unit.size) < right[0], rng.random(unit.size) >= right[1]).astype(
            float
        )
        said[rng.random(unit.size) < np.where(truth, untold, 1.5 * untold)] = np.nan
        human = np.where(np.isin(unit, rng.permutation(200)[:30]), truth.astype(float), np.nan)
        fit, people = powered_match_rate(said, human, unit), people_rate(human, unit)
        assert fit is not None and people.low is not None and people.high is not None
        found = powered_estimate(fit, fit.variance, (0.0, 1.0), yes_no=samples == 1)
        assert found.low is not None and found.high is not None
        inside += found.low <= rate <= found.high
        widths += found.high - found.low, people.high - people.low
    assert inside / runs > 0.95 - 3 * (0.95 * 0.05 / runs) ** 0.5
    # Never much wider than people alone, and narrower where the verdict knows anything.
    assert widths[0] < 1.06 * widths[1]
    if right[0] > 0.7:
        assert widths[0] < widths[1]
