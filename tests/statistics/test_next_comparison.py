import numpy as np
import pytest

from sightline.statistics.next_comparison import (
    Belief,
    belief_from_orders,
    belief_from_votes,
    chances_of_sets,
    next_comparison,
)
from sightline.statistics.preferences import PRIOR, bradley_terry


def counts(sets, systems):
    table = np.zeros((systems, systems), int)
    for row in sets:
        table[np.ix_(row, row)] += 1
    return table


def test_a_belief_is_the_fit_under_the_prior():
    a, b, part = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 0]), np.array([1.0, 1.0, 0.5, 0.0])
    found = belief_from_votes(a, b, part, 4)
    expected = bradley_terry([0, 0, 1, 2, 0], [1, 2, 2, 1, 2], [1, 1, 0.5, 0.5, 1], players=4)
    assert found.strength[:3] - found.strength[:3].mean() == pytest.approx(expected.strength[:3], abs=1e-6)
    assert found.covariance[3, 3] == pytest.approx(PRIOR**2), "of the fourth nothing is known"
    orders = belief_from_orders(
        [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 2, 1, 2, 0, 2], [1, 2, 1, 2, 1, 1, 1, 2], 4
    )
    assert orders.strength == pytest.approx(found.strength, abs=1e-6)
    assert belief_from_votes([], [], [], 3).strength.tolist() == [0, 0, 0]


def test_close_systems_are_compared_and_those_long_apart_rarely():
    # 0 and 1 are far above 2 and 3, all equally well known: what is open is 0 or 1, and 2 or 3.
    belief = Belief(np.array([3.0, 2.9, -2.9, -3.0]), np.eye(4) * 0.05)
    table = counts(next_comparison(belief, count=2000, seed=1), 4)
    assert table[0, 1] + table[2, 3] > 1700
    assert min(table[0, 2], table[0, 3], table[1, 2], table[1, 3]) > 10, "every pair stays reachable"


def test_the_unknown_is_asked_about():
    variance = np.diag([0.02, 0.02, 0.02, 1.6])
    table = counts(next_comparison(Belief(np.zeros(4), variance), count=1000, seed=2), 4)
    assert table[3, 3] > 800


@pytest.mark.parametrize("size", [2, 4])
def test_sets_hold_different_systems_in_random_order(size):
    belief = belief_from_votes([0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0], 8)
    sets = next_comparison(belief, size=size, count=3000, seed=3)
    assert sets.shape == (3000, size)
    assert all(np.unique(row).size == size for row in sets)
    assert np.all(counts(sets, 8) + np.eye(8) > 0)
    assert 0.4 < np.mean(sets[:, 0] < sets[:, -1]) < 0.6
    again = next_comparison(belief, size=size, count=3000, seed=3)
    assert (again == sets).all()


def test_impossible_sets_are_refused():
    with pytest.raises(ValueError, match="at most the 3"):
        next_comparison(Belief(np.zeros(3), np.eye(3)), size=4)


def test_adaptive_orders_of_four_need_fewer_comparisons_than_random_pairs():
    # Kendall's tau after 300 comparisons of 12 systems, over 8 runs.
    i, j = np.triu_indices(12, 1)
    reached = {}
    for size, adaptive in ((2, False), (4, True)):
        tau = []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            strength = rng.normal(0, 1, 12)
            group, system, rank = (np.zeros(0, int) for _ in range(3))
            belief = belief_from_orders(group, system, rank, 12)
            for step in range(6):
                sets = (
                    next_comparison(belief, size=size, count=50, seed=seed * 100 + step)
                    if adaptive
                    else np.array([rng.choice(12, size, replace=False) for _ in range(50)])
                )
                worth = strength[sets] + rng.gumbel(size=sets.shape)
                group = np.append(group, np.repeat(np.arange(50) + 50 * step, size))
                system, rank = np.append(system, sets), np.append(rank, np.argsort(np.argsort(-worth)) + 1)
                belief = belief_from_orders(group, system, rank, 12)
            at = belief.strength
            tau.append(np.mean(np.sign(strength[i] - strength[j]) * np.sign(at[i] - at[j])))
        reached[size] = np.mean(tau)
    assert reached[4] > reached[2] + 0.03


def test_existing_sets_have_the_chances_of_their_pairs():
    belief = Belief(np.array([3.0, 2.9, -2.9, -3.0]), np.eye(4) * 0.05)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    members = np.array([[n in pair for n in range(4)] for pair in pairs])
    chances = chances_of_sets(belief, members)
    assert chances.max() == 1 and np.argsort(chances)[-2:].tolist() in ([0, 5], [5, 0])
    # Drawn often enough, pairs come as often as these chances say.
    drawn = counts(next_comparison(belief, count=20_000, explore=0, seed=4), 4)
    expected = 20_000 * chances / chances.sum()
    assert [drawn[pair] for pair in pairs] == pytest.approx(expected.tolist(), abs=4 * np.sqrt(20_000) / 2)
    # A set gains what all its pairs do, and a system by itself nothing.
    triple = chances_of_sets(belief, [[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0]])
    assert triple[1] == 1 > triple[0] > 0 == triple[2]
