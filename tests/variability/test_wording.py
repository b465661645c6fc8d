"""Features of prompts against the likeness of their images, on studies made so that the answer is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from sightline.errors import DataError, UsageError
from sightline.language.w1kp import Sources
from sightline.statistics.associations import significant
from sightline.study.study import Study
from sightline.variability.variability import read_variability, variability
from sightline.variability.wording import setting_effect, text_norms, wording

NOTHING = Sources(*[f"no {field.name}" for field in dataclasses.fields(Sources)])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, study_of: Callable[..., Study]) -> Study:
    """40 prompts; the longer the text, the closer the two images of each system, whose levels differ."""
    rng = np.random.default_rng(0)
    texts = {f"{n:02}": "x" * (n + 1) + (", 8k" if n % 3 == 0 else ", art") for n in range(40)}
    levels = {}
    for system, more in (("even", 0), ("wild", 40)):
        for n, ref in enumerate(texts):
            apart = 150 - 3 * n + more + int(rng.integers(-5, 6))
            levels[system, ref] = (20, 20 + apart)
    study = study_of(tmp_path_factory.mktemp("language"), levels, texts)
    variability(study, distance="pixel_l2")
    return study


def sources() -> Sources:
    """The length of a text as its CLIP norm, and ratings that tell nothing."""
    return dataclasses.replace(
        NOTHING,
        clip=lambda texts: np.array([float(len(text)) for text in texts]),
        concreteness={"x" * n: 1 + (7 * n) % 5 * 0.9 for n in range(1, 41)},
    )


def test_a_planted_feature_is_found(study: Study) -> None:
    found = wording(study, distance="pixel_l2", sources=sources())
    kept = significant(found.associated)
    assert kept[0].name == "clip_norm" and (kept[0].correlation.value or 0) > 0.95
    assert "concreteness" not in {each.name for each in kept}
    assert found.extracted.keywords == ("art", "8k")
    assert found.prompts.height == 40 and found.prompts["similarity"].null_count() == 0


def test_joined_with_the_right_prompts(study: Study) -> None:
    found = wording(study, distance="pixel_l2", sources=sources())
    told = read_variability(study, distance="pixel_l2").prompts
    for prompt, text, length, value in found.prompts.select(
        "prompt_id", "text", "clip_norm", "similarity"
    ).iter_rows():
        assert length == len(text)
        mine = told.filter(pl.col("prompt_id") == prompt)["value"]
        assert len(mine) == 2 and value == pytest.approx(mine.mean())


def test_the_mixed_model_takes_systems_apart(study: Study) -> None:
    found = wording(study, distance="pixel_l2", sources=sources())
    assert found.mixed is not None and found.mixed.errors == "clusters"
    slope = found.mixed.coefficient("clip_norm")
    assert slope.low > 0 and slope.p < 1e-6
    assert found.mixed.groups["even"] > 0 > found.mixed.groups["wild"]
    assert found.mixed.n == 80
    assert any("senses" in note and "mixed model" in note for note in found.notes)


def test_curves_by_system(study: Study) -> None:
    curves = wording(study, distance="pixel_l2", sources=sources(), bins=4).curves
    for steps in curves["clip_norm"].values():
        values = [step.y.value or 0 for step in steps]
        assert len(steps) == 4 and values == sorted(values) and sum(step.y.n for step in steps) == 40
    assert set(curves["keyword:8k"]) == {"even", "wild"} and len(curves["keyword:8k"]["even"]) == 2


def test_what_is_missing_is_noted(study: Study) -> None:
    found = wording(study, distance="pixel_l2", sources=sources())
    assert any(
        note.startswith("words, ") and "40 of 40 prompts, since no parser" in note for note in found.notes
    )
    assert "The prompts have 2 trailing keywords, fewer than 20." in found.notes
    assert any("collinear with" in note for note in found.notes)
    bare = wording(study, distance="pixel_l2", sources=NOTHING)
    assert bare.factors is None and any(note.startswith("No factor analysis") for note in bare.notes)


def test_a_result_at_hand_is_taken(study: Study) -> None:
    told = read_variability(study, distance="pixel_l2")
    halved = dataclasses.replace(told, prompts=told.prompts.with_columns(pl.col("value") / 2))
    whole, half = (
        wording(study, distance="pixel_l2", similarity=each, sources=sources()) for each in (told, halved)
    )
    assert half.prompts["similarity"].to_list() == pytest.approx((whole.prompts["similarity"] / 2).to_list())


def test_unknown_names_and_backbones_without_lengths(study: Study) -> None:
    with pytest.raises(UsageError, match="concretness") as error:
        wording(study, distance="pixel_l2", sources=sources(), effects=["concretness"])
    assert "concreteness" in error.value.remedy
    with pytest.raises(UsageError, match="length 1"):
        text_norms("hashed_words")


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory, study_of: Callable[..., Study]) -> Study:
    """Three prompts at guidance 5, 10 and 20, 2 grey levels closer a unit; one prompt mixes two values."""
    levels, settings = {}, {}
    for guidance in (5, 10, 20):
        for n, ref in enumerate("abc"):
            levels[f"g{guidance}", ref] = (0, 100 + 20 * n - 2 * guidance)
            settings[f"g{guidance}", ref] = (guidance, guidance)
    levels["g5", "d"], settings["g5", "d"] = (0, 50), (5, 7)
    levels["g10", "d"] = (0, 50)
    levels["g20", "d"], settings["g20", "d"] = (0, 50), ("high", "high")
    study = study_of(tmp_path_factory.mktemp("guided"), levels, settings=settings)
    variability(study, distance="pixel_l2")
    return study


def test_likeness_along_a_setting(guided: Study) -> None:
    found = setting_effect(guided, "guidance", distance="pixel_l2")
    assert found.values.height == 9
    assert [step.x for step in found.trend.steps] == [5, 10, 20]
    values = [step.y.value or 0 for step in found.trend.steps]
    assert values == sorted(values) and found.trend.steps[0].y.n == 3
    assert found.trend.slope is not None
    # Two levels of 255 a unit of guidance, as far as the distance is that of plain images.
    assert found.trend.slope.coefficient("setting").value == pytest.approx(2 / 255, rel=1e-3)
    assert found.without == {
        "no answer has 'guidance'": 1,
        "its images were made with several values": 1,
        "the value is not a number": 1,
    }


def test_wording_with_a_setting(guided: Study) -> None:
    found = wording(guided, setting="guidance")
    alone = setting_effect(guided, "guidance")
    assert found.along is not None and found.along.trend == alone.trend
    assert {"associated", "setting_steps", "setting_slope"} <= set(found.tables())
    assert next(iter(found.figures())) == "setting"
    assert set(alone.notes) <= set(found.notes)


def test_a_setting_that_nobody_told(guided: Study) -> None:
    with pytest.raises(DataError, match="0 value"):
        setting_effect(guided, "steps", distance="pixel_l2")
