from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.statistics import significance
from sightline.statistics.significance import (
    benjamini_hochberg,
    holm,
    mann_whitney,
    paired_bootstrap,
    sign_flip,
    sign_flip_columns,
    sign_flip_pairs,
)

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=25)


def test_sign_flip_by_hand():
    # 1, 2, 3: of the 8 sums +-1+-2+-3 only 6 and -6 reach |6|: 2/8; sums >= 6: 1/8; sums <= 6: all.
    assert sign_flip([1, 2, 3]).p == 2 / 8
    assert sign_flip([1, 2, 3], alternative="greater").p == 1 / 8
    assert sign_flip([1, 2, 3], alternative="less").p == 1
    found = sign_flip([1, 2, 3, np.nan, 0])
    assert (found.p, found.n, found.statistic, found.method) == (2 / 8, 4, 1.5, "sign-flip, exact")
    assert sign_flip([0, 0, 0]).p == 1
    assert sign_flip([]).p is None and sign_flip([]).reason


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_sign_flip_agrees_with_scipy(alternative):
    differences = np.random.default_rng(0).normal(0.4, 1, 10)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative=alternative
    ).pvalue
    assert sign_flip(differences, alternative=alternative).p == pytest.approx(expected, abs=1e-12)


def test_drawn_signs_come_near_the_exact_p(monkeypatch):
    differences = np.random.default_rng(5).normal(0.5, 1, 14)
    exact = sign_flip(differences).p
    monkeypatch.setattr(significance, "MOST_FOR_EXACT", 3)
    drawn = sign_flip(differences, permutations=20_000, seed=3)
    assert "20000 drawn" in drawn.method
    assert drawn.p == pytest.approx(exact, abs=4 * np.sqrt(exact / 20_000) + 1 / 20_000)
    assert drawn == sign_flip(differences, permutations=20_000, seed=3)
    overwhelming = sign_flip(np.full(40, 1.0) + np.arange(40), permutations=99)
    assert overwhelming.p == 1 / 100, "a drawn p is never 0"


def test_columns_with_gaps_equal_columns_alone():
    rng = np.random.default_rng(0)
    table = rng.normal(0.3, 1, (25, 3))
    table[rng.random((25, 3)) < 0.5] = np.nan
    table[:, 2] = np.nan
    p = sign_flip_columns(table)
    assert p[0] == sign_flip(table[:, 0]).p
    assert np.isnan(p[2])


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=9))
def test_exact_sign_flip_counts_patterns(differences):
    d = np.array(differences, dtype=float)
    sums = np.array([np.dot(signs, d) for signs in product((1, -1), repeat=d.size)])
    assert sign_flip(d).p == pytest.approx(np.mean(np.abs(sums) >= abs(d.sum())))
    assert sign_flip(-d).p == sign_flip(d).p
    # Tenths do not add up exactly in floating point; equal sums must count as equal all the same.
    assert sign_flip(d / 10).p == sign_flip(d).p
    assert sign_flip(d, alternative="greater").p == sign_flip(-d, alternative="less").p


@pytest.mark.parametrize("n", [8, 30])
def test_sign_flip_keeps_its_error_rate(n):
    # Skewed but symmetric about 0 under the null: the difference of two exponentials.
    p = [
        sign_flip(rng.exponential(size=n) - rng.exponential(size=n), permutations=499, seed=i).p
        for i, rng in ((seed, np.random.default_rng(seed)) for seed in range(1000))
    ]
    # 1000 trials at .05: standard error .0069; three of them. The exact test on 8 pairs cannot exceed .05.
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.021)


def test_paired_bootstrap():
    rng = np.random.default_rng(0)
    differences = rng.normal(0.5, 1, 60)
    expected = stats.ttest_1samp(differences, 0).pvalue
    assert paired_bootstrap(differences).p == pytest.approx(expected, abs=0.005)
    assert paired_bootstrap(differences, alternative="less").p > 0.99
    assert paired_bootstrap([2.0]).p is None
    p = [paired_bootstrap(np.random.default_rng(i).normal(size=40), resamples=300).p for i in range(600)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.035)


def test_mann_whitney():
    # 1, 2 against 3, 4: no x exceeds a y, U = 0; one of the 6 arrangements is as low.
    found = mann_whitney([1, 2], [3, 4], alternative="less")
    assert (found.statistic, found.n) == (0, 4)
    assert found.p == pytest.approx(1 / 6)
    assert mann_whitney([1, 2], [3, 4], alternative="greater").p == 1
    x, y = np.array([1, 1, 2, 5, 0]), np.array([2, 2, 7, 5, 8, np.nan])
    assert mann_whitney(x, y).p == pytest.approx(stats.mannwhitneyu(x, y[:-1]).pvalue)
    assert mann_whitney([], [1]).reason == "one of the groups is empty"
    assert mann_whitney([1, 1], [1]).reason == "all values are equal"


def test_holm_by_hand():
    # Sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04; running maximum .04 .06 .06 .06.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, np.nan, 0.9]) == pytest.approx([1, np.nan, 1], nan_ok=True)
    with pytest.raises(ValueError, match="within 0 and 1"):
        holm([1.2])


def test_benjamini_hochberg_by_hand():
    # Sorted .01 .02 .03 .9 times 4/1 4/2 4/3 4/4 = .04 .04 .04 .9; the gap is not counted.
    found = benjamini_hochberg([0.03, 0.01, np.nan, 0.9, 0.02])
    assert found == pytest.approx([0.04, 0.04, np.nan, 0.9, 0.04], nan_ok=True)


@given(p_values, st.randoms())
def test_adjusting_raises_bounds_and_keeps_order(p, random):
    column = np.array(p)
    strict, loose = holm(column), benjamini_hochberg(column)
    assert np.all(column <= loose + 1e-15) and np.all(loose <= strict + 1e-12) and np.all(strict <= 1)
    assert np.all(strict <= np.minimum(column * column.size, 1) + 1e-15), "never worse than Bonferroni"
    order = list(range(column.size))
    random.shuffle(order)
    assert holm(column[order]) == pytest.approx(strict[order])
    by_p = np.argsort(column)
    assert np.all(np.diff(strict[by_p]) >= 0)


def every_resample(differences, alternative):
    """p over all n^n resamples: how often t of centred ones is as far off; one value n times always is."""
    values = np.array(differences)
    n, reached = len(values), 0
    observed = stats.ttest_1samp(values, 0).statistic
    for drawn in product(values - values.mean(), repeat=n):
        if len(set(drawn)) == 1:
            reached += 1
            continue
        t = stats.ttest_1samp(drawn, 0).statistic
        far = {"two-sided": abs(t) - abs(observed), "greater": t - observed, "less": observed - t}
        reached += far[alternative] >= -1e-9
    return reached / n**n


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("differences", [(0.3, 0.9, 0.4, 1.6), (-1.0, 0.5, 2.0, 0.25)])
def test_the_bootstrap_equals_all_resamples(differences, alternative):
    found = paired_bootstrap(differences, alternative=alternative, resamples=40_000)
    # 40,000 draws: a standard error of at most .0025.
    assert found.p == pytest.approx(every_resample(differences, alternative), abs=0.01)
    assert found.statistic == pytest.approx(np.mean(differences))


def test_the_bootstrap_has_no_p_where_nothing_varies():
    for differences in ([1.0, 1.0, 1.0], [0.1 + 0.2, 0.3, 0.3], [-2.0] * 50):
        found = paired_bootstrap(differences)
        assert found.p is None and "no spread" in found.reason
    assert paired_bootstrap([0.0, 0.0]).p == 1, "systems that never differ do not differ"


@pytest.mark.parametrize("n", [5, 10, 30])
@pytest.mark.parametrize("kind", ["normal", "uniform", "three values"])
def test_the_bootstrap_keeps_its_level_for_few_units(n, kind):
    rng = np.random.default_rng(n)
    draw = {
        "normal": lambda: rng.normal(size=n),
        "uniform": lambda: rng.uniform(-1, 1, n),
        "three values": lambda: rng.integers(-1, 2, n).astype(float),
    }[kind]
    found = [paired_bootstrap(draw(), resamples=399, seed=seed).p for seed in range(1500)]
    alarms = np.mean([p is not None and p <= 0.05 for p in found])
    # 1,500 trials at .05: standard error .0056; three of them. Below it may be: few units show little.
    assert alarms <= 0.05 + 0.017
    assert n < 30 or alarms >= 0.05 - 0.017, "with 30 units it is no longer timid"


def test_unknown_alternative_is_refused():
    with pytest.raises(ValueError, match="sideways"):
        sign_flip([1, 2], alternative="sideways")


def test_as_statsmodels_has_it():
    """The other trusted implementation of both corrections."""
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    p = np.random.default_rng(0).beta(0.5, 2, 40)
    assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])
    assert benjamini_hochberg(p) == pytest.approx(multitest.multipletests(p, method="fdr_bh")[1])


@pytest.mark.parametrize("n", [12, 40])
def test_pairs_of_columns_have_the_same_p_either_way(n):
    rng = np.random.default_rng(n)
    values = rng.normal(size=(n, 8)) + np.array([0, 0, 0.2, 0.4, 1, 1, 5, 9])
    first, second = np.triu_indices(8, 1)
    fast = sign_flip_pairs(values, first, second, permutations=2000, seed=3)
    slow = sign_flip_columns(values[:, first] - values[:, second], permutations=2000, seed=3)
    assert fast == pytest.approx(slow)
    # A sum far beyond what signs can reach is not drawn at all, and has the p of one that no draw reached.
    assert fast[-1] == pytest.approx(1 / 2001 if n > 16 else 2.0 ** (1 - n))
    values[0, 0] = np.nan
    missing = sign_flip_pairs(values, first, second, permutations=500)
    assert missing == pytest.approx(sign_flip_columns(values[:, first] - values[:, second], permutations=500))
