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


def test_mean_votes_by_hand():
    # Squares about the means 3 and 5: 14 with 2 degrees of freedom and 2 with 1; common variance 16 / 3.
    # Drawn to it with the weight of 4: (14 + 64/3) / 6 and (2 + 64/3) / 5.
    # t(.975) with 6 and 5 degrees of freedom: 2.446912 and 2.570582.
    found = mean_votes([0, 0, 0, 1, 1, 2], [1, 2, 6, 4, 6, 9])
    assert found.value.tolist() == [3, 5, 9]
    half = 2.446912 * np.sqrt((14 + 64 / 3) / 6 / 3), 2.570582 * np.sqrt((2 + 64 / 3) / 5 / 2)
    assert found.high[:2] - found.value[:2] == pytest.approx(half, rel=1e-6)
    assert found.value[:2] - found.low[:2] == pytest.approx(half, rel=1e-6)
    assert np.isnan(found.low[2]) and np.isnan(found.high[2])


@given(votes)
def test_mean_votes_keep_to_their_scale_and_never_claim_certainty(rows):
    item, value, n = as_columns(rows)
    found = mean_votes(item, value, n=n, items=5, low=-1, high=2)
    cast = np.bincount(item, n, minlength=5)
    assert found.n.tolist() == cast.tolist()
    assert np.array_equal(np.isnan(found.low), cast < 2) and np.array_equal(np.isnan(found.value), cast == 0)
    some = cast > 1
    expected = np.bincount(item, value * n, minlength=5)[some] / cast[some]
    assert found.value[some] == pytest.approx(expected)
    assert np.all(found.low[some] >= -1) and np.all(found.high[some] <= 2)
    assert np.all(found.low[some] <= found.value[some]) and np.all(found.value[some] <= found.high[some])
    assert np.all(found.high[some] - found.low[some] > 0.01)


def test_two_votes_at_either_end_say_little_but_not_the_impossible():
    found = mean_votes([0, 0], [1, 5], low=1, high=5)
    assert found.value[0] == 3
    assert 1 <= found.low[0] < 1.6 and 4.4 < found.high[0] <= 5
    unanimous = mean_votes([0, 0, 0], [5, 5, 5], low=1, high=5)
    assert unanimous.high[0] == 5 and 2 < unanimous.low[0] < 4.5


@pytest.mark.parametrize("raters", [2, 3, 5, 10])
@pytest.mark.parametrize("middle", [3.0, 4.4])
def test_mean_votes_cover_what_many_votes_would_give(raters, middle):
    rng = np.random.default_rng(raters)
    level = rng.normal(middle, 0.7, 3000)
    cuts = np.array([1.5, 2.5, 3.5, 4.5])
    cast = 1 + (rng.normal(level[:, None], 0.9, (3000, raters))[:, :, None] > cuts).sum(axis=2)
    truth = 1 + stats.norm.sf(cuts, level[:, None], 0.9).sum(axis=1)
    found = mean_votes(np.repeat(np.arange(3000), raters), cast.ravel(), low=1, high=5)
    assert np.mean((found.low <= truth) & (truth <= found.high)) >= 0.935


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
