"""Partial pooling: by hand, at its two ends, and by what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.statistics.crossed import Variance
from sightline.statistics.intervals import mean_interval
from sightline.statistics.pooling import partial_pooling


def test_by_hand():
    # Means 1, 5, 9, 13; variance 2 within groups, 1 of a mean, with 4 degrees of freedom. Errors being equal,
    # the weighted squares are 80 / (T + 1) = 3, and B = (4 - 3) / (4 - 1) * 3 / 80 = 1 / 80.
    groups = [np.array([level - 1.0, level + 1.0]) for level in (1, 5, 9, 13)]
    found = partial_pooling(groups)
    assert [each.value for each in found] == pytest.approx([1 + 6 / 80, 5 + 2 / 80, 9 - 2 / 80, 13 - 6 / 80])
    assert [each.n for each in found] == [2, 2, 2, 2] and found[0].method == "partial pooling"
    # The common mean has variance (80 / 3) / 4; t(.975, 4) = 2.776445.
    variance = 79 / 80 + 1 / 80**2 * 80 / 12 + 2 * (6 / 80) ** 2
    assert found[0].high - found[0].value == pytest.approx(2.776445 * variance**0.5, rel=1e-6)


def test_raters_shift_all_groups_alike():
    groups = [np.array([level - 1.0, level + 1.0]) for level in (1, 5, 9, 13)]
    raters = [Variance(1.0, 3.0, 1.0, 2.0)] * 4
    plain, found = partial_pooling(groups), partial_pooling(groups, raters=raters)
    assert [each.value for each in found] == [each.value for each in plain]
    # t(.975, 2) = 4.302653: the squares of the two half widths add up.
    half = ((plain[0].high - plain[0].value) ** 2 + 4.302653**2 * 3) ** 0.5
    assert found[0].high - found[0].value == pytest.approx(half, rel=1e-6)
    assert found[0].method == "partial pooling over prompts and raters"
    few = partial_pooling(groups[:2], raters=raters[:2])
    assert few == [mean_interval(each, variance=raters[0]) for each in groups[:2]]


def test_groups_that_differ_by_chance_alone_move_together():
    groups = [np.array([1.0, 2, 3]) + shift for shift in (0, 0, 0, 0.1, 0.3)]
    found = partial_pooling(groups)
    # T = 0: half of the way to the mean of all, 2.08.
    assert [each.value for each in found] == pytest.approx([2.04, 2.04, 2.04, 2.09, 2.19])
    assert found[0].high - found[0].low < mean_interval(groups[0]).high - mean_interval(groups[0]).low


def test_small_groups_move_further_than_large_ones():
    rng = np.random.default_rng(0)
    sizes = ((0, 3), (0, 300), (2, 3), (2, 300))
    groups = [level + rng.permutation(np.linspace(-1, 1, n)) for level, n in sizes]
    found = partial_pooling(groups)
    moved = [abs(each.value - own.mean()) for each, own in zip(found, groups, strict=True)]
    assert moved[0] > 10 * moved[1] and moved[2] > 10 * moved[3]


def test_three_groups_or_no_spread_stay_as_they_are():
    few = [np.array([0.0, 1, 0]), np.array([1.0, 1, 0]), np.array([0.0, 0, 1])]
    assert partial_pooling(few, low=0, high=1) == [mean_interval(each, low=0, high=1) for each in few]
    flat = [np.full(4, value) for value in (1.0, 2.0, 3.0, 4.0)]
    assert [each.value for each in partial_pooling(flat)] == [1, 2, 3, 4]


def test_pooled_means_keep_to_their_scale():
    rng = np.random.default_rng(1)
    groups = [(rng.random(5) < 0.95) * 1.0 for _ in range(8)]
    for each in partial_pooling(groups, low=0, high=1):
        assert 0 <= each.low <= each.value <= each.high <= 1


def test_the_lowest_of_many_groups_is_less_of_an_exaggeration():
    # 16 groups of 6 prompts whose true means are alike: the lowest looks far worse than it is.
    rng = np.random.default_rng(2)
    plain, pooled = [], []
    for _ in range(200):
        groups = [rng.normal(3, 1, 6) for _ in range(16)]
        plain.append(min(each.mean() for each in groups))
        pooled.append(min(each.value for each in partial_pooling(groups)))
    assert np.mean(plain) < 2.4
    assert np.mean(pooled) > 2.75


def test_coverage_over_groups():
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(300):
        truth = rng.normal(0, 0.5, 8)
        sizes = (4, 4, 6, 6, 10, 10, 30, 30)
        groups = [rng.normal(level, 1, n) for level, n in zip(truth, sizes, strict=True)]
        found = partial_pooling(groups)
        inside += [each.low <= level <= each.high for each, level in zip(found, truth, strict=True)]
    assert 0.93 <= np.mean(inside) <= 0.97
