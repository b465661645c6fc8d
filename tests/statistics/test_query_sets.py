"""ConQA's comparison of two sets of queries, by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.statistics.query_sets import improvement, improvements


def test_cells_by_hand():
    for n, m, p, relative, shown in (
        # 1..5 against 6..10: no x exceeds a y; of the 252 arrangements one is as low: p = 1/252 < .01, bold.
        (5, 5, 1 / 252, 5 / 3, "**+166.7%**"),
        # 1, 2, 3 against 4, 5, 6: p = 1/20 is not below .05, so the cell is blank, though 2 becomes 5.
        (3, 3, 1 / 20, 1.5, ""),
        # 1, 2, 3 against 4, 5, 6, 7: p = 1/35 = .0286: shown, not bold.
        (3, 4, 1 / 35, 1.75, "+175.0%"),
    ):
        low, high = np.arange(1, n + 1), np.arange(n + 1, n + m + 1)
        found = improvement(low, high)
        assert (found.first.value, found.second.value) == (low.mean(), high.mean())
        assert (found.test.p, found.relative) == pytest.approx((p, relative)) and found.shown == shown
        # The other way round nothing is found: the test is one-sided.
        assert improvement(high, low).shown == ""


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
