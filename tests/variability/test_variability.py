"""How alike one system's images of a prompt are."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from PIL import Image as Pillow

from sightline import registry
from sightline.errors import DataError
from sightline.records import Answer, ImageKey, PromptKey, Record, System
from sightline.samples.scenes import scenes
from sightline.samples.systems import answer, png
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import load
from sightline.variability.reference import find_reference
from sightline.variability.set_distances import best_distance
from sightline.variability.variability import (
    CHANGED,
    measured_by,
    read_variability,
    variability,
)

DISTANCES = ("embedding", "ssim", "pixel_l2", "colour_histogram")


def drawn(count: int, size: int = 32) -> list[bytes]:
    """So many drawings of one scene."""
    return [png(answer("careful", scenes(1)[0], n, size=size).image) for n in range(count)]


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory, study_of: Callable[..., Study]) -> Study:
    """`same` repeats one picture, `careful` draws one scene anew, `wild` draws another scene each time."""
    asked = scenes(12)
    samples: dict[tuple[str, str], list[bytes]] = {}
    for n in range(4):
        mine = [png(answer("careful", asked[n], sample, size=64).image) for sample in range(3)]
        samples["same", str(n)] = [mine[0]] * 3
        samples["careful", str(n)] = mine
        other = [asked[(n + 4 * step) % 12] for step in range(3)]
        samples["wild", str(n)] = [
            png(answer("sloppy", scene, step, size=64).image) for step, scene in enumerate(other)
        ]
    return study_of(tmp_path_factory.mktemp("varied"), samples)


@pytest.mark.parametrize("distance", DISTANCES)
def test_identical_images_are_wholly_alike(varied: Study, distance: str) -> None:
    found = variability(varied, distance=distance)
    alike = {each.system: each.similarity for each in found.systems}
    assert alike["same"].value == pytest.approx(1, abs=1e-9) and alike["same"].n == 4
    assert (alike["careful"].value or 0) < 0.999
    assert found.without == {}


def test_the_planted_order(varied: Study) -> None:
    found = variability(varied, distance="colour_histogram")
    assert found.measure.startswith("pairwise_mean")
    alike = {each.system: each.similarity.value or 0 for each in found.systems}
    assert alike["same"] > alike["careful"] > alike["wild"]
    assert found.prompts["value"].is_sorted() and found.prompts.height == 12
    assert found.prompts["system"][0] == "wild"
    again = read_variability(varied)
    assert again.systems == found.systems and again.prompts.equals(found.prompts)


def test_one_image_has_a_reason(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    (picture,) = drawn(1)
    study = study_of(tmp_path, {("a", "1"): [picture], ("a", "2"): [picture] * 2, ("b", "1"): [picture]})
    found = variability(study, distance="colour_histogram")
    (alike,) = found.systems
    assert (alike.system, alike.similarity.n) == ("a", 1) and alike.similarity.value == pytest.approx(1)
    assert found.without == {"fewer than two images": 2, "a system has no answer to the prompt": 1}
    stored = reading.scores(study, found.identity)
    assert stored.filter(pl.col("reason") == "fewer than two images").height == 2


def test_nothing_to_compare(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    (picture,) = drawn(1)
    study = study_of(tmp_path, {("a", "1"): [picture]})
    with pytest.raises(DataError, match="two or more images of one system"):
        variability(study, distance="colour_histogram")


def test_engines_are_left_out(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    (picture,) = drawn(1)
    study = study_of(tmp_path, {("a", "1"): [picture, picture]})
    engine: list[Record] = [System("engine", "retriever", "a")]
    engine += [Answer(PromptKey("s", "1"), "engine", n, ImageKey("a", f"1-{n}")) for n in range(2)]
    load(study, engine, importer="test", path="engine", digest="2")
    assert [each.system for each in variability(study, distance="colour_histogram").systems] == ["a"]


def test_the_planted_order_on_a_scale(varied: Study) -> None:
    scale = find_reference("sample", "colour_histogram")
    found = variability(varied, reference=scale)
    alike = {each.system: each.similarity.value or 0 for each in found.systems}
    assert alike["same"] > alike["careful"] > alike["wild"]
    assert found.prompts["value"].is_sorted() and found.reference is scale
    # Identical images are at F(0), the share of exact duplicates in the reference.
    assert alike["same"] == pytest.approx(1 - float(scale.normalise(0.0)))
    rows = found.prompts.filter(pl.col("system") == "careful")
    assert ((rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])).all()
    assert (rows["low"] >= 0).all() and (rows["high"] <= 1).all() and (rows["images"] == 3).all()


def test_one_image_and_broken_ones_have_a_reason_on_a_scale(
    tmp_path: Path, study_of: Callable[..., Study]
) -> None:
    one, two, three = drawn(3)
    study = study_of(tmp_path, {("a", "1"): [one], ("a", "2"): [one, two], ("b", "1"): [three, two]})
    scale = find_reference("sample", "pixel_l2")
    found = variability(study, distance="pixel_l2", reference=scale)
    assert found.without == {"fewer than two images": 1, "a system has no answer to the prompt": 1}
    # Two images are one pair: a value, and no interval.
    assert found.prompts["low"].null_count() == 2 and found.prompts.height == 2
    sha256 = reading.answers(study).filter(pl.col("system") == "b")["sha256"][0]
    next(tmp_path.rglob(f"*{sha256[2:]}*")).write_bytes(b"no image any more")
    found = variability(study, distance="ssim", reference=find_reference("sample", "ssim"))
    assert found.prompts.height == 1 and sum(found.without.values()) == 3
    assert any(reason.startswith("one of the images") for reason in found.without)


def test_blank_images_are_told_and_left_out(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    """Two black images of one prompt are alike for another reason than the prompt."""

    def painted(colour: tuple[int, int, int], corner: tuple[int, int, int]) -> bytes:
        picture = Pillow.new("RGB", (32, 32), colour)
        picture.paste(corner, (0, 0, 16, 16))
        file = io.BytesIO()
        picture.save(file, "PNG")
        return file.getvalue()

    black = painted((0, 0, 0), (0, 0, 0))
    day = [painted((200, 10, 10), (240, 240, 240)), painted((10, 200, 10), (240, 240, 240))]
    study = study_of(tmp_path, {("a", "night"): [black, black], ("a", "day"): day})
    found = variability(study, distance="colour_histogram")
    assert (found.blank, found.prompts.height) == (1, 2)
    plain = variability(study, distance="colour_histogram", without_blank=True)
    assert (plain.blank, plain.prompts.height, plain.without) == (0, 1, {"a blank image": 1})
    # A quarter of the pixels has a colour in common.
    assert plain.prompts["value"].to_list() == pytest.approx([0.25])
    assert plain.systems[0].similarity.value == pytest.approx(0.25)
    assert found.systems[0].similarity.value == pytest.approx((1 + 0.25) / 2)


def test_the_best_distance_that_was_measured_is_read(tmp_path: Path, study_of: Callable[..., Study]) -> None:
    study = study_of(tmp_path, {("a", "p"): drawn(2, size=64)})
    variability(study, distance="ssim")
    assert measured_by(study).startswith("ssim")
    variability(study, distance="colour_histogram")
    assert measured_by(study) == "colour_histogram"
    assert read_variability(study).measure == "pairwise_mean(distance=colour_histogram)"
    assert registry.configure("distance", best_distance()).load()


def test_scores_of_other_images_are_not_shown(
    tmp_path: Path, study_of: Callable[..., Study], sampled: Callable[..., list[Record]]
) -> None:
    """Images that came after variability was measured make what is kept of it old."""
    old, new = drawn(4)[:2], drawn(4)[2:]
    study = study_of(tmp_path, {("a", "1"): old, ("a", "2"): old})
    with pytest.raises(DataError, match="was not measured by") as caught:
        read_variability(study, distance="colour_histogram")
    assert "sightline variability" in caught.value.remedy
    variability(study, distance="colour_histogram")
    more = [record for n, data in enumerate(new, 2) for record in sampled(tmp_path, "a", "1", n, data)]
    more.append(Answer(PromptKey("s", "2"), "a", 2, None, failure="refused by a filter"))
    load(study, more, importer="test", path="more", digest="2")
    found = read_variability(study, distance="colour_histogram")
    assert found.prompts.height == 1 and found.without == {
        "its images have changed since: measure variability again": 1,
        "some of its images are not here, the others were compared": 1,
    }
    again = variability(study, distance="colour_histogram")
    assert again.prompts.height == 2 and CHANGED not in again.without
