from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.estimate import Estimate
from sightline.statistics.comparison import Pair, compare, ranked
from sightline.statistics.significance import sign_flip


def systems(seed=0, n=60):
    """Two systems of equal skill and one a good deal worse, on prompts of differing difficulty."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, 3, n)
    return difficulty[:, None] + np.array([1.0, 0.0, 1.0]) + rng.normal(0, 0.5, (n, 3))


def test_means_pairs_and_ranks():
    matrix = systems()
    found = compare(matrix)
    assert [int(standing.system) for standing in found.standings][-1] == 1
    ranks = {int(s.system): (s.best_rank, s.worst_rank) for s in found.standings}
    assert ranks == {0: (1, 2), 2: (1, 2), 1: (3, 3)}
    for pair in found.pairs:
        differences = matrix[:, int(pair.first)] - matrix[:, int(pair.second)]
        limits = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
        assert (pair.difference.low, pair.difference.high) == pytest.approx((limits.low, limits.high))
        assert pair.difference.n == 60
        assert pair.p == sign_flip(differences).p
    # Holm on three p-values: the smallest times 3, then 2, then 1, never falling.
    p = sorted(pair.p for pair in found.pairs)
    adjusted = sorted(pair.p_adjusted for pair in found.pairs)
    assert adjusted == pytest.approx(np.minimum(np.maximum.accumulate(np.array(p) * [3, 2, 1]), 1))


def test_pairing_finds_what_unpaired_means_hide():
    matrix = systems()[:, :2]
    found = compare(matrix)
    assert found.pairs[0].significant
    first, second = found.standings
    assert first.mean.low < second.mean.high, "the systems' own intervals overlap"


def test_missing_answers():
    matrix = systems()
    matrix[:10, 0] = np.nan
    matrix[5:20, 1] = np.nan
    found = compare(matrix)
    by_pair = {(int(pair.first), int(pair.second)): pair for pair in found.pairs}
    assert by_pair[0, 1].difference.n == 40
    assert by_pair[0, 2].difference.n == 50
    assert {int(s.system): s.mean.n for s in found.standings} == {0: 50, 1: 45, 2: 60}
    matrix[:, 1] = np.nan
    found = compare(matrix)
    gone = found.standings[-1]
    assert (int(gone.system), gone.mean.value, gone.best_rank, gone.worst_rank) == (1, None, 1, 3)
    assert [pair.p_adjusted is None for pair in found.pairs] == [True, False, True]


def test_one_system_and_wrong_shape():
    found = compare(np.ones((4, 1)))
    assert found.pairs == () and found.standings[0].best_rank == found.standings[0].worst_rank == 1
    with pytest.raises(ValueError, match="prompts x systems"):
        compare([1, 2, 3])


@given(st.integers(0, 10_000), st.integers(2, 5), st.permutations(range(5)))
def test_naming_order_does_not_matter(seed, width, order):
    order = [column for column in order if column < width]
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(12, width)) + np.arange(width)
    found, shuffled = compare(matrix), compare(matrix[:, order])
    ranks = {int(s.system): (s.best_rank, s.worst_rank) for s in found.standings}
    assert ranks == {order[int(s.system)]: (s.best_rank, s.worst_rank) for s in shuffled.standings}
    for standing in found.standings:
        assert 1 <= standing.best_rank <= standing.worst_rank <= width


def test_equal_systems_are_rarely_told_apart():
    # Family-wise error over the three pairs of three equal systems: at most .05, by 300 trials + 3 errors.
    alarms = sum(
        any(pair.significant for pair in compare(np.random.default_rng(s).normal(size=(12, 3))).pairs)
        for s in range(300)
    )
    assert alarms / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_ranks_come_from_shared_prompts_where_systems_answered_different_ones():
    # The first system answered the 20 easy prompts only and is worse on each of them.
    rng = np.random.default_rng(1)
    easy, hard = 0.8 + 0.01 * rng.normal(size=20), 0.2 + 0.01 * rng.normal(size=20)
    first = np.concatenate([easy, np.full(20, np.nan)])
    second = np.concatenate([easy + 0.05, hard])
    found = compare(np.column_stack([first, second]))
    assert [each.system for each in found.standings] == ["0", "1"]
    assert [(each.best_rank, each.worst_rank) for each in found.standings] == [(2, 2), (1, 1)]


def test_many_systems_can_still_be_told_apart():
    rng = np.random.default_rng(2)
    found = compare(np.arange(34.0) + 0.1 * rng.normal(size=(40, 34)))
    assert found.permutations > 10_000
    assert all(pair.significant for pair in found.pairs)


def test_both_corrections_and_the_detectable_difference():
    found = compare(systems())
    p = [pair.p for pair in found.pairs]
    assert [pair.p_bh for pair in found.pairs] == pytest.approx(stats.false_discovery_control(p))
    assert all(pair.p <= pair.p_bh <= pair.p_adjusted for pair in found.pairs)
    for pair in found.pairs:
        differences = systems()[:, int(pair.first)] - systems()[:, int(pair.second)]
        # Large n: the normal power formula at alpha / 3 pairs, z(1 - .05/6) + z(.8) standard errors.
        rough = (stats.norm.ppf(1 - 0.05 / 6) + stats.norm.ppf(0.8)) * differences.std(ddof=1) / np.sqrt(60)
        assert pair.detectable == pytest.approx(rough, rel=0.05)
    lonely = compare([[1.0, 2.0]]).pairs[0]
    assert lonely.detectable is None and lonely.undetectable == "fewer than two prompts in common"


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_without_spread_no_difference_is_called_detectable(gap):
    # 0.3 - 0 and 0.4 - 0.1 differ in the last bit only.
    pair = compare([[gap, 0.0], [gap + 0.1, 0.1], [gap + 0.7, 0.7]]).pairs[0]
    assert pair.detectable is None and pair.undetectable == "the differences do not vary"
    few = compare([[1.0, 0.0], [3.0, 1.0]]).pairs[0]
    assert few.detectable is None and few.undetectable == "2 prompts allow no p below 0.5"


def test_the_bootstrap_tells_no_p_without_spread():
    pair = compare([[1.0, 0.0]] * 3, test="bootstrap").pairs[0]
    assert (pair.p, pair.p_adjusted, pair.significant) == (None, None, False)


@pytest.mark.parametrize("test", ["sign_flip", "bootstrap"])
def test_the_detectable_difference_is_detected(test):
    """Planted at its size over the true spread, a difference is found in about 80 % of studies."""
    from sightline.statistics.power import minimum_detectable_effect

    planted = minimum_detectable_effect(np.sqrt(2), 40)
    found = []
    for seed in range(300):
        values = np.random.default_rng(seed).normal(size=(40, 2)) + np.array([planted, 0])
        found.append(compare(values, permutations=999, seed=seed, test=test).pairs[0].significant)
    # 300 trials at .8: standard error .023; three of them.
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)


def test_the_bootstrap_agrees_with_sign_flips_where_both_hold():
    matrix = systems()
    flips, draws = compare(matrix), compare(matrix, test="bootstrap")
    for one, two in zip(flips.pairs, draws.pairs, strict=True):
        assert one.significant == two.significant
        assert one.p == pytest.approx(two.p, abs=0.03)
    with pytest.raises(ValueError, match="coin"):
        compare(matrix, test="coin")


def standings(apart: str) -> dict[str, str]:
    """Letters of five systems with means 5 to 1, of which these pairs are significantly different."""
    names = "ABCDE"
    means = [Estimate(5.0 - number, None, None, 9) for number in range(5)]
    significant = set(apart.split())
    pairs = [
        Pair(first, second, Estimate(1.0, None, None, 9), 0.5, 0.5, first + second in significant)
        for first, second in combinations(names, 2)
    ]
    return {each.system: each.letters for each in ranked(names, means, pairs, "higher")}


@pytest.mark.parametrize(
    ("apart", "letters"),
    [
        ("", "a a a a a"),
        # Neighbours are alike, all others differ: a chain.
        ("AC AD AE BD BE CE", "a ab bc cd d"),
        ("AB AC AD AE", "a b b b b"),
        # A and E differ, and nothing else: both share a letter with B, C and D.
        ("AE", "a ab ab ab b"),
        ("AB AC AD AE BC BD BE CD CE DE", "a b c d e"),
        # D differs from both A and B, which do not differ from C; E from A alone.
        ("AD BD AE", "a ab abc c bc"),
    ],
)
def test_letters_are_shared_by_what_is_not_different(apart, letters):
    found = standings(apart)
    for first, second in combinations("ABCDE", 2):
        shared = set(found[first]) & set(found[second])
        assert bool(shared) == (first + second not in apart.split())
    assert list(found.values()) == letters.split()
