"""Curves of reuse by hand, their limits by simulation, repeats against drawing images at random."""

import numpy as np
import pytest
from scipy.stats import t

from sightline.statistics import reuse
from sightline.statistics.reuse import (
    before_crossing,
    first_repeat,
    in_common,
    mean_curve,
    repeated,
    reusability,
)


def apart(groups):
    """Distance 0 within a group of images that look alike, 1 between groups."""
    group = np.asarray(groups)
    return (group[:, None] != group[None]).astype(float)


def test_mean_curve_is_students_interval():
    rows = np.array([[0.2, 0.4, 0.6], [0.4, 0.5, 0.9], [0.6, 0.6, 0.9]])
    found = mean_curve(rows)
    assert found.k.tolist() == [2, 3, 4] and found.prompts == 3
    assert found.value == pytest.approx([0.4, 0.5, 0.8])
    low, high = t.interval(0.95, 2, rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(3))
    assert found.low == pytest.approx(low)
    assert found.high == pytest.approx(np.minimum(high, 1))
    alone = mean_curve(rows[:1])
    assert alone.prompts == 1 and np.isnan(alone.low).all() and alone.value == pytest.approx(rows[0])


def test_images_before_the_crossing():
    # k = 2, 3, 4, 5: the cut-off .85 is first reached at k = 4, so three images are good.
    assert before_crossing([0.3, 0.6, 0.85, 0.9], 0.85) == 3
    assert before_crossing([0.9, 0.95], 0.85) == 1
    assert before_crossing([0.3, 0.6], 0.85) is None
    found = reusability([[0.3, 0.6, 0.85, 0.9]] * 5, 0.85)
    assert (found.images, found.low, found.high, found.most, found.prompts) == (3, 3, 3, 5, 5)
    never = reusability([[0.3, 0.6]] * 4, 0.85)
    assert (never.images, never.low, never.high, never.interval) == (None, None, None, True)
    single = reusability([[0.3, 0.9]], 0.85)
    assert (single.images, single.interval) == (2, False)


def test_limits_of_reusability_cover():
    """Prompts' curves rise as a(p) + slope log k with a random start; the mean curve crosses at a known k."""
    k = np.arange(2, 61)
    base = 0.35 + 0.15 * np.log(k)
    true = before_crossing(base, 0.8)
    rng = np.random.default_rng(8)
    held = 0
    for trial in range(300):
        curves = base + rng.normal(0, 0.1, size=(40, 1)) + rng.normal(0, 0.02, size=(40, k.size))
        found = reusability(curves, 0.8, resamples=500, seed=trial)
        low, high = (99 if end is None else end for end in (found.low, found.high))
        held += low <= true <= high
    assert 0.91 <= held / 300 <= 0.985, held


def test_shares_of_repeated_images():
    # Groups a a a b c: the three a have a double, b and c have none. Three pairs of a's.
    matrix = apart([0, 0, 0, 1, 2])
    assert repeated(matrix, 0.5).value == pytest.approx(3 / 5)
    assert reuse.pairs_alike(matrix, 0.5) == 3
    assert repeated([[0.0]], 0.5).reason == "fewer than two images"
    assert repeated(np.zeros((3, 3)), 0.0).value == 1
    verdicts = [reuse.verdict(share) for share in (0.0, 0.1, 0.5, 0.51, 1.0)]
    assert verdicts == [reuse.MORE, *[reuse.REPEATING] * 2, *[reuse.EXHAUSTED] * 2]


def test_limits_of_repeats_are_on_half_as_many_images():
    # Clopper and Pearson at 0 of m: 1 - .025^(1/m); at m of m: .025^(1/m). Eight images count as m = 4.
    none, every = repeated(apart(range(8)), 0.5), repeated(apart([0] * 8), 0.5)
    assert (none.low, none.high) == (0, pytest.approx(1 - 0.025 ** (1 / 4)))
    assert (every.low, every.high) == (pytest.approx(0.025 ** (1 / 4)), 1)


@pytest.mark.parametrize(("n", "kinds"), [(8, 8), (8, 200), (20, 30)])
def test_limits_of_the_next_repeat_cover(n, kinds):
    # Images fall on `kinds` looks, equally likely: none of n - 1 is like the n-th with (1 - 1/kinds)^(n-1).
    true = 1 - (1 - 1 / kinds) ** (n - 1)
    rng = np.random.default_rng(n)
    found = [repeated(apart(rng.integers(0, kinds, n)), 0.5) for _ in range(400)]
    assert np.mean([each.low <= true <= each.high for each in found]) >= 0.94
    assert np.mean([each.value for each in found]) == pytest.approx(true, abs=0.03)


def test_first_repeat_is_the_birthday_problem():
    # With 365 equally likely looks 1/365 of pairs are alike, and the first repeat comes at 24.617 (Knuth, The
    # art of computer programming, 1.2.11.3). Pairs taken as independent put it a little later.
    n = (1 + np.sqrt(1 + 8 * 365)) / 2  # so many images would have 365 pairs
    assert first_repeat([1], [n]) == pytest.approx(24.617, rel=0.015)
    assert first_repeat([0], [8]) is None and first_repeat([], []) is None
    assert first_repeat([28], [8]) == 2
    # Over prompts: 2 alike of 28 + 28 pairs are as 1 of 28.
    assert first_repeat([2, 0], [8, 8]) == pytest.approx(first_repeat([1], [8]))


def test_curves_of_unequal_length():
    curves = [np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5]), np.array([0.6])]
    rows, kept = in_common(curves)
    assert rows.tolist() == [[0.1], [0.4], [0.6]] and kept.tolist() == [0, 1, 2]
    rows, kept = in_common(curves, 3)
    assert rows.tolist() == [[0.1, 0.2], [0.4, 0.5]] and kept.tolist() == [0, 1]
    assert in_common(curves, 5)[1].size == 0


def test_wrong_input():
    with pytest.raises(ValueError, match="one a prompt"):
        mean_curve([0.1, 0.2])
    with pytest.raises(ValueError, match="no curve"):
        in_common([])
    with pytest.raises(ValueError, match="square"):
        repeated([[0, 1]], 0.5)
