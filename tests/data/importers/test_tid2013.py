"""TID2013: opinion scores of distorted images, linked to what they were made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.records import Image, ImageKey, Item, Question, Truth

Run = Callable[..., list[Any]]


def test_the_published_subset(data: Path, run: Run) -> None:
    found = run("tid2013", data / "tid2013")
    # 2 references x 5 distortions x 5 levels = 50 distorted images, and the 2 references.
    images = [record for record in found if isinstance(record, Image)]
    assert len(images) == len({image.key for image in images}) == 52
    assert sum(image.key.name.startswith("reference/") for image in images) == 2
    truths = [record for record in found if isinstance(record, Truth)]
    assert Counter(t.question for t in truths) == {"mos": 50, "distortion_type": 50, "distortion_level": 50}
    assert len(found) == 3 + 52 + 150
    scale = next(q for q in found if isinstance(q, Question) and q.name == "mos")
    assert (scale.low, scale.high, scale.direction) == (0.0, 9.0, "higher")


def test_scores_belong_to_images_and_distortions_to_pairs(data: Path, run: Run) -> None:
    found = run("tid2013", data / "tid2013")
    first = ImageKey("tid2013", "distorted/i04_01_1.png")
    own = {t.question: t for t in found if isinstance(t, Truth) and t.item.image == first}
    mos = own["mos"]
    # mos.csv:2 has 5.7619 and 0.12051: 1.96 x 0.12051 = 0.2361996.
    assert mos.item == Item(image=first) and mos.value == 5.7619 and mos.at == "mos.csv:2"
    assert (mos.low, mos.high) == pytest.approx((5.5257004, 5.9980996))
    pair = Item(image=first, image_b=ImageKey("tid2013", "reference/i04.png"))
    assert own["distortion_type"].item == own["distortion_level"].item == pair
    assert (own["distortion_type"].value, own["distortion_level"].value) == (1.0, 1.0)
    asked = next(q for q in found if isinstance(q, Question) and q.name == "distortion_type")
    assert asked.labels["8"] == "Gaussian blur" and len(asked.labels) == 24


# The layout as TID2013 is released, with its careless capitals.
RELEASED: dict[str, str | None] = {
    "mos.csv": None,
    "distorted_images/i01_01_1.bmp": "",
    "distorted_images/I01_08_5.BMP": "",
    "reference_images/I01.BMP": "",
    "mos_with_names.txt": "5.5 I01_01_1.bmp\n2.25 i01_08_5.bmp\n",
    "mos_std.txt": "0.1\n0.2\n",
}


def test_the_layout_as_released(example: Callable[..., Path], run: Run) -> None:
    truths = run("tid2013", example("tid2013", RELEASED), Truth)
    assert [(t.item.image.name, t.value, t.at) for t in truths if t.question == "mos"] == [
        ("distorted_images/i01_01_1.bmp", 5.5, "mos_with_names.txt:1"),
        ("distorted_images/I01_08_5.BMP", 2.25, "mos_with_names.txt:2"),
    ]
    levels = [(t.value, t.item.image_b.name) for t in truths if t.question == "distortion_level"]
    assert levels == [(1.0, "reference_images/I01.BMP"), (5.0, "reference_images/I01.BMP")]


@pytest.mark.parametrize(
    ("file", "text", "where", "what"),
    [
        ("mos_std.txt", "0.1\n", "mos_std.txt:1", "1 deviations for 2 scores"),
        (
            "mos_with_names.txt",
            "5.5 I01_01_1.bmp\nx i01_08_5.bmp\n",
            "mos_with_names.txt:2",
            "'x' is not a num",
        ),
        ("mos_with_names.txt", "5.5 I01_01_1.bmp\n2.25\n", "mos_with_names.txt:2", "not a score and a name"),
        ("reference_images/I01.BMP", None, "mos_with_names.txt:1", "no image 'reference_images"),
    ],
)
def test_bad_releases(
    refuses: Callable[..., None], file: str, text: str | None, where: str, what: str
) -> None:
    refuses("tid2013", {**RELEASED, file: text}, where, what)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("d.png,r.png,1,1,9.5,0.1", "mos 9.5"),
        ("d.png,r.png,25,1,5,0.1", "type 25"),
        ("d.png,r.png,1,6,5,0.1", "level 6"),
        ("d.png,r.png,1,1,5,-1", "mos_std must be 0 or more"),
        ("d.png,r.png,1,1,high,0.1", "mos must be a finite number"),
        ("gone.png,r.png,1,1,5,0.1", "there is no image 'gone.png'"),
        ("../d.png,r.png,1,1,5,0.1", "leaves the folder"),
    ],
)
def test_rows_that_cannot_be(refuses: Callable[..., None], row: str, what: str) -> None:
    table = f"file,ref,type,level,mos,mos_std\nd.png,r.png,1,1,5,0.1\n{row}\n"
    refuses("tid2013", {"mos.csv": table, "d.png": "red", "r.png": "tan"}, "mos.csv:3", what)
