"""Prediction-powered means: hand arithmetic, ppi-python, laws, and coverage by simulation."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from sightline.statistics.prediction_powered import MIN_JUDGED, power_tuned, powered_mean

Y = np.array([3.0, 4.5, 2.0, 5.0, 3.5, 4.0, 1.5, 4.0])
F = np.array([2.5, 4.0, 2.5, 4.5, 3.0, 4.5, 2.0, 3.0])
U = np.array([3.0, 2.0, 4.5, 3.5, 2.5, 4.0, 1.0, 5.0, 3.0, 2.0])


def test_by_hand() -> None:
    # 4 judged values with predictions 1, 2, 3, 4 and two others, 5 and 7, weight 1/2:
    # rest = 2 - .5, 3 - 1, 3 - 1.5, 6 - 2 = 1.5, 2, 1.5, 4: mean 2.25; plus .5 x 6 = 5.25.
    value, variance, weight = power_tuned(
        np.array([2.0, 3.0, 3.0, 6.0]), np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 7.0]), 0.5
    )
    assert value == pytest.approx(5.25) and weight == 0.5
    # Squares around 2.25: .5625 + .0625 + .5625 + 3.0625 = 4.25, / 3 / 4; and .25 x 2 / 2.
    assert variance == pytest.approx(4.25 / 12 + 0.25)


def test_the_weight_minimises_the_variance() -> None:
    _, least, weight = power_tuned(Y, F, U)
    assert 0 < weight < 1
    tried = [power_tuned(Y, F, U, each)[1] for each in np.linspace(0, 1, 101)]
    assert least <= min(tried) + 1e-12


@pytest.mark.parametrize(
    ("weight", "value", "low", "high"),
    # Written by ppi-python 0.2: ppi_mean_ci(Y, F, U, alpha=0.05, lam=weight); the CI has its variance.
    [
        (0.0, 3.4375, 2.65432829, 4.22067171),
        (0.5, 3.3375, 2.69326199, 3.98173801),
        (1.0, 3.2375, 2.41565969, 4.05934031),
    ],
)
def test_recorded_values_of_ppi_python(weight: float, value: float, low: float, high: float) -> None:
    mine, variance, _ = power_tuned(Y, F, U, weight)
    assert mine == pytest.approx(value, abs=1e-12)
    # Theirs divides squares by n, ours by n - 1.
    rest = np.var(Y - weight * F) / Y.size + weight**2 * np.var(U) / U.size
    assert high - low == pytest.approx(2 * 1.959963984540054 * rest**0.5, abs=1e-7)
    sizes = (Y - weight * F, Y.size), (weight * U, U.size)
    assert variance == pytest.approx(sum(np.var(each) / (n - 1) for each, n in sizes))


def test_as_ppi_python() -> None:
    ppi = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=600)
    values = 0.7 * predicted + rng.normal(size=600)
    y, judged, unjudged = values[:200], predicted[:200], predicted[200:]
    theirs = ppi.ppi_mean_pointestimate(y, judged, unjudged)[0]
    mine, variance, _ = power_tuned(y, judged, unjudged)
    # Both tune the weight, theirs with the variance of all predictions: equal to a tenth of the error.
    assert mine == pytest.approx(theirs, abs=0.1 * variance**0.5)
    for weight in (0.0, 0.3, 1.0):
        low, high = (float(end[0]) for end in ppi.ppi_mean_ci(y, judged, unjudged, alpha=0.05, lam=weight))
        value, variance, _ = power_tuned(y, judged, unjudged, weight)
        assert value == pytest.approx((low + high) / 2, abs=1e-9)
        assert 2 * 1.959963984540054 * variance**0.5 == pytest.approx(high - low, rel=0.01)


def test_too_little_to_use() -> None:
    measure = np.arange(20.0)
    few = np.where(np.arange(20) < MIN_JUDGED - 1, measure, np.nan)
    assert powered_mean(few, measure) is None
    assert powered_mean(measure, measure) is None  # nothing is unjudged
    assert powered_mean(np.where(np.arange(20) < 10, 3.0, np.nan), measure) is None  # no spread


def test_a_perfect_measure_gives_the_mean_of_all() -> None:
    measure = np.arange(50.0)
    truth = np.where(np.arange(50) % 5 == 0, 2 * measure + 1, np.nan)
    found = powered_mean(truth, measure)
    assert found is not None and found.explained == pytest.approx(1.0)
    # 10 judged and 40 others: the weight is 40 / 50, as far as both vary alike.
    assert found.weight == pytest.approx(0.8, abs=0.03)
    # The mean of all 50 is 2 x 24.5 + 1 = 50, that of the judged 2 x 22.5 + 1 = 46.
    assert found.value == pytest.approx(50, abs=0.2)
    assert found.at(10)[1] == pytest.approx(found.spread / 50)


@given(st.floats(-100, 100), st.floats(0.01, 100), st.integers(0, 1000))
def test_the_unit_of_the_measure_does_not_matter(shift: float, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    measure = rng.normal(size=60)
    truth = np.where(np.arange(60) < 15, measure + rng.normal(size=60), np.nan)
    first, second = powered_mean(truth, measure), powered_mean(truth, shift - scale * measure)
    assert first is not None and second is not None
    assert second.value == pytest.approx(first.value, abs=1e-6)
    assert second.variance.total == pytest.approx(first.variance.total, abs=1e-6)


def test_a_measure_that_hardly_varies_is_not_used() -> None:
    """Constant among the judged, or everywhere: rounding errors make no slope."""
    rng = np.random.default_rng(6)
    truth = np.where(np.arange(300) < 12, rng.normal(size=300), np.nan)
    for measure in (np.full(300, 0.1), np.where(np.arange(300) > 290, 10.0, 0.1)):
        found = powered_mean(truth, measure)
        assert found is not None and found.weight == 0
        assert found.value == pytest.approx(np.nanmean(truth))
        assert found.variance.total == pytest.approx(found.spread / 12) and found.worth == pytest.approx(12)


def test_on_imagenhub(data: Path) -> None:
    """30 of 97 prompts judged: replies of a large model narrow the intervals, CLIPScore does not."""
    with (data / "imagenhub" / "human_ratings.csv").open() as file:
        votes: dict[tuple[str, str], list[float]] = {}
        for row in csv.DictReader(file):
            votes.setdefault((row["model"], row["uid"]), []).append(float(row["SC"]))
    with (data / "imagenhub_scores" / "machine_scores.csv").open() as file:
        scores = {(row["measure"], row["model"], row["uid"]): row["value"] for row in csv.DictReader(file)}
    rng = np.random.default_rng(0)
    ratios = {}
    for name in ("gpt4o_sc", "clip_score"):
        of_name = []
        for model in sorted({each[1] for each in scores}):
            items = [uid for system, uid in sorted(votes) if system == model]
            right = np.array([np.mean(votes[model, uid]) for uid in items])
            measure = np.array([float(scores.get((name, model, uid)) or np.nan) for uid in items])
            measure = np.where(np.isnan(measure), np.nanmean(measure), measure)
            for _ in range(40):
                truth = np.full(right.size, np.nan)
                drawn = rng.permutation(right.size)[:30]
                truth[drawn] = right[drawn]
                found = powered_mean(truth, measure)
                assert found is not None
                half = float(stdtrit(found.variance.df, 0.975)) * found.variance.total**0.5
                of_name.append(half / (float(stdtrit(29, 0.975)) * (found.spread / 30) ** 0.5))
        ratios[name] = np.mean(of_name)
    assert ratios["gpt4o_sc"] == pytest.approx(0.91, abs=0.02)
    assert ratios["clip_score"] == pytest.approx(1.0, abs=0.01)


def test_part_of_every_prompt_judged() -> None:
    """One of four images judged on each of 40 prompts: the other three still help."""
    rng = np.random.default_rng(1)
    images = rng.normal(size=(40, 4))
    truth = images[:, 0] + 0.3 * rng.normal(size=40)
    found = powered_mean(truth, images.mean(axis=1), images[:, 0])
    assert found is not None and found.weight > 0.8
    # People alone have 1 / 40 of an image's variance, the measure of all images leaves about a quarter.
    assert found.variance.total < 0.6 * truth.var(ddof=1) / 40


def _coverage(n: int, rho: float, ordinal: bool, times: int, seed: int) -> tuple[float, float, float]:
    rng = np.random.default_rng(seed)
    hits, ratios = 0, []
    for _ in range(times):
        measure = rng.normal(size=1000)
        truth = rho * measure + (1 - rho**2) ** 0.5 * rng.normal(size=1000)
        true = 0.0
        if ordinal:
            truth, true = np.clip(np.round(3 + 1.2 * truth), 1, 5), 3.0
        truth[n:] = np.nan
        found = powered_mean(truth, measure)
        if found is None:
            hits += 1
            continue
        half = float(stdtrit(found.variance.df, 0.975)) * found.variance.total**0.5
        alone = float(stdtrit(n - 1, 0.975)) * (found.spread / n) ** 0.5
        hits += abs(found.value - true) <= half
        ratios.append(half / alone)
    return hits / times, float(np.mean(ratios)), float(np.quantile(ratios, 0.95))


@pytest.mark.parametrize("n", [10, 40, 200])
@pytest.mark.parametrize(("rho", "narrower"), [(0.0, 1.01), (0.6, 0.92), (0.9, 0.68)])
def test_coverage(n: int, rho: float, narrower: float) -> None:
    # 400 repetitions: .95 +- .033 at three standard errors.
    covered, mean, most = _coverage(n, rho, False, 400, 7)
    assert 0.915 <= covered <= 0.985
    assert mean < narrower and most < 1.03


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 40, 200])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("ordinal", [False, True])
def test_coverage_at_length(n: int, rho: float, ordinal: bool) -> None:
    covered, mean, most = _coverage(n, rho, ordinal, 3000, 3)
    assert 0.93 <= covered <= 0.97
    assert mean < 1.005 and most < 1.03
