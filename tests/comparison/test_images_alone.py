"""Images that answer no prompt: set against people, by tag and by reference; distributions between groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from scipy.stats import spearmanr

import sightline
from sightline.errors import DataError, UsageError
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

LEVELS = (20, 60, 100, 140, 180, 220)


@pytest.fixture
def shades(tmp_path: Path) -> Iterator[Study]:
    """12 grey images of two collections, tagged `shade`; people like light ones, with one exception."""
    records: list[Record] = [Question("mos", "interval", 0, 10)]
    for number, level in enumerate(np.repeat(LEVELS, 2).tolist()):
        path = tmp_path / f"{number}.png"
        Pillow.new("RGB", (8, 8), (level + number % 2,) * 3).save(path)
        key = ImageKey("even" if number % 2 == 0 else "odd", path.name)
        records.append(Image(key, str(path), tags={"shade": "dark" if level < 120 else "light"}))
        records.append(Truth("mos", Item(image=key), 9.0 if number == 0 else number / 2, n=20))
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="shades", digest="1")
        sightline.score(study, "brightness")
        yield study


def test_trust_is_pooled_over_images(shades: Study) -> None:
    result = sightline.trust(shades)
    (row,) = result.rows
    people = [9.0, *(number / 2 for number in range(1, 12))]
    light = [level + number % 2 for number, level in enumerate(np.repeat(LEVELS, 2).tolist())]
    assert row.level == "pooled" and row.drawn == "images"
    assert row.correlation.value == pytest.approx(spearmanr(light, people).statistic)
    # Twelve images are enough for an interval, and each is drawn by itself.
    assert row.correlation.n == 12 and row.correlation.low is not None
    assert "the images answer no prompt. n counts images" in result.notes[0]


def test_trust_by_a_tag_of_images_and_by_collection(shades: Study) -> None:
    groups = {each.group: each.level for each in sightline.trust(shades, per="shade").groups}
    assert [*groups] == ["dark", "light"] and groups["light"].spearman.value == pytest.approx(1)
    assert {each.group for each in sightline.trust(shades, per="collection").groups} == {"even", "odd"}
    with pytest.raises(UsageError, match="has a tag or setting 'shadow'"):
        sightline.trust(shades, per="shadow")


def test_images_of_one_reference_are_left_out_together(data: Path, tmp_path: Path) -> None:
    with create_study(tmp_path / "tid") as study:
        sightline.import_(study, data / "tid2013")
        sightline.score(study, "noise")
        (row,) = sightline.trust(study, "mos").rows
        assert row.drawn == "references" and row.correlation.n == 2 and row.levels["pooled"].items == 50
        assert row.correlation.reason == "fewer than 8 references: simulated intervals do not hold"
        by_type = {each.group: each.level for each in sightline.trust(study, "mos", per="distortion").groups}
        assert len(by_type) == 5 and by_type["Gaussian blur"].items == 10
        assert by_type["additive Gaussian noise"].spearman.value < -0.9
        assert sightline.report(study).path.is_file()
        assert sightline.check(study).exit_code == 0
        with pytest.raises(DataError, match="there are no systems to compare"):
            sightline.compare(study)


def test_distributions_of_collections_and_tags(shades: Study) -> None:
    result = sightline.distributions(shades, "brightness")
    assert result.per == "collection" and [len(each.values) for each in result.groups] == [6, 6]
    (pair,) = result.gaps
    # The odd collection is lighter by one grey level everywhere.
    assert pair.gap.wasserstein == pytest.approx(1 / 255) and pair.gap.units == 12
    (by_shade,) = sightline.distributions(shades, "brightness", per="shade").gaps
    assert by_shade.gap.ks == pytest.approx(1) and by_shade.gap.p_ks < 0.02
    assert result.figures()["cumulative"].wide["data"]["values"]
    (of_truth,) = sightline.distributions(shades, "mos", per="shade").gaps
    # Of the dark, 9 lies above all light ones: 1/6 against nothing there, 5/6 below them.
    assert of_truth.gap.ks == pytest.approx(5 / 6)


def test_answers_and_other_images_in_one_collection(shades: Study) -> None:
    records: list[Record] = [Prompt(PromptKey("suite", "p"), "a shade"), System("painter")]
    records.append(Answer(PromptKey("suite", "p"), "painter", 0, ImageKey("even", "0.png")))
    load(shades, records, importer="test", path="answers", digest="2")
    result = sightline.distributions(shades, "brightness", per="collection")
    assert [len(each.values) for each in result.groups] == [6, 6] and result.drawn == "images"


def test_a_measure_that_is_not_scored_is_no_distribution(shades: Study) -> None:
    with pytest.raises(UsageError, match="neither a question nor a scored measure called 'contrast'"):
        sightline.distributions(shades, "contrast")


def test_published_deviations_give_intervals(tmp_path: Path) -> None:
    table = tmp_path / "truths.csv"
    table.write_text("question,image,value,sd,n\nmos,a.png,4,2,16\n", encoding="utf-8")
    with create_study(tmp_path / "study") as study:
        sightline.import_(study, table)
        row = study.truth().row(0, named=True)
    # t(15) at .975 is 2.1314: 4 +- 2.1314 x 2 / 4.
    assert (row["low"], row["high"]) == pytest.approx((2.9343, 5.0657), abs=1e-4)
