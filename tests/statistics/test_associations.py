"""Correlations of many columns with a score, means in bins, and a score along a setting."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.associations import associations, binned, significant, trend
from sightline.statistics.intervals import mean_interval


def test_correlations_with_correction_by_hand() -> None:
    """Three columns with p-values p: Holm gives 3 p(1), 2 p(2), p(3); a constant one is not counted."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    columns = {
        "strong": y + 0.3 * rng.normal(size=60),
        "weak": y + 2.5 * rng.normal(size=60),
        "none": rng.normal(size=60),
        "flat": np.ones(60),
    }
    found = {each.name: each for each in associations(columns, y)}
    p = {name: each.correlation.p for name, each in found.items()}
    assert found["strong"].p_corrected == pytest.approx(3 * (p["strong"] or 0))
    assert found["weak"].p_corrected == pytest.approx(2 * (p["weak"] or 0))
    assert found["none"].p_corrected == pytest.approx(p["none"])
    assert found["flat"].p_corrected is None and found["flat"].correlation.reason
    assert found["flat"].mean == 1
    kept = [each.name for each in significant(list(found.values()))]
    assert kept == [each.name for each in found.values() if (each.p_corrected or 1) < 0.05]
    assert kept[0] == "strong" and "none" not in kept
    controlled = {each.name: each for each in associations(columns, y, correction="bh")}
    assert controlled["weak"].p_corrected == pytest.approx(3 / 2 * (p["weak"] or 0))


def test_bins_of_equal_size_by_hand() -> None:
    x = np.arange(8.0)[::-1]
    found = binned(x, 10 * x, bins=4)
    assert [(each.low, each.high, each.x, each.y.value) for each in found] == [
        (0, 1, 0.5, 5),
        (2, 3, 2.5, 25),
        (4, 5, 4.5, 45),
        (6, 7, 6.5, 65),
    ]
    assert found[0].y == mean_interval([0.0, 10.0])


def test_few_values_are_bins_themselves() -> None:
    found = binned([0, 1, 1, 0, 1, np.nan], [1.0, 2, 4, 3, np.nan, 9])
    assert [(each.x, each.y.value, each.y.n) for each in found] == [(0, 2, 2), (1, 3, 2)]


def test_bins_over_clusters() -> None:
    """Rows of one unit are no independent values: n counts units, and the interval is wider."""
    y = np.repeat([1.0, 2, 3, 4], 25)
    plain, clustered = (
        binned(np.zeros(100), y, clusters=units)[0].y for units in (None, np.repeat(range(4), 25).tolist())
    )
    assert (plain.value, plain.n, clustered.n) == (2.5, 100, 4)
    assert (clustered.high or 0) - (clustered.low or 0) > 2 * ((plain.high or 0) - (plain.low or 0))


@given(st.lists(st.tuples(st.integers(-5, 30), st.floats(-9, 9)), max_size=80), st.integers(1, 12))
def test_bins_part_all_rows(rows: list[tuple[int, float]], bins: int) -> None:
    x, y = [float(each) for each, _ in rows], [each for _, each in rows]
    found = binned(x, y, bins=bins)
    assert sum(each.y.n for each in found) == len(rows) and len(found) <= bins
    assert all(a.high < b.low for a, b in pairwise(found))
    total = sum((each.y.value or 0) * each.y.n for each in found)
    assert total == pytest.approx(sum(y), abs=1e-9)


def test_a_trend_within_units_by_hand() -> None:
    """Levels 0 and 10, and 0.1 more a step of the setting in both: slope 0.1, and no residual is left."""
    setting = [5.0, 7.5, 15, 5, 7.5, 15]
    y = [0.5, 0.75, 1.5, 10.5, 10.75, 11.5]
    found = trend(setting, y, list("aaabbb"))
    assert [each.x for each in found.steps] == [5, 7.5, 15]
    assert [each.y.value for each in found.steps] == pytest.approx([5.5, 5.75, 6.5])
    assert found.slope is not None
    assert found.slope.coefficient("setting").value == pytest.approx(0.1)
    assert found.slope.within == pytest.approx(0, abs=1e-5)


def test_no_slope_without_two_units() -> None:
    found = trend([1.0, 2, 3], [1.0, 2, 3], ["a"] * 3)
    assert found.slope is None and "needs two" in (found.reason or "")


def test_bad_input() -> None:
    for x, bins, said in (
        ([1.0], 9, "equal length"),
        ([1.0, np.inf], 9, "infinite"),
        ([1.0, 2], 0, "0 bins"),
    ):
        with pytest.raises(ValueError, match=said):
            binned(x, [1.0, 2], bins=bins)
    with pytest.raises(ValueError, match="neither"):
        associations({}, [], correction="none")  # type: ignore[arg-type]
