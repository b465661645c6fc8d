"""What a measure's values mean, from the study's own truth or from a stored scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.comparison.human_scale import human_scale
from sightline.errors import DataError, UsageError
from sightline.measures.score import score
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


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """40 grey images; people like bright ones, on a scale from 0 to 5."""
    path = tmp_path_factory.mktemp("grey")
    made = create_study(path)
    rng = np.random.default_rng(0)
    records: list[Record] = [
        Question("quality", "interval", 0, 5),
        Question("other", "interval", 0, 5),
        System("a"),
    ]
    for number in range(40):
        key, image = PromptKey("s", str(number)), ImageKey("c", f"{number}.png")
        level = int(rng.integers(10, 245))
        Pillow.new("RGB", (8, 8), (level, level, level)).save(path / f"{number}.png")
        records += [Prompt(key, f"thing {number}"), Image(image, str(path / f"{number}.png"))]
        records += [Answer(key, "a", 0, image)]
        value = float(np.clip(level / 51 + rng.normal() * 0.3, 0, 5))
        records.append(Truth("quality", Item(key, "a", image), value))
    load(made, records, importer="test", path="here", digest="1")
    score(made, "brightness")
    return made


def test_values_mean_scores_within_the_scale_and_percentiles(study: Study) -> None:
    found = human_scale(study, "brightness", value=[0.2, 0.8])
    low, high = found.values
    assert low.score.value == pytest.approx(1.0, abs=0.5) and high.score.value == pytest.approx(4.0, abs=0.5)
    for each in found.values:
        assert each.score.low is not None and each.score.high is not None and each.score.value is not None
        assert 0 <= each.score.low <= each.score.value <= each.score.high <= 5
    assert 0 <= low.percentile < high.percentile <= 100
    assert "quality" in found.sentence and "held-out" in found.notes[0]


def test_a_stored_scale_gives_another_study_the_same_meaning(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "scale.npz"
    own = human_scale(study, "brightness", value=0.5, method="isotonic", save=file)
    again = human_scale(study, "brightness", value=0.5, use=file)
    assert again.values == own.values and again.question == "quality"
    with pytest.raises(UsageError, match="stored scale"):
        human_scale(study, "brightness", question="quality", use=file)


def test_what_cannot_have_a_meaning_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no_such"):
        human_scale(study, "no_such")
    with pytest.raises(DataError, match="only 0 items"):
        human_scale(study, "brightness", question="other")
    text = tmp_path / "text.npz"
    text.write_text("nothing")
    with pytest.raises(DataError, match="not a stored scale"):
        human_scale(study, "brightness", use=text)
