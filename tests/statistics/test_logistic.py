"""The five-parameter logistic: planted curves come back, and no fit is worse than others or than a line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import curve_fit
from scipy.stats import linregress, pearsonr

from sightline.statistics.logistic import Logistic, curve, fit_logistic, mapped_pearson

Array = NDArray[np.float64]


def planted(x: Array, a1: float, a2: float, a3: float, a4: float, a5: float) -> Array:
    """The formula as printed."""
    return np.asarray(a1 * (0.5 - 1 / (1 + np.exp(a2 * (x - a3)))) + a4 * x + a5)


@given(st.floats(-30, 30))
def test_the_function_is_the_printed_formula(x: float) -> None:
    parameters = (2.0, 1.0, 0.5, -0.25, 1.0)
    expected = [float(planted(np.asarray(x), *parameters)), np.nan]
    assert Logistic(*parameters, 0, 0.0)([x, np.nan]) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_the_curve_never_overflows() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert curve([-1e308, -1000, 0, 1000, 1e308]).tolist() == [-0.5, -0.5, 0, 0.5, 0.5]


@pytest.mark.parametrize(
    "parameters",
    [
        (2.0, 4.0, 0.3, 0.5, 1.0),
        (-3.0, 1.5, -0.5, 0.2, 0.0),
        (1.0, 20.0, 1.0, -0.3, 2.0),
        (4.0, 2.0, 0, 0, 0),
    ],
)
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-3, 5.0), (250.0, -1e4)])
def test_a_planted_curve_comes_back(parameters: tuple[float, ...], scale: float, shift: float) -> None:
    x = np.random.default_rng(1).uniform(-2, 2, 400)
    y = planted(x, *parameters)
    found = fit_logistic(shift + scale * x, y)
    assert found.residual_sum_of_squares < 1e-8
    assert found(shift + scale * x) == pytest.approx(y, abs=1e-4)


def test_a_planted_curve_comes_back_through_noise() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, 3000)
    y = planted(x, 3.0, 3.0, 0.5, 0.4, 1.0) + 0.1 * rng.normal(size=3000)
    found = fit_logistic(x, y)
    assert (found.a1, found.a2, found.a3) == pytest.approx((3.0, 3.0, 0.5), rel=0.06)
    assert (found.a4, found.a5) == pytest.approx((0.4, 1.0), abs=0.05)
    assert found.residual_sum_of_squares / 3000 == pytest.approx(0.01, rel=0.08)


@given(
    st.lists(
        st.tuples(st.integers(-50, 50), st.floats(-5, 5, allow_nan=False)), min_size=6, max_size=40
    ).filter(lambda pairs: len({x for x, _ in pairs}) > 1)
)
def test_never_worse_than_a_straight_line(pairs: list[tuple[int, float]]) -> None:
    x, y = np.array([x for x, _ in pairs], dtype=float), np.array([y for _, y in pairs])
    line = linregress(x, y)
    on_line = float(((y - line.intercept - line.slope * x) ** 2).sum())
    found = fit_logistic(x, y)
    assert found.residual_sum_of_squares <= on_line * (1 + 1e-9) + 1e-9
    # What the fit says of itself is what it leaves when it is called.
    rest = float(((y - found(x)) ** 2).sum())
    assert rest == pytest.approx(found.residual_sum_of_squares, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_no_single_start_of_scipy_does_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 5, 200)
    truth = (rng.uniform(-3, 3), rng.uniform(0.5, 9), rng.uniform(1, 4), rng.uniform(-1, 1), 1.0)
    y = planted(x, *truth) + 0.3 * rng.normal(size=200)
    ours = fit_logistic(x, y).residual_sum_of_squares
    reached = []
    for _ in range(15):
        start = (rng.normal(), rng.uniform(0.1, 10), rng.uniform(0, 5), rng.normal(), rng.normal())
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found, _ = curve_fit(planted, x, y, start, maxfev=2000)
            except RuntimeError:
                continue  # this start did not converge
        if 0.05 <= abs(found[1]) * x.std() <= 200 and x.min() <= found[2] <= x.max():
            reached.append(float(((y - planted(x, *found)) ** 2).sum()))
    assert reached
    assert ours <= min(reached) * (1 + 1e-6)


def test_plcc_is_pearson_of_the_mapped_values_without_missing_pairs() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, 300)
    y = planted(x, 2.0, 5.0, 0.0, 0.1, 3.0) + 0.2 * rng.normal(size=300)
    found = mapped_pearson(x, y)
    assert found.value == pytest.approx(pearsonr(fit_logistic(x, y)(x), y).statistic)
    assert found.value > pearsonr(x, y).statistic
    with_gaps = mapped_pearson([*x, np.nan, 1.0], [*y, 1.0, np.nan])
    assert (with_gaps.value, with_gaps.n) == (pytest.approx(found.value), 300)


def test_where_there_is_no_value_there_is_a_reason() -> None:
    assert "five parameters" in (mapped_pearson([1, 2, 3, 4], [1, 2, 3, 5]).reason or "")
    assert "constant" in (mapped_pearson([1] * 9, range(9)).reason or "")
    for x, y, said in (
        ([1.0] * 9, list(range(9)), "constant"),
        ([1.0, 2.0], [1.0, 2.0], "five parameters"),
        ([1.0, 2.0], [1.0], "equal length"),
        ([*range(8), np.inf], list(range(9)), "finite"),
    ):
        with pytest.raises(ValueError, match=said):
            fit_logistic(x, y)
