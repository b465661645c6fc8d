"""Components of variance: the analysis of variance by hand, statsmodels, planted values, designs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import nct, t

from sightline.statistics.comparison import compare
from sightline.statistics.components import Components, Design, components
from sightline.statistics.crossed import Panel

Array = NDArray[np.float64]


def panel_of(values: Array, kept: NDArray[np.bool_] | None = None) -> Panel:
    """systems x prompts x images x raters, all judged unless `kept` says which."""
    system, unit, image, rater = (each.ravel() for each in np.indices(values.shape))
    item = np.ravel_multi_index((system, unit, image), values.shape[:3])
    chosen = np.ones(values.size, dtype=bool) if kept is None else kept.ravel()
    columns = (each[chosen].astype(np.int64) for each in (unit, system, item, rater))
    return Panel(*columns, values.ravel()[chosen])


def drawn(
    rng: np.random.Generator, systems: int, prompts: int, images: int, raters: int, sd: dict[str, float]
) -> Array:
    def part(name: str, *shape: int) -> Array:
        return rng.normal(0, sd.get(name, 0.0), shape)

    return (
        np.arange(systems)[:, None, None, None] * 2.0
        + part("p", 1, prompts, 1, 1)
        + part("ps", systems, prompts, 1, 1)
        + part("i", systems, prompts, images, 1)
        + part("r", 1, 1, 1, raters)
        + part("rs", systems, 1, 1, raters)
        + part("rp", 1, prompts, 1, raters)
        + part("e", systems, prompts, images, raters)
    )


def test_prompts_by_raters_by_hand() -> None:
    """One system, one image per prompt: prompts x raters without replication."""
    values = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 5.0], [6.0, 5.0, 9.0], [2.0, 4.0, 4.0]])
    n, k = values.shape
    grand, rows, columns = values.mean(), values.mean(axis=1), values.mean(axis=0)
    ms_rows = k * np.sum((rows - grand) ** 2) / (n - 1)
    ms_columns = n * np.sum((columns - grand) ** 2) / (k - 1)
    rest = values - rows[:, None] - columns + grand
    ms_rest = np.sum(rest**2) / ((n - 1) * (k - 1))
    found = components(panel_of(values[None, :, None, :]))
    assert found.prompts == pytest.approx((ms_rows - ms_rest) / k)
    assert found.raters == pytest.approx((ms_columns - ms_rest) / n)
    assert found.residual == pytest.approx(ms_rest)
    assert (found.images, found.sessions, found.prompts_systems, found.raters_systems) == (None, None, 0, 0)


def test_images_within_prompts_by_raters_by_hand() -> None:
    """The expected mean squares of the design (images : prompts) x raters."""
    rng = np.random.default_rng(4)
    y = drawn(rng, 1, 8, 3, 4, {"p": 2.0, "i": 1.0, "r": 1.5, "rp": 1.2, "e": 0.5})[0]
    p, m, k = y.shape
    grand = y.mean()
    prompt, image, rater, cell = y.mean((1, 2)), y.mean(2), y.mean((0, 1)), y.mean(1)
    ms_p = m * k * np.sum((prompt - grand) ** 2) / (p - 1)
    ms_i = k * np.sum((image - prompt[:, None]) ** 2) / (p * (m - 1))
    ms_r = p * m * np.sum((rater - grand) ** 2) / (k - 1)
    ms_rp = m * np.sum((cell - prompt[:, None] - rater + grand) ** 2) / ((p - 1) * (k - 1))
    rest = y - image[:, :, None] - cell[:, None, :] + prompt[:, None, None]
    ms_e = np.sum(rest**2) / (p * (m - 1) * (k - 1))
    found = components(panel_of(y[None]))
    assert found.residual == pytest.approx(ms_e)
    assert found.raters_prompts + found.raters_prompts_systems == pytest.approx((ms_rp - ms_e) / m)
    assert found.images == pytest.approx((ms_i - ms_e) / k)
    assert found.raters == pytest.approx((ms_r - ms_rp) / (p * m))
    assert found.prompts == pytest.approx((ms_p - ms_i - ms_rp + ms_e) / (m * k))


def test_two_systems_by_hand() -> None:
    """prompts x raters x systems, complete: what systems share, from mean squares."""
    rng = np.random.default_rng(1)
    sd = {"p": 2.0, "ps": 1.0, "r": 1.5, "rs": 1.0, "rp": 1.0, "e": 0.5}
    y = drawn(rng, 3, 12, 1, 5, sd)[:, :, 0, :]
    s, p, k = y.shape
    grand = y.mean()
    by_s, by_p, by_r = y.mean((1, 2)), y.mean((0, 2)), y.mean((0, 1))
    sp, sr, pr = y.mean(2), y.mean(1), y.mean(0)
    ms_p = s * k * np.sum((by_p - grand) ** 2) / (p - 1)
    ms_r = s * p * np.sum((by_r - grand) ** 2) / (k - 1)
    ms_sp = k * np.sum((sp - by_s[:, None] - by_p + grand) ** 2) / ((s - 1) * (p - 1))
    ms_sr = p * np.sum((sr - by_s[:, None] - by_r + grand) ** 2) / ((s - 1) * (k - 1))
    ms_pr = s * np.sum((pr - by_p[:, None] - by_r + grand) ** 2) / ((p - 1) * (k - 1))
    fit = sp[:, :, None] + sr[:, None, :] + pr - by_s[:, None, None] - by_p[:, None] - by_r + grand
    ms_e = np.sum((y - fit) ** 2) / ((s - 1) * (p - 1) * (k - 1))
    found = components(panel_of(y[:, :, None, :]))
    assert found.raters_prompts == pytest.approx((ms_pr - ms_e) / s)
    assert found.residual == pytest.approx(ms_e)
    assert found.prompts == pytest.approx((ms_p - ms_sp - ms_pr + ms_e) / (s * k))
    assert found.raters == pytest.approx((ms_r - ms_sr - ms_pr + ms_e) / (s * p))
    assert found.prompts_systems == pytest.approx((ms_sp - ms_e) / k)
    assert found.raters_systems == pytest.approx((ms_sr - ms_e) / p)


def test_as_statsmodels() -> None:
    """REML equals the analysis of variance in balanced data with no component at 0."""
    import pandas
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(3)
    values = drawn(rng, 1, 20, 1, 6, {"p": 1.5, "r": 1.0, "e": 0.7})
    panel = panel_of(values)
    frame = pandas.DataFrame({"y": panel.value, "p": panel.unit, "r": panel.rater, "all": 1})
    fitted = MixedLM.from_formula(
        "y ~ 1", groups="all", re_formula="0", vc_formula={"p": "0 + C(p)", "r": "0 + C(r)"}, data=frame
    ).fit()
    found = components(panel)
    assert found.prompts == pytest.approx(fitted.vcomp[0], rel=1e-3)
    assert found.raters == pytest.approx(fitted.vcomp[1], rel=1e-3)
    assert found.residual == pytest.approx(fitted.scale, rel=1e-3)


def test_planted_components_of_an_unbalanced_pilot() -> None:
    """Three of ten raters judge each image: on average over pilots the planted variances come out."""
    sd = {"p": 1.0, "ps": 0.8, "i": 0.6, "r": 0.7, "rs": 0.5, "e": 0.9}
    sums = np.zeros(6)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = drawn(rng, 3, 40, 2, 10, sd)
        kept = rng.random(values.shape).argsort(axis=-1) < 3
        found = components(panel_of(values, kept))
        sums += [
            found.prompts, found.prompts_systems, found.images or 0, found.raters or 0,
            found.raters_systems, found.residual + found.raters_prompts + found.raters_prompts_systems,
        ]  # fmt: skip
    assert sums / 40 == pytest.approx([1.0, 0.64, 0.36, 0.49, 0.25, 0.81], abs=0.12)


def test_sessions() -> None:
    """A rater's sessions differ by a planted 1, raters by 4, votes by .25."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(30):
        values = drawn(rng, 1, 60, 1, 8, {"p": 1.0, "r": 2.0, "e": 0.5})
        session = np.broadcast_to(np.arange(60)[:, None] // 10, (60, 8))
        values[0, :, 0, :] += rng.normal(0, 1, (6, 8))[session, np.arange(8)]
        known = components(panel_of(values), session.ravel().astype(np.int64))
        found.append((known.sessions, known.raters, known.residual, known.prompts))
    assert np.mean(found, axis=0) == pytest.approx([1.0, 4.0, 0.25, 1.0], rel=0.25)


def test_raters_who_judged_one_image_each() -> None:
    """Nobody judged two images: what raters add cannot be told from noise, and is in the residual."""
    rng = np.random.default_rng(2)
    value = (rng.normal(size=30)[:, None] + rng.normal(size=(30, 3))).ravel()
    at = np.repeat(np.arange(30), 3)
    found = components(Panel(at, np.zeros(90, dtype=np.int64), at, np.arange(90), value))
    assert found.raters is None and found.raters_systems == 0
    within = value.reshape(30, 3)
    assert found.residual == pytest.approx(within.var(axis=1, ddof=1).mean())


def test_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="no image was judged by two raters"):
        components(panel_of(rng.normal(size=(1, 5, 1, 1))))
    with pytest.raises(ValueError, match="not two prompts"):
        components(panel_of(rng.normal(size=(1, 1, 1, 3))))


PLANTED = Components(1.0, 0.6, 0.4, 0.3, 0.2, 0.1, 0.1, 0.5, 0.8)


def test_the_variance_of_a_design_by_hand() -> None:
    # Mean, 50 prompts x 2 images, 10 raters of whom 4 judge an image, 5 sessions each:
    # (1 + .6 + .4/2 + .2/4 + .8/8) / 50 = .039 over prompts, (.3 + .2 + .5/5) / 10 = .06 over raters.
    design = Design(50, 2, 10, 4)
    variance = PLANTED.of_mean(design, sessions=5)
    assert (variance.prompts, variance.df, variance.rater_df) == pytest.approx((0.039, 49, 9))
    # Noise of (.2/4 + .8/8) / 50 is taken off again, but where that would be below 0.
    assert variance.raters == pytest.approx(0.06, rel=1e-3)
    half = ((t.ppf(0.975, 49) ** 2 * 0.039) + (t.ppf(0.975, 9) ** 2 * variance.raters)) ** 0.5
    assert PLANTED.width(design, 5) == pytest.approx(2 * half)
    # Difference: 2 (.6 + .2 + .1/4 + .8/8) / 50 = .037 and 2 x .2 / 10 = .04
    apart = PLANTED.of_difference(design)
    assert apart.prompts == pytest.approx(0.037) and apart.raters == pytest.approx(0.04, rel=2e-3)
    assert sum(each or 0 for each in PLANTED.named().values()) == pytest.approx(PLANTED.total) == 4.0


def test_raters_who_do_not_differ_cost_something_too() -> None:
    # Noise of .8 / 20 per mean, scaled chi-squared with 3 degrees of freedom: the mean of what exceeds .04.
    alike = Components(1.0, 0.0, None, 0.0, 0.0, 0.0, 0.0, None, 3.2)
    drawn_of = 0.04 * np.random.default_rng(0).chisquare(3, 400_000) / 3
    variance = alike.of_mean(Design(20, 1, 4, 4))
    assert variance.raters == pytest.approx(np.maximum(drawn_of - 0.04, 0).mean(), rel=0.02)


@pytest.mark.parametrize(("prompts", "systems"), [(10, 2), (40, 3), (400, 5)])
def test_the_power_of_a_detectable_difference(prompts: int, systems: int) -> None:
    """The noncentral t distribution gives 80 % at the difference found, after Holm for all pairs."""
    design = Design(prompts, 1, 12, 3)
    variance = PLANTED.of_difference(design, systems)
    tail = 0.025 / (systems * (systems - 1) / 2)
    freedom = variance.effective_df(tail)
    effect = PLANTED.detectable(design, systems) / variance.total**0.5
    assert nct.sf(t.ppf(1 - tail, freedom), freedom, effect) == pytest.approx(0.8, abs=0.015)


@pytest.mark.parametrize(
    ("design", "systems"), [(Design(15, 1, 4, 4), 3), (Design(18, 1, 4, 2), 3), (Design(40, 1, 5, 5), 5)]
)
def test_compare_reports_what_was_planned(design: Design, systems: int) -> None:
    planted = Components(0.29, 0.27, None, 0.0, 0.0053, 0.0, 0.0, None, 0.4)
    sd = {"p": 0.29**0.5, "ps": 0.27**0.5, "rs": 0.0053**0.5, "e": 0.4**0.5}
    rng = np.random.default_rng(6)
    effects, widths = [], []
    for _ in range(25):
        values = drawn(rng, systems, design.prompts, 1, design.raters, sd)
        kept = rng.random(values.shape).argsort(axis=-1) < design.per_image
        matrix = np.nanmean(np.where(kept, values, np.nan), axis=(2, 3)).T
        found = compare(matrix, panel=panel_of(values, kept))
        effects += [pair.detectable for pair in found.pairs if pair.detectable is not None]
        widths += [(each.mean.high or 0) - (each.mean.low or 0) for each in found.standings]
    assert planted.detectable(design, systems) == pytest.approx(np.mean(effects), rel=0.12)
    assert planted.width(design) == pytest.approx(np.mean(widths), rel=0.12)


def test_predicted_and_simulated_width_agree() -> None:
    """The variance of a system's mean over many studies of a design is what the components say."""
    sd = {"p": 1.0, "ps": 0.8, "i": 0.6, "r": 0.7, "rs": 0.5, "e": 0.9}
    planted = Components(1.0, 0.64, 0.36, 0.49, 0.25, 0.0, 0.0, None, 0.81)
    rng = np.random.default_rng(8)
    means = np.array([drawn(rng, 2, 20, 2, 6, sd).mean(axis=(1, 2, 3)) for _ in range(3000)])
    assert means[:, 0].var() == pytest.approx(planted.of_mean(Design(20, 2, 6, 6)).total, rel=0.1)
    difference = means[:, 1] - means[:, 0]
    assert difference.var() == pytest.approx(planted.of_difference(Design(20, 2, 6, 6)).total, rel=0.1)
