"""COCO boxes in YOLO's layout: what is in an image is its scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_
from sightline.errors import DataError
from sightline.records import Image
from sightline.study.study import create_study
from sightline.study.writing.scenes import scenes

Run = Callable[..., list[Any]]
Example = Callable[..., Path]


def test_the_published_photos(data: Path, run: Run) -> None:
    found = run("coco_boxes", data / "coco64")
    assert len(found) == 64 and all(isinstance(record, Image) for record in found)
    objects = [each for image in found for each in (image.scene or {})["objects"]]
    # As many boxes as there are lines in the 64 label files, of 62 of the 80 classes.
    assert len(objects) == sum(
        len(file.read_text().splitlines()) for file in (data / "coco64" / "labels").glob("*.txt")
    )
    assert len(objects) == 440 and len({each["kind"] for each in objects}) == 62
    assert all(0 <= edge <= 1 for each in objects for edge in each["box"])
    assert all(
        left < right and top < bottom for each in objects for left, top, right, bottom in [each["box"]]
    )


def test_a_box_by_hand(data: Path, run: Run) -> None:
    first = run("coco_boxes", data / "coco64")[0]
    assert first.key == ("coco_boxes", "images/000000000139.jpg") and first.scene is not None
    # labels/000000000139.txt:1 is 58 0.389578 0.416103 0.0385937 0.163146: a potted plant, from
    # 0.389578 - 0.0385937 / 2 = 0.37028115 to 0.40887485 and from 0.334530 to 0.497676.
    plant = first.scene["objects"][0]
    assert plant["kind"] == "potted plant"
    assert plant["box"] == pytest.approx([0.37028115, 0.33453, 0.40887485, 0.497676], abs=1e-7)
    assert Counter(each["kind"] for each in first.scene["objects"])["chair"] > 1


def test_scenes_reach_the_study(data: Path, tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        done = import_(study, data / "coco64")
        assert dict(done.counts) == {"images": 64, "scenes": 64, "collections": 1}
        assert sum(len(scene["objects"]) for scene in scenes(study).values()) == 440


def test_folders_of_splits_names_as_a_list_and_images_without_boxes(
    example: Example, run: Run, left_out: Callable[..., Any]
) -> None:
    folder = example("coco_boxes")
    assert {image.key.name: image.scene for image in run("coco_boxes", folder)} == {
        "images/train/a.png": {"objects": [{"kind": "traffic light", "box": [0.0, 0.25, 1.0, 0.75]}]},
        "images/train/b.png": {"objects": []},
        "images/train/c.png": None,
    }
    assert left_out("coco_boxes", folder) == {
        "images without a label file: what is in them is not known": ["images/train/c.png"]
    }


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("2 0.5 0.5 1 1", "no class '2'"),
        ("person 0.5 0.5 1 1", "no class 'person'"),
        ("0 0.5 0.5 1", "4 cells instead of 5"),
        ("0 0.5 0.5 1.1 1", "no box within the image"),
        ("0 0.5 0.5 0 1", "no box within the image"),
        ("0 0.5 nan 1 1", "no box within the image"),
        ("0 0.5 x 1 1", "no box within the image"),
    ],
)
def test_boxes_that_cannot_be(refuses: Callable[..., None], line: str, what: str) -> None:
    boxes = {"labels/train/a.txt": f"0 0.5 0.5 1 1\n{line}\n"}
    refuses("coco_boxes", boxes, "labels/train/a.txt:2", what)


def test_boxes_without_their_image_are_half_a_data_set(refuses: Callable[..., None]) -> None:
    refuses("coco_boxes", {"images/train/a.png": None}, "labels/train/a.txt:1", "no image for these boxes")


@pytest.mark.parametrize("names", ["names:\nnc: 2\n", "names: [a, b]\n", "names:\n  0: a\n  0: b\n"])
def test_classes_that_cannot_be_read(example: Example, run: Run, names: str) -> None:
    with pytest.raises(DataError) as caught:
        run("coco_boxes", example("coco_boxes", {"data.yaml": names}))
    assert caught.value.where.startswith("data.yaml")
