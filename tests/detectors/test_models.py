"""Detectors on drawings whose content is known, and on published photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from sightline import registry
from sightline.errors import MissingPackage, UsageError
from sightline.pictures import Picture
from sightline.skills.deciding import decide
from sightline.skills.looking import vocabulary_of
from sightline.testing.inputs import encoded


def loaded(spec: str) -> Any:
    detector = registry.configure("detector", spec)
    try:
        return detector.load()
    except MissingPackage as error:
        pytest.skip(f"not needed here: {error.what}")


def written(words: str, at: tuple[int, int] = (40, 60)) -> Picture:
    image = Image.new("RGB", (400, 200), (250, 250, 240))
    ImageDraw.Draw(image).text(at, words, fill=(20, 20, 60), font=ImageFont.load_default(48))
    return encoded(image)


def test_text_is_read_with_its_place() -> None:
    reader = loaded("rapidocr")
    empty, full = reader.detect([encoded(Image.new("RGB", (400, 200), (250, 250, 240))), written("HELLO 42")])
    assert empty == {"text": []}
    (line,) = full["text"]
    assert line["text"].replace(" ", "") == "HELLO42" and line["confidence"] > 0.8
    left, top, right, bottom = line["box"]
    # Drawn from (40, 60) on 400 x 200, some 220 x 50 pixels large.
    assert 0.05 < left < 0.15 and 0.45 < right < 0.8 and 0.25 < top < 0.45 and 0.45 < bottom < 0.7


@pytest.mark.parametrize("size", [(1, 1), (1, 400), (2000, 10), (30, 30)])
@pytest.mark.parametrize("name", ["rapidocr", "ssd_mobilenet_v2", "imagenet_classes", "nothing"])
def test_odd_sizes_have_a_scene(name: str, size: tuple[int, int]) -> None:
    (scene,) = loaded(name).detect([encoded(Image.new("RGB", size, (90, 120, 10)))])
    assert isinstance(scene, dict) and not scene.get("text")


def test_objects_of_photographs_overlap_their_boxes(data: Path) -> None:
    """Image 139 of COCO has a television, chairs and a dining table (its published boxes)."""
    (scene,) = loaded("ssd_mobilenet_v2").detect([Picture(path=data / "coco64/images/000000000139.jpg")])
    kinds = {each["kind"] for each in scene["objects"]}
    assert {"chair", "tv"} <= kinds
    tv = next(each for each in scene["objects"] if each["kind"] == "tv")
    # Class 62 there: centre (.1286, .4927), .2325 x .2233 of the image.
    lines = (data / "coco64/labels/000000000139.txt").read_text().splitlines()
    rows = [list(map(float, line.split())) for line in lines]
    x, y, width, height = next(row[1:] for row in rows if row[0] == 62 and row[3] > 0.1)
    truth = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2])
    assert np.abs(np.array(tv["box"]) - truth).max() < 0.06


def test_classes_name_the_whole_picture(data: Path) -> None:
    """Image 285 of COCO is a portrait of a bear."""
    (scene,) = loaded("imagenet_classes").detect([Picture(path=data / "coco64/images/000000000285.jpg")])
    first = scene["objects"][0]
    assert "bear" in first["kind"] and first["box"] == [0, 0, 1, 1]
    confidences = [each["confidence"] for each in scene["objects"]]
    assert confidences == sorted(confidences, reverse=True) and sum(confidences) <= 1.001


def test_a_confidence_out_of_range_is_refused() -> None:
    loaded("nothing")
    for spec in ("ssd_mobilenet_v2(least=2.0)", "rapidocr(least=-1.0)", "imagenet_classes(first=0)"):
        with pytest.raises((UsageError, MissingPackage)):
            registry.configure("detector", spec).load()


def test_verdicts_on_a_photograph(data: Path) -> None:
    """Image 139 of COCO: a television and chairs, no elephant; nobody looks for a hedgehog."""
    detector = registry.configure("detector", "ssd_mobilenet_v2(least=0.1)")
    kinds = vocabulary_of(detector)
    assert kinds is not None and len(kinds) == 80
    (scene,) = loaded(str(detector)).detect([Picture(path=data / "coco64/images/000000000139.jpg")])
    assert all(0.9 < sum(each["colours"].values()) < 1.01 for each in scene["objects"])
    said = {
        kind: decide({"objects": [{"kind": kind}], "complete": True}, scene, kinds)
        for kind in ("television", "elephant", "hedgehog", "chairs")
    }
    assert {kind: each.verdict for kind, each in said.items()} == {
        "television": "yes", "elephant": "no", "hedgehog": "cannot tell", "chairs": "yes",
    }  # fmt: skip
    assert said["television"].boxes[0].label == "tv"
