"""The scale of a reference sample: against scipy's empirical CDF, by hand, and on the published one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ecdf

from sightline.errors import DataError
from sightline.statistics.reference import FEW_PAIRS, MOST_POINTS, Reference, fitted

some = st.lists(st.floats(0, 100, width=32), min_size=30, max_size=80)


@given(some, st.lists(st.floats(-1, 101, width=32), min_size=1, max_size=20))
def test_shares_are_those_of_scipy(sample, asked):
    reference = fitted(sample, "ssim", "id", "2026-01-01")
    expected = ecdf(sample).cdf.evaluate(np.array(asked))
    assert reference.normalise(asked) == pytest.approx(expected, abs=1e-12)
    squared = Reference(np.square(sample), "ssim", "id", len(sample), "", squared=True)
    positive = np.abs(asked)
    expected = ecdf(np.square(sample)).cdf.evaluate(positive**2)
    assert squared.normalise(positive) == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    # Of 40 distances 10 are 1, 10 are 2, 20 are 3: shares 1/4 at 1, 1/2 at 2 and at 2.9, 1 at 3.
    reference = fitted([1] * 10 + [2] * 10 + [3] * 20, "ssim", "id", "")
    assert reference.normalise([0.9, 1, 2, 2.9, 3, 7]) == pytest.approx([0, 0.25, 0.5, 0.5, 1, 1])
    assert np.isnan(reference.normalise(np.nan))
    matrix = reference.normalise_matrix([[0, 1], [1, 0]])
    assert matrix.tolist() == [[0, 0.25], [0.25, 0]]
    # A quarter of the reference's pairs are exact duplicates: distance 0 is then no rarity, and F(0) = 1/4.
    reference = fitted([0] * 10 + [1] * 30, "ssim", "id", "")
    matrix = reference.normalise_matrix(np.zeros((2, 2)))
    assert matrix.tolist() == [[0, 0.25], [0.25, 0]]


def test_many_distances_are_kept_by_their_quantiles():
    sample = np.random.default_rng(0).gamma(2, size=12_345)
    reference = fitted(sample, "ssim", "id", "")
    assert reference.distances.size == MOST_POINTS and reference.n == 12_345
    asked = np.linspace(0, 12, 999)
    off = np.abs(reference.normalise(asked) - ecdf(sample).cdf.evaluate(asked))
    assert off.max() <= 1 / (2 * MOST_POINTS) + 1 / 12_345


def test_too_few_pairs():
    with pytest.raises(DataError, match="29 pairs are too few for a reference of ssim"):
        fitted(np.arange(29), "ssim", "id", "")
    assert "only 100 pairs" in (fitted(np.arange(100), "ssim", "id", "").warning or "")
    assert fitted(np.arange(FEW_PAIRS), "ssim", "id", "").warning is None
    for wrong in ([np.nan] * 30, [-1.0] * 30, []):
        with pytest.raises(DataError, match="finite"):
            Reference(np.array(wrong), "ssim", "id", 30, "")
