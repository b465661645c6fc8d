"""How differently two samples are distributed, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance

from sightline.statistics.distributions import distribution_gap

numbers = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


@given(numbers, numbers)
def test_both_distances_are_those_of_scipy(one: list[int], other: list[int]) -> None:
    units = np.arange(len(one)), np.arange(100, 100 + len(other))
    gap = distribution_gap(one, other, *units, permutations=9)
    assert gap.ks == pytest.approx(ks_2samp(one, other).statistic)
    assert gap.wasserstein == pytest.approx(wasserstein_distance(one, other))


def test_by_hand() -> None:
    # 0, 1 against 1, 2: the curves differ by 1/2 from 0 to 1 and from 1 to 2, an area of 1.
    gap = distribution_gap([0, 1], [1, 2], [1, 2], [3, 4])
    assert (gap.ks, gap.wasserstein) == (0.5, 1.0)


def test_p_of_independent_samples_is_that_of_all_labellings() -> None:
    # Of the 70 ways to deal 8 values into two fours, 2 reach the observed KS of 1.
    gap = distribution_gap([0, 1, 2, 3], [4, 5, 6, 7], range(4), range(4, 8), permutations=9999)
    assert gap.p_ks == pytest.approx(2 / 70, abs=0.006) and not gap.paired


def test_units_that_both_have_are_exchanged() -> None:
    # Of 2^5 exchanges of five prompts those of all and of none reach the observed KS.
    prompts = range(5)
    gap = distribution_gap([0, 1, 2, 3, 4], [10, 11, 12, 13, 14], prompts, prompts, permutations=9999)
    assert gap.paired and gap.units == 5
    assert gap.p_ks == pytest.approx(2 / 32, abs=0.008)


def test_copies_of_a_value_are_no_evidence() -> None:
    # Ten images of one reference each: two units cannot be told apart by dealing them out.
    gap = distribution_gap([0.0] * 10, [1.0] * 10, [1] * 10, [2] * 10)
    assert gap.ks == pytest.approx(1) and gap.p_ks is None and gap.p_wasserstein is None


def test_p_is_uniform_where_nothing_differs() -> None:
    random = np.random.default_rng(0)
    p = []
    for seed in range(200):
        one, other = random.normal(size=(2, 12))
        p.append(
            distribution_gap(one, other, range(12), range(12, 24), permutations=99, seed=seed).p_wasserstein
        )
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.09
