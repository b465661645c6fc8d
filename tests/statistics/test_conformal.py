"""Conformal intervals: do they hold as often as they say?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.conformal import covered, cv_plus, half_width, split_interval
from sightline.statistics.folds import k_fold

errors_of = st.lists(st.floats(-100, 100), min_size=1, max_size=60)


def test_half_width_by_hand() -> None:
    # n = 9: ceil(10 x 0.9) = 9th smallest of the sizes; n = 8: ceil(9 x 0.9) = 9 > 8, so none is wide enough.
    assert half_width([1, -2, 3, -4, 5, -6, 7, -8, 9]) == 9
    assert half_width([1, -2, 3, -4, 5, -6, 7, -8]) == np.inf
    # n = 19, coverage 0.5: ceil(20 x 0.5) = 10th smallest.
    assert half_width(np.arange(19.0), coverage=0.5) == 9


def test_split_interval_by_hand() -> None:
    low, high = split_interval([0.0, 10.0], [1.0, -2.0, 3.0], coverage=0.5, low=-1.0, high=11.5)
    # ceil(4 x 0.5) = 2nd smallest size, 2; then cut to what can occur.
    assert low.tolist() == [-1.0, 8.0] and high.tolist() == [2.0, 11.5]
    low, high = split_interval(
        [0.0, 10.0], [1.0, -2.0, 3.0], coverage=0.5, scale=[1.0, 3.0], error_scale=[1.0, 4.0, 1.0]
    )
    # Sizes in their unit are 1, 0.5 and 3: the 2nd smallest is 1.
    assert low.tolist() == [-1.0, 7.0] and high.tolist() == [1.0, 13.0]


def test_cv_plus_by_hand() -> None:
    # Three examples in two folds; coverage 0.5: place ceil(4 x 0.5) = 2.
    # predicted + size: 1+1, 1+2, 5+3 = 2, 3, 8 -> 3; predicted - size: 0, -1, 2 -> 2nd largest 0.
    low, high = cv_plus([[1.0, 5.0]], [1.0, -2.0, 3.0], [0, 0, 1], coverage=0.5)
    assert low.tolist() == [0.0] and high.tolist() == [3.0]


@given(errors_of, st.floats(-10, 10), st.sampled_from([0.5, 0.8, 0.9]))
def test_cv_plus_with_models_that_agree_is_the_split_interval(
    errors: list[float], value: float, coverage: float
) -> None:
    fold = np.arange(len(errors)) % 3
    low, high = cv_plus([[value] * 3], errors, fold, coverage=coverage)
    expected = split_interval([value], errors, coverage=coverage)
    assert low == pytest.approx(expected[0]) and high == pytest.approx(expected[1])


@given(errors_of, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_more_coverage_is_never_narrower(errors: list[float], one: float, two: float) -> None:
    less, more = sorted([one, two])
    assert half_width(errors, coverage=less) <= half_width(errors, coverage=more)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_split_intervals_cover_as_often_as_they_say(coverage: float) -> None:
    """Skewed errors, 4,000 draws of 39 examples: c to c + 1/40, give or take 3 standard errors, 0.024."""
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(4000):
        errors = rng.exponential(size=40) - 1
        low, high = split_interval([0.0], errors[:39], coverage=coverage)
        inside.append(covered(errors[39:], low, high))
    assert coverage - 0.024 < np.mean(inside) < coverage + 1 / 40 + 0.024


def test_scaled_intervals_cover_the_sure_and_the_unsure_alike() -> None:
    rng = np.random.default_rng(2)
    scale = rng.choice([0.2, 2.0], size=6000)
    errors = rng.normal(size=6000) * scale
    old, new = slice(0, 3000), slice(3000, 6000)
    plain = split_interval(np.zeros(3000), errors[old])
    fitted = split_interval(np.zeros(3000), errors[old], scale=scale[new], error_scale=scale[old])
    unsure = scale[new] > 1
    assert covered(errors[new][unsure], plain[0][unsure], plain[1][unsure]) < 0.86
    for group in (unsure, ~unsure):
        assert 0.87 < covered(errors[new][group], fitted[0][group], fitted[1][group]) < 0.93


@pytest.mark.parametrize("n", [30, 100])
def test_cv_plus_covers_with_models_that_overfit(n: int) -> None:
    """Least squares with 8 inputs on 24 of 30 rows errs far less on its own rows than on new ones."""
    rng = np.random.default_rng(3)
    fold = k_fold(n, 5, seed=0)
    inside, naive = [], []
    for _ in range(300):
        x = rng.normal(size=(n + 10, 8))
        y = x[:, 0] + rng.standard_t(3, size=n + 10)
        old, new = slice(0, n), slice(n, None)
        lines = [np.linalg.lstsq(x[old][fold != k], y[old][fold != k], rcond=None)[0] for k in range(5)]
        held_out = np.array([x[row] @ lines[fold[row]] for row in range(n)])
        said = np.stack([x[new] @ line for line in lines], axis=1)
        inside.append(covered(y[new], *cv_plus(said, y[old] - held_out, fold, coverage=0.8)))
        whole = np.linalg.lstsq(x[old], y[old], rcond=None)[0]
        naive.append(covered(y[new], *split_interval(x[new] @ whole, y[old] - x[old] @ whole, coverage=0.8)))
    assert 0.78 < np.mean(inside) < 0.9
    assert np.mean(naive) < np.mean(inside) - 0.02


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        half_width([1.0], coverage=1.0)
    with pytest.raises(ValueError, match="finite"):
        half_width([1.0, np.nan])
    with pytest.raises(ValueError, match="go together"):
        split_interval([1.0], [1.0], scale=[1.0])
    with pytest.raises(ValueError, match="above 0"):
        split_interval([1.0], [1.0], scale=[0.0], error_scale=[1.0])
    with pytest.raises(ValueError, match="predictions for 2"):
        cv_plus([[1.0, 2.0]], [1.0], [2])
    assert np.isnan(covered([np.nan], [0.0], [1.0]))
