"""ConQA's comparison of two sets of queries, by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.statistics.query_sets import improvement, improvements


def test_cells_by_hand():
    # 1..5 against 6..10: no x exceeds a y; of the 252 arrangements one is as low: p = 1/252 < .01, bold.
    found = improvement([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])
    assert (found.first.value, found.second.value) == (3, 8)
    assert found.test.p == pytest.approx(1 / 252)
    assert found.relative == pytest.approx(5 / 3) and found.shown == "**+166.7%**"
    # 1, 2, 3 against 4, 5, 6: p = 1/20 is not below .05, so the cell is blank, though 2 becomes 5.
    edge = improvement([1, 2, 3], [4, 5, 6])
    assert edge.test.p == pytest.approx(0.05) and edge.shown == "" and edge.relative == pytest.approx(1.5)
    # 1, 2, 3 against 4, 5, 6, 7: p = 1/35 = .0286: shown, not bold.
    plain = improvement([1, 2, 3], [4, 5, 6, 7])
    assert plain.test.p == pytest.approx(1 / 35) and plain.shown == "+175.0%"
    # The other way round nothing is found: the test is one-sided.
    assert improvement([6, 7, 8, 9, 10], [1, 2, 3, 4, 5]).shown == ""


def test_a_mean_of_zero_makes_it_infinite():
    found = improvement([0, 0, 0, 0, 0, 0], [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert found.relative == np.inf and found.shown == "**inf**"
    equal = improvement([0, 0, 0], [0, 0])
    assert equal.relative is None and equal.test.reason == "all values are equal" and equal.shown == ""
    empty = improvement([], [1, 2])
    assert empty.relative is None and empty.shown == ""


@given(
    st.lists(st.integers(0, 10), min_size=1, max_size=30),
    st.lists(st.integers(0, 10), min_size=1, max_size=30),
)
def test_as_scipy(first, second):
    x, y = np.array(first) / 10, np.array(second) / 10
    found = improvement([*x, np.nan], y)
    if np.ptp([*x, *y]) == 0:
        assert found.test.p is None
        return
    expected = stats.mannwhitneyu(x, y, alternative="less").pvalue
    assert found.test.p == pytest.approx(expected)
    assert (found.shown != "") == (expected < 0.05)
    assert found.shown.startswith("**") == (expected < 0.01)
    if x.mean():
        assert found.relative == pytest.approx((y.mean() - x.mean()) / x.mean())


def test_the_table_from_plain_columns():
    row = ["clip"] * 4 + ["bm25"] * 4
    column = ["ndcg", "ndcg", "rr", "rr"] * 2
    second = [False, True] * 4
    found = improvements(row, column, second, [1, 2, 3, 4, 5, 6, 7, 8])
    assert list(found) == [("clip", "ndcg"), ("clip", "rr"), ("bm25", "ndcg"), ("bm25", "rr")]
    assert (found["bm25", "rr"].first.value, found["bm25", "rr"].second.value) == (7, 8)
    with pytest.raises(ValueError, match="equal length"):
        improvements(["a"], ["b"], [True], [1, 2])


def test_it_keeps_its_error_rate():
    """Equal sets are told apart in at most one of twenty cases: 1,000 trials, three standard errors."""
    rng = np.random.default_rng(0)
    alarms = [improvement(rng.beta(1, 2, 49), rng.beta(1, 2, 29)).significant for _ in range(1000)]
    assert np.mean(alarms) == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 1000))
