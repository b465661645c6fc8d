"""Conformal intervals: do they hold as often as they say?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.conformal import covered_across, half_width

errors_of = st.lists(st.floats(-100, 100), min_size=1, max_size=60)


def test_half_width_by_hand() -> None:
    # n = 9: ceil(10 x 0.9) = 9th smallest of the sizes; n = 8: ceil(9 x 0.9) = 9 > 8, so none is wide enough.
    assert half_width([1, -2, 3, -4, 5, -6, 7, -8, 9]) == 9
    assert half_width([1, -2, 3, -4, 5, -6, 7, -8]) == np.inf
    # n = 19, coverage 0.5: ceil(20 x 0.5) = 10th smallest.
    assert half_width(np.arange(19.0), coverage=0.5) == 9


@given(errors_of, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_more_coverage_is_never_narrower(errors: list[float], one: float, two: float) -> None:
    less, more = sorted([one, two])
    assert half_width(errors, coverage=less) <= half_width(errors, coverage=more)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_widths_cover_as_often_as_they_say(coverage: float) -> None:
    """Skewed errors, 4,000 draws of 39 examples: c to c + 1/40, give or take 3 standard errors, 0.024."""
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(4000):
        errors = rng.exponential(size=40) - 1
        inside.append(abs(errors[39]) <= half_width(errors[:39], coverage=coverage))
    assert coverage - 0.024 < np.mean(inside) < coverage + 1 / 40 + 0.024


def test_coverage_across_folds_by_hand() -> None:
    # Fold 0 has errors 1, 2, 3 and fold 1 has 2, -6, 7; coverage 0.5 of 3: ceil(4 x 0.5) = 2nd smallest.
    # Within 6, set by fold 1, lie all of fold 0; within 2, set by fold 0, lies one of fold 1.
    assert covered_across([1, 2, 3, 2, -6, 7], [0, 0, 0, 1, 1, 1], coverage=0.5) == pytest.approx(4 / 6)
    # Eight others set no width at 0.9: everything is within it.
    assert covered_across(np.arange(16.0), np.arange(16) % 2) == 1
    assert np.isnan(covered_across([], []))


def test_a_fold_unlike_the_others_is_not_covered() -> None:
    """Errors ten times those of the other folds: what set its own width would have covered 90 % of it."""
    rng = np.random.default_rng(2)
    fold = np.repeat(np.arange(5), 200)
    errors = rng.normal(size=1000) * np.where(fold == 4, 10.0, 1.0)
    assert np.mean(np.abs(errors) <= half_width(errors)) >= 0.9
    assert covered_across(errors, fold) < 0.87


def test_like_folds_are_covered_as_often_as_said() -> None:
    """2,000 studies of 100 prompts: near 0.9, and by no means always at or above it."""
    rng = np.random.default_rng(3)
    fold = np.arange(100) % 5
    found = np.array([covered_across(rng.standard_t(3, size=100), fold) for _ in range(2000)])
    assert 0.895 < found.mean() < 0.92
    assert np.mean(found < 0.9) > 0.1


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        half_width([1.0], coverage=1.0)
    with pytest.raises(ValueError, match="finite"):
        half_width([1.0, np.nan])
    with pytest.raises(ValueError, match="a fold for every error"):
        covered_across([1.0, 2.0], [0])
