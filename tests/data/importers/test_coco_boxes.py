"""COCO boxes in YOLO's layout: what is in an image is its scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.data.import_ import import_
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import Image, Record
from sightline.study.study import create_study
from sightline.study.writing.scenes import scenes

Run = Callable[..., list[Record]]


def test_the_published_photos(data: Path, run: Run) -> None:
    found = run("coco_boxes", data / "coco64")
    images = [record for record in found if isinstance(record, Image)]
    assert len(found) == len(images) == 64
    objects = [each for image in images for each in (image.scene or {})["objects"]]
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
    first = next(i for i in run("coco_boxes", data / "coco64") if isinstance(i, Image))
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


@pytest.fixture
def small(tmp_path: Path, png: bytes) -> Path:
    for file in ("images/train/a.png", "images/train/b.png", "images/train/c.png"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(png)
    (tmp_path / "labels" / "train").mkdir(parents=True)
    (tmp_path / "labels" / "train" / "a.txt").write_text("1 0.5 0.5 1.0 0.5\n")
    (tmp_path / "labels" / "train" / "b.txt").write_text("")
    (tmp_path / "data.yaml").write_text(
        "# ours\nnames:\n  - person\n  - 'traffic light'  # two words\nnc: 2\n"
    )
    return tmp_path


def test_folders_of_splits_names_as_a_list_and_images_without_boxes(small: Path, run: Run) -> None:
    found = {i.key.name: i.scene for i in run("coco_boxes", small) if isinstance(i, Image)}
    assert found == {
        "images/train/a.png": {"objects": [{"kind": "traffic light", "box": [0.0, 0.25, 1.0, 0.75]}]},
        "images/train/b.png": {"objects": []},
        "images/train/c.png": None,
    }


def test_an_image_without_labels_is_told_of(small: Path) -> None:
    from sightline import registry

    source = Source(small)
    list(registry.configure("importer", "coco_boxes").load()(source))
    assert source.skipped == {
        "images without a label file: what is in them is not known": ["images/train/c.png"]
    }


@pytest.mark.parametrize(
    ("line", "said"),
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
def test_boxes_that_cannot_be(small: Path, run: Run, line: str, said: str) -> None:
    (small / "labels" / "train" / "a.txt").write_text(f"0 0.5 0.5 1 1\n{line}\n")
    with pytest.raises(DataError, match=said) as caught:
        run("coco_boxes", small)
    assert caught.value.where == "labels/train/a.txt:2"


def test_boxes_without_their_image_are_half_a_data_set(small: Path, run: Run) -> None:
    (small / "images" / "train" / "a.png").unlink()
    with pytest.raises(DataError, match="no image for these boxes") as caught:
        run("coco_boxes", small)
    assert caught.value.where == "labels/train/a.txt:1"


@pytest.mark.parametrize("names", ["names:\nnc: 2\n", "names: [a, b]\n", "names:\n  0: a\n  0: b\n"])
def test_classes_that_cannot_be_read(small: Path, run: Run, names: str) -> None:
    (small / "data.yaml").write_text(names)
    with pytest.raises(DataError) as caught:
        run("coco_boxes", small)
    assert caught.value.where.startswith("data.yaml")
