import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from sightline.statistics.consensus import mean_votes
from sightline.statistics.opinion_scores import mos_likelihood, mos_normalised

# Ten items by ten viewers on five points, 0 where nobody judged; invented.
RATINGS = np.array(
    [
        [2, 0, 2, 2, 2, 3, 0, 2, 2, 0],
        [2, 2, 3, 3, 2, 3, 3, 2, 2, 3],
        [3, 0, 3, 4, 4, 4, 0, 4, 3, 3],
        [1, 0, 2, 1, 2, 1, 1, 2, 2, 1],
        [2, 2, 2, 2, 3, 1, 2, 2, 1, 2],
        [3, 4, 4, 4, 5, 4, 5, 0, 5, 4],
        [0, 2, 2, 2, 3, 4, 1, 2, 2, 1],
        [1, 2, 1, 3, 3, 1, 2, 1, 2, 2],
        [0, 3, 4, 5, 5, 5, 4, 5, 5, 4],
        [0, 3, 4, 3, 4, 2, 3, 4, 3, 2],
    ]
)
# What sureal 0.9.0 makes of them: SubjectMLEModelProjectionSolver (the model of ITU-T P.910) over a
# RawDatasetReader with RATINGS as `os`, 44 iterations; quality_scores, quality_scores_std, observer_bias and
# observer_inconsistency of run_modeling().
SUREAL = {
    "mos": [
        1.97858578, 2.50230775, 3.42774881, 1.41960498, 2.03470562,
        4.21216328, 1.88391296, 1.91861165, 4.31206478, 3.12352137,
    ],
    "error": [
        0.19302216, 0.15731631, 0.17801104, 0.16733629, 0.15731631,
        0.16397424, 0.17028391, 0.15731631, 0.17028391, 0.17028391,
    ],
    "bias": [
        -0.49910398, -0.2838982, 0.0186773, 0.2186773, 0.6186773,
        0.1186773, -0.05086155, 0.15543737, 0.0186773, -0.31496013,
    ],
    "inconsistency": [
        0.41100351, 0.46155255, 0.50335233, 0.44621804, 0.47942529,
        0.99128892, 0.49060295, 0.55773871, 0.54488767, 0.46040618,
    ],
}  # fmt: skip


def test_plain_mos_is_that_of_sureal():
    item, viewer = np.nonzero(RATINGS)
    found = mos_likelihood(item, viewer, RATINGS[item, viewer], restricted=False)
    assert found.converged
    for name, golden in SUREAL.items():
        assert getattr(found, name) == pytest.approx(golden, abs=2e-6), name


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
        covered.append((found.low <= quality) & (quality <= found.high))
    return np.mean(covered)


@pytest.mark.parametrize("viewers", [np.linspace(0.4, 1.2, 15), (0.3, 0.5, 0.8, 0.4, 1.5, 0.6)])
def test_mos_error_is_honest(viewers):
    assert 0.93 <= coverage(viewers, restricted=True) <= 0.97


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
    # The scatter of an item: its own 4 with three degrees of freedom, .5 with one, and 4.5 / 4 with four.
    assert found.error == pytest.approx([(8.5 / 7 / 4) ** 0.5, (5 / 5 / 2) ** 0.5])
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


def likert(seed, items, careful, flat=0, other=0.0, bias=0.4):
    """Votes on five points and the mean vote of the careful viewers; the flat give 5, or 4 instead."""
    rng = np.random.default_rng(seed)
    quality, shift = rng.normal(3.2, 0.9, items), rng.normal(0, bias, careful)
    spread = np.exp(rng.normal(np.log(0.6), 0.3, careful))
    votes = quality[:, None] + shift + spread * rng.normal(size=(items, careful))
    always = np.where(rng.random((items, flat)) < other, 4, 5)
    votes = np.hstack([np.clip(np.round(votes), 1, 5), always])
    above = stats.norm.sf((np.arange(1.5, 5) - quality[:, None, None] - shift[:, None]) / spread[:, None])
    item, viewer = np.indices(votes.shape).reshape(2, -1)
    return item, viewer, votes.ravel(), 1 + above.sum(axis=2).mean(axis=1)


def covered(seeds, *panel, **options):
    inside, flagged = [], []
    for seed in range(seeds):
        item, viewer, votes, truth = likert(seed, *panel, **options)
        found = mos_likelihood(item, viewer, votes, ends=(1, 5))
        flagged.append(found.flat)
        if np.isnan(found.low).all():
            assert found.flat.sum() == found.flat.size - 1, "one viewer alone shows no scatter"
            continue
        assert np.all((found.low >= 1) & (found.low <= found.mos) & (found.mos <= found.high))
        assert np.all((found.high <= 5) & (found.high > found.low))
        inside += list((found.low <= truth) & (truth <= found.high))
    return float(np.mean(inside)), np.mean(flagged, axis=0)


@pytest.mark.parametrize(("items", "careful", "flat", "other"), [
    (60, 2, 2, 0), (10, 2, 2, 0), (60, 2, 1, 0), (60, 3, 2, 0), (60, 2, 2, 0.1),
])  # fmt: skip
def test_straight_liners_do_not_win(items, careful, flat, other):
    # Two careful viewers and two who always give 5 covered .09.
    inside, flagged = covered(900 // items, items, careful, flat=flat, other=other)
    assert inside > 0.92
    assert flagged[:careful].max() < 0.05 and flagged[careful:].min() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("items", "careful"), [(5, 3), (5, 10), (10, 2), (40, 3), (200, 2), (200, 10)])
def test_intervals_on_five_points_cover(items, careful):
    inside, flagged = covered(max(8, 600 // items), items, careful)
    assert 0.90 <= inside <= 0.98 and flagged.max() < 0.05


def test_items_on_which_votes_scatter_have_wider_intervals():
    # Nine of ten items are 5 for almost everybody; on the others three of ten say 5 and the rest 1.
    inside, plain, flat = [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        p = np.where(rng.random(100) < 0.9, 0.98, 0.3)
        item, viewer = np.indices((100, 3)).reshape(2, -1)
        votes = np.where(rng.random(300) < p[item], 5.0, 1.0)
        found = mos_likelihood(item, viewer, votes, ends=(1, 5))
        inside += list(((found.low <= 1 + 4 * p) & (1 + 4 * p <= found.high))[p == 0.3])
        letter = mos_likelihood(item, viewer, votes, restricted=False)
        plain += list(((letter.low <= 1 + 4 * p) & (1 + 4 * p <= letter.high))[p == 0.3])
        flat.append(found.flat)
    assert np.mean(inside) > 0.9 > 0.5 > np.mean(plain)
    assert np.mean(flat) < 0.02


def test_one_value_on_few_or_equal_items_is_no_straight_line():
    # Three votes of 4 each by viewer 2, as others gave them too; or nine of ten items that are 5 for all.
    item, viewer = np.indices((3, 3)).reshape(2, -1)
    assert not mos_likelihood(item, viewer, [4, 4, 4, 5, 4, 4, 4, 3, 4]).flat.any()
    item, viewer = np.indices((10, 3)).reshape(2, -1)
    ceiling = np.where((item == 9) & (viewer < 2), 2, 5)
    assert not mos_likelihood(item, viewer, ceiling).flat.any()
    # Where everybody gives one value, nobody knows more than the others.
    assert not mos_likelihood(item, viewer, viewer).flat.any()


def test_annotators_are_checked():
    with pytest.raises(ValueError, match="-1 for anonymous"):
        mos_likelihood([0], [-2], [1])
    with pytest.raises(ValueError, match="below 1"):
        mos_likelihood([0], [1], [1], annotators=1)


def test_moderation_draws_alike_viewers_together_and_leaves_others_apart():
    alike = panel(items=40, inconsistency=np.full(10, 0.8))
    item, viewer, value, (_, bias, _) = alike
    free = mos_likelihood(item, viewer, value, moderated=False)
    drawn = mos_likelihood(item, viewer, value)
    assert drawn.converged
    assert np.ptp(drawn.inconsistency) < 0.3 * np.ptp(free.inconsistency)
    without = mos_likelihood(item, viewer, value - bias[viewer])
    assert np.abs(without.bias).max() < 0.5 * np.abs(mos_likelihood(
        item, viewer, value - bias[viewer], moderated=False
    ).bias).max()  # fmt: skip
    # Viewers that differ by a factor of ten, with 300 votes each: nothing to draw.
    item, viewer, value, _ = panel(items=300, inconsistency=np.geomspace(0.2, 2, 10))
    free, drawn = (mos_likelihood(item, viewer, value, moderated=told) for told in (False, True))
    assert drawn.inconsistency == pytest.approx(free.inconsistency, rel=0.03)
    assert drawn.bias == pytest.approx(free.bias, rel=0.02, abs=0.02)


@pytest.mark.parametrize("seed", [25, 56, 77, 284, 291])
def test_moderated_mos_settles_on_few_coarse_votes(seed):
    # Panels on which judging anew in every round how alike viewers are goes round in circles.
    rng = np.random.default_rng(seed)
    items, viewers, share = rng.integers(3, 60), rng.integers(2, 15), rng.uniform(0.2, 1)
    item, viewer = np.nonzero(rng.random((items, viewers)) < share)
    value = rng.uniform(1, 5, items)[item] + rng.normal(0, rng.choice([0, 0.5]), viewers)[viewer]
    value += rng.uniform(0.1, 1.5, viewers)[viewer] * rng.normal(size=item.size)
    assert mos_likelihood(item, viewer, np.clip(np.round(value), 1, 5), items=items).converged


def test_normalised_mos_by_hand():
    # Viewer 0 in session 0: 1, 3 (mean 2: -1, 1), in session 1: 4, 6, 5 (mean 5: -1, 1, 0); SD of -1, 1, -1,
    # 1, 0 with n - 1 is 1, so z is the same. Viewer 1: 0, 4 on items 0 and 1: -2, 2, SD sqrt(8).
    item, who = [0, 1, 2, 3, 4, 0, 1], [0, 0, 0, 0, 0, 1, 1]
    session, value = [0, 0, 1, 1, 1, 0, 0], [1.0, 3, 4, 6, 5, 0, 4]
    found = mos_normalised(item, who, session, value, ends=(0, 6))
    # Onto 0 to 6: 3 + z. Viewer 1 has z -+ 2 / sqrt(8).
    z = 2**-0.5
    assert found.mos == pytest.approx([3 - (1 + z) / 2, 3 + (1 + z) / 2, 2, 4, 3])
    assert found.sd[:2] == pytest.approx([(1 - z) / 2**0.5] * 2) and np.isnan(found.sd[2:]).all()
    half = 12.7062047 * (1 - z) / 2
    assert (found.low[0], found.high[0]) == pytest.approx((found.mos[0] - half, found.mos[0] + half))
    assert found.n.tolist() == [2, 2, 1, 1, 1] and not found.left_out.any()
    # Back to the panel's scale: about the mean vote 23/7, times 7 / (5 / 1 + 2 / sqrt(8)).
    panel_scale = mos_normalised(item, who, session, value)
    assert panel_scale.mos == pytest.approx(23 / 7 + (found.mos - 3) * 7 / (5 + 2 * 8**-0.5))


def test_without_spread_nothing_can_be_normalised():
    # Viewer 1 always says 3; viewer 2 judged once; viewer 3's second session holds a single vote.
    item, who = [0, 1, 2, 0, 1, 3, 0, 1, 4], [0, 0, 0, 1, 1, 2, 3, 3, 3]
    session, value = [0, 0, 0, 0, 0, 0, 0, 0, 1], [1.0, 2, 3, 3, 3, 5, 2, 4, 5]
    found = mos_normalised(item, who, session, value, annotators=5)
    assert found.left_out.tolist() == [False, True, True, False, False, False]
    assert found.n.tolist() == [2, 2, 1, 0, 0] and np.isnan(found.mos[3:]).all()
    nobody = mos_normalised([], [], [], [], items=2)
    assert np.isnan(nobody.mos).all() and nobody.n.tolist() == [0, 0]


@given(st.integers(0, 10**6), st.floats(0.1, 10), st.floats(-5, 5))
def test_normalised_mos_forgets_how_a_viewer_uses_the_scale(seed, gain, shift):
    rng = np.random.default_rng(seed)
    item, who = np.indices((6, 3)).reshape(2, -1)
    value = rng.normal(3, 1, item.size)
    other = np.where(who == 1, gain * value + shift, value)
    before, after = (mos_normalised(item, who, np.zeros(18), each, ends=(0, 5)) for each in (value, other))
    assert after.mos == pytest.approx(before.mos, abs=1e-6)


def test_anonymous_votes_are_normalised_together():
    # Everything anonymous: z of all votes, back on the panel's scale, is the plain mean again.
    item, value = np.repeat(np.arange(5), 4), np.random.default_rng(0).uniform(1, 5, 20)
    found = mos_normalised(item, np.full(20, -1), np.zeros(20), value)
    assert found.mos == pytest.approx(mean_votes(item, value).value)
    counted = mos_normalised([0, 0, 1], [-1] * 3, [0] * 3, [1.0, 2, 4], n=[2, 1, 3])
    spelled = mos_normalised([0, 0, 0, 1, 1, 1], [-1] * 6, [0] * 6, [1.0, 1, 2, 4, 4, 4])
    assert counted.mos == pytest.approx(spelled.mos) and counted.high == pytest.approx(spelled.high)


def recovered(bias, inconsistency, seeds=200):
    """Mean square errors of mean, mos and mos_normalised by seed; each viewer sees half of 120 items."""
    errors = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        quality = rng.uniform(1, 5, 120)
        biases = rng.normal(0, bias, 16)
        biases -= biases.mean()
        spread = rng.uniform(*inconsistency, 16)
        seen = rng.random((120, 16)) < 0.5
        item, viewer = np.nonzero(seen)
        value = quality[item] + biases[viewer] + spread[viewer] * rng.normal(size=item.size)
        found = (
            mean_votes(item, value, items=120).value,
            mos_likelihood(item, viewer, value, items=120).mos,
            mos_normalised(item, viewer, np.zeros(item.size), value, items=120).mos,
        )
        judged = seen.any(axis=1)
        errors.append([np.mean((each - quality)[judged] ** 2) for each in found])
    return np.array(errors)


def ratio_limits(errors):
    """95 % limits, by resampling seeds, of each rule's RMSE against the first one's."""
    chosen = np.random.default_rng(0).integers(0, len(errors), (2000, len(errors)))
    totals = errors[chosen].sum(axis=1)
    return np.quantile(np.sqrt(totals[:, 1:] / totals[:, :1]), [0.025, 0.975], axis=0)


@pytest.mark.slow
def test_rules_recover_a_planted_truth_better_than_the_mean():
    _, high = ratio_limits(recovered(0.5, (0.3, 1.5)))
    assert high[0] < 0.78 and high[1] < 0.9


def test_rules_cost_next_to_nothing_where_viewers_are_alike():
    _, high = ratio_limits(recovered(0, (0.7, 0.7)))
    assert high[0] < 1.005 and high[1] < 1.02


def test_normalised_limits_are_honest():
    covered = []
    for seed in range(60):
        item, viewer, value, (quality, _, _) = panel(seed, items=200, inconsistency=np.full(12, 0.6))
        found = mos_normalised(item, viewer, np.zeros(item.size), value)
        # Where the panel's scale lies as a whole is not the items' to tell.
        offset = np.mean(found.mos - quality)
        covered.append((found.low <= quality + offset) & (quality + offset <= found.high))
    assert 0.93 <= np.mean(covered) <= 0.965


def test_student_is_what_scipy_says():
    item, viewer, value, _ = panel(items=30)
    found = mos_normalised(item, viewer, np.zeros(item.size), value)
    half = stats.t.ppf(0.975, 5) * found.sd / 6**0.5
    assert found.high - found.mos == pytest.approx(half)
