"""Skill profile: rates, tests, effects, regressions and prerequisites, by hand and on GIMBRR."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline import registry
from sightline.data.import_ import import_
from sightline.errors import UsageError
from sightline.judging.truth import truth
from sightline.rendering.charts import render
from sightline.skills.effects import FACTORS
from sightline.skills.skill_profile import skill_profile
from sightline.skills.verify import verify
from sightline.study.study import Study, create_study


@pytest.fixture
def study(maker: Any, tmp_path: Path, scene_of: Any, expects_of: Any) -> Iterator[Study]:
    """Cats alone, dogs alone, both, and counted, by two systems.

    "able" does all of it but counting above two; "blind" knows no dogs.
    """
    maker.prompt("cat", "a cat", "single", expects_of(("cat", None)))
    maker.prompt("dog", "a dog", "single", expects_of(("dog", None)))
    maker.prompt(
        "both", "a cat and a dog", "several", expects_of(("cat", None), ("dog", None)), ["cat", "dog"]
    )
    for number in (2, 3, 4):
        for turn in range(3):
            maker.prompt(
                f"n{number}{turn}", f"{number} cats, {turn}", "counting", expects_of(("cat", number)),
                ["cat"], number=str(number),
            )  # fmt: skip
    maker.prompt(
        "deep", "two cats and a dog", "several", expects_of(("cat", 2), ("dog", None)), ["n20", "both"]
    )
    for system, dogs in (("able", True), ("blind", False)):
        maker.answer("cat", system, scene_of("cat"))
        maker.answer("dog", system, scene_of("dog" if dogs else "tree"))
        maker.answer("both", system, scene_of("cat", *["dog"] * dogs))
        for number in (2, 3, 4):
            for turn in range(3):
                drawn = number if number == 2 or system == "blind" else number + 1
                maker.answer(f"n{number}{turn}", system, scene_of(*["cat"] * drawn))
        maker.answer("deep", system, scene_of("cat", *["dog"] * dogs))
    with maker.study(tmp_path / "study") as made:
        verify(made)
        yield made


def test_rates_and_pairs(study: Study) -> None:
    found = skill_profile(study)
    rates = {(each.skill, each.system): each.rate.value for each in found.rates}
    assert rates["single", "able"] == 1.0 and rates["single", "blind"] == 0.5
    assert rates["counting", "able"] == pytest.approx(1 / 3) and rates["counting", "blind"] == 1.0
    pairs = {each.skill: each for each in found.pairs}
    # Counting differs at six of nine prompts, all one way: 2 x (1/2)^6; three skills are corrected together.
    assert pairs["counting"].p == pytest.approx(2 / 64) and pairs["counting"].method == "McNemar, exact"
    assert pairs["counting"].p_adjusted == pytest.approx(3 * 2 / 64)
    assert pairs["counting"].difference.value == pytest.approx(-2 / 3)
    assert found.weaknesses() == {"able": [], "blind": []}
    assert found.sentence.endswith("no system is surely worse at any skill.")


def test_the_effect_of_a_number(study: Study) -> None:
    found = skill_profile(study)
    levels = {each.level: each for each in found.levels if each.factor == "number"}
    assert list(levels) == ["2", "3", "4"]
    assert levels["2"].rate.value == 1.0 and levels["4"].systems["able"].value == 0.0
    (effect,) = found.effects
    # Unit means 1, 1, 1, .5 x 6 at 2, 3 and 4: the slope is -.25.
    assert (effect.skill, effect.what) == ("counting", "per step")
    assert effect.effect.value == pytest.approx(-0.25) and effect.p_adjusted == effect.p
    with pytest.raises(UsageError, match="numbr"):
        skill_profile(study, factors=["numbr"])


def test_what_our_tasks_vary_is_a_factor() -> None:
    varied = {
        "counting": "number", "arithmetic(depth=2)": "depth", "text_rendering": "words",
        "multiple_objects": "objects", "directed_actions": "pairs", "conditional": "condition",
    }  # fmt: skip
    for task, factor in varied.items():
        prompts = registry.configure("task", task).load()(np.random.default_rng(0), 6)
        assert factor in FACTORS and any(factor in each.tags for each in prompts), task


def test_which_prerequisite_failed(study: Study) -> None:
    failed = {(each.system, each.text): each for each in skill_profile(study).failed}
    assert failed["blind", "a cat and a dog"].prerequisite == "object"
    assert failed["blind", "a cat and a dog"].failed == ["a dog"]
    assert failed["able", "3 cats, 0"].prerequisite == "composition"
    # "able" draws one cat and a dog where two cats are asked for: two cats and both work alone.
    assert failed["able", "two cats and a dog"].prerequisite == "composition"
    assert failed["blind", "two cats and a dog"].prerequisite == "object"
    assert ("able", "a cat and a dog") not in failed


def test_skills_on_the_simplest_prompts(study: Study) -> None:
    found = skill_profile(study).simpler
    assert found is not None
    points = {(each.task, each.system): (each.simpler, each.rate) for each in found.points}
    # "several" builds on cat and dog (n20 and both build on others themselves), "counting" on cat alone.
    assert points["several", "blind"] == (0.5, 0.0) and points["several", "able"] == (1.0, 0.5)
    assert points["counting", "blind"] == (1.0, 1.0)
    with pytest.raises(UsageError, match="--on"):
        skill_profile(study, related=["several"])
    with pytest.raises(UsageError, match="no prompt tests"):
        skill_profile(study, on="sevral")


def test_as_a_radar_and_as_tables(study: Study) -> None:
    found = skill_profile(study)
    assert set(found.figures()) == {"radar", "profile"}
    drawn = render(found.figures()["radar"].wide, "light")
    assert "counting" in drawn and "Radar chart of match rates by skill" in drawn
    tables = found.tables()
    assert [row[0] for row in tables["profile"].rows] == ["single", "several", "counting", "all skills"]
    assert {"pairs", "effects", "levels", "regressions", "points", "prerequisites", "failed"} < set(tables)
    found.to_json()


@pytest.mark.slow
def test_gimbrr_as_a_study_gives_what_the_card_gives(data: Path, tmp_path: Path) -> None:
    with create_study(tmp_path / "study", settings="[screening]\nrules = []\n") as made:
        import_(made, data / "gimbrr")
        truth(made)
        tag = "task"
        found = skill_profile(
            made,
            "match",
            per=tag,
            on="Multiple objects",
            related=["Directed actions", "Spatial relationships", "Unusual arrangements"],
            unrelated=["Conditional generation", "Compositional characteristics"],
        )
    assert found.related is not None and found.related.interaction is not None
    assert found.related.related.slope.value == pytest.approx(0.6213, abs=5e-5)
    assert found.related.related.p == pytest.approx(0.0047, abs=5e-5)
    assert found.related.unrelated.slope.value == pytest.approx(0.1009, abs=5e-5)
    assert found.related.interaction.p == pytest.approx(0.1644, abs=5e-5)
    # Published per number and kind, four systems pooled; here by number: (25 + 22) / (68 + 64) and so on.
    levels = {each.level: each.rate.value for each in found.levels if each.factor == "num_objects"}
    assert levels["2"] == pytest.approx((0.3676 * 68 + 0.3438 * 64) / 132, abs=1e-4)
    assert levels["4"] == pytest.approx((0.2059 * 68 + 0.1029 * 68) / 136, abs=1e-4)
    assert "Dalle" not in [name for name, skills in found.weaknesses().items() if len(skills) > 6]
