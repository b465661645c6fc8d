import choix
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.preferences import (
    NEVER,
    ONE_SIDED,
    PRIOR,
    SPREADS,
    bradley_terry,
    pooled_preferences,
)

choices = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1]),
    min_size=1,
    max_size=40,
)


def tournament(seed, players=8, games=200, spread=1.0):
    """Strengths and games between random players, winners first."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, spread, players)
    pairs = np.array([rng.choice(players, 2, replace=False) for _ in range(games)])
    a, b = pairs.T
    won = rng.random(games) < 1 / (1 + np.exp(strength[b] - strength[a]))
    return strength - strength.mean(), np.where(won, a, b), np.where(won, b, a)


@pytest.mark.parametrize("prior", [0.5, PRIOR, 4.0])
def test_strengths_are_those_of_choix(prior):
    _, won, lost = tournament(1)
    # choix adds alpha times the sum of squares to minus the log-likelihood: variance 1 / (2 alpha).
    data = list(zip(won.tolist(), lost.tolist(), strict=True))
    expected = choix.opt_pairwise(8, data, alpha=1 / (2 * prior**2), tol=1e-10)
    assert bradley_terry(won, lost, prior=prior).strength == pytest.approx(expected, abs=1e-5)


def test_without_prior_strengths_are_those_of_choix():
    _, won, lost = tournament(2)
    data = list(zip(won.tolist(), lost.tolist(), strict=True))
    expected = choix.ilsr_pairwise(8, data, alpha=0.0)
    assert bradley_terry(won, lost, prior=None).strength == pytest.approx(
        expected - np.mean(expected), abs=1e-6
    )


def test_two_players_by_hand():
    # 3 wins to 1: odds of 3, strengths +- log(3) / 2; information of the difference 4 x 3/4 x 1/4 = 3/4.
    found = bradley_terry([0, 1], [1, 0], [3, 1], prior=None)
    assert found.strength == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    p, low, high = found.preference([0, 1], [1, 0])
    assert p == pytest.approx([0.75, 0.25])
    half = 1.959964 * (4 / 3) ** 0.5
    assert high[0] == pytest.approx(1 / (1 + np.exp(-np.log(3) - half)), abs=1e-6)
    assert (low[1], high[1]) == pytest.approx((1 - high[0], 1 - low[0]))
    # The error of a strength about the mean of both is half that of the difference.
    assert found.error == pytest.approx([(4 / 3) ** 0.5 / 2] * 2)


def test_a_tie_is_half_a_win_for_either():
    tied = bradley_terry([0, 0, 1], [1, 1, 2], [4, 2, 3], tied=[False, True, True])
    spelled = bradley_terry([0, 0, 1, 1, 2], [1, 1, 0, 2, 1], [4, 1, 1, 1.5, 1.5])
    assert tied.strength == pytest.approx(spelled.strength)
    assert tied.error == pytest.approx(spelled.error)


@given(choices)
def test_weights_are_repeats_and_order_does_not_matter(games):
    won, lost = np.array(games).T
    found = bradley_terry(won, lost, players=6)
    unique, times = np.unique(np.array(games), axis=0, return_counts=True)
    weighted = bradley_terry(unique[:, 0], unique[:, 1], times, players=6)
    assert weighted.strength == pytest.approx(found.strength, abs=1e-8, nan_ok=True)
    turned = bradley_terry(lost, won, players=6)
    assert turned.strength == pytest.approx(-found.strength, abs=1e-8, nan_ok=True)
    for group in set(found.group.tolist()):
        inside = found.strength[found.group == group]
        assert np.isnan(inside).all() or inside.sum() == pytest.approx(0, abs=1e-9)


@given(choices)
def test_no_other_strengths_fit_better(games):
    won, lost = np.array(games).T
    best = bradley_terry(won, lost, players=6)
    known = np.nan_to_num(best.strength)

    def objective(at):
        return np.logaddexp(0, at[lost] - at[won]).sum() + (at**2).sum() / (2 * PRIOR**2)

    rng = np.random.default_rng(0)
    for step in (1e-3, 0.1, 1):
        assert objective(known) <= objective(known + step * rng.normal(size=6)) + 1e-9


def test_groups_that_never_met_are_not_compared():
    found = bradley_terry([0, 2], [1, 3], players=5)
    assert found.group[0] == found.group[1] != found.group[2] == found.group[3]
    p, low, high = found.preference([0, 0, 4], [1, 2, 0])
    assert 0.5 < p[0] < 1 and np.isnan(p[1:]).all() and np.isnan(low[1:]).all() and np.isnan(high[1:]).all()
    assert found.reason == [None, None, None, None, NEVER]


def test_who_always_won_has_no_finite_strength_without_prior():
    # 0 beats 1 and 2, who beat each other; 3 and 4 beat each other.
    won, lost = [0, 0, 1, 2, 3, 4], [1, 2, 2, 1, 4, 3]
    found = bradley_terry(won, lost, prior=None)
    assert found.reason == [ONE_SIDED] * 3 + [None, None]
    assert np.isnan(found.strength[:3]).all() and found.strength[3:] == pytest.approx([0, 0])
    assert np.isfinite(bradley_terry(won, lost).strength).all()


def test_preference_limits_cover():
    covered = []
    for seed in range(150):
        strength, won, lost = tournament(seed, players=6, games=40, spread=PRIOR)
        found = bradley_terry(won, lost, players=6)
        a, b = np.triu_indices(6, 1)
        _, low, high = found.preference(a, b)
        truth = 1 / (1 + np.exp(strength[b] - strength[a]))
        met = ~np.isnan(low)
        covered.append(np.mean((low <= truth)[met] & (truth <= high)[met]))
    assert 0.93 <= np.mean(covered) <= 0.97


@pytest.mark.parametrize(("spread", "repeats"), [(1.28, 2), (3.0, 1), (3.0, 5)])
def test_limits_cover_whatever_the_spread(spread, repeats):
    # With the prior fixed at PRIOR, limits at a spread of 3 cover .59 of the time.
    covered, extreme = [], []
    a, b = np.triu_indices(6, 1)
    for seed in range(80):
        rng = np.random.default_rng(seed)
        strength = rng.normal(0, spread, 6)
        truth = 1 / (1 + np.exp(strength[b] - strength[a]))
        wins = rng.binomial(repeats, truth)
        found = pooled_preferences(
            np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([wins, repeats - wins]), a=a, b=b
        )
        inside = (found.low <= truth) & (truth <= found.high)
        covered.extend(inside)
        extreme.extend(inside[np.abs(truth - 0.5) > 0.4])
    assert 0.92 <= np.mean(covered) <= 0.98
    assert np.mean(extreme) > 0.9


def test_pooled_preferences_are_those_of_direct_integration():
    # One pair, 3 wins to 1: with d = s_a - s_b ~ N(0, 2 spread^2) the median by summing over a fine grid.
    found = pooled_preferences([0, 1], [1, 0], [3, 1], a=[0, 1], b=[1, 0])
    d = np.linspace(-60, 60, 60_001)
    posterior = np.zeros_like(d)
    for spread in SPREADS:
        prior = np.exp(-(d**2) / (4 * spread**2)) / (2 * spread * np.pi**0.5)
        hyper = np.exp(-(np.log(spread / PRIOR) ** 2) / (2 * 1.5**2))
        posterior += hyper * prior * np.exp(-3 * np.logaddexp(0, -d) - np.logaddexp(0, d))
    reached = np.cumsum(posterior) / posterior.sum()
    expected = [1 / (1 + np.exp(-d[np.argmax(reached >= level)])) for level in (0.5, 0.025, 0.975)]
    assert (found.value[0], found.low[0], found.high[0]) == pytest.approx(expected, abs=0.02)
    assert found.value[1] == pytest.approx(1 - found.value[0], abs=0.02)


def test_pooled_preferences_of_those_who_never_met():
    found = pooled_preferences([0, 2], [1, 3], a=[0, 0, 4], b=[1, 2, 0], players=5)
    assert 0.5 < found.value[0] < found.high[0] and np.isnan(found.value[1:]).all()
    assert np.isnan(pooled_preferences([], [], a=[0], b=[1], players=2).value).all()


def test_what_others_did_helps():
    # A chain of ten players, three games between each: strengths pool what single shares cannot.
    better = 0
    for seed in range(100):
        strength, won, lost = tournament(seed, players=10, games=135)
        a, b = np.triu_indices(10, 1)
        truth = 1 / (1 + np.exp(strength[b] - strength[a]))
        wins = np.array([[np.sum((won == i) & (lost == j)) for j in range(10)] for i in range(10)])
        alone = (wins[a, b] + 1) / (wins[a, b] + wins[b, a] + 2)
        pooled = bradley_terry(won, lost, players=10).preference(a, b)[0]
        better += np.mean((pooled - truth) ** 2) < np.mean((alone - truth) ** 2)
    assert better >= 95


def test_before_any_choice_every_probability_is_about_equally_likely():
    strength = np.random.default_rng(0).normal(0, PRIOR, (2, 100_000))
    p = 1 / (1 + np.exp(strength[0] - strength[1]))
    assert np.quantile(p, [0.1, 0.25, 0.5, 0.75, 0.9]) == pytest.approx([0.1, 0.25, 0.5, 0.75, 0.9], abs=0.03)


def test_lopsided_wins_settle():
    found = bradley_terry([0, 1], [1, 0], [1e6, 1], prior=None)
    assert found.strength[0] - found.strength[1] == pytest.approx(np.log(1e6))
    assert bradley_terry([], [], players=2).reason == [NEVER, NEVER]
    assert bradley_terry([0], [0]).reason == [NEVER], "a player beside itself"


def test_columns_are_checked():
    with pytest.raises(ValueError, match="equal length"):
        bradley_terry([0, 1], [1])
    with pytest.raises(ValueError, match="from 0 to 1"):
        bradley_terry([0], [2], players=2)
    with pytest.raises(ValueError, match="not negative"):
        bradley_terry([0], [1], [-1])
