"""Settings that answers were made with split means and trust as tags of prompts do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.comparison.breakdown import breakdown
from sightline.comparison.measure_trust import labels
from sightline.errors import UsageError
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

MEANS = {("a", "normal"): 4.0, ("a", "fast"): 2.0, ("b", "normal"): 3.0}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Two models, one of them at two settings, on six prompts."""
    made = create_study(tmp_path)
    records: list[Record] = [Question("quality", "interval", 0, 5)]
    records += [Prompt(PromptKey("s", str(n)), f"thing {n}") for n in range(6)]
    for (model, setting), mean in MEANS.items():
        name = f"{model}_{setting}"
        records.append(System(name))
        for n in range(6):
            key, image = PromptKey("s", str(n)), ImageKey("c", f"{name}-{n}")
            settings = {"model": model, "setting": setting, "seed": n}
            records += [Image(image), Answer(key, name, 0, image, settings=settings)]
            records.append(Truth("quality", Item(key, name, image), mean + (n % 2 - 0.5) / 5))
    load(made, records, importer="test", path="here", digest="1")
    return made


def test_the_settings_of_a_model_stand_next_to_each_other(study: Study) -> None:
    found = breakdown(study, "quality", "setting")
    means = {(each.system, each.group): each.mean.value for each in found.rows}
    assert means == pytest.approx(MEANS)
    assert found.overall == pytest.approx({"a": 3.0, "b": 3.0})


def test_trust_is_grouped_by_a_setting_and_a_seed_is_none(study: Study) -> None:
    column, values = labels(study, "setting")
    assert column == "system_id" and sorted(values.values()) == ["fast", "normal", "normal"]
    for unknown in ("seed", "settings"):
        with pytest.raises(UsageError, match="tag"):
            labels(study, unknown)
    with pytest.raises(UsageError, match="tag"):
        breakdown(study, "quality", "seed")
