import choix
import numpy as np
import pytest

from sightline.statistics.orders import fit_stages, order_stages, pair_stages
from sightline.statistics.preference_ranking import BOTH_BAD, ELO_SCALE, rank_by_orders, rank_by_votes
from sightline.statistics.rater_reliability import rater_reliability


def arena(seed, systems=20, votes=5000, prompts=400, raters=60, spread=1.0, taste=0.3, guessers=0):
    """Planted strengths and votes between random systems; the first raters guess, all others have tastes."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, spread, systems) if spread else np.zeros(systems)
    a, b = np.array([rng.choice(systems, 2, replace=False) for _ in range(votes)]).T
    prompt, rater = rng.integers(0, prompts, votes), rng.integers(0, raters, votes)
    own, of_prompt = rng.normal(0, taste, (raters, systems)), rng.normal(0, taste, (prompts, systems))
    utility = strength + own[rater] + of_prompt[prompt]
    rows = np.arange(votes)
    difference = np.where(rater < guessers, 0, utility[rows, a] - utility[rows, b])
    return strength, prompt, rater, a, b, (rng.random(votes) < 1 / (1 + np.exp(-difference))).astype(float)


def crossed(seed, systems, prompts, raters, taste):
    """Every rater votes on every pair of every prompt; systems are alike but for raters' tastes."""
    rng = np.random.default_rng(seed)
    pairs = np.array(np.triu_indices(systems, 1)).T
    q, r, k = (each.ravel() for each in np.meshgrid(range(prompts), range(raters), range(len(pairs))))
    a, b = pairs[k].T
    own = rng.normal(0, taste, (raters, systems))
    won = rng.random(q.size) < 1 / (1 + np.exp(own[r, b] - own[r, a]))
    return q, r, a, b, won.astype(float)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_arena_recovers_the_planted_order_within_its_rank_sets(seed):
    strength, *votes = arena(seed, guessers=10)
    found = rank_by_votes(*votes)
    place = {str(system): rank for rank, system in enumerate(np.argsort(-strength), 1)}
    assert all(row.best_rank <= place[row.system] <= row.worst_rank for row in found.systems)
    assert np.mean([row.worst_rank - row.best_rank for row in found.systems]) < 12, "the sets say something"
    assert found.over == "prompts and raters" and found.reason is None
    assert [row.strength.value for row in found.systems] == sorted(
        (row.strength.value for row in found.systems), reverse=True
    )


def test_two_systems_by_hand():
    # 6 votes for A, 2 for B, 2 ties, 2 for neither: (6 + 1 + 1) / 12 wins. Firth's correction of two systems
    # adds half a vote to either: log(8.5 / 4.5).
    outcome = [1] * 6 + [0] * 2 + [0.5] * 2 + [BOTH_BAD] * 2
    found = rank_by_votes(range(12), [-1] * 12, [0] * 12, [1] * 12, outcome, ["A", "B"])
    a, b = found.systems
    assert (a.system, a.win_rate.value, b.win_rate.value) == (
        "A",
        pytest.approx(8 / 12),
        pytest.approx(4 / 12),
    )
    assert (a.wins, a.losses, a.ties, a.both_bad, a.votes) == (6, 2, 2, 2, 12)
    (pair,) = found.pairs
    assert pair.difference.value == pytest.approx(np.log(8.5 / 4.5))
    assert pair.probability.value == pytest.approx(8.5 / 13) and pair.p == pair.p_adjusted
    assert a.expected_win_rate.value == pytest.approx(8.5 / 13)
    assert a.elo.value == pytest.approx(1000 + ELO_SCALE * np.log(8.5 / 4.5) / 2)
    assert found.wins.tolist() == [[0, 6], [2, 0]] and found.ties.tolist() == [[0, 2], [2, 0]]
    assert found.both_bad[0, 1] == 2 and found.first is None
    assert found.over == "prompts" and "anonymous" in found.reason


def test_standard_errors_of_independent_votes_are_those_of_logistic_regression():
    import statsmodels.api as sm

    _, _, _, a, b, outcome = arena(3, systems=5, votes=2000, taste=0.0)
    found = rank_by_votes(np.arange(2000), [-1] * 2000, a, b, outcome)
    design = np.zeros((2000, 5))
    design[np.arange(2000), a], design[np.arange(2000), b] = 1, -1
    robust = sm.Logit(outcome, design[:, 1:]).fit(disp=0)
    for pair in found.pairs:
        if pair.first == "0":
            j = int(pair.second) - 1
            assert pair.difference.value == pytest.approx(-robust.params[j], rel=0.01, abs=0.01)
            half = (pair.difference.high - pair.difference.low) / 2
            assert half == pytest.approx(1.96 * robust.bse[j], rel=0.06)


def test_fits_without_correction_are_those_of_choix():
    _, _, _, a, b, outcome = arena(4, systems=6, votes=300)
    stages, _ = pair_stages(a, b, outcome)
    data = [(i, j) if won else (j, i) for i, j, won in zip(a, b, outcome, strict=True)]
    expected = choix.ilsr_pairwise(6, data, alpha=0.0)
    found = fit_stages(stages, np.ones(len(data)), 6, bias_reduced=False)
    assert found.strength == pytest.approx(expected - expected.mean(), abs=1e-6)


def orders(seed, systems=6, groups=200, size=4):
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1, systems)
    rows = []
    for group in range(groups):
        inside = rng.choice(systems, size, replace=False)
        by = np.argsort(-(strength[inside] + rng.gumbel(size=size)))
        rows.append((np.full(size, group), inside[by], np.arange(1, size + 1)))
    return strength, *(np.concatenate(each) for each in zip(*rows, strict=True))


def test_orders_are_those_of_choix():
    _, group, system, rank = orders(0)
    stages, _ = order_stages(group, system, rank.astype(float))
    data = [tuple(each) for each in system.reshape(-1, 4)]
    expected = choix.ilsr_rankings(6, data, alpha=0.0)
    found = fit_stages(stages, np.ones(stages.weight.size), 6, bias_reduced=False)
    assert found.strength == pytest.approx(expected - expected.mean(), abs=1e-6)


def test_an_order_of_two_is_a_vote():
    _, prompt, rater, a, b, outcome = arena(5, systems=4, votes=120, prompts=30, raters=5)
    outcome[:20] = 0.5
    votes = rank_by_votes(prompt, rater, a, b, outcome)
    group = np.repeat(np.arange(120), 2)
    rank = np.stack([np.where(outcome == 0, 2, 1), np.where(outcome == 1, 2, 1)], axis=1).ravel()
    found = rank_by_orders(
        group, np.stack([a, b], axis=1).ravel(), rank, np.repeat(prompt, 2), np.repeat(rater, 2)
    )
    for one, other in zip(votes.systems, found.systems, strict=True):
        assert one.system == other.system and one.ties == other.ties
        for name in ("win_rate", "strength", "elo", "expected_win_rate"):
            x, y = getattr(one, name), getattr(other, name)
            assert (x.value, x.low, x.high) == pytest.approx((y.value, y.low, y.high), abs=1e-6)


def test_orders_rank_systems_and_cover():
    covered = []
    for seed in range(40):
        strength, group, system, rank = orders(seed, groups=60)
        found = rank_by_orders(group, system, rank, group, group % 15)
        for pair in found.pairs:
            truth = strength[int(pair.first)] - strength[int(pair.second)]
            covered.append(pair.difference.low <= truth <= pair.difference.high)
        assert found.votes == 60 and found.systems[0].votes > 60, "votes are orders; a system's are its pairs"
    assert 0.92 <= np.mean(covered) <= 0.985


def test_ties_in_orders_average_what_they_leave_open():
    # Three systems, all tied: no order at all.
    found = rank_by_orders(np.repeat(range(5), 3), [0, 1, 2] * 5, [1] * 15, np.repeat(range(5), 3), [-1] * 15)
    assert [row.strength.value for row in found.systems] == pytest.approx([0, 0, 0], abs=1e-9)
    assert [row.win_rate.value for row in found.systems] == [0.5] * 3 and found.systems[0].ties == 10
    with pytest.raises(ValueError, match="twice"):
        rank_by_orders([0, 0], [1, 1], [1, 2], [0, 0], [0, 0])


@pytest.mark.parametrize(("systems", "raters"), [(2, 3), (4, 3), (4, 10)])
def test_identical_systems_do_not_differ_because_raters_have_tastes(systems, raters):
    # Votes taken as independent raise false alarms in more than half of these.
    alarms = sum(
        any(pair.significant for pair in rank_by_votes(*crossed(seed, systems, 10, raters, 0.8)).pairs)
        for seed in range(100)
    )
    assert alarms <= 9, "5 % and two standard errors"


def test_probabilities_cover_over_prompts_and_raters():
    covered = []
    for seed in range(60):
        found = rank_by_votes(*crossed(1000 + seed, 4, 40, 5, 0.6))
        covered.extend(pair.probability.low <= 0.5 <= pair.probability.high for pair in found.pairs)
    assert 0.92 <= np.mean(covered) <= 0.985


def test_who_guesses_weighs_little_and_who_voted_little_is_average():
    strength, prompt, rater, a, b, outcome = arena(6, systems=8, votes=4000, raters=20, guessers=5)
    found = rank_by_votes(prompt, rater, a, b, outcome)
    assert found.reliability[:5].max() < 0.6 < 0.9 < found.reliability[5:].min()
    plain = rank_by_votes(prompt, rater, a, b, outcome, rater_quality=False)
    unsure = [[pair.p_adjusted >= 0.05 for pair in each.pairs] for each in (found, plain)]
    assert np.sum(unsure[0]) <= np.sum(unsure[1]), "guesses blur what the others say"
    assert np.corrcoef(found.strength, strength)[0, 1] > 0.97
    rare = np.append(rater[:-2], [20, 20])
    weight = rank_by_votes(prompt, rare, a, b, outcome).reliability
    assert 0.6 < weight[20] < 1.2


def test_a_taste_of_their_own_is_no_guessing():
    # Half of the raters like A as firmly as the others like B: all are consistent, and nobody is first.
    rng = np.random.default_rng(0)
    prompt, rater = (each.ravel() for each in np.meshgrid(range(30), range(10)))
    outcome = (rng.random(300) < np.where(rater % 2 == 0, 0.9, 0.1)).astype(float)
    found = rank_by_votes(prompt, rater, np.zeros(300, int), np.ones(300, int), outcome)
    assert np.ptp(found.reliability) < 0.3
    assert found.first is None and found.rater_part > 0.8


def test_reliability_of_anonymous_votes_is_even():
    _, pairs = pair_stages(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 0.0]))
    assert rater_reliability(pairs, np.array([-1, -1]), np.zeros(2), 1).weight.tolist() == [1.0]


def test_few_raters_speak_for_themselves():
    prompt, rater, a, b, outcome = crossed(0, 3, 30, 2, 0.5)
    found = rank_by_votes(prompt, rater, a, b, outcome)
    assert found.over == "prompts" and "2 raters" in found.reason
    one_prompt = rank_by_votes(np.zeros(prompt.size, int), prompt, a, b, outcome)
    assert one_prompt.over == "raters"
    alone = rank_by_votes(np.zeros(prompt.size, int), rater, a, b, outcome)
    assert alone.over == "" and alone.first is None and alone.pairs[0].p is None
    assert alone.systems[0].win_rate.low is None and alone.systems[0].strength.low is None


def test_who_always_won_stays_finite_and_few_votes_prove_nothing():
    found = rank_by_votes(range(5), range(5), [0] * 5, [1] * 5, [1] * 5, ["A", "B"])
    top = found.systems[0]
    assert top.win_rate.value == 1 and top.win_rate.high == 1 and top.win_rate.low < 0.5
    assert found.first is None and np.isfinite(top.strength.value)


def apart():
    """A against B on 20 prompts, C against D on 10, and E against nobody."""
    prompt = np.arange(30)
    return prompt, np.where(prompt < 20, 0, 2), np.where(prompt < 20, 1, 3), (prompt % 4 == 0).astype(float)


def test_systems_apart_are_ranked_within_their_group():
    prompt, a, b, outcome = apart()
    found = rank_by_votes(prompt, prompt, a, b, outcome, list("ABCDE"))
    assert [row.system for row in found.systems] == list("BADCE") and found.first is None
    assert found.groups == (("B", "A"), ("D", "C"))
    # 5 of 20 and 3 of 10 (prompts 20, 24, 28) are for the first, half a vote more for either by Firth.
    strength = {row.system: row.strength.value for row in found.systems}
    assert strength["A"] == pytest.approx(np.log(5.5 / 15.5) / 2) == -strength["B"]
    assert strength["C"] == pytest.approx(np.log(3.5 / 7.5) / 2) == -strength["D"]
    assert strength["E"] is None and found.systems[-1].win_rate.value is None
    assert sum(pair.p is not None for pair in found.pairs) == 2
    assert {(row.best_rank, row.worst_rank) for row in found.systems[2:4]} == {(1, 2)}
    one = rank_by_votes(prompt[:20], prompt[:20], a[:20], b[:20], outcome[:20], ["A", "B"])
    assert found.systems[0].expected_win_rate.value == pytest.approx(1 - one.pairs[0].probability.value)


def test_orders_apart_are_ranked_within_their_group():
    system = np.tile([[0, 1, 2], [3, 4, 5]], (12, 1)).ravel()
    group = np.repeat(np.arange(24), 3)
    found = rank_by_orders(group, system, np.tile([1, 2, 3], 24), group, group % 4, list("ABCDEF"))
    assert found.groups == (("A", "B", "C"), ("D", "E", "F")) and found.first is None
    assert [row.best_rank for row in found.systems] == [1, 2, 3, 1, 2, 3]


def lost(*rows, prompts=20, raters=3):
    """Every rater votes for A on every prompt but in the rows given."""
    prompt, rater = (each.ravel() for each in np.meshgrid(range(prompts), range(raters), indexing="ij"))
    outcome = np.ones(prompt.size)
    outcome[list(rows)] = 0
    return rank_by_votes(
        prompt, rater, np.zeros(prompt.size, int), np.ones(prompt.size, int), outcome, ["A", "B"]
    )


@pytest.mark.parametrize("apart", [1, 4, 7])
@pytest.mark.parametrize(("prompts", "raters"), [(20, 3), (12, 5), (30, 2), (40, 1)])
def test_further_wins_do_not_weaken_a_lead(prompts, raters, apart):
    found = [lost(*range(0, apart * count, apart), prompts=prompts, raters=raters) for count in (0, 1, 2)]
    p = [each.pairs[0].p for each in found]
    low = [each.pairs[0].probability.low for each in found]
    rate = [each.systems[0].win_rate.low for each in found]
    assert p == sorted(p) and p[0] < 0.001
    assert low == sorted(low, reverse=True) and rate == sorted(rate, reverse=True)
    assert low[0] > 0.85 and found[0].first == "A"
    top = found[0].systems[0]
    assert top.strength.low == pytest.approx(found[0].pairs[0].difference.low / 2)
    assert top.expected_win_rate.low == pytest.approx(low[0], abs=0.02)


def test_unanimity_claims_no_more_than_the_sign_test_over_prompts():
    from scipy.stats import binomtest

    for prompts in (5, 6, 8, 12, 40):
        found = rank_by_votes(
            range(prompts), [-1] * prompts, [0] * prompts, [1] * prompts, [1] * prompts, ["A", "B"]
        )
        assert found.pairs[0].p >= binomtest(prompts, prompts).pvalue
        assert found.pairs[0].significant == (prompts >= 8)


def test_columns_are_checked():
    with pytest.raises(ValueError, match="equal length"):
        rank_by_votes([0], [0], [0], [1], [1, 0])
    with pytest.raises(ValueError, match="outcome"):
        rank_by_votes([0], [0], [0], [1], [0.3])
    with pytest.raises(ValueError, match="from 0 to 1"):
        rank_by_votes([0], [0], [0], [2], [1], ["A", "B"])
    assert rank_by_votes([], [], [], [], [], ["A", "B"]).first is None
