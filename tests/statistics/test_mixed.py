"""The mixed model against the analysis of variance, dense algebra, statsmodels, and by simulation."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import linregress, t

from sightline.statistics.mixed import MixedModel, mixed_model


def drawn(
    sizes: list[int], between: float, seed: int = 0
) -> tuple[np.ndarray, dict[str, np.ndarray], list[int]]:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    columns = {"a": rng.normal(size=groups.size), "b": rng.normal(size=groups.size)}
    shift = between**0.5 * rng.normal(size=len(sizes))
    y = 1 + 0.3 * columns["a"] - 0.2 * columns["b"] + shift[groups] + 0.4 * rng.normal(size=groups.size)
    return y, columns, groups.tolist()


def test_balanced_groups_by_hand() -> None:
    """Groups (1, 2, 3), (4, 5, 6), (8, 9, 10): means 2, 5, 9; within groups squares 2 + 2 + 2 of 6 degrees.

    Residual mean square 1; between means variance ((2-16/3)^2 + (5-16/3)^2 + (9-16/3)^2) / 2 = 37/3, so that
    between = 37/3 - 1/3 = 12. The error of the mean is sqrt(37/3 / 3); groups are pulled in by 12/(12+1/3).
    """
    found = mixed_model([1, 2, 3, 4, 5, 6, 8, 9, 10], {}, list("aaabbbccc"))
    level = found.coefficient("intercept")
    assert (found.within, found.between) == (pytest.approx(1), pytest.approx(12))
    assert level.value == pytest.approx(16 / 3) and level.error == pytest.approx((37 / 9) ** 0.5)
    assert found.groups["a"] == pytest.approx((2 - 16 / 3) * 36 / 37)
    assert found.shared == pytest.approx(12 / 13)


def test_no_variance_between_is_least_squares() -> None:
    """Group means equal: the variance between is 0, not negative, and slopes are least squares."""
    y, x = [1.0, 3, 2, 1.5, 2.5, 2, 3, 1, 2], [0.0, 1, 2, 2, 1, 0, 1, 2, 0]
    found = mixed_model(y, {"x": x}, list("aaabbbccc"))
    plain = linregress(x, y)
    assert found.between == 0 and found.groups == {"a": 0, "b": 0, "c": 0}
    assert [each.value for each in found.fixed] == pytest.approx([plain.intercept, plain.slope])
    assert [each.error for each in found.fixed] == pytest.approx([plain.intercept_stderr, plain.stderr])


def dense(
    found: MixedModel, y: np.ndarray, x: np.ndarray, groups: list[int]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Slopes, their errors and the restricted log-likelihood with the whole covariance matrix written out."""
    same = np.equal.outer(groups, groups).astype(float)
    covariance = found.within * np.eye(len(y)) + found.between * same
    inverse = np.linalg.inv(covariance)
    information = x.T @ inverse @ x
    slopes = np.linalg.solve(information, x.T @ inverse @ y)
    r = y - x @ slopes
    terms = [np.linalg.slogdet(covariance)[1], np.linalg.slogdet(information)[1], r @ inverse @ r]
    height = -(sum(terms) + (len(y) - x.shape[1]) * np.log(2 * np.pi)) / 2
    return slopes, np.sqrt(np.diag(np.linalg.inv(information))), float(height)


@pytest.mark.parametrize(("sizes", "between"), [([12] * 8, 0.1), ([5, 9, 30, 2], 1.0), ([50] * 3, 0.25)])
def test_against_dense_algebra(sizes: list[int], between: float) -> None:
    """The same slopes, errors and height, and no variances nearby are more likely."""
    y, columns, groups = drawn(sizes, between, seed=len(sizes))
    found = mixed_model(y, columns, groups)
    x = np.column_stack([np.ones(len(y)), *columns.values()])
    slopes, errors, height = dense(found, y, x, groups)
    assert [each.value for each in found.fixed] == pytest.approx(slopes)
    assert [each.error for each in found.fixed] == pytest.approx(errors)
    assert found.log_likelihood == pytest.approx(height)
    for within, between in product((0.98, 1.02), (0.9, 1.1)):
        other = replace(found, within=found.within * within, between=found.between * between)
        assert dense(other, y, x, groups)[2] < height


@pytest.mark.parametrize(("sizes", "between"), [([12] * 8, 0.1), ([5, 9, 30, 20], 1.0)])
def test_against_statsmodels(sizes: list[int], between: float) -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    y, columns, groups = drawn(sizes, between, seed=1)
    found = mixed_model(y, columns, groups)
    x = np.column_stack([np.ones(len(y)), *columns.values()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = api.MixedLM(y, x, groups=groups).fit(reml=True, method="lbfgs")
    assert [each.value for each in found.fixed] == pytest.approx(other.fe_params, rel=1e-4)
    assert found.between == pytest.approx(float(np.asarray(other.cov_re)[0, 0]), rel=1e-3)
    assert found.within == pytest.approx(other.scale, rel=1e-4)
    assert found.log_likelihood == pytest.approx(other.llf, abs=1e-6)
    # Its errors also carry the doubt about the variances.
    assert [each.error for each in found.fixed] == pytest.approx(other.bse_fe, rel=0.02)


def test_errors_over_clusters_of_one_row() -> None:
    """Without repeats the jackknife says what the model says, but for chance."""
    y, columns, groups = drawn([400] * 3, 0.25)
    fits = [mixed_model(y, columns, groups, clusters=each) for each in (None, range(len(groups)))]
    assert [fit.errors for fit in fits] == ["model", "clusters"]
    plain, robust = ([each.error for each in fit.fixed] for fit in fits)
    assert robust == pytest.approx(plain, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "own"), [(60, 1.0), (20, 0.5), (10, 0.5)])
def test_intervals_hold_what_they_promise(count: int, own: float) -> None:
    """The same prompts under three systems, each with a level of its own that the feature does not tell.

    Errors over prompts cover the slope, 0.3, in 95 of 100 draws, where the sandwich with normal limits covers
    83 of 100 with 10 prompts; the model's own errors, which take the three rows of a prompt for independent,
    do not. 400 draws at .95 have a standard deviation of .011.
    """
    rng = np.random.default_rng(count)
    covered, draws = {"model": 0, "clusters": 0}, 400
    prompts, systems = np.tile(np.arange(count), 3), np.repeat([0, 1, 2], count)
    for _ in range(draws):
        x, levels = rng.normal(size=count), own * rng.normal(size=count)
        y = 0.3 * x[prompts] + levels[prompts] + 0.5 * rng.normal(size=3)[systems]
        y += 0.5 * rng.normal(size=3 * count)
        for clusters in (None, prompts.tolist()):
            found = mixed_model(y, {"x": x[prompts]}, systems.tolist(), clusters=clusters)
            slope = found.coefficient("x")
            covered[found.errors] += slope.low <= 0.3 <= slope.high
    assert 0.92 <= covered["clusters"] / draws <= 0.98
    assert covered["model"] / draws < 0.9


def test_errors_over_clusters_are_the_jackknife() -> None:
    """Each cluster left out in turn and slopes found again, with the whole covariance matrix written out.

    Slopes are of e = y - X b - shifts; (m-1)/m times the outer products of what they move by, and what the
    groups' shifts themselves add: A X'V^-1 (between J) V^-1 X A. Limits are Student's with m - 1 degrees.
    """
    y, columns, groups = drawn([7, 9, 11], 0.5, seed=3)
    cluster = np.arange(len(y)) % 9
    found = mixed_model(y, columns, groups, clusters=cluster.tolist())
    x = np.column_stack([np.ones(len(y)), *columns.values()])
    same = np.equal.outer(groups, groups).astype(float)
    covariance = found.within * np.eye(len(y)) + found.between * same

    def slopes(target: np.ndarray, kept: np.ndarray) -> np.ndarray:
        weight = np.linalg.inv(covariance[np.ix_(kept, kept)])
        return np.linalg.solve(x[kept].T @ weight @ x[kept], x[kept].T @ weight @ target[kept])

    every = np.arange(len(y))
    shifts = np.array([found.groups[group] for group in groups])
    e = y - x @ slopes(y, every) - shifts
    moved = [slopes(e, np.flatnonzero(cluster != each)) - slopes(e, every) for each in range(9)]
    inverse = np.linalg.inv(covariance)
    spread = np.linalg.inv(x.T @ inverse @ x) @ x.T @ inverse
    variance = 8 / 9 * sum(np.outer(each, each) for each in moved) + found.between * spread @ same @ spread.T
    for place, each in enumerate(found.fixed):
        assert each.error == pytest.approx(variance[place, place] ** 0.5, rel=1e-6)
        assert (each.low, each.high) == pytest.approx(t.interval(0.95, 8, each.value, each.error))
        assert each.p == pytest.approx(2 * t.sf(abs(each.value / each.error), 8))


def test_a_column_of_one_cluster_has_no_error_over_clusters() -> None:
    y, columns, groups = drawn([6, 6], 0.5)
    clusters = np.tile(np.arange(6), 2)
    flag = (clusters == 0).astype(float)
    with pytest.raises(ValueError, match="varies in one cluster only"):
        mixed_model(y, {"flag": flag}, groups, clusters=clusters.tolist())
    assert mixed_model(y, {"flag": flag}, groups).errors == "model"
    # A level far from 0 is no such column.
    far = mixed_model(y, {"a": columns["a"] + 1e5}, groups, clusters=clusters.tolist())
    near = mixed_model(y, {"a": columns["a"]}, groups, clusters=clusters.tolist())
    assert far.coefficient("a").error == pytest.approx(near.coefficient("a").error, rel=1e-3)


def test_rows_with_a_gap_are_left_out_and_counted() -> None:
    y, columns, groups = drawn([10, 10, 10], 0.5)
    whole = mixed_model(y[2:], {name: each[2:] for name, each in columns.items()}, groups[2:])
    y[0], columns["a"][1] = np.nan, np.nan
    found = mixed_model(y, columns, groups)
    assert (found.n, found.left_out) == (28, 2)
    assert found.fixed == whole.fixed


@pytest.mark.parametrize(
    ("y", "columns", "groups", "said"),
    [
        ([1.0, 2, 3, 4], {}, "aaaa", "needs two"),
        ([1.0, 2, 3], {"x": [1.0, 2, 1]}, "aab", "too few"),
        ([1.0, 2, 3, 4, 5], {"x": [2.0] * 5}, "aabbb", "x is collinear"),
        ([1.0, 2], {"x": [1.0]}, "ab", "equal length"),
        ([1.0, np.inf], {}, "ab", "finite"),
    ],
)
def test_bad_input(y: list[float], columns: dict[str, list[float]], groups: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        mixed_model(y, columns, list(groups))


@given(st.integers(0, 1000), st.floats(-3, 3), st.floats(0.1, 10))
def test_shift_and_scale(seed: int, shift: float, scale: float) -> None:
    """y -> shift + scale y moves the level and scales all else; the part between groups stays."""
    y, columns, groups = drawn([6, 7, 8], 0.3, seed)
    found, moved = mixed_model(y, columns, groups), mixed_model(shift + scale * y, columns, groups)
    slope = scale * found.coefficient("a").value
    assert moved.coefficient("a").value == pytest.approx(slope, rel=1e-4, abs=1e-6)
    assert moved.shared == pytest.approx(found.shared, abs=1e-4)
    assert moved.within == pytest.approx(scale**2 * found.within, rel=1e-4)
