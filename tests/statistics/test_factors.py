"""Factor analysis against another implementation, closed forms and planted factors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sightline.statistics.factors import factor_analysis, kaiser, loading_table, minres, promax, varimax

# Covariances of six ability tests of 112 people: R's ability.cov (Bartholomew 1987, Smith and Stanley 1983).
COVARIANCE = np.array(
    [
        [24.641, 5.991, 33.520, 6.023, 20.755, 29.701],
        [5.991, 6.700, 18.137, 1.782, 4.936, 7.204],
        [33.520, 18.137, 149.831, 19.424, 31.430, 50.753],
        [6.023, 1.782, 19.424, 12.711, 4.757, 9.075],
        [20.755, 4.936, 31.430, 4.757, 52.604, 66.762],
        [29.701, 7.204, 50.753, 9.075, 66.762, 135.292],
    ]
)
DEVIATION = np.sqrt(np.diag(COVARIANCE))
ABILITY = COVARIANCE / np.outer(DEVIATION, DEVIATION)
# The package factor_analyzer 0.5.1: minres without rotation; then its promax with a tolerance of 1e-14.
UNROTATED = np.array(
    [[0.74976, 0.07043], [0.52388, 0.31949], [0.75001, 0.52176], [0.39233, 0.22025], [0.8183, -0.51869],
     [0.72651, -0.37641]]
)  # fmt: skip
UNIQUE = [0.4329, 0.62347, 0.16526, 0.79756, 0.06134, 0.3305]
VARIMAX = np.array(
    [[0.491089, 0.570904], [0.15562, 0.593554], [0.178137, 0.896111], [0.129735, 0.430815],
     [0.949181, 0.194191], [0.784363, 0.232973]]
)  # fmt: skip
PROMAX = np.array(
    [[0.366863, 0.485858], [-0.02598, 0.62755], [-0.104425, 0.967028], [0.000405, 0.449702],
     [1.022489, -0.104481], [0.81995, -0.003128]]
)  # fmt: skip


def test_extraction_and_rotation_against_another_implementation() -> None:
    extracted = minres(ABILITY, 2)
    assert extracted == pytest.approx(UNROTATED, abs=2e-5)
    assert 1 - (extracted**2).sum(axis=1) == pytest.approx(UNIQUE, abs=2e-5)
    assert varimax(UNROTATED)[0] == pytest.approx(VARIMAX, abs=5e-6)
    pattern, phi = promax(UNROTATED)
    assert pattern == pytest.approx(PROMAX, abs=5e-6)
    assert phi == pytest.approx(np.array([[1, 0.551084], [0.551084, 1]]), abs=5e-6)


def test_one_factor_in_closed_form() -> None:
    """r12 = ab, r13 = ac, r23 = bc: loadings a = .9, b = .8, c = .7."""
    a = np.array([0.9, 0.8, 0.7])
    r = np.outer(a, a) + np.diag(1 - a**2)
    assert minres(r, 1)[:, 0] == pytest.approx(a, abs=1e-6)
    assert promax(minres(r, 1))[1].tolist() == [[1]]


def test_kaisers_criterion() -> None:
    assert kaiser([3.07, 1.14, 0.82]) == 2
    # Uncorrelated columns: every eigenvalue is 1, none above.
    assert kaiser(np.linalg.eigvalsh(np.eye(5))) == 0


def planted(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Two factors that correlate .4, three columns each with loadings .8, and noise."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, 2)) @ np.linalg.cholesky([[1, 0.4], [0.4, 1]]).T
    return {
        f"{'ab'[k]}{j}": 0.8 * factor[:, k] + 0.6 * rng.normal(size=n) for k in range(2) for j in range(3)
    }


def test_planted_factors_come_back() -> None:
    found = factor_analysis(planted(20_000))
    assert found.factors == 2 and found.n == 20_000 and not found.left_out
    rows = {row.name: row for row in loading_table(found)}
    assert {row.factor for name, row in rows.items() if name[0] == "a"} != {
        row.factor for name, row in rows.items() if name[0] == "b"
    }
    for row in rows.values():
        assert row.values[row.factor] == pytest.approx(0.8, abs=0.03) and sum(row.marked) == 1
        assert row.values[1 - row.factor] == pytest.approx(0, abs=0.03)
    assert found.correlations[0, 1] == pytest.approx(0.4, abs=0.03)
    assert found.explained.sum() == pytest.approx(0.64, abs=0.03)


def test_columns_that_cannot_be_used_are_reported() -> None:
    columns = planted(500)
    columns["flat"] = np.zeros(500)
    columns["again"] = 3 - 2 * columns["a0"]
    columns["gaps"] = np.where(np.arange(500) % 2, np.nan, columns["a1"])
    columns["b0"][:10] = np.nan
    found = factor_analysis(columns)
    assert found.left_out == {
        "gaps": "no value in 50% of the rows",
        "flat": "constant",
        "again": "collinear with a0",
    }
    assert found.n == 490 and found.factors == 2


def test_columns_that_depend_on_each_other() -> None:
    """A sum of two columns makes the matrix singular; loadings still exist."""
    columns = planted(500)
    columns["sum"] = columns["a0"] + columns["a1"]
    assert np.isfinite(factor_analysis(columns).loadings).all()


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": [1.0, 2], "b": [2.0, 1]}, "need"),
        ({name: np.arange(3.0) ** power for power, name in enumerate("abcd", 1)}, "too few"),
        ({"a": [1.0, 2], "b": [1.0]}, "equal length"),
        ({"a": [1.0, np.inf]}, "finite"),
    ],
)
def test_bad_input(columns: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        factor_analysis(columns)
    with pytest.raises(ValueError, match="6 factors of 6"):
        factor_analysis(planted(100), factors=6)


@given(arrays(np.float64, (6, 2), elements=st.floats(-0.7, 0.7).map(lambda x: round(x, 3))))
def test_rotation_changes_no_communality(loadings: np.ndarray) -> None:
    """P Phi P' = L L', and Phi is a correlation matrix."""
    if np.linalg.matrix_rank(loadings, tol=0.05) < 2:
        return
    turned = varimax(loadings)[0]
    assert (turned**2).sum(axis=1) == pytest.approx((loadings**2).sum(axis=1))
    pattern, phi = promax(loadings)
    assert pattern @ phi @ pattern.T == pytest.approx(loadings @ loadings.T, abs=1e-6)
    assert np.diag(phi) == pytest.approx(1) and np.abs(phi).max() <= 1 + 1e-9
