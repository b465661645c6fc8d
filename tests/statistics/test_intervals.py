import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from sightline.statistics import intervals
from sightline.statistics.intervals import (
    bootstrap,
    cluster_bootstrap,
    mean_interval,
    mid_p,
    stratified_mean_interval,
    wilson,
    within,
)

columns = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


def test_mean_interval_by_hand_and_scipy():
    # 1, 2, 3, 4: mean 2.5, sd sqrt(5/3), t(.975, 3) = 3.182446; half-width 3.182446 * .645497 = 2.054260.
    found = mean_interval([1, 2, np.nan, 3, 4])
    assert (found.value, found.n, found.method) == (2.5, 4, "t")
    assert found.high - 2.5 == pytest.approx(2.054260, abs=1e-6)
    values = np.random.default_rng(0).normal(3, 2, 25)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    found = mean_interval(values, confidence=0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (3, 5), (180, 200)])
def test_mid_p_solves_the_exact_test(successes, n):
    low, high = (float(each[0]) for each in mid_p(np.array([successes / n]), np.array([float(n)])))
    # P(X < x) + P(X = x) / 2 at the upper limit, P(X > x) + P(X = x) / 2 at the lower.
    half = stats.binom.pmf(successes, n, [low, high]) / 2
    if successes < n:
        assert stats.binomtest(successes, n, high, "less").pvalue - half[1] == pytest.approx(0.025, abs=1e-7)
    else:
        assert high == 1
    if successes > 0:
        reached = stats.binomtest(successes, n, low, "greater").pvalue
        assert reached - half[0] == pytest.approx(0.025, abs=1e-7)
    else:
        assert low == 0
    exact = stats.binomtest(successes, n).proportion_ci(0.95, method="exact")
    assert exact.low <= low <= successes / n <= high <= exact.high


def test_nothing_in_a_hundred_is_not_certainty():
    # (1 - p)^100 / 2 = .025 at p = 1 - .05^(1/100).
    found = mean_interval(np.zeros(100), low=0, high=1)
    assert (found.value, found.low, found.n) == (0, 0, 100)
    assert found.high == pytest.approx(1 - 0.05**0.01, abs=1e-9)
    assert mean_interval(np.full(100, 5.0), low=1, high=5).high == 5
    assert 4.8 < mean_interval(np.full(100, 5.0), low=1, high=5).low < 5


def test_the_number_of_trials_that_a_mean_is_worth():
    # 2, 3, 3, 4 of 1 to 5: m = .5, V = (2/3) / 4 / 16 = 1/96;
    # n* = .25 * 96 * (1.959964 / 3.182446)^2 = 9.1030.
    found = mean_interval([2, 3, 3, 4], low=1, high=5)
    trials = 24 * (1.959964 / 3.182446) ** 2
    expected = [1 + 4 * float(each[0]) for each in mid_p(np.array([0.5]), np.array([trials]))]
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-5)
    assert found.method == "mid-P"


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
@example([0.6610757109371376] * 3)
def test_a_mean_on_a_scale_stays_on_it(values):
    found = mean_interval(values, low=0, high=1)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high > found.low
    mirrored = mean_interval([1 - each for each in values], low=0, high=1)
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-6)


@pytest.mark.parametrize("n", [5, 10, 40, 200])
def test_yes_and_no_are_covered_at_every_proportion(n):
    limits = [mean_interval(np.repeat([1.0, 0.0], [k, n - k]), low=0, high=1) for k in range(n + 1)]
    low, high = (np.array([getattr(each, end) for each in limits]) for end in ("low", "high"))
    p = np.arange(1, 100)[:, None] / 100
    coverage = np.sum(stats.binom.pmf(np.arange(n + 1), n, p) * ((low <= p) & (p <= high)), axis=1)
    assert coverage.mean() >= 0.945
    assert coverage.min() >= 0.90


@pytest.mark.parametrize("successes", [0, 1, 7, 19, 20])
def test_wilson_agrees_with_scipy(successes):
    expected = stats.binomtest(successes, 20).proportion_ci(0.95, method="wilson")
    found = wilson(successes, 20)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.value == successes / 20


def test_wilson_refuses_the_impossible():
    assert wilson(0, 0).reason == "no trial was made"
    with pytest.raises(ValueError, match="5 successes of 4"):
        wilson(5, 4)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("statistic", [np.mean, np.median, np.std])
def test_bootstrap_agrees_with_scipy(method, statistic):
    values = np.random.default_rng(3).exponential(size=60)
    found = bootstrap(values, statistic, method=method, resamples=20_000, seed=1)
    expected = stats.bootstrap(
        (values,), statistic, n_resamples=20_000, method=method, rng=np.random.default_rng(2), axis=-1
    ).confidence_interval
    width = expected.high - expected.low
    # Two independent sets of 20,000 draws: a limit's own error is near 1 % of the width.
    assert found.low == pytest.approx(expected.low, abs=0.06 * width)
    assert found.high == pytest.approx(expected.high, abs=0.06 * width)
    assert found.value == pytest.approx(statistic(values))


def test_bca_leans_to_the_long_tail():
    values = np.random.default_rng(0).exponential(size=40)
    plain = bootstrap(values, resamples=5000)
    bca = bootstrap(values, method="bca", resamples=5000)
    assert bca.low > plain.low and bca.high > plain.high


def test_seeds_decide_and_blocks_cover_all_rows(monkeypatch):
    values = np.random.default_rng(0).normal(size=50)
    assert bootstrap(values, seed=4) == bootstrap(values, seed=4)
    assert bootstrap(values, seed=4) != bootstrap(values, seed=5)
    monkeypatch.setattr(intervals, "BLOCK_CELLS", 700)
    assert list(intervals.block_rows(30, 50)) == [14, 14, 2]
    assert sum(intervals.block_rows(5, 10_000)) == 5
    medians = intervals._leave_one_out(values, np.median)
    assert medians == pytest.approx([np.median(np.delete(values, i)) for i in range(50)])
    means = intervals._leave_one_out(values, np.mean)
    assert means == pytest.approx([np.delete(values, i).mean() for i in range(50)])


def test_too_little_to_say():
    for interval in (mean_interval, bootstrap, lambda v: cluster_bootstrap(v, np.zeros(len(v)))):
        assert interval([]).value is None and "no value" in interval([np.nan]).reason
        assert interval([4.0]).value == 4 and interval([4.0]).low is None and interval([4.0]).reason
    with pytest.raises(ValueError, match="infinite"):
        mean_interval([1, np.inf])
    with pytest.raises(ValueError, match="equal length"):
        cluster_bootstrap([1, 2], [0])


def test_cluster_bootstrap_is_wider_when_answers_of_a_prompt_agree():
    rng = np.random.default_rng(0)
    prompt = np.repeat(np.arange(30), 10)
    values = rng.normal(size=30)[prompt] + 0.1 * rng.normal(size=300)
    clustered = cluster_bootstrap(values, prompt)
    naive = bootstrap(values)
    assert clustered.n == 30
    assert clustered.value == pytest.approx(naive.value)
    assert clustered.high - clustered.low > 2.5 * (naive.high - naive.low)


def test_cluster_bootstrap_with_a_statistic_equals_the_fast_mean():
    rng = np.random.default_rng(0)
    prompt = rng.integers(0, 12, 80)
    values = rng.normal(size=80)
    slow, fast = (cluster_bootstrap(values, prompt, each, resamples=300) for each in (np.mean, None))
    assert (slow.value, slow.low, slow.high) == pytest.approx((fast.value, fast.low, fast.high))


@given(columns)
def test_intervals_hold_their_value_and_move_with_it(values):
    column = np.array(values)
    for interval in (mean_interval, lambda v: bootstrap(v, resamples=200)):
        found = interval(column)
        slack = 1e-9 * (1 + np.abs(column).max())
        moved = interval(column + 1000)
        assert moved.low == pytest.approx(found.low + 1000, abs=1e-6 + slack)
        assert moved.high == pytest.approx(found.high + 1000, abs=1e-6 + slack)
        assert column.min() - slack <= found.value <= column.max() + slack
    found = mean_interval(column)
    assert found.low <= found.value <= found.high


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_within_bounds_and_is_symmetric(case):
    successes, n = case
    found, mirrored = wilson(successes, n), wilson(n - successes, n)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-12)


def coverage(interval, draw, truth, trials=400):
    found = [interval(draw(np.random.default_rng(seed))) for seed in range(trials)]
    return np.mean([each.low <= truth <= each.high for each in found])


# Standard error of a share of .95 over 400 trials is .011: three of them on either side. Bootstrap intervals
# are known to be a little short at n = 40, hence the lower floor for them.
def test_coverage_of_the_mean_interval():
    assert coverage(mean_interval, lambda rng: rng.normal(2, 3, 12), 2) == pytest.approx(0.95, abs=0.033)


def test_coverage_of_the_wilson_interval():
    found = coverage(lambda x: wilson(int(x.sum()), 50), lambda rng: rng.random(50) < 0.3, 0.3)
    assert found == pytest.approx(0.95, abs=0.033)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_coverage_of_the_bootstrap(method):
    found = coverage(
        lambda x: bootstrap(x, method=method, resamples=800), lambda rng: rng.normal(1, 1, 40), 1
    )
    assert 0.905 <= found <= 0.983


def test_coverage_of_the_cluster_bootstrap():
    prompt = np.repeat(np.arange(40), 4)

    def draw(rng):
        return rng.normal(size=40)[prompt] + rng.normal(size=160)

    clustered = coverage(lambda x: cluster_bootstrap(x, prompt, resamples=800), draw, 0)
    naive = coverage(lambda x: bootstrap(x, resamples=400), draw, 0, trials=200)
    assert 0.905 <= clustered <= 0.983
    assert naive < 0.88, "ignoring prompts must be seen to overstate certainty"


def test_stratified_mean_by_hand():
    # Groups {1, 3} and {10, 10, 13}: means 2 and 11, so 6.5 and not the pooled 7.4. Variances 2 and 3; parts
    # 2/2/4 = .25 and 3/3/4 = .25; freedom .5^2 / (.0625/1 + .0625/2) = 2.6667; t(.975) = 3.4176 (scipy).
    found = stratified_mean_interval([1, 3, 10, 10, 13], [0, 0, 1, 1, 1])
    assert (found.value, found.n) == (6.5, 5)
    half = stats.t.ppf(0.975, 8 / 3) * 0.5**0.5
    assert (found.low, found.high) == pytest.approx((6.5 - half, 6.5 + half))


def test_stratified_mean_of_two_groups_is_welch():
    rng = np.random.default_rng(4)
    a, b = rng.normal(1, 1, 7), rng.normal(5, 3, 12)
    # The mean of two group means differs from half their difference only by the sign of one group.
    expected = stats.ttest_ind(a, -b, equal_var=False).confidence_interval(0.95)
    found = stratified_mean_interval([*a, *b], [0] * 7 + [1] * 12)
    assert (found.low, found.high) == pytest.approx((expected.low / 2, expected.high / 2))


def test_stratified_mean_does_not_count_the_distance_of_groups():
    near = stratified_mean_interval([1, 2, 1, 2], [0, 0, 1, 1])
    far = stratified_mean_interval([1, 2, 101, 102], [0, 0, 1, 1])
    assert far.high - far.low == pytest.approx(near.high - near.low)
    single = stratified_mean_interval([1, 2, 3], [0, 0, 1])
    assert (single.value, single.low) == (2.25, None) and single.reason


def test_coverage_of_the_stratified_mean():
    group = np.repeat([0, 1, 2], [4, 6, 8])
    found = coverage(
        lambda x: stratified_mean_interval(x, group),
        lambda rng: np.array([0.0, 5.0, 10.0])[group] + rng.normal(0, 1 + group),
        5,
    )
    assert found == pytest.approx(0.95, abs=0.033)


def test_an_interval_ends_where_its_scale_ends():
    found = mean_interval([4.0, 5.0, 5.0])
    assert found.high > 5
    cut = within(found, 0, 5)
    assert (cut.low, cut.value, cut.high) == (found.low, found.value, 5)
    assert within(found, None, None) == found
    assert within(mean_interval([]), 0, 5).low is None
    # A value beyond the scale keeps its place inside its interval.
    assert within(found, 0, 4).high == found.value
