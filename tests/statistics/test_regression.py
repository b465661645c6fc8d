"""Least squares against scipy, numpy's solver on nested models, figures of statsmodels, and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from sightline.statistics.regression import Term, factor, least_squares, number

# statsmodels 0.15.0, ols("y ~ C(g) + x") and anova_lm(ols("y ~ C(g) + x + C(g):x"), typ=1) on these rows.
X = [1.0, 2.0, 4.0, 5.0, 7.0, 8.0, 3.0, 6.0, 9.0, 2.5]
G = list("aabbaabbcc")
Y = [2.1, 2.9, 5.2, 4.8, 8.3, 9.9, 3.1, 7.4, 6.0, 1.2]


def test_additive_model_as_statsmodels_fits_it() -> None:
    found = least_squares(Y, [factor("g", G), number("x", X)])
    assert [each.name for each in found.coefficients] == ["intercept", "g[b]", "g[c]", "x"]
    assert [each.value for each in found.coefficients] == pytest.approx(
        [1.3338613861386146, -0.6750000000000017, -3.4405940594059436, 0.9924752475247526]
    )
    assert [each.error for each in found.coefficients] == pytest.approx(
        [0.6082444698322607, 0.5692777399604894, 0.7086318796471162, 0.10133010776403026]
    )
    assert [each.p for each in found.coefficients] == pytest.approx(
        [0.07078456906515476, 0.2805598302339206, 0.002836452313426952, 6.519327689777867e-05]
    )
    slope = found.coefficient("x")
    assert (slope.low, slope.high) == pytest.approx((0.7445294059591492, 1.240421089090356))
    assert found.r_squared == pytest.approx(0.946381092493013)
    assert found.residual_df == 6


def test_interaction_model_as_statsmodels_takes_it_apart() -> None:
    g, x = factor("g", G), number("x", X)
    found = least_squares(Y, [g, x, g * x])
    assert [each.name for each in found.explained] == ["g", "x", "g:x"]
    assert [each.df for each in found.explained] == [2, 1, 2]
    assert [each.sum_of_squares for each in found.explained] == pytest.approx(
        [6.4615, 62.1785742574, 2.14419601284]
    )
    assert [each.f for each in found.explained] == pytest.approx([7.40687785609, 142.55176191, 2.45791193479])
    assert [each.p for each in found.explained] == pytest.approx(
        [0.0452031793071, 0.000281944580659, 0.201278330569]
    )
    assert found.residual_df == 4
    assert found.residual_sum_of_squares == pytest.approx(1.74472972973)
    assert found.coefficient("g[b]:x").value == pytest.approx(0.1472972972972979)
    assert found.coefficient("g[c]:x").value == pytest.approx(-0.3642411642411655)


def rss(y: NDArray[np.float64], *terms: Term) -> float:
    """The residual sum of squares by numpy's solver, which shares no step with ours."""
    design = np.column_stack([np.ones(y.size), *(term.columns for term in terms)])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(rest @ rest)


@given(seed=st.integers(0, 10**6), rows=st.integers(8, 40))
def test_a_term_explains_what_the_residuals_lose_when_it_enters(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows)
    a, b = number("a", rng.normal(size=rows)), number("b", rng.normal(size=rows))
    g = factor("g", ["u", "v", *rng.choice(["u", "v"], rows - 2)])
    terms = [a, g, b, a * b]
    found = least_squares(y, terms)
    for n, term in enumerate(terms):
        gained = rss(y, *terms[:n]) - rss(y, *terms[: n + 1])
        assert found.term(term.name).sum_of_squares == pytest.approx(gained, abs=1e-9)
    assert found.residual_sum_of_squares == pytest.approx(rss(y, *terms))
    last = found.term("a:b")
    # With one degree of freedom and nothing after it, F is t squared.
    assert last.f == pytest.approx((found.coefficient("a:b").t or 0) ** 2)
    assert last.p == pytest.approx(found.coefficient("a:b").p)


@given(seed=st.integers(0, 10**6), rows=st.integers(3, 50), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_one_slope_as_scipy(seed: int, rows: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    x = scale * rng.normal(size=rows)
    y = rng.normal(size=rows) + x / scale
    found, expected = least_squares(y, [number("x", x)]), stats.linregress(x, y)
    slope, intercept = found.coefficient("x"), found.coefficient("intercept")
    assert slope.value == pytest.approx(expected.slope)
    assert slope.error == pytest.approx(expected.stderr)
    assert slope.p == pytest.approx(expected.pvalue, abs=1e-12)
    assert intercept.value == pytest.approx(expected.intercept)
    assert intercept.error == pytest.approx(expected.intercept_stderr)
    assert found.r_squared == pytest.approx(expected.rvalue**2)


def test_a_factor_alone_is_analysis_of_variance() -> None:
    groups = {"a": [1.0, 2.0, 4.0], "b": [2.0, 2.5, 6.0, 7.0], "c": [9.0, 7.0]}
    labels = [name for name, values in groups.items() for _ in values]
    found = least_squares([v for values in groups.values() for v in values], [factor("g", labels)])
    expected = stats.f_oneway(*groups.values())
    assert found.term("g").f == pytest.approx(expected.statistic)
    assert found.term("g").p == pytest.approx(expected.pvalue)
    # The reference is the first value met; the others are differences of means from it: 17.5/4 - 7/3.
    assert found.coefficient("intercept").value == pytest.approx(7 / 3)
    assert found.coefficient("g[b]").value == pytest.approx(17.5 / 4 - 7 / 3)


def test_p_is_uniform_where_nothing_is_to_be_found() -> None:
    rng = np.random.default_rng(3)
    ps, kept = [], 0
    for _ in range(600):
        x, y = rng.normal(size=12), rng.normal(size=12)
        slope = least_squares(y, [number("x", x)]).coefficient("x")
        assert slope.p is not None and slope.low is not None and slope.high is not None
        ps.append(slope.p)
        kept += slope.low <= 0 <= slope.high
    assert stats.kstest(ps, "uniform").pvalue > 0.01
    assert 0.93 < kept / 600 < 0.97


def test_planted_slopes_are_found() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=4000), rng.normal(size=4000)
    y = 1.5 + 2 * a - 0.5 * b + 0.75 * a * b + rng.normal(size=4000)
    x, z = number("a", a), number("b", b)
    found = least_squares(y, [x, z, x * z])
    for name, truth in (("intercept", 1.5), ("a", 2), ("b", -0.5), ("a:b", 0.75)):
        assert abs(found.coefficient(name).value - truth) < 4 * (found.coefficient(name).error or 0)


def test_no_degree_of_freedom_leaves_no_error() -> None:
    found = least_squares([1.0, 3.0], [number("x", [0.0, 1.0])])
    assert found.coefficient("x").value == pytest.approx(2)
    assert found.coefficient("x").p is None
    assert found.term("x").p is None


def test_an_exact_fit_is_beyond_doubt() -> None:
    found = least_squares([1.0, 2.0, 3.0, 4.0], [number("x", [1.0, 2.0, 3.0, 4.0])])
    assert found.coefficient("x").value == pytest.approx(1)
    assert found.coefficient("x").p == pytest.approx(0, abs=1e-12)
    assert found.r_squared == pytest.approx(1)


@pytest.mark.parametrize(
    ("y", "terms", "said"),
    [
        ([1, 2, 3], [number("x", [5, 5, 5])], "x says nothing"),
        ([1, 2, 3, 4], [number("a", [1, 2, 3, 5]), number("b", [2, 4, 6, 10])], "b says nothing"),
        ([1, 2], [number("a", [1, 2]), number("b", [2, 5])], "too few"),
        ([1, 2, 3], [number("x", [1, 2])], "equal length"),
        ([1, np.nan, 3], [number("x", [1, 2, 4])], "finite"),
    ],
)
def test_what_cannot_be_fitted_is_refused(y: list[float], terms: list[Term], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        least_squares(y, terms)


def test_a_factor_needs_two_values() -> None:
    with pytest.raises(ValueError, match="needs two"):
        factor("g", ["a", "a"])
