from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from sightline.statistics.consensus import hbpp, majority, mean_votes, mos_likelihood

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
    with pytest.raises(ValueError, match="2, 1, 0 and -1"):
        hbpp([0], [3])


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
    assert majority(item, value).value == pytest.approx([2, np.nan, np.nan, np.nan], nan_ok=True)
    assert majority(item, value, ties="highest").value == pytest.approx([2, 1, np.nan, np.nan], nan_ok=True)
    assert majority(item, value, ties="lowest").value == pytest.approx([2, 0, np.nan, np.nan], nan_ok=True)
    assert majority(item, value).n.tolist() == [3, 2, 0, 0]
    with pytest.raises(ValueError, match="coin"):
        majority(item, value, ties="coin")
    assert majority([], [], items=2).n.tolist() == [0, 0]


@given(votes)
def test_counted_votes_equal_spelled_out_ones_in_any_order(rows):
    item, value, n = as_columns(rows)
    order = np.random.default_rng(0).permutation(n.sum())
    long_item, long_value = np.repeat(item, n)[order], np.repeat(value, n)[order]
    for rule in (hbpp, majority, mean_votes):
        short, spelled = rule(item, value, n=n, items=5), rule(long_item, long_value, items=5)
        assert short.value == pytest.approx(spelled.value, nan_ok=True)
        assert np.array_equal(short.n, spelled.n)


@given(votes)
def test_consensus_stays_within_the_votes(rows):
    item, value, n = as_columns(rows)
    for rule in (hbpp, majority, mean_votes):
        found = rule(item, value, n=n, items=5).value
        for i in np.flatnonzero(~np.isnan(found)):
            cast = value[item == i]
            assert cast.min() - 1e-12 <= found[i] <= cast.max() + 1e-12
        if rule is majority:
            counts = [{v: n[(item == i) & (value == v)].sum() for v in value[item == i]} for i in range(5)]
            for i in np.flatnonzero(~np.isnan(found)):
                assert counts[i][found[i]] == max(counts[i].values())


def panel(seed=0, items=80, inconsistency=(0.3, 0.5, 0.8, 0.4, 1.5, 0.6)):
    """Votes of viewers of known bias and inconsistency on items of known quality."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(1, 5, items)
    spread = np.array(inconsistency)
    bias = rng.normal(0, 0.5, spread.size)
    bias -= bias.mean()
    item, viewer = np.indices((items, spread.size)).reshape(2, -1)
    value = quality[item] + bias[viewer] + spread[viewer] * rng.normal(size=item.size)
    return item, viewer, value, (quality, bias, spread)


def test_plain_mos_is_a_maximum_of_the_likelihood():
    # Twelve viewers: with few, the plain likelihood has no maximum inside.
    item, viewer, value, _ = panel(items=25, inconsistency=np.linspace(0.8, 1.2, 12))
    found = mos_likelihood(item, viewer, value, restricted=False)
    assert found.converged

    def minus_log_likelihood(x):
        mos, bias, log_spread = x[:25], np.append(x[25:36], -x[25:36].sum()), x[36:]
        residual = (value - mos[item] - bias[viewer]) / np.exp(log_spread[viewer])
        return np.sum(residual**2 / 2 + log_spread[viewer])

    start = np.concatenate([found.mos, found.bias[:11], np.log(found.inconsistency)])
    start += np.random.default_rng(1).normal(0, 0.02, start.size)
    best = optimize.minimize(minus_log_likelihood, start, method="BFGS", options={"gtol": 1e-6}).x
    assert found.mos == pytest.approx(best[:25], abs=1e-4)
    assert found.bias[:11] == pytest.approx(best[25:36], abs=1e-4)
    assert found.inconsistency == pytest.approx(np.exp(best[36:]), abs=1e-4)
    weights = sum(1 / s**2 for s in found.inconsistency)
    assert found.error == pytest.approx(np.full(25, weights**-0.5))


def test_mos_recovers_a_known_panel_better_than_the_mean():
    closer = 0
    for seed in range(20):
        item, viewer, value, (quality, bias, spread) = panel(seed)
        found = mos_likelihood(item, viewer, value)
        plain = mean_votes(item, value).value
        closer += np.std(found.mos - quality) < np.std(plain - quality)
        assert found.bias == pytest.approx(bias, abs=0.6)
        assert np.argmax(found.inconsistency) == np.argmax(spread)
        assert found.bias.sum() == pytest.approx(0, abs=1e-9)
    assert closer == 20


def coverage(viewers, restricted):
    covered = []
    for seed in range(60):
        item, viewer, value, (quality, _, _) = panel(seed, items=60, inconsistency=viewers)
        found = mos_likelihood(item, viewer, value, restricted=restricted)
        covered.append(np.abs(found.mos - quality) <= 1.96 * found.error)
    return np.mean(covered)


@pytest.mark.parametrize("viewers", [np.linspace(0.4, 1.2, 15), (0.3, 0.5, 0.8, 0.4, 1.5, 0.6)])
def test_mos_error_is_honest(viewers):
    # The error leaves out that bias and inconsistency are themselves estimated, so it is a little short.
    assert 0.915 <= coverage(viewers, restricted=True) <= 0.96


def test_plain_likelihood_follows_one_viewer_of_a_small_panel():
    assert coverage((0.3, 0.5, 0.8, 0.4, 1.5, 0.6), restricted=False) < 0.6


def test_restricted_inconsistency_is_free_of_bias():
    squares = [
        np.mean(mos_likelihood(*panel(seed, items=8, inconsistency=np.ones(12))[:3]).inconsistency ** 2)
        for seed in range(200)
    ]
    # True variance 1. Counting no degree of freedom for the bias would give 7/8, none for mos 11/12 of that.
    assert np.mean(squares) == pytest.approx(1, abs=0.06)


def test_restricted_and_plain_meet_in_a_large_panel():
    item, viewer, value, _ = panel(items=300, inconsistency=np.linspace(0.5, 1.5, 60))
    plain, restricted = (mos_likelihood(item, viewer, value, restricted=r) for r in (False, True))
    assert restricted.mos == pytest.approx(plain.mos, abs=0.02)
    assert np.mean(restricted.inconsistency / plain.inconsistency) == pytest.approx(1, abs=0.03)


def test_mos_of_a_sparse_panel():
    item, viewer, value, (quality, _, _) = panel(items=120)
    kept = np.random.default_rng(0).random(item.size) < 0.5
    kept[item == 7] = False
    found = mos_likelihood(item[kept], viewer[kept], value[kept], items=120, annotators=8)
    assert found.converged
    assert np.isnan(found.mos[7]) and np.isnan(found.error[7]) and found.n[7] == 0
    others = (found.n > 1) & (np.arange(120) != 7)
    assert np.corrcoef(found.mos[others], quality[others])[0, 1] > 0.9
    assert np.isnan(found.bias[6:]).all() and np.isfinite(found.bias[:6]).all()


def test_anonymous_votes_have_no_bias():
    # All anonymous: the plain mean, one inconsistency s for all, error s / sqrt(n).
    item, value = np.array([0, 0, 1, 1]), np.array([1.0, 3, 4, 5])
    found = mos_likelihood(item, np.full(4, -1), value, n=[2, 2, 1, 1])
    assert found.mos == pytest.approx([2, 4.5])
    # Six votes on two items leave four degrees of freedom: s^2 = (4 * 1 + 2 * .25) / 4.
    spread = np.sqrt(4.5 / 4)
    assert found.anonymous_inconsistency == pytest.approx(spread)
    assert found.error == pytest.approx([spread / 2, spread / 2**0.5])
    assert found.bias.size == 0
    item, viewer, value, _ = panel()
    mixed = mos_likelihood(np.append(item, 3), np.append(viewer, -1), np.append(value, 2.0))
    once = mos_likelihood(np.append(item, 3), np.append(viewer, 6), np.append(value, 2.0))
    assert mixed.converged and mixed.mos == pytest.approx(once.mos)
    assert np.isnan(once.bias[6]), "a single vote shows no bias"


def test_one_vote_an_item_has_no_error():
    found = mos_likelihood([0, 1, 2], [0, 0, 1], [4, 2, 5])
    assert found.mos == pytest.approx([4, 2, 5])
    assert np.isnan(found.error).all()
    # Viewer 2 is alone on items 4 and 5: the scatter of the others stands in, so there is an error.
    item, viewer = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5], [0, 1, 0, 1, 0, 1, 0, 1, 2, 2]
    found = mos_likelihood(item, viewer, [1, 2, 4, 3, 5, 4, 2, 2, 3, 1])
    assert found.converged and np.all(found.error > 0) and np.isfinite(found.inconsistency).all()


def test_votes_that_fit_perfectly():
    item, viewer = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    exact = mos_likelihood(item, viewer, np.array([1.0, 2, 3, 4])[item] + np.array([-1.0, 0, 1])[viewer])
    assert exact.mos == pytest.approx([1, 2, 3, 4])
    assert exact.bias == pytest.approx([-1, 0, 1])
    assert exact.error == pytest.approx(np.zeros(4), abs=1e-9)
    # One viewer equals the mean of the two others: without a floor the likelihood has no maximum.
    value = np.array([[1, 3, 2], [4, 2, 3], [5, 5, 5], [2, 1, 1.5]], dtype=float).ravel()
    degenerate = mos_likelihood(item, viewer, value)
    assert np.isfinite(degenerate.mos).all() and np.all(degenerate.error > 0)


def test_columns_are_checked():
    with pytest.raises(ValueError, match="equal length"):
        mean_votes([0, 1], [1])
    with pytest.raises(ValueError, match="within 0 and 1"):
        hbpp([0, 2], [1, 1], items=2)
    with pytest.raises(ValueError, match="infinite"):
        mean_votes([0], [np.inf])
    with pytest.raises(ValueError, match="-1 for anonymous"):
        mos_likelihood([0], [-2], [1])
    with pytest.raises(ValueError, match="below 1"):
        mos_likelihood([0], [1], [1], annotators=1)
