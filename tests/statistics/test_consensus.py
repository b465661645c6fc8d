from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.statistics.consensus import hbpp, majority, mean_votes, median_votes, relevant_if, share_for

votes = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([-1, 0, 1, 2]), st.integers(1, 3)), min_size=1, max_size=30
)


def as_columns(rows):
    item, value, n = (np.array(column) for column in zip(*rows, strict=True))
    return item, value.astype(float), n


def test_hbpp_by_hand():
    # 0: 2 1 0 -> relevant wins, mean of 2 and 1. 1: 2 0 -1 -> not relevant wins, mean of 0 and -1.
    # 2: 2 0 -> a tie goes to relevant. 3: nobody voted. 4: one vote counted three times against one.
    item = [0, 0, 0, 1, 1, 1, 2, 2, 4, 4]
    value = [2, 1, 0, 2, 0, -1, 2, 0, -1, 2]
    n = [1, 1, 1, 1, 1, 1, 1, 1, 3, 1]
    found = hbpp(item, value, n=n, items=5)
    assert found.value == pytest.approx([1.5, -0.5, 2, np.nan, -1], nan_ok=True)
    assert found.n.tolist() == [3, 3, 2, 0, 4]


def test_hbpp_of_two_images_takes_31_values():
    triples = list(product([-1, 0, 1, 2], repeat=3))
    item = np.repeat(np.arange(len(triples)), 3)
    per_image = hbpp(item, np.ravel(triples)).value
    means = {round(float(a + b) / 2, 9) for a in per_image for b in per_image}
    assert len(means) == 31


@given(votes)
def test_mean_votes_agrees_with_scipy(rows):
    item, value, n = as_columns(rows)
    found = mean_votes(item, value, n=n, items=5)
    for i in range(5):
        cast = np.repeat(value[item == i], n[item == i])
        assert found.n[i] == cast.size
        if cast.size == 0:
            assert np.isnan(found.value[i])
            continue
        assert found.value[i] == pytest.approx(cast.mean())
        if cast.size == 1:
            assert np.isnan(found.low[i]) and np.isnan(found.high[i])
        elif np.ptp(cast) == 0:
            assert found.low[i] == pytest.approx(found.high[i])
        else:
            limits = stats.ttest_1samp(cast, 0).confidence_interval(0.95)
            assert (found.low[i], found.high[i]) == pytest.approx((limits.low, limits.high))


def test_majority_by_hand():
    item, value = [0, 0, 0, 1, 1, 3], [2, 2, 1, 0, 1, np.nan]
    for ties, tied in (("none", np.nan), ("highest", 1), ("lowest", 0)):
        found = majority(item, value, ties=ties)
        assert found.value == pytest.approx([2, tied, np.nan, np.nan], nan_ok=True)
        assert found.n.tolist() == [3, 2, 0, 0]
    assert majority([], [], items=2).n.tolist() == [0, 0]


@given(votes)
def test_counted_votes_equal_spelled_out_ones_in_any_order_and_enclose_the_consensus(rows):
    item, value, n = as_columns(rows)
    order = np.random.default_rng(0).permutation(n.sum())
    long_item, long_value = np.repeat(item, n)[order], np.repeat(value, n)[order]
    for rule in (hbpp, majority, mean_votes, median_votes):
        short, spelled = rule(item, value, n=n, items=5), rule(long_item, long_value, items=5)
        for name in ("value", "low", "high", "n"):
            assert getattr(short, name) == pytest.approx(getattr(spelled, name), nan_ok=True)
        for i in np.flatnonzero(~np.isnan(short.value)):
            cast = long_value[long_item == i]
            assert cast.min() - 1e-12 <= short.value[i] <= cast.max() + 1e-12
            if rule is majority:
                counts = Counter(cast.tolist())
                assert counts[short.value[i]] == max(counts.values())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mean_votes([0, 1], [1]), "equal length"),
        (lambda: mean_votes([0], [np.inf]), "infinite"),
        (lambda: hbpp([0, 2], [1, 1], items=2), "within 0 and 1"),
        (lambda: hbpp([0], [3]), "2, 1, 0 and -1"),
        (lambda: share_for([0], [0.5]), "in favour"),
        (lambda: majority([0], [1], ties="coin"), "coin"),
    ],
)
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@given(votes)
def test_limits_enclose_the_value_and_stay_on_the_scale(rows):
    item, value, n = as_columns(rows)
    cases = (
        hbpp(item, value, n=n, items=5),
        median_votes(item, value, n=n, items=5),
        share_for(item, value > 0, n=n, items=5),
    )
    for found, (least, most) in zip(cases, ((-1, 2), (-1, 2), (0, 1)), strict=True):
        some = ~np.isnan(found.low)
        assert np.array_equal(some, ~np.isnan(found.high))
        assert np.all(found.low[some] <= found.value[some]) and np.all(found.value[some] <= found.high[some])
        assert np.all(found.low[some] >= least) and np.all(found.high[some] <= most)


def population_hbpp(shares):
    """HBPP of very many votes; shares of 2, 1, 0 and -1 in the last axis."""
    high, low, none, unreal = np.moveaxis(shares, -1, 0)
    return np.where(high + low >= none + unreal, 1 + high / (high + low), -unreal / (none + unreal))


def hbpp_coverage(shares, n, seed=0):
    """How often the interval of n votes holds what very many votes would give."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, shares)
    item = np.repeat(np.arange(len(shares)), 4)
    found = hbpp(item, np.tile([2.0, 1, 0, -1], len(shares)), n=counts.ravel(), items=len(shares))
    truth = population_hbpp(shares)
    return np.mean((found.low <= truth + 1e-12) & (truth <= found.high + 1e-12))


def test_hbpp_limits_cover_what_many_votes_would_give():
    # Drawn from the prior the quantiles cover exactly; widening them to the value adds a little.
    prior = np.random.default_rng(1).dirichlet([0.5] * 4, 20_000)
    for n in (3, 10):
        assert 0.945 <= hbpp_coverage(prior, n) <= 0.99
    # Another picture of images: most are clear, with a stray vote.
    clear = np.random.default_rng(2).dirichlet([6, 1, 0.3, 0.3], 20_000)
    assert hbpp_coverage(clear, 3) >= 0.94
    assert hbpp_coverage(clear, 30) >= 0.94


def test_hbpp_limits_are_quantiles_of_the_posterior():
    counts = np.array([[2, 3, 1, 1], [1, 0, 4, 2]])
    found = hbpp(np.repeat([0, 1], 4), np.tile([2.0, 1, 0, -1], 2), n=counts.ravel())
    rng = np.random.default_rng(3)
    for i, row in enumerate(counts):
        draws = population_hbpp(rng.dirichlet(row + 0.5, 200_000))
        assert (found.low[i], found.high[i]) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.02)


def test_median_limits_cover_the_median_of_any_distribution():
    rng = np.random.default_rng(0)
    for n in (6, 15, 40):
        item = np.repeat(np.arange(4000), n)
        lengths = rng.exponential(size=item.size)
        found = median_votes(item, lengths)
        covered = np.mean((found.low <= np.log(2)) & (np.log(2) <= found.high))
        # Exactly 1 - 2 P(Binomial(n, 1/2) < k), at least .95: 4,000 items leave +- .01.
        assert 0.94 <= covered <= 0.985
        ranks = stats.rankdata(lengths[:n])
        assert ranks[lengths[:n] == found.low[0]] + ranks[lengths[:n] == found.high[0]] == n + 1


@given(votes)
def test_share_agrees_with_scipy(rows):
    item, value, n = as_columns(rows)
    found = share_for(item, value > 0, n=n, items=5)
    for i in range(5):
        here = item == i
        if n[here].sum() == 0:
            assert np.isnan(found.value[i]) and np.isnan(found.low[i])
            continue
        expected = stats.binomtest(int(n[here & (value > 0)].sum()), int(n[here].sum()))
        limits = expected.proportion_ci(0.95, method="wilson")
        assert found.value[i] == expected.statistic
        assert (found.low[i], found.high[i]) == pytest.approx((limits.low, limits.high), abs=1e-12)


def test_relevant_if_by_hand():
    # 0: two for, one neither. 1: two for, one against. 2: one for. 3: nobody.
    item, favour, against = [0, 0, 1, 1, 2], [1, 0, 1, 0, 1], [0, 0, 0, 1, 0]
    n = [2, 1, 2, 1, 1]
    found = relevant_if(item, favour, against, n=n, items=4)
    assert found.value == pytest.approx([1, 0, 1, np.nan], nan_ok=True) and found.n.tolist() == [3, 3, 1, 0]
    assert relevant_if(item, favour, against, n=n, items=4, least=2).value[:3].tolist() == [1, 0, 0]
