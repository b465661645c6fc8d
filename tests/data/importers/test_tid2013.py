"""TID2013: opinion scores of distorted images, linked to what they were made from."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.errors import DataError
from sightline.records import Image, ImageKey, Item, Question, Record, Truth

Run = Callable[..., list[Record]]


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


@pytest.fixture
def released(tmp_path: Path, png: bytes) -> Path:
    """The layout as TID2013 is handed out, with its careless capitals."""
    for file in (
        "distorted_images/i01_01_1.bmp",
        "distorted_images/I01_08_5.BMP",
        "reference_images/I01.BMP",
    ):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(png)
    (tmp_path / "mos_with_names.txt").write_text("5.5 I01_01_1.bmp\n2.25 i01_08_5.bmp\n")
    (tmp_path / "mos_std.txt").write_text("0.1\n0.2\n")
    return tmp_path


def test_the_layout_as_released(released: Path, run: Run) -> None:
    found = run("tid2013", released)
    told = [
        (t.item.image and t.item.image.name, t.value, t.at)
        for t in found
        if isinstance(t, Truth) and t.question == "mos"
    ]
    assert told == [
        ("distorted_images/i01_01_1.bmp", 5.5, "mos_with_names.txt:1"),
        ("distorted_images/I01_08_5.BMP", 2.25, "mos_with_names.txt:2"),
    ]
    levels = [t for t in found if isinstance(t, Truth) and t.question == "distortion_level"]
    assert [(t.value, t.item.image_b and t.item.image_b.name) for t in levels] == [
        (1.0, "reference_images/I01.BMP"),
        (5.0, "reference_images/I01.BMP"),
    ]


@pytest.mark.parametrize(
    ("spoil", "where", "said"),
    [
        (lambda f: (f / "mos_std.txt").write_text("0.1\n"), "mos_std.txt:1", "1 deviations for 2 scores"),
        (
            lambda f: (f / "mos_with_names.txt").write_text("5.5 I01_01_1.bmp\nx i01_08_5.bmp\n"),
            "mos_with_names.txt:2",
            "'x' is not a number",
        ),
        (
            lambda f: (f / "mos_with_names.txt").write_text("5.5 I01_01_1.bmp\n2.25\n"),
            "mos_with_names.txt:2",
            "not a score and a name",
        ),
        (
            lambda f: shutil.rmtree(f / "reference_images"),
            "mos_with_names.txt:1",
            "no image 'reference_images",
        ),
    ],
)
def test_what_is_wrong_is_named(
    released: Path, run: Run, spoil: Callable[[Path], object], where: str, said: str
) -> None:
    spoil(released)
    with pytest.raises(DataError, match=said) as caught:
        run("tid2013", released)
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("row", "said"),
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
def test_rows_that_cannot_be(tmp_path: Path, png: bytes, run: Run, row: str, said: str) -> None:
    for file in ("d.png", "r.png"):
        (tmp_path / file).write_bytes(png)
    (tmp_path / "mos.csv").write_text(f"file,ref,type,level,mos,mos_std\nd.png,r.png,1,1,5,0.1\n{row}\n")
    with pytest.raises(DataError, match=said) as caught:
        run("tid2013", tmp_path)
    assert caught.value.where == "mos.csv:3"
