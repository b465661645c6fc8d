"""Conformal intervals: do they hold as often as they say, wherever the prediction lies?"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.conformal import BINS, LEAST_IN_BIN, Intervals, calibrated, half_width, held_across

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
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


def test_few_examples_set_one_width_for_all() -> None:
    # 9 examples: the largest error, whatever is predicted. 8 are too few for any.
    few = calibrated(np.zeros(9), [1, -2, 3, -4, 5, -6, 7, -8, 9])
    assert not few.vary
    np.testing.assert_array_equal(few.around([0.0, 10.0]), [[-9, 1], [9, 19]])
    assert np.isinf(calibrated(np.zeros(8), np.arange(8.0)).around([0.0])).all()


def test_bins_by_hand() -> None:
    """Two bins of 50: below the cut the truth is always 3, above it 7 but for 2 of 50 that are 0."""
    predicted = np.arange(100.0)
    truth = np.where(predicted < 50, 3.0, 7.0)
    truth[[60, 80]] = 0.0
    found = calibrated(predicted, truth)
    assert found.vary and found.groups[0].cuts.tolist() == [50]
    # 96 % of a bin is more than enough; a prediction always lies in its own interval.
    low, high = found.around([3.0, 49.0, 50.0])
    assert low.tolist() == [3, 3, 7] and high.tolist() == [3, 49, 50]


def bounded(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of four votes of 0 or 1, nearly certain at the easy end: discrete, bounded, of unequal spread."""
    ease = rng.uniform(0.4, 1, size=n)
    return ease, rng.binomial(4, ease) / 4


def fanned(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A scale from 0 to 1, errors from .03 at one end to .33 at the other."""
    value = rng.uniform(0, 1, size=n)
    return value, np.clip(value + rng.normal(size=n) * (0.03 + 0.3 * value), 0, 1)


def coverage_of(draw: Draw, n: int, runs: int) -> tuple[np.ndarray, float, float]:
    """Coverage by predicted tenth of new examples, and mean widths with and without the prediction."""
    rng = np.random.default_rng(n)
    inside, width, ignoring = np.zeros(10), 0.0, 0.0
    for _ in range(runs):
        predicted, truth = draw(rng, n)
        new, came = draw(rng, 1000)
        low, high = calibrated(predicted, truth).around(new)
        held = (low - 1e-9 <= came) & (came <= high + 1e-9)
        inside += held[np.argsort(new, kind="stable")].reshape(10, 100).mean(axis=1) / runs
        width += float((np.clip(high, 0, 1) - np.clip(low, 0, 1)).mean()) / runs
        ordered = np.sort(truth)
        most = int(np.ceil(0.9 * (n + 1)))
        ignoring += float((ordered[most - 1 :] - ordered[: n - most + 1]).min()) / runs
    return inside, width, ignoring


@pytest.mark.parametrize("draw", [bounded, fanned])
@pytest.mark.parametrize(("n", "runs", "least"), [(50, 200, 0.0), (200, 60, 0.82), (1000, 25, 0.86)])
def test_intervals_hold_in_every_predicted_tenth(draw: Draw, n: int, runs: int, least: float) -> None:
    """Of a nominal .90 at least `least` in every predicted tenth, narrower than ignoring the prediction.

    Calibrated on so few, one run's coverage spreads by sqrt(.09 / n): the mean of the runs by .003 at most.
    200 examples make four bins, and errors that grow tenfold differ within a bin. 50 are too few for bins:
    intervals hold on average only, and `vary` says so.
    """
    inside, width, ignoring = coverage_of(draw, n, runs)
    assert inside.mean() > 0.9 - 4 * 0.003
    assert width < ignoring
    assert inside.min() > least


def test_one_width_for_all_does_not() -> None:
    """What the bins are for: one width covers far too few where errors are large, though 90 % of all."""
    predicted, truth = bounded(np.random.default_rng(0), 4000)
    one = np.abs(truth - predicted) <= half_width(truth - predicted)
    assert one.mean() >= 0.9
    assert one[np.argsort(predicted)].reshape(10, 400).mean(axis=1).min() < 0.8


def test_a_group_with_larger_errors_is_covered_as_well() -> None:
    rng = np.random.default_rng(4)
    group = (np.arange(4000) % 5 == 0).astype(int)
    predicted = rng.normal(size=4000)
    truth = predicted + rng.normal(size=4000) * np.where(group, 3.0, 1.0)
    fold = np.arange(4000) // 5 % 5
    alike = held_across(predicted, truth, fold)
    apart = held_across(predicted, truth, fold, group)
    # 800 of the group: a standard error of .011.
    assert alike[group == 1].mean() < 0.75
    assert apart[group == 1].mean() == pytest.approx(0.9, abs=0.04)
    assert apart[group == 0].mean() == pytest.approx(0.9, abs=0.02)
    # A group too small to set bins of its own goes by those of all.
    few = (np.arange(4000) < 2 * LEAST_IN_BIN - 1).astype(int)
    own = calibrated(predicted, truth, few)
    np.testing.assert_array_equal(own.around([0.0], [1]), calibrated(predicted, truth).around([0.0]))


def test_coverage_across_folds_by_hand() -> None:
    # Fold 0 has errors 1, 2, 3 and fold 1 has 2, -6, 7; coverage 0.5 of 3: ceil(4 x 0.5) = 2nd smallest.
    # Within 6, set by fold 1, lie all of fold 0; within 2, set by fold 0, lies one of fold 1.
    held = held_across(np.zeros(6), [1, 2, 3, 2, -6, 7], [0, 0, 0, 1, 1, 1], coverage=0.5)
    assert held.tolist() == [True, True, True, True, False, False]
    # Eight others set no width at 0.9: everything is within it.
    assert held_across(np.zeros(16), np.arange(16.0), np.arange(16) % 2).all()


def test_a_fold_unlike_the_others_is_not_covered() -> None:
    """Errors ten times those of the other folds: intervals that it had set itself would have covered it."""
    rng = np.random.default_rng(2)
    fold, predicted = np.repeat(np.arange(5), 200), rng.normal(size=1000)
    truth = predicted + rng.normal(size=1000) * np.where(fold == 4, 10.0, 1.0)
    low, high = calibrated(predicted, truth).around(predicted)
    assert np.mean((low <= truth) & (truth <= high)) >= 0.88
    assert held_across(predicted, truth, fold).mean() < 0.87


values = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), min_size=1, max_size=400)


@given(values)
def test_ties_and_few_values_are_no_trouble(pairs: list[tuple[int, int]]) -> None:
    predicted, truth = np.array(pairs, dtype=float).T
    found = calibrated(predicted, truth)
    low, high = found.around(predicted)
    assert ((low <= predicted) & (predicted <= high)).all()
    assert len(found.groups[0].low) <= BINS
    sizes = np.bincount(np.searchsorted(found.groups[0].cuts, predicted, side="right"))
    assert len(sizes) == 1 or sizes.min() >= LEAST_IN_BIN
    again = Intervals.restored(json.loads(json.dumps(found.state())))
    np.testing.assert_array_equal(again.around(predicted), (low, high))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        half_width([1.0], coverage=1.0)
    with pytest.raises(ValueError, match="finite"):
        half_width([1.0, np.nan])
    with pytest.raises(ValueError, match="a truth for every"):
        calibrated([1.0, 2.0], [0.0])
    with pytest.raises(ValueError, match="a group"):
        calibrated([1.0], [0.0], [-1])
    with pytest.raises(ValueError, match="a truth and a fold"):
        held_across([1.0, 2.0], [1.0, 2.0], [0])
    with pytest.raises(ValueError, match="no interval"):
        Intervals.restored([])
