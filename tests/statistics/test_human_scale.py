"""A measure on people's scale: the mapping, the band that covers what it promises, and percentiles."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.statistics.human_scale import METHODS, HumanScale, Method, fit_human_scale
from sightline.statistics.logistic import fit_logistic


def drawn(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A measure, what people say (a curve of it, noise that grows), and the prompt of each, five each."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    people = 2.5 + 2 * np.tanh(x) + rng.normal(size=n) * (0.3 + 0.2 * (x > 0))
    return x, people, np.arange(n) // 5


@pytest.mark.parametrize("method", METHODS)
def test_the_band_covers_nine_in_ten_of_new_items(method: Method) -> None:
    """Over 12 studies of 300 items the mean coverage of 2,000 new ones each has an error of about .007."""
    covered = []
    for seed in range(12):
        scale = fit_human_scale(*drawn(seed), method=method)
        x, people, _ = drawn(1000 + seed, 2000)
        low, high = scale.band(x)
        covered.append(float(((low <= people) & (people <= high)).mean()))
        assert 0.85 <= scale.covered <= 0.96
    assert 0.87 <= np.mean(covered) <= 0.93


def test_the_mapping_is_the_five_parameter_logistic_or_the_monotone_fit() -> None:
    from sklearn.isotonic import IsotonicRegression

    x, people, unit = drawn(3)
    points = np.linspace(-2, 2, 9)
    assert np.allclose(fit_human_scale(x, people, unit)(points), fit_logistic(x, people)(points))
    known = IsotonicRegression(out_of_bounds="clip").fit(x, people).predict(points)
    assert np.allclose(fit_human_scale(x, people, unit, method="isotonic")(points), known)
    # Where a lower value is better, the mapping falls.
    falling = fit_human_scale(-x, people, unit, method="isotonic")(points)
    assert (np.diff(falling) <= 0).all() and falling[0] > falling[-1]


def test_percentiles_count_half_of_ties() -> None:
    x = np.array([1.0, 2, 2, 3] * 10)
    scale = fit_human_scale(x, x + np.arange(40) / 100, np.arange(40) // 2, method="isotonic")
    # By hand: 10 below, 20 equal, 10 above.
    assert scale.percentile([2.0]).tolist() == pytest.approx([50.0], abs=1.5)
    assert scale.percentile([0.0, 9.0]).tolist() == [0.0, 100.0]


@pytest.mark.parametrize("method", METHODS)
def test_a_scale_is_restored_as_it_was(method: Method) -> None:
    scale = fit_human_scale(*drawn(5), method=method)
    again = HumanScale.restored(*scale.state())
    points = np.linspace(-3, 3, 13)
    assert np.array_equal(again(points), scale(points))
    assert np.array_equal(again.band(points), scale.band(points))
    assert np.array_equal(again.percentile(points), scale.percentile(points))
