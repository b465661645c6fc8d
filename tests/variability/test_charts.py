"""Charts of variability: that the numbers drawn are those given, and what is said beside them."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t as student

from sightline.estimate import Estimate
from sightline.rendering import charts
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import NARROW, WIDE, Spec
from sightline.statistics.reuse import Curve, Reusability, mean_curve, reusability
from sightline.variability.charts import (
    BINS,
    LEAST_IN_A_BIN,
    ReuseCurve,
    binned,
    feature_figure,
    reuse_figure,
    reuse_said,
    setting_figure,
)

HOSTILE = "</text><script>alert(1)</script> עברית"


def curves(cut: float = 0.8) -> list[ReuseCurve]:
    rows = {"steep": [[0.5, 0.9, 1.0], [0.7, 0.8, 0.9]], HOSTILE: [[0.1, 0.2, 0.3], [0.2, 0.3, 0.3]]}
    return [ReuseCurve(mean_curve(each), reusability(each, cut), name) for name, each in rows.items()]


def every_figure() -> dict[str, Figure]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=90), rng.uniform(size=90)
    rows = [(g, s, Estimate(0.4, 0.3, 0.5, 9)) for g in (1, 7.5, 12) for s in ("a", HOSTILE)]
    return {
        "reuse": reuse_figure(curves(), high=0.8),
        "no cut-off": reuse_figure(curves()[:1]),
        "no curve": reuse_figure([], high=0.8),
        "feature": feature_figure(x, y, name=HOSTILE, domain=(0, 1)),
        "series": feature_figure(x, y, name="words", series=["a", HOSTILE] * 45),
        "many series": feature_figure(x, y, name="words", series=[f"s{n}" for n in range(90)]),
        "no feature": feature_figure([], [], name="words"),
        "setting": setting_figure(rows, name="guidance scale"),
        "words": setting_figure(
            [("ddim", "a", Estimate(0.4)), ("euler", "a", Estimate(0.5))], name="sampler"
        ),
    }


def values(spec: Spec) -> list[dict[str, object]]:
    found: list[dict[str, object]] = spec["data"]["values"]
    return found


@pytest.mark.parametrize("name", sorted(every_figure()))
def test_every_figure_is_drawn_within_its_width_and_described(name: str) -> None:
    figure = every_figure()[name]
    assert figure.caption and figure.narrow is not None
    for spec, width in ((figure.wide, WIDE), (figure.narrow, NARROW)):
        root = ElementTree.fromstring(charts.render(spec))
        assert 0 < float(root.get("viewBox", "").split()[2]) <= width + 1
        assert root.get("aria-label")
        assert not [element for element in root.iter() if element.tag.endswith("script")]


def test_the_curve_of_reuse_has_its_band_its_cut_off_and_whole_numbers_below() -> None:
    figure = reuse_figure(curves(), high=0.8)
    steep = [point for point in values(figure.wide) if point["series"] == "steep"]
    assert [point["x"] for point in steep] == [2, 3, 4]
    assert [point["value"] for point in steep] == pytest.approx([0.6, 0.85, 0.95])
    # Two prompts: half the width is t(1) sd / sqrt(2) = 12.706 x 0.1 at k = 2, and ends at 1.
    assert steep[0]["low"] == pytest.approx(0.6 - student.ppf(0.975, 1) * 0.1)
    assert steep[0]["high"] == 1
    layers = figure.wide["layer"]
    assert [layer["data"]["values"][0]["y"] for layer in layers if "data" in layer] == [0.8, 0.8]
    assert layers[0]["encoding"]["x"]["axis"]["values"] == [2, 3, 4]
    assert "steep: good for 2 [2, 2] images before two look the same." in figure.caption
    assert "steep: good for 2" in figure.wide["description"]


def test_without_a_cut_off_none_is_drawn() -> None:
    figure = reuse_figure(curves()[:1])
    assert [layer for layer in figure.wide["layer"] if "data" in layer] == []
    assert "dashed" not in figure.caption


def test_one_prompt_has_a_curve_without_a_band() -> None:
    figure = reuse_figure([ReuseCurve(mean_curve([[0.5, 0.6]]))])
    assert all(point["low"] == point["value"] == point["high"] for point in values(figure.wide))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Reusability(3, 2, 5, 8, 20, True), "good for 3 [2, 5] images"),
        (Reusability(3, None, None, 8, 1, False), "good for 3 images"),
        (Reusability(7, 5, None, 8, 20, True), "good for 7 [5, more than 8] images"),
        (Reusability(None, 6, None, 8, 20, True), "good for more than 8 [6, more than 8] images"),
        (Reusability(None, None, None, 8, 20, True), "good for more than 8 images"),
    ],
)
def test_reuse_in_words(found: Reusability, said: str) -> None:
    assert reuse_said(found) == f"{said} before two look the same."


def test_long_curves_have_few_ticks() -> None:
    k = np.arange(2, 301)
    flat = np.full(k.size, 0.5)
    figure = reuse_figure([ReuseCurve(Curve(k, flat, flat, flat, 50))])
    ticks = figure.wide["layer"][0]["encoding"]["x"]["axis"]["values"]
    assert 5 <= len(ticks) <= 8 and ticks[0] == 2


def test_a_flag_has_two_bins_with_students_interval() -> None:
    """Five zeros and five ones; at 0 the values are 0, .1, .2, .3, .4: mean .2, sd sqrt(.025)."""
    y = [0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6]
    low, high = binned([0] * 5 + [1] * 5, y)
    half = student.ppf(0.975, 4) * np.sqrt(0.025) / np.sqrt(5)
    assert (low.x, low.estimate.value, low.estimate.n) == (0, pytest.approx(0.2), 5)
    assert low.estimate.low == pytest.approx(0.2 - half) and low.estimate.high == pytest.approx(0.2 + half)
    assert (high.x, high.estimate.value) == (1, pytest.approx(0.6))
    assert binned([0] * 5 + [1] * 5, y, domain=(0.1, 1))[0].estimate.low == 0.1


def test_rare_values_join_their_neighbours() -> None:
    """1 (five times), 2 (once), 3 (five times), 4 (twice): 2 joins 3, and so does 4, too rare at the end."""
    x = [1] * 5 + [2] + [3] * 5 + [4] * 2
    found = binned(x, np.arange(13.0))
    assert [each.estimate.n for each in found] == [5, 8]
    assert found[1].x == pytest.approx((2 + 15 + 8) / 8)


@given(
    arrays(float, st.integers(1, 200), elements=st.one_of(st.floats(-5, 5), st.just(float("nan")))),
    st.integers(0, 9),
)
def test_bins_hold_every_row_once_and_keep_its_mean(x: np.ndarray, seed: int) -> None:
    y = np.random.default_rng(seed).uniform(size=x.size)
    found = binned(x, y)
    known = np.isfinite(x)
    counts = [each.estimate.n or 0 for each in found]
    assert sum(counts) == known.sum()
    assert len(found) <= max(BINS, 1)
    assert all(n >= LEAST_IN_A_BIN for n in counts) or len(found) <= 1
    assert [each.x for each in found] == sorted(each.x for each in found)
    if known.any():
        weighted = np.average([each.estimate.value for each in found], weights=counts)
        assert weighted == pytest.approx(y[known].mean())


def test_a_feature_without_series_shows_every_prompt_behind_the_means() -> None:
    figure = feature_figure([1, 2, np.nan] * 10, [0.5] * 30, name="words")
    assert len(figure.wide["layer"][0]["data"]["values"]) == 20
    assert "20 prompts" in figure.caption and "10 had no value" in figure.caption
    assert "1: 0.5" in figure.wide["description"]


def test_series_have_lines_of_their_own() -> None:
    figure = feature_figure([1] * 12 + [2] * 12, [0.2, 0.8] * 12, name="words", series=["a", "b"] * 12)
    points = {(point["series"], point["x"]): point["value"] for point in values(figure.wide)}
    assert points == pytest.approx({("a", 1): 0.2, ("a", 2): 0.2, ("b", 1): 0.8, ("b", 2): 0.8})


def test_columns_must_have_one_length() -> None:
    with pytest.raises(ValueError, match="one length"):
        binned([1, 2], [1])


def test_a_setting_of_numbers_is_a_line_in_their_order_and_one_of_words_is_not() -> None:
    rows = [(10, "a", Estimate(0.7, 0.6, 0.8, 9)), (2.5, "a", Estimate(0.4, 0.3, 0.5, 9))]
    drawn = values(setting_figure(rows, name="guidance scale").wide)
    assert [(point["x"], point["value"]) for point in drawn] == [(2.5, 0.4), (10, 0.7)]
    words = setting_figure([("ddim", "a", Estimate(0.4)), (True, "b", Estimate(0.5))], name="sampler")
    assert [name for name, _ in words.legend] == ["b", "a"]
    assert "ddim" in json.dumps(words.wide)
