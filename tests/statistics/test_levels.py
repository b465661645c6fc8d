"""Correlations at four levels, by hand and against scipy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from sightline.statistics import levels
from sightline.statistics.levels import (
    Items,
    at_levels,
    between_systems,
    difference,
    grouped_accuracy,
    grouped_coefficients,
    pooled,
    tie_threshold,
    within_prompts,
    within_systems,
)


def items_of(measure, people, prompt, system, unit=None) -> Items:
    x = np.asarray(measure, dtype=float)
    numbers = [np.asarray(each) for each in (prompt, prompt if unit is None else unit, system)]
    return Items(x, x, np.asarray(people, dtype=float), *numbers)


def made(rng, prompts=30, systems=4, images=1, slope=1.0, noise=1.0) -> Items:
    """Prompts x systems x images, the measure being people's value times `slope` plus noise."""
    prompt = np.repeat(np.arange(prompts), systems * images)
    system = np.tile(np.repeat(np.arange(systems), images), prompts)
    people = rng.normal(size=prompts)[prompt] + rng.normal(size=prompt.size)
    return items_of(slope * people + noise * rng.normal(size=prompt.size), people, prompt, system)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 5)), min_size=2, max_size=60))
def test_groups_are_what_scipy_says_of_each(rows):
    x, y, group = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    _, place = np.unique(group, return_inverse=True)
    for number, found in enumerate(grouped_coefficients(x, x, y, place)):
        a, b = x[place == number], y[place == number]
        if a.size < 2 or np.ptp(b) == 0:
            assert np.isnan(found).all()
        elif np.ptp(a) == 0:
            assert (found == 0).all(), "a measure that sees no difference where people do is not left out"
        else:
            wanted = [spearmanr(a, b)[0], kendalltau(a, b)[0], pearsonr(a, b)[0]]
            assert found == pytest.approx(wanted)


def test_large_groups_take_another_way_to_the_same_values():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, 200).astype(float), rng.integers(0, 9, 200).astype(float)
    group = np.repeat([0, 1], [60, 140])
    found = grouped_coefficients(x, x, y, group)
    for number in (0, 1):
        a, b = x[group == number], y[group == number]
        assert found[number] == pytest.approx([spearmanr(a, b)[0], kendalltau(a, b)[0], pearsonr(a, b)[0]])


def test_every_level_by_hand():
    # Two prompts, three systems. Prompt 0: people 1 2 3, measure 1 2 3: rho 1, tau 1. Prompt 1: people 4 5 6,
    # measure 5 4 6: d = 1, -1, 0, rho = 1 - 6 * 2 / 24 = .5, tau = (2 - 1) / 3.
    items = items_of([1, 2, 3, 5, 4, 6], [1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1], [7, 8, 9, 7, 8, 9])
    found = at_levels(items).levels
    within = found["within prompts"]
    assert within.spearman.value == pytest.approx(0.75) and within.spearman.n == 2
    assert within.kendall.value == pytest.approx((1 + 1 / 3) / 2) and within.items == 6
    # Five of the six pairs of answers to one prompt are ordered alike.
    assert within.accuracy.value == pytest.approx((1 + 2 / 3) / 2)
    # All six: d = 0 0 0 1 -1 0, rho = 1 - 6 * 2 / 210.
    assert found["pooled"].spearman.value == pytest.approx(1 - 12 / 210)
    # Each system has two answers, in the same order.
    assert found["within systems"].spearman.value == pytest.approx(1)
    # Means of systems: people 2.5 3.5 4.5, measure 3 3 4.5; mid-ranks 1.5 1.5 3 against 1 2 3, centred
    # -.5 -.5 1 and -1 0 1: 1.5 / sqrt(1.5 * 2).
    assert found["between systems"].spearman.value == pytest.approx(1.5 / 3**0.5)
    assert found["between systems"].spearman.n == 3
    # e = 0 0 0 -1 1 0. About the prompts' means: sum of squares 2 over 2 + 2 degrees of freedom.
    assert within.rmse.value == pytest.approx(0.5**0.5)
    # The systems' mean errors are -.5, .5 and 0.
    assert found["between systems"].rmse.value == pytest.approx((0.5 / 3) ** 0.5)
    # Two prompts and three systems allow no interval, and the estimates say so.
    assert within.spearman.low is None and "fewer than 20 prompts" in (within.spearman.reason or "")
    assert "fewer than 8 systems" in (found["between systems"].spearman.reason or "")


def test_prompts_of_a_family_count_once():
    # Prompts 0 and 1 are one family with rho 1 and -1, mean 0; prompt 2 has rho 1: (0 + 1) / 2.
    items = items_of(
        [1, 2, 2, 1, 1, 2], [1, 2, 1, 2, 1, 2], [0, 0, 1, 1, 2, 2], [0, 1] * 3, [0, 0, 0, 0, 2, 2]
    )
    found = within_prompts(items, 1.0)
    assert (found.spearman.value, found.spearman.n) == (pytest.approx(0.5), 2)


def test_simpsons_paradox_is_seen():
    """Harder prompts get less from both, but the better a system the lower the measure."""
    rng = np.random.default_rng(0)
    prompts, systems, images = 40, 3, 4
    prompt = np.repeat(np.arange(prompts), systems * images)
    system = np.tile(np.repeat(np.arange(systems), images), prompts)
    ease, quality = rng.normal(size=prompts)[prompt], np.array([0.6, 0.0, -0.6])[system]
    noise = 0.3 * rng.normal(size=(2, prompt.size))
    items = items_of(ease - quality + noise[0], ease + quality + noise[1], prompt, system)
    found = at_levels(items, sign=1.0)
    levels = {name: each.spearman for name, each in found.levels.items()}
    assert levels["pooled"].low > 0.1 and levels["within prompts"].high < -0.5
    assert levels["within systems"].low > 0.5 and levels["between systems"].value == -1
    assert found.levels["between systems"].accuracy.value == 0
    assert [(pair.people, pair.measure) for pair in found.pairs] == [(1, -1)] * 3
    # Without a direction it is read as it follows people within prompts, and so agrees about systems.
    assert at_levels(items).sign == -1 and at_levels(items).levels["between systems"].accuracy.value == 1


def test_differences_that_are_not_significant_are_ties():
    """People tie systems 0 and 1 and put both above 2; the measure puts 0 above 1, and both above 2."""
    rng = np.random.default_rng(1)
    prompts = 20
    prompt, system = np.repeat(np.arange(prompts), 3), np.tile([0, 1, 2], prompts)
    wobble = np.tile([0.5, -0.5], prompts // 2)
    people = np.column_stack([wobble, -wobble, np.full(prompts, -9.0)]) + 0.01 * rng.normal(size=(prompts, 3))
    measure = np.tile([2.0, 1.0, 0.0], (prompts, 1)) + 0.01 * rng.normal(size=(prompts, 3))
    level, pairs = between_systems(items_of(measure.ravel(), people.ravel(), prompt, system))
    assert [(pair.people, pair.measure) for pair in pairs] == [(0, 1), (1, 1), (1, 1)]
    assert level.accuracy.value == pytest.approx(2 / 3) and level.accuracy.n == 3


def test_tie_calibration_by_hand():
    # People: 1 1 2 2. The measure: 1 1.2 3 3.1. Pairs within .2 are the two that people tie: all six right.
    x, y, group = np.array([1, 1.2, 3, 3.1]), np.array([1.0, 1, 2, 2]), np.zeros(4, dtype=int)
    assert grouped_accuracy(x, y, group)[0] == pytest.approx(4 / 6)
    threshold = tie_threshold(x, y, group)
    assert threshold == pytest.approx(0.2)
    assert grouped_accuracy(x, y, group, threshold)[0] == 1
    # Where people tie nothing, nothing is called tied.
    assert tie_threshold(x, np.arange(4.0), group) == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000))
def test_calibration_is_the_best_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=12), rng.integers(0, 3, 12).astype(float)
    group = np.repeat([0, 1, 2], 4)
    best = grouped_accuracy(x, y, group, tie_threshold(x, y, group)).mean()
    gaps = np.abs(x[:, None] - x[None, :]).ravel()
    assert best == pytest.approx(max(grouped_accuracy(x, y, group, gap).mean() for gap in [0.0, *gaps]))


@pytest.mark.parametrize("at_once", [5, 60, 250_000])
def test_calibration_does_not_depend_on_how_many_pairs_are_looked_at_at_once(at_once, monkeypatch):
    rng = np.random.default_rng(3)
    group = rng.integers(0, 9, 120)
    for x in (rng.normal(size=120), rng.integers(0, 4, 120) * 1.0, rng.lognormal(0, 5, 120), np.ones(120)):
        for y in (rng.integers(0, 3, 120) * 1.0, np.round(x), x + rng.normal(size=120)):
            gaps, gains = [np.zeros(1)], [np.zeros(1)]
            for i, j in combinations(range(120), 2):
                if group[i] == group[j]:
                    right = np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]) != 0
                    gaps.append([abs(x[i] - x[j])])
                    gains.append([1.0 * (y[i] == y[j]) - right])
            gap, gain = np.concatenate(gaps), np.concatenate(gains)
            tried = np.unique(gap)
            best = tried[np.argmax([gain[gap <= each].sum() for each in tried])]
            monkeypatch.setattr(levels, "CELLS", at_once)
            assert tie_threshold(x, y, group) == best


def test_perfect_agreement_has_no_interval_and_two_answers_are_a_proportion():
    prompt, system = np.repeat(np.arange(10), 2), np.tile([0, 1], 10)
    people = np.tile([0.0, 1.0], 10)
    right = within_prompts(items_of(people, people, prompt, system))
    # Ten of ten pairs right: mid-P leaves (1 - p)^10 / 2 = .025 and so p = .259 of them wrong at most.
    assert right.spearman.value == 1
    assert right.spearman.low == pytest.approx(1 - 2 * (1 - 0.05**0.1), abs=1e-6)
    same = items_of(np.arange(30.0), np.arange(30.0), np.repeat(np.arange(10), 3), np.tile([0, 1, 2], 10))
    assert pooled(same).spearman.value == pytest.approx(1) and pooled(same).spearman.low is None


def test_a_measure_or_people_without_differences():
    items = items_of([1, 1, 1, 1], [1, 2, 3, 4], [0, 0, 1, 1], [0, 1, 0, 1])
    assert at_levels(items).levels["pooled"].spearman.reason == "the measure is constant"
    items = items_of([1, 2, 3, 4], [1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1])
    assert [*at_levels(items).levels] == ["pooled"]


def test_equal_measures_do_not_differ_and_better_ones_do():
    rng = np.random.default_rng(4)
    good = made(rng)
    bad = good._replace(measure=rng.normal(size=good.measure.size))
    for level in (pooled, within_prompts, within_systems):
        same = difference(level(good), level(good), (1.0, 1.0))
        assert (same.estimate.value, same.p) == (0, 1)
        gap = difference(level(good), level(bad), (1.0, 1.0))
        assert gap.p < 0.01 and gap.estimate.low > 0 and gap.estimate.n == 30
        turned = level(good._replace(measure=-good.measure))
        assert difference(turned, level(good), (-1.0, 1.0)).estimate.value == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("between", "within"), [(0.0, 0.0), (0.6, 0.3), (0.9, 0.9)])
def test_intervals_cover(between, within):
    """150 studies of 10 prompts with 6 answers: the standard error of .95 is .018; three of them allowed."""

    def study(rng, prompts):
        prompt, system = np.repeat(np.arange(prompts), 6), np.tile(np.arange(6), prompts)
        hard, own = rng.normal(size=prompts), rng.normal(size=6 * prompts)
        x = between * hard + (1 - between**2) ** 0.5 * rng.normal(size=prompts)
        y = within * own + (1 - within**2) ** 0.5 * rng.normal(size=own.size)
        return items_of(x[prompt] + y, hard[prompt] + own, prompt, system)

    levels = (pooled, within_prompts, within_systems)
    large = study(np.random.default_rng(0), 2000)
    truth = [level(large).spearman.value for level in levels]
    inside = np.zeros(3)
    for seed in range(150):
        found = [level(study(np.random.default_rng(seed + 1), 10)).spearman for level in levels]
        inside += [each.low <= true <= each.high for each, true in zip(found, truth, strict=True)]
    assert (inside / 150 >= 0.896).all()
