"""What a detector sees is computed once per content, and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline import records as records_
from sightline import registry
from sightline.errors import DataError, ExtensionError, UsageError
from sightline.extension import Configured, Detector, Picture, detector, measure, needs
from sightline.pictures import Crop
from sightline.records import ImageKey
from sightline.study.init import init
from sightline.study.running.detecting import Seeing, detect_images, loaded_with
from sightline.study.study import Study, open_study
from sightline.study.writing.loading import load
from sightline.study.writing.scenes import known_kinds
from sightline.testing.inputs import encoded

CALLS: list[int] = []


class Halves:
    """Sees the left half, in the colour of the first pixel's red."""

    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        CALLS.append(len(images))
        return [
            {"objects": [{"kind": f"red {each.rgb[0, 0, 0]}", "box": [0, 0, 0.5, 1], "confidence": 1}]}
            for each in images
        ]


@detector(source="test", licence="MIT")
def halves() -> Detector:
    """Sees the left half."""
    return Halves()


HALVES = Configured(halves, {})


@pytest.fixture
def study(tmp_path: Path) -> Study:
    CALLS.clear()
    init(tmp_path / "s")
    return open_study(tmp_path / "s")


def stored(study: Study, *colours: int) -> list[str]:
    return [study.files.put(encoded(Image.new("RGB", (8, 4), (red, 0, 0))).data) for red in colours]


def test_a_content_is_looked_at_once(study: Study) -> None:
    one, two = stored(study, 10, 20)
    found = detect_images(study, HALVES, [one, two, one])
    assert {key: scene["objects"][0]["kind"] for key, scene in found.scenes.items()} == {
        one: "red 10",
        two: "red 20",
    }
    assert CALLS == [2]
    assert detect_images(study, HALVES, [two]).scenes == {two: found.scenes[two]} and CALLS == [2]


def test_what_cannot_be_read_has_its_reason(study: Study) -> None:
    (good,) = stored(study, 10)
    text = study.files.put(b"no image")
    found = detect_images(study, HALVES, [good, text, "0" * 64])
    assert set(found.scenes) == {good} and set(found.without) == {text, "0" * 64}
    assert "missing" in found.without["0" * 64]


def test_crops_are_seen_but_not_kept(study: Study) -> None:
    (one,) = stored(study, 10)
    whole = study.files.picture(one)
    part = Crop(whole, (0.25, 0.25, 0.75, 0.75))
    assert part.rgb.shape == (2, 4, 3) and np.shares_memory(part.rgb, whole.rgb)
    seeing = Seeing(study, HALVES)
    assert [scene["objects"][0]["kind"] for scene in seeing.detect([whole, part])] == ["red 10"] * 2
    seeing.detect([whole, part])
    assert CALLS == [2, 1]


def test_a_measure_gets_the_detectors_of_the_study(study: Study) -> None:
    @measure.of_image(source="test", licence="MIT")
    def seen(images: Sequence[Picture], *, by: Detector = needs("detector", "nothing")) -> list[float]:
        """How much was seen."""
        return [float(len(scene["objects"])) for scene in by.detect(images)]

    (one,) = stored(study, 10)
    function = loaded_with(study, Configured(seen, {"by": HALVES}))
    assert function([study.files.picture(one)]) == function([study.files.picture(one)]) == [1]
    assert CALLS == [1]


@pytest.mark.parametrize(
    "scene",
    [
        {"objects": [{"kind": "dog", "box": [0, 0, 1], "confidence": 1}]},
        {"objects": [{"kind": "", "box": [0, 0, 1, 1], "confidence": 1}]},
        {"objects": [{"kind": "dog", "box": [0, 0, 1, 1], "confidence": 1.5}]},
        {"objects": [{"kind": "dog", "box": [0, 0, 1, 1], "confidence": float("nan")}]},
        {"text": []},
        ["dog"],
    ],
)
def test_a_scene_that_is_none_is_refused(study: Study, scene: Mapping[str, Any]) -> None:
    class Wrong:
        def detect(self, images: Sequence[Picture]) -> list[Any]:
            return [scene for _ in images]

    @detector(source="test", licence="MIT")
    def wrong() -> Detector:
        """Breaks its promise."""
        return Wrong()

    with pytest.raises(ExtensionError, match="wrong"):
        detect_images(study, Configured(wrong, {}), stored(study, 10))


def test_boxes_beyond_the_image_are_clipped_or_dropped_and_counted(study: Study) -> None:
    boxes = [[-0.2, 0, 0.5, 1], [0.1, 0.1, 0.2, 0.2], [1.1, 0, 1.5, 1], [0.6, 0, 0.5, 1], [0.5, 0.5, 2, 3]]
    # Without extent, and without a place: what a network gives where it divides by nothing.
    boxes += [[0.3, 0.3, 0.3, 0.6], [0.1, 0.1, math.nan, 0.6]]

    class Careless:
        def detect(self, images: Sequence[Picture]) -> list[Any]:
            return [
                {"objects": [{"kind": "dog", "box": box, "confidence": 1} for box in boxes]} for _ in images
            ]

    @detector(source="test", licence="MIT")
    def careless() -> Detector:
        """Looks past the edge."""
        return Careless()

    one, two = stored(study, 10, 20)
    seen = detect_images(study, Configured(careless, {}), [one, two])
    kept = [each["box"] for each in seen.scenes[one]["objects"]]
    assert kept == [[0, 0, 0.5, 1], [0.1, 0.1, 0.2, 0.2], [0.5, 0.5, 1, 1]]
    assert (seen.outside("clipped"), seen.outside("dropped")) == (4, 8)
    # Counted again from what was stored.
    assert detect_images(study, Configured(careless, {}), [one]).outside("dropped") == 4


def test_what_a_study_knows_is_a_detector_of_its_own(study: Study, tmp_path: Path) -> None:
    """Two names of one file must agree; a file of which nothing is known has no scene."""
    known = registry.configure("detector", "known_scene")
    one, two, three = stored(study, 10, 20, 30)
    dog = {"objects": [{"kind": "dog", "box": [0, 0, 0.5, 1]}]}
    scenes = {"a": dog, "b": dog, "c": {"objects": []}}
    records = []
    for name, content in (("a", one), ("b", two), ("c", two), ("d", three)):
        (tmp_path / name).write_bytes(study.files.read(content))
        records.append(records_.Image(ImageKey("c", name), str(tmp_path / name), scene=scenes.get(name)))
    load(study, records, importer="test", path="test", digest="1")
    seen = detect_images(study, known, [one, two, three])
    assert seen.scenes == {one: dog} and known_kinds(study) == ("dog",)
    assert "differs" in seen.without[two] and "not known" in seen.without[three]
    assert Seeing(study, known).detect([study.files.picture(one)]) == [dog]
    with pytest.raises(DataError, match="not known"):
        Seeing(study, known).detect([study.files.picture(three)])
    with pytest.raises(UsageError, match="no study here"):
        known.load().detect([study.files.picture(one)])
